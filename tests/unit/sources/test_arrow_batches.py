"""Batches of rows out of DuckDB."""

from __future__ import annotations

import ctypes

import duckdb
import pytest

from calibrant.sources.engine import UnfitRowsError, read_batches

ROWS = "SELECT i / 1e6 AS s, CAST(i % 2 AS TINYINT) AS y FROM range(500000) AS numbers(i)"


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


def test_all_rows_in_batches(connection):
    sizes = [(len(batch["s"]), int(batch["y"].sum())) for batch in read_batches(connection.sql(ROWS))]
    assert tuple(map(sum, zip(*sizes, strict=True))) == (500_000, 250_000)


class OfDuckDB1:
    """A relation as those of DuckDB 1, which run at once and keep the result unless it is begun by rows."""

    def __init__(self, relation):
        self.columns, self.types, self._relation = relation.columns, relation.types, relation
        self.begun = []

    def fetchmany(self, rows):
        self.begun.append(rows)
        return []

    def __arrow_c_stream__(self):
        assert self.begun == [0]
        return self._relation.__arrow_c_stream__()


def test_results_are_not_kept(connection):
    assert sum(len(batch["s"]) for batch in read_batches(OfDuckDB1(connection.sql(ROWS)))) == 500_000


def test_what_others_declare_for_python_does_not_matter(connection, monkeypatch):
    monkeypatch.setattr(ctypes.pythonapi.PyCapsule_GetPointer, "restype", ctypes.c_int)
    assert len(next(read_batches(connection.sql(ROWS)))["s"])


def test_a_missing_value(connection):
    with pytest.raises(UnfitRowsError):
        list(read_batches(connection.sql("SELECT CASE WHEN i < 9 THEN 0.5::DOUBLE END AS s FROM range(10) t(i)")))


@pytest.mark.parametrize("end", ["closed", "dropped", "failed"])
def test_a_connection_is_free_when_reading_ends_early(connection, end):
    batches = read_batches(connection.sql(ROWS))
    next(batches)
    if end == "closed":
        batches.close()
    elif end == "dropped":
        del batches
    else:
        with pytest.raises(ValueError, match="midway"):
            batches.throw(ValueError("midway"))
    assert connection.sql("SELECT 1").fetchall() == [(1,)]
