"""Rows are read one by one, in the order of the file, with the group each belongs to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from calibrant import DataError, SourceError
from calibrant.sources.schema import Schema
from support.routes import held_rows

COLUMNS = Schema("y", "p", cluster=("g",))


def test_rows_keep_the_order_of_the_file(write):
    rng = np.random.default_rng(0)
    n = 5000
    p, g = rng.random(n), rng.integers(0, 300, n)
    y = rng.random(n) < p
    lines = "\n".join(f"{int(a)},{b!r},case {c}" for a, b, c in zip(y, p.tolist(), g, strict=True))
    rows = held_rows(write("rows.csv", f"y,p,g\n{lines}\n"), COLUMNS)
    np.testing.assert_array_equal(rows.label, y)
    np.testing.assert_array_equal(rows.score, p)
    names = sorted({f"case {c}" for c in g})
    np.testing.assert_array_equal(rows.clusters, [names.index(f"case {c}") for c in g])
    assert rows.count is None


def test_rows_of_parquet_with_counts(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"y": [1, 0, 1], "p": [0.5, 0.25, 1.0], "g": [7, 7, 3], "w": [1.0, 2.0, 0.0]}).write_parquet(path)
    rows = held_rows(path, replace(COLUMNS, count="w"))
    assert rows.label.tolist() == [True, False, True]
    assert rows.clusters.tolist() == [1, 1, 0]
    assert rows.count.tolist() == [1, 2, 0]
    with pytest.raises(DataError, match="weights that count no rows"):
        held_rows(path, replace(COLUMNS, weight="w"))


def test_several_columns_name_a_group_together(write):
    path = write("rows.csv", "y,p,year,state\n0,0.1,1,11\n1,0.2,11,1\n1,0.3,1,11\n")
    rows = held_rows(path, Schema("y", "p", cluster=("year", "state")))
    assert rows.clusters.tolist() == [0, 1, 0]


def test_some_of_the_columns_that_name_a_group_may_be_empty(write):
    path = write("rows.csv", "y,p,year,state\n0,0.1,,a\n1,0.2,1,\n1,0.3,,a\n")
    assert held_rows(path, Schema("y", "p", cluster=("year", "state"))).clusters.tolist() == [0, 1, 0]
    path = write("rows.csv", "y,p,year,state\n0,0.1,,a\n1,0.2,,\n")
    with pytest.raises(DataError, match="row 2 of column year and state"):
        held_rows(path, Schema("y", "p", cluster=("year", "state")))


def test_a_row_without_a_group_is_named(write):
    path = write("rows.csv", "y,p,g\n0,0.1,a\n1,0.2,\n1,0.3,\n")
    with pytest.raises(DataError, match=r"a cluster in every row.*row 2 of column g.*1 more"):
        held_rows(path, COLUMNS)


def test_other_mistakes_are_those_of_tables(write):
    path = write("rows.csv", "y,p,g\n0,0.1,a\n1,1.2,a\n")
    with pytest.raises(DataError, match="scores between 0 and 1"):
        held_rows(path, COLUMNS)
    with pytest.raises(SourceError, match="a column 'race'"):
        held_rows(path, Schema("y", "p", cluster=("race",)))
