"""Files read in slices, checked as they are added up where that can be: the same table as by every other route."""

from __future__ import annotations

import itertools
import sqlite3
import threading

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import ScoreTable
from calibrant.cells import gathering, slices
from calibrant.cells.bucket_sums import BucketSet, Grid
from calibrant.cells.frame_rows import LazyRows, fetch_arrays
from calibrant.errors import DataError, SourceError
from calibrant.sources import engine, files, source
from calibrant.sources.columns import inspect
from calibrant.sources.connection import open_source
from calibrant.sources.files import FileSlices, read_table
from calibrant.sources.query import Query
from calibrant.table.progress import job
from support.routes import CASES, assert_same, few_in_memory, weighing

NAMES = {"outcome": "y", "prediction": "s"}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    few_in_memory(monkeypatch)


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


def slices_of(path):
    with open_source(path) as opened:
        return [part._replace(score=part.score.copy()) for part in slices_in(opened).all()]


def slices_in(opened):
    relation = opened.relation(f"SELECT s, y FROM ({opened.sql})")
    return FileSlices(opened, LazyRows(nw.from_native(relation), "none", fetch_arrays))


def test_all_rows_once(tmp_path, copies):
    found = np.concatenate([part.score for part in slices_of(write(tmp_path / "a.parquet"))])
    assert sorted(found.tolist()) == sorted(CASES["calibrated"][1].tolist())
    assert not copies


@pytest.mark.parametrize(("shift", "more"), [(2, 0), (21, 3), (26, 0)])
def test_rows_in_some_buckets_are_few(tmp_path, shift, more):
    """Buckets are taken together only if that adds few rows: their numbers span 2**16, 2**21 and 2**40 here."""
    s = CASES["skewed"][1]
    grid = Grid(shift)
    number = grid.bucket_of(s)
    asked = np.array([number.min(), number.max()])
    with open_source(write(tmp_path / "a.parquet", "skewed")) as opened:
        fetched = slices_in(opened).inside(BucketSet(grid, asked))
    exact = np.isin(number, asked)
    assert np.isin(s[exact], fetched.score).all()
    assert len(fetched.score) <= np.isin(number >> more, asked >> more).sum()


@pytest.fixture
def checks(monkeypatch):
    """How often all rows were checked before they were added up."""
    listed = []
    monkeypatch.setattr(files, "inspect", lambda *args: listed.append(args) or inspect(*args))
    return listed


def test_rows_that_are_fit_are_scanned_once(tmp_path, checks):
    for name in ("calibrated", "weights"):
        assert_same(read_table(write(tmp_path / "a.parquet", name), **NAMES, **weighing(name, "w")), name)
        assert not checks


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("s", None, "row 2346 of column s"),
        ("s", np.nan, "row 2346 of column s"),
        ("s", 1.5, "row 2346 of column s"),
        ("s", -0.1, "row 2346 of column s"),
        ("y", None, "row 2346 of column y"),
        ("y", 3.0, "row 2346 of column y"),
        ("y", np.nan, "row 2346 of column y"),
        ("w", None, "row 2346 of column w"),
        ("w", -1.0, "row 2346 of column w"),
        ("w", np.inf, "row 2346 of column w"),
    ],
)
def test_rows_that_are_not_fit_are_named(tmp_path, checks, column, value, message):
    columns = dict(zip("ysw", (values.astype(np.float64).tolist() for values in CASES["weights"]), strict=True))
    columns[column][2345] = value
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=300)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "a.parquet", **NAMES, weight="w")
    assert len(checks) == 1


@pytest.mark.parametrize("change", ["labels of -1", "whole weights as floats", "a broken weight", "booleans"])
def test_rows_that_need_a_second_look(tmp_path, checks, change):
    y, s, w = CASES["weights"]
    columns = {"y": y, "s": s, "w": w.astype(np.float64)}
    if change == "labels of -1":
        columns["y"] = 2 * y - 1
    elif change == "booleans":
        columns["y"] = y == 1
    elif change == "a broken weight":
        columns["w"][5] += 0.5
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=300)
    if change == "a broken weight":
        assert not read_table(tmp_path / "a.parquet", **NAMES, weight="w").whole
    else:
        assert_same(read_table(tmp_path / "a.parquet", **NAMES, count="w"), "weights")
    assert len(checks) == (change in {"labels of -1", "a broken weight"})


