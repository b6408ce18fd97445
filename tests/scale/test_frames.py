"""Dataframes of every library: what is refused, in which words, and how often an engine is asked."""

from __future__ import annotations

import math
import sys

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import ScoreTable
from calibrant.cells import frame_rows as lazy_rows
from calibrant.cells import gathering, refinement
from calibrant.cells.frame_rows import fetch_arrays
from calibrant.errors import CalibrantError, DataError, SourceError
from calibrant.metrics import cutoff_calibration
from calibrant.segments.totals import Request
from calibrant.sources import engine, frames
from calibrant.sources.columns import LazyColumns
from calibrant.sources.engine import unchecked_rows
from calibrant.sources.schema import Schema
from support.frame_cases import RIGHT, WRONG
from support.routes import BROKEN, CASES, assert_same, expected, few_in_memory, summary, weighing

KEPT_OPEN = []  # before DuckDB 2 a relation did not keep its connection


def connect():
    KEPT_OPEN.append(duckdb.connect())
    return KEPT_OPEN[-1]


def in_duckdb(columns):
    connection = connect()
    connection.register("columns", pa.table(columns))
    connection.execute("CREATE TABLE rows AS SELECT * FROM columns")
    return connection.table("rows")


LIBRARIES = {
    "pandas": lambda columns: pa.table(columns).to_pandas(),
    "pandas nullable": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.from_arrow(pa.table(columns)),
    "lazy polars": lambda columns: pl.from_arrow(pa.table(columns)).lazy(),
    "pyarrow": pa.table,
    "duckdb": in_duckdb,
}
NAMES = {"outcome": "y", "prediction": "p"}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_cannot_be_used(library, case):
    columns, keywords, words = WRONG[case]
    with pytest.raises(DataError, match=words):
        ScoreTable.from_frame(LIBRARIES[library](columns), **NAMES | keywords)


@pytest.mark.parametrize("case", RIGHT)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_can_be_used(library, case):
    columns, keywords, score, n, k = RIGHT[case]
    table = ScoreTable.from_frame(LIBRARIES[library](columns), **NAMES | keywords)
    assert table.score.tolist() == score
    np.testing.assert_allclose([table.n, table.k], [n, k], rtol=1e-12)
    assert not np.signbit(table.score).any()


NOTHING = {
    "y": "a label in every row, found (nan|None|<NA>|an empty value) in {}column y and 2 more like it; drop",
    "p": "(numbers as|finite) scores, found (nan|None|an empty value( or nan)?) in {}column p and 2 more like it; drop",
    "w": "weights.*, found (nan|None|an empty value( or nan)?) in {}column w and 2 more like it; drop",
}
FULL = {"y": [0, 1, 1], "p": [0.1, 0.2, 0.3], "w": [1.0, 2.0, 1.0]}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_that_are_all_missing(library, name):
    frame = LIBRARIES[library](FULL | {name: pa.array([None] * 3, pa.float64())})
    place = "" if library in ("lazy polars", "duckdb") else "row 0 of "
    with pytest.raises(DataError, match=NOTHING[name].format(place)):
        ScoreTable.from_frame(frame, **NAMES, weight="w")


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.date32()])
@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_type_of_a_column_of_nothing_says_nothing(library, name, kind):
    frame = LIBRARIES[library](FULL | {name: pa.array([None] * 3, kind)})
    lazy = library in ("lazy polars", "duckdb")
    with pytest.raises(DataError, match=NOTHING[name].format("" if lazy else "row 0 of ")):
        ScoreTable.from_frame(frame, **NAMES, weight="w")
    if lazy:
        with pytest.raises(DataError, match="at least one row"):
            ScoreTable.from_frame(frame.limit(0), **NAMES)


