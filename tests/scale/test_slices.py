"""Files read in slices: by row groups where that is fast, else from a copy; the same rows either way."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.cells import fine_sums
from calibrant.cells.slices import PackedRows
from calibrant.errors import DataError, SourceError
from calibrant.sources import connection, files, query_runner, source
from calibrant.sources.checks import check
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from calibrant.sources.protocol import Columns
from calibrant.sources.query import Query
from calibrant.table.progress import job
from support.routes import CASES, assert_same, few_in_memory

NAMES = {"label": "y", "score": "s"}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    few_in_memory(monkeypatch)
    monkeypatch.setattr(source, "SPAN_ROWS", 700)
    monkeypatch.setattr(connection, "SPAN_ROWS", 700)
    monkeypatch.setattr(files, "_LEAST", 1)


@pytest.fixture
def copies(monkeypatch):
    """Queries of which the result was copied."""
    listed = []
    copied = source.Source.copied
    monkeypatch.setattr(source.Source, "copied", lambda self, query: listed.append(query) or copied(self, query))
    return listed


def write(path, name="calibrated", *, groups=300, also=()):
    y, s, w = CASES[name]
    columns = {"y": y, "s": s} | ({} if w is None else {"w": w}) | dict.fromkeys(also, np.zeros(len(y)))
    pq.write_table(pa.table(columns), path, row_group_size=groups)
    return path


def spans_of(path):
    with open_source(path) as opened:
        found = check(opened, Columns("y", "s", None, None))
        rows = list(files.FileSlices(opened, found).all())
    return [len(part.value) for part in rows], rows


def test_whole_row_groups(tmp_path, copies):
    lengths, rows = spans_of(write(tmp_path / "a.parquet"))
    assert lengths == [600] * 5  # two groups of 300 rows are at most 700
    y, s, _ = CASES["calibrated"]
    found = np.concatenate([part.value for part in rows])
    assert sorted(found.tolist()) == sorted(np.where(y == 1, s, -s).tolist())
    assert not copies


def test_groups_larger_than_a_span(tmp_path, copies):
    assert spans_of(write(tmp_path / "a.parquet", groups=1000))[0] == [1000] * 3
    assert not copies


@pytest.mark.parametrize("case", ["one group", "a name that is taken", "small files", "some with a group too large"])
def test_copied_where_spans_are_slow(tmp_path, copies, monkeypatch, case):
    place = tmp_path / "a.parquet"
    if case == "one group":
        monkeypatch.setattr(connection, "_MOST_IN_GROUP", 2999)
        write(place, groups=3000)
    elif case == "a name that is taken":
        write(place, also=["File_Row_Number"])
    else:
        place = tmp_path
        monkeypatch.setattr(files, "_LEAST", 1 if case != "small files" else 2000)
        monkeypatch.setattr(connection, "_MOST_IN_GROUP", 1000)
        y, s, _ = CASES["calibrated"]
        for i, part in enumerate((slice(0, 1200), slice(1200, 3000))):
            groups = 300 if case == "small files" or i else 1200
            pq.write_table(pa.table({"y": y[part], "s": s[part]}), tmp_path / f"{i}.parquet", row_group_size=groups)
    assert_same(read_table(place, **NAMES), "calibrated")
    assert len(copies) == 1


@pytest.mark.parametrize("name", ["weights", "weights of halves"])
@pytest.mark.parametrize("groups", [300, 3000])
def test_weights(tmp_path, monkeypatch, name, groups):
    monkeypatch.setattr(connection, "_MOST_IN_GROUP", 2999)
    table = read_table(write(tmp_path / "a.parquet", name, groups=groups), **NAMES, weight="w")
    assert table.cells is not None
    assert_same(table, name, rounded=name == "weights of halves")


def test_parts_with_their_columns_in_another_order(tmp_path, copies):
    y, s, _ = CASES["calibrated"]
    pq.write_table(pa.table({"y": y[:1700], "s": s[:1700]}), tmp_path / "a.parquet", row_group_size=400)
    pq.write_table(pa.table({"x": y[1700:], "s": s[1700:], "y": y[1700:] == 1}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="one kind of values in column 'y'"):
        read_table(tmp_path, **NAMES)
    other = pa.table({"x": y[1700:], "s": s[1700:], "y": y[1700:].astype(np.int8)})
    pq.write_table(other, tmp_path / "b.parquet", row_group_size=400)
    assert_same(read_table(tmp_path, **NAMES), "calibrated")
    assert not copies


def test_a_query_is_copied_once(tmp_path, copies):
    path = write(tmp_path / "a.parquet")
    table = read_table(Query(f"SELECT * FROM '{path}'"), **NAMES)
    assert table.cells is not None
    assert_same(table, "calibrated")
    assert not copies  # the copy of the query has spans of its own


def test_text_is_copied(tmp_path, copies):
    y, s, _ = CASES["calibrated"]
    lines = [f"{a},{b!r}" for a, b in zip(y.tolist(), s.tolist(), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["y,s", *lines]) + "\n")
    assert_same(read_table(tmp_path / "a.csv", **NAMES), "calibrated")
    assert len(copies) == 1


def test_progress_in_rows(tmp_path, monkeypatch):
    seen = []
    reached = query_runner.QueryRunner.reached
    monkeypatch.setattr(
        query_runner.QueryRunner, "reached", lambda self, count: seen.append(count) or reached(self, count)
    )
    with job(lambda *_: None):
        read_table(write(tmp_path / "a.parquet"), **NAMES)
    assert seen == [0, 600, 1200, 1800, 2400, None] * (len(seen) // 6)  # of one scan after the other
    assert seen


def test_parts_without_rows_are_no_reason_to_copy(tmp_path, copies):
    write(tmp_path / "a.parquet")
    y, s, _ = CASES["calibrated"]
    pq.write_table(pa.table({"y": y[:0], "s": s[:0]}), tmp_path / "b.parquet")
    assert_same(read_table(tmp_path, **NAMES), "calibrated")
    assert not copies


@pytest.mark.parametrize("other", ["fewer", "other labels", "beyond"])
def test_a_file_that_is_replaced_between_the_scans(tmp_path, monkeypatch, other):
    path = write(tmp_path / "a.parquet")
    y, s, _ = CASES["calibrated"]
    rows = {
        "fewer": (y[:2000], s[:2000]),
        "other labels": (1 - y, s),
        "beyond": (y, np.where(s == s.max(), 1.0, s)),
    }
    replaced = False

    def sums_and_replace(self):
        nonlocal replaced
        found = sums(self)
        if not replaced:
            pq.write_table(pa.table(dict(zip("ys", rows[other], strict=True))), path, row_group_size=300)
            replaced = True
        return found

    sums = fine_sums.FineSums.sums
    monkeypatch.setattr(fine_sums.FineSums, "sums", sums_and_replace)
    with pytest.raises((DataError, SourceError), match=r"the same rows at every reading|damaged or cut short"):
        read_table(path, **NAMES)


def test_no_thread_stays_behind(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet")
    before = threading.active_count()

    def broken(self, rows):
        raise ValueError("stopped midway")

    monkeypatch.setattr("calibrant.cells.fine_sums.FineSums.add", broken)
    with pytest.raises(ValueError, match="stopped midway"):
        read_table(path, **NAMES)
    assert threading.active_count() == before


def test_a_file_damaged_after_the_check(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet")
    read = files.FileSlices._read

    def damaged(self, span):
        path.write_bytes(path.read_bytes()[:1000])
        return read(self, span)

    monkeypatch.setattr(files.FileSlices, "_read", damaged)
    with pytest.raises(SourceError, match=r"a whole Parquet file, found .*a.parquet damaged or cut short"):
        read_table(path, **NAMES)


def test_slices_are_packed_rows(tmp_path):
    _, rows = spans_of(write(tmp_path / "a.parquet"))
    assert all(isinstance(part, PackedRows) for part in rows)
    assert {part.value.dtype for part in rows} == {np.dtype(np.float64)}