def write_text(path, name, *, change=lambda columns: None):
    columns = {key: values.tolist() for key, values in zip("ysw", CASES[name], strict=True) if values is not None}
    change(columns)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("most", [-1, 5000])
@pytest.mark.parametrize("name", ["calibrated", "ties", "weights"])
def test_text_is_checked_where_it_was_copied_to(tmp_path, checks, copies, monkeypatch, name, most):
    monkeypatch.setattr(engine, "LOOK", 100)
    monkeypatch.setattr(gathering, "MOST_DISTINCT", most)
    assert_same(read_table(write_text(tmp_path / "a.csv", name), **NAMES, **weighing(name, "w")), name)
    assert (len(checks), len(copies)) == (0, 1)


@pytest.mark.parametrize(("column", "value"), [("s", "none"), ("s", "1.5"), ("y", "3"), ("y", ""), ("w", "-1")])
def test_text_that_is_not_fit_is_named(tmp_path, checks, monkeypatch, column, value):
    monkeypatch.setattr(engine, "LOOK", 100)

    def change(columns):
        columns[column][2345] = value

    with pytest.raises(DataError, match=f"row 2346 of column {column}"):
        read_table(write_text(tmp_path / "a.csv", "weights", change=change), **NAMES, weight="w")
    assert len(checks) == 1


def test_text_with_weights_that_are_no_whole_numbers(tmp_path, checks, copies, monkeypatch):
    monkeypatch.setattr(engine, "LOOK", 100)
    table = read_table(write_text(tmp_path / "a.csv", "weights of halves"), **NAMES, weight="w")
    assert_same(table, "weights of halves", rounded=True)
    assert (len(checks), len(copies)) == (1, 2)  # copied again with what is left to be looked at


def test_few_scores_are_checked_first(tmp_path, checks, monkeypatch):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 500)
    assert_same(read_table(write(tmp_path / "a.parquet", "ties"), **NAMES), "ties")
    assert len(checks) == 1


def test_the_same_table_by_every_route(tmp_path):
    y, s, _ = CASES["calibrated"]
    path = write(tmp_path / "a.parquet")
    lines = "\n".join(["y,s", *(f"{a},{b!r}" for a, b in zip(y.tolist(), s.tolist(), strict=True))])
    (tmp_path / "a.csv").write_text(lines + "\n")
    relation = duckdb.sql(f"SELECT * FROM '{path}'")
    by_chunks = ScoreTable.from_chunks(lambda: ((y[i : i + 70], s[i : i + 70]) for i in range(0, len(y), 70)))
    tables = [
        by_chunks,
        read_table(path, **NAMES),
        read_table(tmp_path / "a.csv", **NAMES),
        read_table(Query(f"SELECT * FROM '{path}' ORDER BY s"), **NAMES),
        ScoreTable.from_frame(relation, **NAMES),
    ]
    if hasattr(pl.LazyFrame, "collect_batches"):  # else Polars adds up itself, in other buckets
        tables.append(ScoreTable.from_frame(pl.scan_parquet(path), **NAMES))
    assert all(table.cells is not None for table in tables)
    assert {table.digest for table in tables} == {by_chunks.digest}


@pytest.mark.parametrize("name", ["weights", "weights of halves"])
def test_weights(tmp_path, name):
    table = read_table(write(tmp_path / "a.parquet", name), **NAMES, **weighing(name, "w"))
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
    assert not copies  # beside that of the query


