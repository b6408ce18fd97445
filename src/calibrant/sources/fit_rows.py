"""Rows of files and queries that are read into a table without a look at them before, as long as all are fit."""

from __future__ import annotations

from typing import NamedTuple

from calibrant.cells import gathering
from calibrant.cells.slices import SliceRows
from calibrant.sources.arrow_batches import UnfitRowsError
from calibrant.sources.file_slices import FileSlices
from calibrant.sources.protocol import Columns
from calibrant.sources.source import Source, as_number
from calibrant.table.score_table import ScoreTable

_LOOK = 1 << 17  # rows looked at to tell whether most scores are different


class TableOfOneScan(NamedTuple):
    """Rows that were read at once."""

    table: ScoreTable
    different: int  # about how many scores are


def read_if_fit(source: Source, columns: Columns, rows: int) -> TableOfOneScan | None:
    """Read a source of so many rows in one scan that checks them and adds them up.

    None if not all rows can be used as they are, or if few scores are different: then rows are to be checked first.
    """
    slices = FileSlices(source, f"SELECT {_selected(source, columns)} FROM ({source.sql})", checked=False)
    read = SliceRows(slices.all, slices.inside)
    try:
        first = read.read_all(gathering.bits_for_rows(rows))
    except UnfitRowsError:
        return None
    if first.different < gathering.MOST_DISTINCT or not first.whole:
        return None
    return TableOfOneScan(gathering.table_of_slices(read, first), first.different)


def rows_for_one_scan(source: Source, columns: Columns) -> int | None:
    """Count the rows if columns hold numbers, and more different scores than have a row of a table each; else None.

    How often a score that was not met before comes next is judged from those that were met once in the first rows.
    """
    if not source.typed or columns.pos_label is not None or columns.drops or columns.clusters or columns.models:
        return None
    if "text" in map(source.kind, columns.of_rows.values()):
        return None
    head = f"SELECT {source.column(columns.score)} AS s FROM ({source.sql}) LIMIT {_LOOK}"
    counts = f"SELECT count(*) AS times FROM ({head}) GROUP BY s"
    looked, once = source.rows(f"SELECT sum(times), count(*) FILTER (times = 1) FROM ({counts})")[0]
    rows = int(source.rows(f"SELECT count(*) FROM ({source.sql})")[0][0])
    if not looked or rows * once <= gathering.MOST_DISTINCT * looked:
        return None
    source.runner.expect(rows, "rows")
    return rows


def _selected(source: Source, columns: Columns) -> str:
    """Return the columns that `FileSlices` reads; a label that is neither 0 nor 1 becomes 2."""
    label, kind = source.column(columns.label), source.kind(columns.label)
    value = as_number(label, kind) if kind == "boolean" else label
    score = as_number(source.column(columns.score), source.kind(columns.score))
    selected = f"{score} AS s, CASE {value} WHEN 1 THEN 1::TINYINT WHEN 0 THEN 0::TINYINT ELSE 2::TINYINT END AS y"
    if columns.weight is None:
        return selected
    return f"{selected}, {as_number(source.column(columns.weight), source.kind(columns.weight))} AS w"
