"""Files that are replaced while they are read: one clear error, whatever is in them then."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import ScoreTable
from calibrant.cells import refinement
from calibrant.cells.frame_rows import LazyRows
from calibrant.errors import DataError, SourceError
from calibrant.sources import files, frames
from calibrant.sources.files import FileSlices, read_table
from support.routes import CASES, few_in_memory

NAMES = {"outcome": "y", "prediction": "s"}
Y, S, _ = CASES["calibrated"]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    few_in_memory(monkeypatch)


@pytest.fixture
def path(tmp_path):
    """A file with labels that have to be checked first."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y": 2 * Y - 1, "s": S}), path, row_group_size=300)
    return path


def read(path, route):
    if route == "file":
        return read_table(path, **NAMES)
    with duckdb.connect() as connection:
        return ScoreTable.from_frame(connection.read_parquet(str(path)), **NAMES)


def replace_after(monkeypatch, module, name, path, columns):
    """Replace a file once a function has been called."""
    called = getattr(module, name)

    def call_and_replace(*args, **options):
        result = called(*args, **options)
        pq.write_table(pa.table(columns), path, row_group_size=300)
        return result

    monkeypatch.setattr(module, name, call_and_replace)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "an empty value"),
        (np.nan, "(an empty value|no number from 0 to 1)"),
        (1.5, "no number from 0 to 1"),
    ],
)
@pytest.mark.parametrize("route", ["file", "duckdb"])
def test_a_score_that_cannot_be_used_after_the_check(path, monkeypatch, route, value, message):
    columns = {"y": 2 * Y - 1, "s": [value, *S[1:].tolist()]}
    replace_after(monkeypatch, files if route == "file" else frames, "inspect", path, columns)
    with pytest.raises(DataError, match=f"the same rows at every reading, found .*{message}"):
        read(path, route)


def test_another_column_after_the_check(path, monkeypatch):
    replace_after(monkeypatch, files, "inspect", path, {"y": 2 * Y - 1, "p": S})
    with pytest.raises(SourceError, match=r"the same columns at every reading, found others in .*a\.parquet"):
        read_table(path, **NAMES)


@pytest.mark.parametrize("route", ["file", "duckdb"])
def test_no_row_in_the_buckets_that_are_asked_for(path, monkeypatch, route):
    pq.write_table(pa.table({"y": Y, "s": S}), path, row_group_size=300)
    monkeypatch.setattr(refinement, "_KEPT", -len(S))
    of, name = (FileSlices, "inside") if route == "file" else (LazyRows, "fetch_rows")
    asked = getattr(of, name)

    def replace_and_ask(self, buckets):
        pq.write_table(pa.table({"y": Y[:0], "s": S[:0]}), path)
        return asked(self, buckets)

    monkeypatch.setattr(of, name, replace_and_ask)
    with pytest.raises(DataError, match="at least one row"):
        read(path, route)


def test_a_file_that_is_gone_after_the_check(path, monkeypatch):
    def gone(self):
        raise duckdb.IOException("No files found that match the pattern")  # of DuckDB 1, which looks at once

    monkeypatch.setattr(LazyRows, "handed_over", gone)
    with pytest.raises(SourceError, match="an error of Duckdb: No files found that match"):
        read(path, "duckdb")