@pytest.mark.parametrize("library", ["lazy polars", "duckdb"])
def test_a_type_counts_where_a_value_is_there(library):
    frame = LIBRARIES[library]({"y": [0, None, 1], "p": ["low", None, None]})
    with pytest.raises(DataError, match="numbers as scores, found 'low' in column p;"):
        ScoreTable.from_frame(frame, **NAMES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_labels_of_no_type(library):
    frame = LIBRARIES[library](FULL | {"y": pa.nulls(3)})
    for pos_label in (None, 1, "a"):
        with pytest.raises(DataError, match=r"found (nan|None|<NA>|an empty value) in .*y and 2 more like it"):
            ScoreTable.from_frame(frame, **NAMES, pos_label=pos_label)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_rows(library):
    frame = LIBRARIES[library]({"y": pa.array([], pa.int64()), "p": pa.array([], pa.float64())})
    with pytest.raises(DataError, match="at least one row"):
        ScoreTable.from_frame(frame, **NAMES)


def test_single_precision_becomes_double_first():
    p = np.array([0.1, 0.3], dtype=np.float32)
    for make in LIBRARIES.values():
        assert ScoreTable.from_frame(make({"y": [0, 1], "p": p}), **NAMES).score.tolist() == p.astype(float).tolist()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"y": pd.Categorical(["b", "a", "b"]), "p": [0.1, 0.2, 0.3]}),
        pl.DataFrame({"y": pl.Series(["b", "a", "b"], dtype=pl.Categorical), "p": [0.1, 0.2, 0.3]}),
        pl.LazyFrame({"y": pl.Series(["b", "a", "b"], dtype=pl.Categorical), "p": [0.1, 0.2, 0.3]}),
        pl.LazyFrame({"y": pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b"])), "p": [0.1, 0.2, 0.3]}),
        pa.table({"y": pa.array(["b", "a", "b"]).dictionary_encode(), "p": [0.1, 0.2, 0.3]}),
    ],
    ids=["pandas", "polars", "lazy", "enum", "pyarrow"],
)
def test_categories(frame):
    assert ScoreTable.from_frame(frame, **NAMES, pos_label="b").k.tolist() == [1, 0, 1]
    with pytest.raises(DataError, match=r"label 'z', found the values ('a', 'b'|'b', 'a') in column y"):
        ScoreTable.from_frame(frame, **NAMES, pos_label="z")


def test_missing_values_of_pandas_in_every_form():
    for missing in (
        pd.array([0.1, None, 0.3], dtype="Float64"),
        pd.array([0, None, 1], dtype="Int64"),
        np.array([0.1, None, 0.3], dtype=object),
        np.array([0.1, np.nan, 0.3]),
    ):
        with pytest.raises(DataError, match=r"found (nan|an empty value) in row 1 of column p;"):
            ScoreTable.from_frame(pd.DataFrame({"y": [0, 1, 1], "p": missing}), **NAMES)
    full = pd.DataFrame({"y": pd.array([0, 1], dtype="Int64"), "p": pd.array([0.1, 0.3], dtype="Float64")})
    assert ScoreTable.from_frame(full, **NAMES).k.tolist() == [0, 1]


def test_the_column_and_the_row_are_named():
    frame = pd.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 1.5], "w": [1.0, -2.0, 1.0]})
    with pytest.raises(DataError, match=r"found 1\.5 in row 2 of column p;"):
        ScoreTable.from_frame(frame, **NAMES)
    with pytest.raises(DataError, match=r"found -2\.0 in row 1 of column w;"):
        ScoreTable.from_frame(frame.assign(p=0.5), **NAMES, weight="w")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_in_memory_are_not_copied(library):
    p = np.linspace(0.0, 1.0, 1000)
    frame = {
        "pandas": lambda: pd.DataFrame({"p": p, "y": 1}, copy=False),
        "polars": lambda: pl.DataFrame({"p": pl.Series(p), "y": np.ones(1000)}),
        "pyarrow": lambda: pa.table({"p": p, "y": np.ones(1000)}),
    }[library]()
    found = frames.open_frame(frame, Schema("y", "p", None, None))
    if library == "polars":
        assert np.shares_memory(found.score, frame["p"].to_numpy(allow_copy=False))
    else:
        assert np.shares_memory(found.score, p)