def test_text_is_copied(tmp_path, copies):
    y, s, _ = CASES["calibrated"]
    lines = [f"{a},{b!r}" for a, b in zip(y.tolist(), s.tolist(), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["y,s", *lines]) + "\n")
    assert_same(read_table(tmp_path / "a.csv", **NAMES), "calibrated")
    assert len(copies) == 1


def test_progress_in_rows(tmp_path, monkeypatch):
    seen = []
    reached = source.QueryRunner.reached
    monkeypatch.setattr(source.QueryRunner, "reached", lambda self, count: seen.append(count) or reached(self, count))
    with job(lambda *_: None):
        read_table(write(tmp_path / "a.parquet"), **NAMES)
    assert (seen[0], seen[-1]) == (0, None)
    for before, after in itertools.pairwise(seen):  # of one scan after the other
        assert after == 0 if before is None else after is None or before < after < len(CASES["calibrated"][0])


def test_progress_of_text_from_a_database(tmp_path, monkeypatch):
    """How many rows it has is not known before they are copied."""
    monkeypatch.setattr(engine, "LOOK", 100)
    y, s, _ = CASES["calibrated"]
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE cases (y INTEGER, s REAL)")
        database.executemany("INSERT INTO cases VALUES (?, ?)", zip(y.tolist(), s.tolist(), strict=True))
    expected = []
    expect = source.QueryRunner.expect
    monkeypatch.setattr(source.QueryRunner, "expect", lambda self, *told: expected.append(told) or expect(self, *told))
    with job(lambda *_: None):
        assert_same(read_table(Query("SELECT * FROM cases", str(tmp_path / "a.sqlite")), **NAMES), "calibrated")
    assert expected == [(len(y), "rows")]


def test_labels_of_a_type_that_cannot_hold_1(tmp_path):
    path = write(tmp_path / "a.parquet", "all negative")
    duckdb.sql(f"COPY (SELECT y::DECIMAL(38, 38) AS y, s FROM '{path}') TO '{tmp_path / 'b.parquet'}'")
    assert_same(read_table(tmp_path / "b.parquet", **NAMES), "all negative")


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

    sums = slices.FineSums.sums
    monkeypatch.setattr(slices.FineSums, "sums", sums_and_replace)
    with pytest.raises((DataError, SourceError), match=r"the same rows at every reading|damaged or cut short"):
        read_table(path, **NAMES)


@pytest.mark.parametrize("value", [None, np.nan, 1.5])
@pytest.mark.parametrize("pos_label", [None, 1])
def test_a_file_that_is_spoilt_between_the_scans(tmp_path, monkeypatch, pos_label, value):
    """After the check, or after the scan that also checks: what rows are fit for is never assumed."""
    path = write(tmp_path / "a.parquet")
    y, s, _ = CASES["calibrated"]
    spoilt = pa.array([*s.tolist()[:-1], value])
    rows, times = FileSlices.all, []

    def spoil(self):
        times.append(1)
        if len(times) == 1 + (pos_label is None):
            pq.write_table(pa.table({"y": y, "s": spoilt}), path, row_group_size=300)
        return rows(self)

    monkeypatch.setattr(FileSlices, "all", spoil)
    with pytest.raises((DataError, SourceError), match=r"the same rows at every reading|column s|damaged or cut short"):
        read_table(path, **NAMES, pos_label=pos_label)


def test_no_thread_stays_behind(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet")
    before = threading.active_count()

    def broken(self, rows):
        raise ValueError("stopped midway")

    monkeypatch.setattr("calibrant.cells.slices.FineSums.add", broken)
    with pytest.raises(ValueError, match="stopped midway"):
        read_table(path, **NAMES)
    assert threading.active_count() == before


def test_a_file_damaged_between_the_scans(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet")
    rows = FileSlices.all

    def damaged(self):
        path.write_bytes(path.read_bytes()[:1000])
        return rows(self)

    monkeypatch.setattr(FileSlices, "all", damaged)
    with pytest.raises(SourceError, match=r"a whole Parquet file, found .*a.parquet damaged or cut short"):
        read_table(path, **NAMES)
