"""The same rows by every route give the same error, interval and isotonic fit, to the last bit."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import ScoreTable
from calibrant.sources import frames
from calibrant.sources.files import read_table
from calibrant.sources.query import Query
from support.routes import BROKEN, CASES, ROUNDED, assert_same, few_in_memory, weighing

NAMES = {"outcome": "y", "prediction": "s"}


def columns_of(name):
    y, s, w = CASES[name]
    return {"y": y, "s": s} | ({} if w is None else {"w": w})


def keywords(name):
    return NAMES | weighing(name, "w")


def by_chunks(name, folder):
    y, s, w = CASES[name]
    edges = [0, 1, 700, 700, 2900, len(y)]

    def chunks():
        for low, high in pairwise(edges):
            part = slice(min(low, len(y)), min(high, len(y)))
            yield (y[part], s[part]) if w is None else (y[part], s[part], w[part])

    return ScoreTable.from_chunks(chunks, counted=name not in BROKEN)


def by_parquet(name, folder):
    pq.write_table(pa.table(columns_of(name)), folder / "a.parquet", row_group_size=512)
    return read_table(folder / "a.parquet", **keywords(name))


def by_csv(name, folder):
    columns = [column.tolist() for column in columns_of(name).values()]
    # float32 scores are written with the digits of the float64 they are judged in
    lines = [",".join(map(repr, row)) for row in zip(*columns, strict=True)]
    (folder / "a.csv").write_text("\n".join([",".join(columns_of(name)), *lines]) + "\n")
    return read_table(folder / "a.csv", **keywords(name))


def by_query(name, folder):
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        relation(name, connection).create("scores")
    query = Query("SELECT * FROM scores", str(folder / "a.duckdb"))
    return read_table(query, **keywords(name))


def relation(name, connection):
    arrow = pa.table(columns_of(name))
    return connection.from_arrow(arrow)


def by_pandas(name, folder):
    return ScoreTable.from_frame(pd.DataFrame(columns_of(name)), **keywords(name))


def by_polars(name, folder):
    return ScoreTable.from_frame(pl.DataFrame(columns_of(name)), **keywords(name))


def by_lazy_polars(name, folder):
    return ScoreTable.from_frame(pl.LazyFrame(columns_of(name)), **keywords(name))


def by_pyarrow(name, folder):
    return ScoreTable.from_frame(pa.table(columns_of(name)), **keywords(name))


def by_duckdb(name, folder):
    with duckdb.connect() as connection:
        return ScoreTable.from_frame(relation(name, connection), **keywords(name))


def by_sums_of_duckdb(name, folder):
    """As in Spark: only sums come back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "_batches", lambda frame: None)
        return by_duckdb(name, folder)


AS_A_WHOLE = [by_pandas, by_polars, by_pyarrow]
IN_PARTS = [by_chunks, by_parquet, by_csv, by_query, by_lazy_polars, by_duckdb, by_sums_of_duckdb]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("route", AS_A_WHOLE + IN_PARTS, ids=lambda f: f.__name__)
def test_score_by_score(route, name, tmp_path):
    table = route(name, tmp_path)
    assert table.exact
    assert_same(table, name, rounded=route in IN_PARTS and name in ROUNDED)
    if table.whole:  # what is seeded is the same as well
        y, s, _ = CASES[name]
        assert table.digest == ScoreTable.from_scores(y, s, **weighing(name)).digest


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    # Text files and queries differ from Parquet files in how they are read, which the test above has shown.
    "route",
    [pytest.param(f, marks=[pytest.mark.slow] if f in {by_csv, by_query} else [], id=f.__name__) for f in IN_PARTS],
)
def test_by_cells(route, name, tmp_path, monkeypatch):
    few_in_memory(monkeypatch)
    table = route(name, tmp_path)
    assert table.cells is not None
    assert_same(table, name, rounded=name in BROKEN)
