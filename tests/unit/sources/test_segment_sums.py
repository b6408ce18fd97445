"""Totals of segments are those of the arrays, whichever way the rows come."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.totals import Request
from calibrant.sources import engine
from calibrant.sources.given import rows_of
from calibrant.sources.query import Query
from calibrant.sources.schema import Schema

BY = ["sex", "age", "branch", "year"]


def segments_of_source(source, by, request):
    with rows_of(source, Schema("y", "p", by=tuple(by))) as rows:
        return rows.segments(request)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 8000
    score = np.round(rng.beta(1.0, 2.0, n), 4)
    score[:3] = 0.0, 1.0, 1.0
    age = np.round(rng.normal(40.0, 10.0, n), 3)
    age[rng.random(n) < 0.02] = np.nan
    chance = np.r_[np.full(8, 0.12), np.full(8, 0.005)]
    return pd.DataFrame(
        {
            "y": (rng.random(n) < score).astype(int),
            "p": score,
            "sex": rng.choice(["F", "M", None], n, p=[0.5, 0.45, 0.05]),
            "age": age,
            "branch": rng.choice([f"branch {i}" for i in range(16)], n, p=chance),
            "year": rng.integers(2000, 2005, n),
        }
    )


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("segments")
    frame.to_parquet(folder / "rows.parquet")
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    frame[:4000].to_csv(folder / "part-1.csv", index=False)
    frame[4000:].to_csv(folder / "part-2.csv", index=False)
    return folder


def sources(frame, files):
    polars = pl.from_pandas(frame)
    return {
        "polars": polars,
        "pyarrow": pa.Table.from_pandas(frame),
        "polars lazily": polars.lazy(),
        "duckdb": duckdb.sql(f"SELECT * FROM '{files}/rows.parquet'"),
        "parquet": str(files / "rows.parquet"),
        "csv": files / "rows.csv",
        "json lines": str(files / "rows.jsonl"),
        "two files": str(files / "part-*.csv"),
        "query": Query(f"SELECT * FROM '{files}/rows.parquet'"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "few", [pytest.param(True, id="taken out", marks=pytest.mark.slow), pytest.param(False, id="added up there")]
)
def test_every_route(frame, files, few, monkeypatch):
    request = Request(2, 100, {"age": [30.0, 45.5]})
    wanted = segments_of_source(frame, BY, request)
    if not few:
        monkeypatch.setattr(engine, "_MOST_EXACT", 100)
    for name, source in sources(frame, files).items():
        found = segments_of_source(source, BY, request)
        assert found.families == wanted.families, name
        assert (found.n, found.k) == (wanted.n, wanted.k), name
        for one, other in zip(wanted.totals, found.totals, strict=True):
            assert (one.n == other.n).all(), name
            assert (one.k == other.k).all(), name
            for field in ("rise", "fall", "squares", "fourths"):
                assert getattr(other, field) == pytest.approx(getattr(one, field)), (name, field)
            assert (other.value <= one.value + 1e-9).all(), name
            assert (other.at_most >= one.value - 1e-9).all(), name
            assert found.exact == (few or name in ("polars", "pyarrow")), name


def test_the_engine_finds_quantiles_of_very_many_values(frame, files, monkeypatch):
    monkeypatch.setattr(engine, "_MOST_EXACT", 100)
    monkeypatch.setattr(engine, "_MOST_VALUES", 1000)
    found = segments_of_source(files / "rows.parquet", ["age"], Request(1, 100, {}))
    n = found.totals[0].n
    assert n[:5] == pytest.approx(np.full(5, n[:5].mean()), rel=0.01)
    assert n[5] == frame["age"].isna().sum()


@pytest.mark.parametrize(
    ("sql", "cuts"),
    [
        ("range + 1", None),
        ("range // 2", [799, 1599, 2399, 3199]),
        ("CASE WHEN range < 900 THEN range ELSE 5000 END", [899]),
        ("CASE WHEN range < 900 THEN range / 7 ELSE 5000.5 END", [128.5]),
        ("CAST(range / 8000 AS DECIMAL(9, 6))", [0.2, 0.4, 0.6, 0.8]),
        ("range / 7 * 100", [22860, 45710, 68570, 91420]),
    ],
    ids=["identifier", "whole", "most whole at the top", "most at the top", "decimals", "rounded"],
)
@pytest.mark.parametrize("library", ["duckdb", "polars lazily"])
def test_cuts_that_the_engine_finds(sql, cuts, library, monkeypatch):
    monkeypatch.setattr(engine, "_MOST_EXACT", 100)
    monkeypatch.setattr(engine, "_MOST_VALUES", 500)
    rows = duckdb.sql(f"SELECT range % 2 AS y, 0.5 AS p, {sql} AS x FROM range(8000)")
    rows = rows if library == "duckdb" else rows.pl().lazy()
    if cuts is None:
        with pytest.raises(DataError, match="cut a measurement"):
            segments_of_source(rows, ["x"], Request(1, 100, {}))
        return
    found = segments_of_source(rows, ["x"], Request(1, 100, {})).families[0].columns[0]
    assert found.cuts == tuple(cuts)
    assert found.labels[0] == f"up to {cuts[0]}"


@pytest.mark.parametrize("few", [True, False])
def test_columns_of_files_that_name_no_segments(files, few, monkeypatch):
    if not few:
        monkeypatch.setattr(engine, "_MOST_EXACT", 100)
        monkeypatch.setattr(engine, "_MOST_VALUES", 1000)
    wide = Query(
        "SELECT *, 'row ' || row_number() OVER () AS name, 'a' AS same, NULL AS nothing, "
        "DATE '2020-01-01' + CAST(row_number() OVER () % 90 AS INTEGER) AS day "
        f"FROM '{files}/rows.parquet'"
    )
    for name, says in {"name": "different values in", "day": "weekday", "nothing": "found none"}.items():
        with pytest.raises(DataError, match=says):
            segments_of_source(wide, [name], Request(1, 100, {}))
    assert segments_of_source(wide, ["same"], Request(1, 100, {})).families[0].columns[0].labels == ("a",)


@pytest.mark.parametrize(("name", "write"), [("rows.csv", "to_csv"), ("rows.jsonl", "to_json")])
def test_booleans_of_text_files_are_those_of_frames(name, write, tmp_path):
    frame = pd.DataFrame({"y": [0, 1, 1, 0] * 100, "p": 0.5, "truth": [True, False, False, True] * 100})
    keywords = {"orient": "records", "lines": True} if write == "to_json" else {"index": False}
    getattr(frame, write)(tmp_path / name, **keywords)
    (tmp_path / "lower.csv").write_text(frame.to_csv(index=False).lower())
    for source in (frame, tmp_path / name, tmp_path / "lower.csv"):
        found = segments_of_source(source, ["truth"], Request(1, 100, {}))
        assert found.families[0].columns[0].labels == ("False", "True")


def test_cuts_of_a_misspelt_column(frame):
    with pytest.raises(ArgumentError, match="check the spelling"):
        segments_of_source(frame, ["age"], Request(1, 100, {"agee": [1.0]}))


@pytest.mark.parametrize("few", [True, False], ids=["taken out", "added up there"])
def test_types_that_only_engines_have(few, monkeypatch):
    if not few:
        monkeypatch.setattr(engine, "_MOST_EXACT", 100)
    relation = duckdb.sql(
        "SELECT i % 2 AS y, (i % 97) / 100 AS p, "
        "CASE i % 3 WHEN 0 THEN 'b' WHEN 1 THEN 'a' END::ENUM('b', 'a') AS name, "
        "1.5::DECIMAL(9, 2) + (i % 2)::DECIMAL(9, 2) AS decimal, (i % 2)::HUGEINT AS huge, i % 2 = 1 AS truth "
        "FROM range(1200) AS numbers(i)"
    )
    found = segments_of_source(relation, ["name", "decimal", "huge", "truth"], Request(1, 100, {}))
    labels = [family.columns[0].labels for family in found.families]
    assert labels == [("a", "b", "missing"), ("1.5", "2.5"), ("0", "1"), ("False", "True")]
    assert [totals.n.tolist() for totals in found.totals] == [[400, 400, 400], [600, 600], [600, 600], [600, 600]]