def test_names_that_are_there_twice():
    in_pandas = pd.DataFrame([[0, 0.1, 0.2]], columns=["y", "p", "p"])
    for frame in (in_pandas, pa.table([[0], [0.1], [0.2]], names=["y", "p", "p"])):
        with pytest.raises(DataError, match="different names of columns"):
            ScoreTable.from_frame(frame, **NAMES)
    relation = connect().sql("SELECT 0 AS y, 0.1 AS p, 0.2 AS p, 1 AS z, 2 AS z")
    with pytest.raises(DataError, match="one column 'p', found 2 of that name"):
        ScoreTable.from_frame(relation, **NAMES)
    other = connect().sql("SELECT 0 AS y, 0.1 AS p, 1 AS z, 2 AS z")
    assert ScoreTable.from_frame(other, **NAMES).total == 1


@pytest.mark.parametrize("frame", [{"y": [0], "p": [0.5]}, [1, 2], np.zeros((2, 2)), None, pl.Series([1.0])])
def test_what_is_no_frame(frame):
    with pytest.raises(DataError, match=r"expected a dataframe.*from_chunks"):
        ScoreTable.from_frame(frame, **NAMES)


@pytest.mark.parametrize("names", [("a.b", "c d"), ('q"q', "q'q"), ("S", "s"), ("bucket", "y"), ("select", "from")])
@pytest.mark.parametrize("library", ["polars", "lazy polars", "duckdb"])
def test_names_of_columns_can_be_anything(library, names, monkeypatch):
    few_in_memory(monkeypatch)
    if library == "duckdb" and names == ("S", "s"):
        pytest.skip("names of DuckDB differ in more than case")
    label, score = names
    frame = LIBRARIES[library]({label: [0, 1, 1], score: [0.1, 0.3, 0.2]})
    assert ScoreTable.from_frame(frame, outcome=label, prediction=score).total == 3


def test_frames_of_narwhals():
    assert ScoreTable.from_frame(nw.from_native(pl.LazyFrame({"y": [0, 1], "p": [0.1, 0.3]})), **NAMES).total == 2


@pytest.fixture
def nan_behind_limits(tmp_path):
    """A Parquet file that declares scores from 0.1 to 0.9, as they are apart from a NaN."""
    path = tmp_path / "nan.parquet"
    pq.write_table(
        pa.table({"y": [0, 1, 1], "p": [0.1, math.nan, 0.9], "w": [1.0, 1.0, math.nan], "q": [0.1, 0.5, 0.9]}), path
    )
    declared = pq.ParquetFile(path).metadata.row_group(0).column(1).statistics
    assert (declared.min, declared.max) == (0.1, 0.9)
    return str(path)


def test_nan_behind_declared_limits(nan_behind_limits):
    for scan in (connect().read_parquet, pl.scan_parquet):
        with pytest.raises(DataError, match=r"scores, found (nan|an empty value or nan) in column p;"):
            ScoreTable.from_frame(scan(nan_behind_limits), **NAMES)
        with pytest.raises(DataError, match=r"found (nan|an empty value or nan) in column w;"):
            ScoreTable.from_frame(scan(nan_behind_limits), outcome="y", prediction="q", weight="w")


