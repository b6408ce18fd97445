"""Columns as segments: what each kind of value becomes, what is refused, and new rows."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, DataError
from calibrant.segments.columns import SegmentColumn
from calibrant.typed_json import plain, structure
from support.tables import grades_of, segments_of

TEXT = ["a", "b", None, "a"] * 100


def labels(values, **keywords):
    return SegmentColumn.fit(values, "g", **keywords).labels


@pytest.mark.parametrize(
    "values",
    [
        TEXT,
        np.array(TEXT, dtype=object),
        pd.Series(TEXT),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype="category"),
        pd.Categorical(TEXT),
        pl.Series(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pa.chunked_array([TEXT]),
        pd.Series([{"a": "a", "b": "b"}.get(value, np.nan) for value in TEXT]),
    ],
)
def test_text_of_any_library(values):
    column = SegmentColumn.fit(values, "g")
    assert column.labels == ("a", "b", "missing")
    assert np.bincount(column.codes(values)).tolist() == [200, 100, 100]


@pytest.mark.parametrize("integers", [pd.Series([1, 2, None] * 100, dtype="Int64"), pl.Series([1, 2, None] * 100)])
def test_missing_values_do_not_make_floats_of_long_whole_numbers(integers):
    assert labels(integers + 2**60) == (str(2**60 + 1), str(2**60 + 2), "missing")


def test_booleans_and_few_numbers_are_levels():
    assert labels(pd.Series([True, False, pd.NA] * 100, dtype="boolean")) == ("False", "True", "missing")
    assert labels([3, 1, 2] * 100) == ("1", "2", "3")
    assert labels([0.5, 10.0, float("nan")] * 100) == ("0.5", "10", "missing")
    assert labels(np.ma.array([1, 2, 3] * 100, mask=[0, 0, 1] * 100)) == ("1", "2", "missing")


def test_many_numbers_are_cut_at_quintiles():
    values = np.random.default_rng(0).normal(size=5000)
    column = SegmentColumn.fit(values, "g")
    assert np.bincount(column.codes(values)) == pytest.approx(np.full(5, 1000), rel=0.01)
    assert column.from_rows
    assert column == SegmentColumn.fit(values[::-1], "g")


def test_infinite_numbers_stand_in_the_outer_intervals():
    values = np.r_[np.random.default_rng(0).normal(size=1000), np.full(300, np.inf), np.full(300, -np.inf)]
    column = SegmentColumn.fit(values, "g")
    assert np.isfinite(column.cuts).all()
    assert column.codes([np.inf, -np.inf]).tolist() == [len(column) - 1, 0]


def test_long_whole_numbers_are_cut_exactly():
    values = 2**60 + np.arange(500).repeat(2)
    column = SegmentColumn.fit(values, "g", cuts=[2**60 + 100])
    assert column.codes([2**60 + 100, 2**60 + 101]).tolist() == [0, 1]
    assert np.bincount(SegmentColumn.fit(values, "g").codes(values)).tolist() == [200] * 5


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).lognormal(9.0, 1.0, 2000),
        np.random.default_rng(0).normal(1e9, 1.0, 2000),
        np.r_[np.full(700, 11759.96), np.random.default_rng(1).normal(11759.98, 0.01, 1300)],
        np.r_[np.full(900, 99.5), np.arange(25)],
        [*range(25), *[100] * 900],
        [10**400 + i % 30 for i in range(1000)],
    ],
    ids=["long", "close", "one frequent", "most at the top", "most whole at the top", "beyond floats"],
)
def test_segments_of_numbers_hold_what_their_names_say(values):
    column = SegmentColumn.fit(values, "g")
    number = float if isinstance(values, np.ndarray) else int
    cuts = [number(label.removeprefix("over ").split(" to ")[0]) for label in column.labels[1:]]
    assert column.labels[0] == f"up to {column.labels[1].removeprefix('over ').split(' to ')[0]}"
    wanted = [sum(value > cut for cut in cuts) for value in values]
    assert column.codes(values).tolist() == wanted
    assert set(wanted) == set(range(len(column)))
    assert 2 <= len(column) <= 5


def test_quantiles_are_rounded_where_that_moves_few_rows():
    column = SegmentColumn.fit(np.random.default_rng(0).lognormal(9.0, 1.0, 2000), "g")
    assert all(len(label) <= len("over 12340.5 to 12340.5") for label in column.labels)


def test_cuts_are_named_so_that_they_can_be_told_apart():
    values = 0.5 + 1e-9 * np.random.default_rng(0).normal(size=500)
    assert len(set(labels(values))) == 5


def test_given_cuts():
    column = SegmentColumn.fit(np.arange(1000), "age", cuts=[18, 64.5])
    assert column.labels == ("up to 18", "over 18 to 64.5", "over 64.5")
    assert not column.from_rows
    assert column.codes([18, 19, 64.5, 65, None]).tolist() == [0, 1, 1, 2, -1]


def test_rare_levels_are_pooled_and_new_ones_join_them():
    column = SegmentColumn.fit(["a"] * 200 + ["b"] * 200 + ["c"] * 5 + ["d"], "g")
    assert column.labels == ("a", "b", "other (2 levels)")
    assert column.codes(["d", "never met", "a", None]).tolist() == [2, 2, 0, -1]


def test_without_a_pool_new_levels_belong_nowhere():
    assert SegmentColumn.fit(["a", "b"] * 200, "g").codes(["c", "b"]).tolist() == [-1, 1]


def test_names_of_pools_are_not_those_of_levels():
    column = SegmentColumn.fit(["other (2 levels)", "missing", None] * 200 + ["q", "r"], "g")
    assert len(set(column.labels)) == len(column) == 4


def test_intervals_of_pandas_keep_their_order():
    values = pd.cut(np.random.default_rng(0).normal(0, 30, 2000), [-500, -10, 0, 10, 200])
    wanted = ("(-500, -10]", "(-10, 0]", "(0, 10]", "(10, 200]")
    assert labels(values) == labels(pd.Series(values)) == wanted


@pytest.mark.parametrize("values", [TEXT, np.random.default_rng(0).normal(size=300), [True, False] * 100, ["a", *TEXT]])
def test_a_column_can_be_stored(values):
    column = SegmentColumn.fit(values, "g")
    assert structure(SegmentColumn, json.loads(json.dumps(plain(column))), "") == column


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([f"row {i}" for i in range(1000)], "1000 different values in 1000 rows; name a column with a few groups"),
        (np.arange(1000), "or cut a measurement into intervals with cuts"),
        ([None] * 500, "values in column g, found none; leave g out"),
        ([1, "a"] * 100, "values of one kind in column g, found 1 and 'a'"),
        ([True, 2] * 100, "values of one kind"),
        (pd.date_range("2020-01-01", periods=200).repeat(9), "the year, the month or the weekday"),
        (
            pd.Series(pd.date_range("2020-01-01", periods=60)).repeat(100),
            "60 different dates, 2020-01-01 to 2020-02-29",
        ),
        ([str(day) for day in pd.date_range("2020-01-01", periods=60).date] * 100, "60 different dates, 2020-01-01 to"),
        (pl.Series([1, 2] * 100).cast(pl.Time), "times or durations"),
        (pd.Series(pd.date_range("2020-01-01", periods=2, tz="UTC")).repeat(100), "times or durations"),
        (np.arange(2).astype("timedelta64[D]").repeat(100), "times or durations"),
        ([[1], [2]] * 50, "lists"),
        ([b"a", b"b"] * 200, "a bytes"),
        (np.zeros((4, 2)), "shape (4, 2)"),
        ("text", "one value per row in column g"),
        (5, "one value per row in column g"),
        ([], "no rows"),
        (
            [f"{i % 40}x" for i in range(1000)],
            "each with fewer than 100 rows; name a column of larger levels",
        ),
    ],
)
def test_columns_that_name_no_segments(values, says):
    with pytest.raises(DataError) as caught:
        SegmentColumn.fit(values, "g")
    assert says in str(caught.value)


@pytest.mark.parametrize("cuts", [[2, 1], [1, 1], [], "12", [np.nan], ["a"], [True], 5])
def test_cuts_that_do_not_increase(cuts):
    with pytest.raises(ArgumentError, match="increasing order"):
        SegmentColumn.fit([1, 2, 3] * 100, "g", cuts=cuts)


def test_cuts_of_text_or_beside_all_values():
    with pytest.raises(ArgumentError, match="leave out its cuts"):
        SegmentColumn.fit(TEXT, "g", cuts=[1])
    assert SegmentColumn.fit([1, 2, 3] * 100, "g", cuts=[5]).codes([1, 3]).tolist() == [0, 0]


def test_text_where_the_column_is_cut():
    with pytest.raises(DataError, match="numbers in column g"):
        SegmentColumn.fit(np.random.default_rng(0).normal(size=300), "g").codes(["a"])


class _Tensor:
    """A column that refuses to become an array, as a tensor that requires a gradient."""

    def __len__(self):
        return 40

    def __iter__(self):
        return iter([1, 2] * 20)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize(
    "use",
    [
        lambda y, p, column: segments_of(y, p, by={"g": column}, min_rows=2),
        lambda y, p, column: cal.SegmentCalibrator(cal.PlattCalibrator()).fit(p, y, {"g": column}),
        lambda y, p, column: cal.certify(y, p, cluster=column),
    ],
    ids=["segments", "SegmentCalibrator", "clusters"],
)
def test_a_column_that_becomes_no_array_is_refused_with_its_reason(use):
    y, p = [0, 1] * 20, [0.2, 0.7] * 20
    with pytest.raises(DataError, match=r"can become an array of NumPy, found a _Tensor .*requires grad"):
        use(y, p, _Tensor())


def test_segments_of_a_frame_that_is_not_in_memory_are_refused():
    column = pl.LazyFrame({"g": [1, 2] * 20})
    with pytest.raises(DataError, match="one value per row in column g, found <LazyFrame"):
        cal.SegmentCalibrator(cal.PlattCalibrator()).fit([0.2, 0.7] * 20, [0, 1] * 20, {"g": column})


@pytest.mark.parametrize(
    ("levels", "values", "codes"),
    [
        ([1, 2], ["1", "2.0", " 2 ", "1_0", "x"], [0, 1, 1, -1, -1]),
        ([0.5, 2.0], ["0.50", "2", "5e-1"], [0, 1, 0]),
        (["1", "2"], [1, 2], [0, 1]),
        (["1", "2"], [1.0, 2.0, 3.0], [0, 1, -1]),
        (["1.0", "2.0"], [1, 2], [0, 1]),
        ([False, True], ["true", "FALSE", "yes"], [1, 0, -1]),
        (["a", "b"], ["a ", "A", "b"], [-1, -1, 1]),
    ],
)
def test_levels_of_another_type_are_the_same_as_in_sql(levels, values, codes):
    column = SegmentColumn.fit(levels * 200, "g")
    assert column.codes(values).tolist() == codes
    assert (column.unmet(values) != "") == (2 * codes.count(-1) > len(codes))


def test_numbers_as_text_are_cut_as_numbers():
    column = SegmentColumn.fit(np.arange(1000), "age", cuts=[18, 64.5])
    assert column.codes(["18", "19.5", "65"]).tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="numbers in column age"):
        column.codes(["young"])


DAYS = ["2023-03-31", "2023-06-30", "2023-09-30", "2023-12-31"]


@pytest.mark.slow
@pytest.mark.parametrize("time", ["", " 12:00:00"])
def test_dates_group_and_order_alike_from_every_source(tmp_path, time):
    """As text, typed, in files, frames, engines, queries and arrays, with gaps; midnight is the day."""
    rng = np.random.default_rng(0)
    when = pd.Series(pd.to_datetime(rng.choice([f"{day}{time or ' 00:00:00'}" for day in DAYS], 900)))
    frame = pd.DataFrame({"y": rng.integers(0, 2, 900), "p": rng.uniform(0.1, 0.9, 900).round(3), "when": when})
    frame.loc[:2, "when"] = None
    text = frame.assign(when=[None if pd.isna(one) else f"{one:%Y-%m-%d}{time}" for one in frame.when])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    text.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    query = cal.Query(f"SELECT * FROM '{tmp_path}/rows.parquet'")
    files = [str(tmp_path / f"rows.{ending}") for ending in ("csv", "parquet", "jsonl")]
    engines = [pl.from_pandas(frame).lazy(), duckdb.from_df(frame)]
    levels = [f"{day}{time}" for day in DAYS]
    for source in [frame, text, pl.from_pandas(frame), *engines, *files, query]:
        segments = segments_of(source, outcome="y", prediction="p", by="when", min_rows=1).levels
        assert sorted(level for (level,) in segments) == [*levels, "missing"]
        grades = grades_of(source, outcome="y", prediction="p", grade="when").grades["grade"]
        assert sorted(grades) == [*levels, "missing"]
        means = cal.audit(source, kind="amount", outcome="y", prediction="p", grade="when").grades.grades["grade"]
        assert sorted(means) == [*levels, "missing"]
        clusters = grades_of(source, outcome="y", prediction="p", grade=[0.5], cluster="when", missing="drop")
        assert clusters.total["obligors"] == 4
    for values in (when, when.to_numpy(), when.tolist(), list(when.dt.to_pydatetime())):
        assert SegmentColumn.fit(values, "when").levels == tuple(levels)


def test_many_dates_are_refused_alike_and_the_hint_works(tmp_path):
    days = pd.Series(pd.date_range("2023-01-01", periods=90).repeat(10))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 900), "p": rng.uniform(0.1, 0.9, 900), "day": days})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for source in (frame, pl.from_pandas(frame).lazy(), str(tmp_path / "rows.csv")):
        with pytest.raises(cal.DataError, match=r"90 different dates, 2023-01-01 to 2023-03-31; .*the month"):
            segments_of(source, outcome="y", prediction="p", by="day")
        with pytest.raises(cal.DataError, match="90 different dates"):
            grades_of(source, outcome="y", prediction="p", grade="day")
    query = cal.Query(f"SELECT *, strftime(CAST(day AS DATE), '%Y-%m') AS month FROM '{tmp_path}/rows.csv'")
    assert sorted(segments_of(query, outcome="y", prediction="p", by="month").levels)[0] == ("2023-01",)


def test_months_of_pandas_are_levels():
    assert SegmentColumn.fit(pd.period_range("2020-01", periods=3, freq="M").repeat(100), "g").levels[0] == "2020-01"