class TestErrorsOfEngines:
    def test_duckdb(self):
        relation = connect().sql("SELECT 1 AS y, ('a' || range)::DOUBLE AS p FROM range(3)")
        with pytest.raises(SourceError, match=r"an error of Duckdb: Conversion Error: .*'a0' to DOUBLE; run the query"):
            ScoreTable.from_frame(relation, **NAMES)

    def test_polars(self, tmp_path):
        with pytest.raises(SourceError, match="an error of Polars: "):
            ScoreTable.from_frame(pl.scan_parquet(tmp_path / "none.parquet"), **NAMES)

        def fail(batch):
            raise ValueError("boom")

        broken = pl.LazyFrame({"y": [1], "p": [0.5]}).map_batches(fail)
        with pytest.raises(SourceError, match=r"an error of Polars: .*boom") as found:
            ScoreTable.from_frame(broken, **NAMES)
        assert len(str(found.value)) < 400

    def test_an_interruption(self, monkeypatch):
        def interrupted(_):
            raise RuntimeError("Query interrupted")  # as DuckDB does where Ctrl-C was pressed

        monkeypatch.setattr(frames, "fetch_arrays", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ScoreTable.from_frame(in_duckdb({"y": [0, 1], "p": [0.2, 0.7]}), **NAMES)

    def test_a_panic(self, monkeypatch):
        def panic(_):
            raise pl.exceptions.PanicException("called unwrap")

        monkeypatch.setattr(frames, "fetch_arrays", panic)
        with pytest.raises(SourceError, match="an error of Polars: called unwrap"):
            ScoreTable.from_frame(pl.LazyFrame({"y": [0, 1], "p": [0.2, 0.7]}), **NAMES)

    def test_an_engine_that_lacks_an_aggregation(self, monkeypatch):
        """As Dask does: narwhals refuses to add up by group what is more than one of its columns."""

        def refuse(*_):
            raise ValueError("Non-trivial complex aggregation found.\n\nHint: rewrite your query")

        monkeypatch.setattr(nw.LazyFrame, "group_by", refuse)
        monkeypatch.setattr(engine, "_MOST_EXACT", 1)
        relation = in_duckdb({"y": [0, 1], "p": [0.2, 0.7], "site": ["a", "b"]})
        rows = frames.open_frame(relation, Schema("y", "p", by=("site",)))
        for ask in (rows.table, lambda: rows.segments(Request(1, 1, {}))):
            with pytest.raises(SourceError, match=": Non-trivial complex aggregation found; collect it") as found:
                ask()
            assert "Hint" not in str(found.value)


def table_of(make, name):
    y, s, w = CASES[name]
    columns = {"y": y, "p": s} | ({} if w is None else {"w": w})
    return ScoreTable.from_frame(make(columns), **NAMES, **weighing(name, "w"))


# How often an engine is asked before it is asked for sums. First all rows are counted, which most know without a scan.
LOOKS = 2
# Estimates of DuckDB, from 64 registers, have a standard error of 13%, and differ with its version: three of them.
NEAR_300_000 = 180_000, 430_000


class TestScans:
    """How often the rows are looked at."""

    @pytest.fixture
    def scans(self, monkeypatch):
        count = []

        def counted(frame):
            count.append(frame)
            return lazy_rows.fetch_arrays(frame)

        monkeypatch.setattr(frames, "fetch_arrays", counted)
        return count

    @pytest.fixture(params=["duckdb", "lazy polars"])
    def make(self, request):
        return LIBRARIES[request.param]

    def test_once_more_if_few_scores_are_different(self, make, scans):
        y, s, _ = CASES["calibrated"]
        ScoreTable.from_frame(make({"y": y, "p": s}), **NAMES)
        assert len(scans) == LOOKS + 1

    def test_one_more_for_each_division(self, make, scans, monkeypatch):
        y, s, _ = CASES["calibrated"]
        few_in_memory(monkeypatch)
        monkeypatch.setattr(gathering, "FIRST_BITS", 16)
        table = ScoreTable.from_frame(make({"y": y, "p": s}), **NAMES)
        assert_same(table, "calibrated")
        # Rows are handed over in batches, which is not counted here, until they are few enough to be kept.
        assert LOOKS <= len(scans) <= LOOKS + 6
        scans.clear()
        monkeypatch.setattr(frames, "_batches", lambda frame: None)
        table = ScoreTable.from_frame(make({"y": y, "p": s}), **NAMES)
        assert_same(table, "calibrated")
        assert 3 <= len(scans) <= 4

    @pytest.mark.parametrize("name", CASES)
    def test_at_most_four(self, make, scans, name, monkeypatch):
        few_in_memory(monkeypatch)
        monkeypatch.setattr(frames, "_batches", lambda frame: None)
        assert_same(table_of(make, name), name, rounded=name in BROKEN)
        assert len(scans) <= 4 + (name in BROKEN)  # pairs of score and weight are counted by themselves

    @pytest.mark.parametrize("name", ["calibrated", "tiny", "bent both ways", "backwards", "weights"])
    def test_beyond_many_different_scores_the_fit_is_that_of_cells(self, make, scans, name, monkeypatch):
        few_in_memory(monkeypatch)
        monkeypatch.setattr(frames, "_batches", lambda frame: None)
        monkeypatch.setattr(gathering, "MOST_CORNERED", 0)
        assert summary(table_of(make, name))[0] == expected(name)[0]
        assert len(scans) <= 4

    @pytest.mark.parametrize("name", ["calibrated", "tiny", "skewed", "half at one score", "ties"])
    def test_what_the_last_scan_leaves_open_stays_within_limits(self, make, scans, name, monkeypatch):
        few_in_memory(monkeypatch)
        monkeypatch.setattr(frames, "_batches", lambda frame: None)
        monkeypatch.setattr(gathering, "MOST_FETCHED", 5)
        monkeypatch.setattr(refinement, "LATER_BITS", 6)
        found, wanted = cutoff_calibration(table_of(make, name)), expected(name)[0][0]
        assert found.value <= wanted + 1e-12
        assert wanted <= found.value_upper + 1e-12
        assert len(scans) <= 4

    def test_rows_are_handed_over_without_pyarrow(self, make, monkeypatch):
        monkeypatch.setattr(gathering, "MOST_DISTINCT", -1)
        frame = make({"y": [0, 1], "p": [0.2, 0.7]})
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        table = ScoreTable.from_frame(frame, **NAMES)
        assert (table.cells is not None, table.total, table.positives) == (True, 2, 1)

    def test_once_more_for_broken_weights(self, make, scans):
        y, s, w = CASES["weights of tenths"]
        ScoreTable.from_frame(make({"y": y, "p": s, "w": w}), **NAMES, weight="w")
        assert len(scans) == LOOKS + 1

    @pytest.mark.parametrize(("column", "more"), [({"p": [0.2, math.inf]}, 0), ({"p": [0.2, 1.2]}, 1)])
    def test_twice_more_if_a_value_is_wrong(self, make, scans, column, more):
        """To count what is wrong and for an example; once more where the advice depends on where scores lie."""
        with pytest.raises(CalibrantError):
            ScoreTable.from_frame(make({"y": [0, 1]} | column), **NAMES)
        assert len(scans) == LOOKS + 2 + more

    def test_different_scores_are_estimated(self, make):
        rng = np.random.default_rng(5)
        few, many = rng.integers(0, 1000, 300_000) / 1000, rng.random(300_000)
        for scores, least, most in ((few, 0, 10_000), (many, *NEAR_300_000)):
            found = frames.open_frame(make({"y": few > 0.5, "p": scores}), Schema("y", "p", None, None))
            assert least <= found.checked.distinct <= most

    def test_different_weights_are_estimated(self, make):
        # Few scores, but each row with a weight of its own: the pairs are as many as the rows.
        rng = np.random.default_rng(6)
        columns = {"y": rng.integers(0, 2, 300_000), "p": rng.integers(0, 10, 300_000) / 10, "w": rng.random(300_000)}
        found = frames.open_frame(make(columns), Schema("y", "p", "w", None))
        least, most = NEAR_300_000
        assert least <= found.checked.distinct <= most


@pytest.mark.parametrize("library", ["duckdb", "lazy polars"])
def test_many_buckets_can_be_looked_into(library):
    # A hundred thousand numbers would be too many to write into a condition.
    from calibrant.cells.bucket_sums import BucketSet, Grid

    units = np.arange(200_000, dtype=np.int64) << 20
    frame = LIBRARIES[library]({"y": np.arange(200_000) % 2, "p": units * 2.0**-42})
    rows = unchecked_rows(LazyColumns(nw.from_native(frame), Schema("y", "p"), fetch_arrays))
    score, n, k = rows.pool_scores(BucketSet(Grid(20), np.arange(0, 200_000, 2)))
    np.testing.assert_array_equal(score, units[::2] * 2.0**-42)
    assert (n.sum(), k.sum()) == (100_000, 0)
