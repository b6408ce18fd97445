"""Checked rows of files or of a query in slices: whole row groups of Parquet, or spans of a temporary table."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import CheckedRows, LazyRows, fetch_arrays
from calibrant.cells.grid import BucketSet
from calibrant.cells.slices import PackedRows, Slices
from calibrant.sources.checks import Summary
from calibrant.sources.source import COPY, Source, Span

_LEAST = 1 << 17  # rows of a span; a query for fewer takes longer to begin than to read


def rows_with_weight(source: Source, summary: Summary) -> CheckedRows:
    """Return the rows of a source that have weight, and ways to have them in slices."""
    rows = LazyRows(_frame(source, summary, "s", "positive", f"({summary.sql})"), summary.weights, fetch_arrays)
    slices = FileSlices(source, summary, rows)
    return CheckedRows(
        rows, summary.low, summary.high, summary.distinct, Slices(slices.all, slices.inside), summary.intake
    )


def _frame(source: Source, summary: Summary, score: str, positive: str, table: str) -> nw.LazyFrame[Any]:
    """Return scores and labels of the rows that have weight as a frame of DuckDB."""
    condition = "" if summary.weights == "none" else " WHERE w > 0"
    query = f"SELECT {score} AS s, CAST({positive} AS BIGINT) AS y{summary.weight} FROM {table}{condition}"
    return nw.from_native(source.connection.sql(query))


class FileSlices:
    """Checked rows of a source, packed, to be read as often as needed.

    Those that cannot be read from the middle, or are in too many pieces, are copied to a temporary table first, which
    is asked from then on: text is not parsed again.
    """

    def __init__(self, source: Source, summary: Summary, rows: LazyRows) -> None:
        self._source = source
        self._summary = summary
        self._rows = rows
        # As `LazyRows.packed` has it, but of one span after the other.
        value = "CASE WHEN positive THEN abs(s) ELSE abs(s) * -1 END AS value"
        self._query = f"SELECT {value}{summary.weight} FROM ({{}})"
        self._spans: list[Span] = []

    def all(self) -> Iterator[PackedRows]:
        """Yield all rows."""
        if not self._spans:
            self._cut()
        self._source.runner.expect(sum(span.rows for span in self._spans), "rows")
        seen = 0
        with ThreadPoolExecutor(1, thread_name_prefix="calibrant-slice") as ahead:
            waiting: list[Future[PackedRows]] = []
            for span in self._spans:
                waiting.append(ahead.submit(self._read, span))
                if len(waiting) > 1:
                    yield waiting.pop(0).result()
                self._source.runner.reached(seen)
                seen += span.rows
            yield waiting.pop().result()
        self._source.runner.reached(None)

    def inside(self, buckets: BucketSet) -> PackedRows:
        """Return the rows in some buckets."""
        return self._rows.fetch_packed(buckets)

    def _cut(self) -> None:
        """Choose spans: those of the source, or of a copy of it."""
        source, summary = self._source, self._summary
        spans = source.spans()
        if spans is None or sum(span.rows for span in spans) < _LEAST * len(spans):
            self._spans = source.copied(self._query.format(summary.sql))
            copied = _frame(source, summary, "abs(value)", "NOT signbit(value)", COPY)
            self._rows = LazyRows(copied, summary.weights, fetch_arrays)
        else:
            self._spans = [Span(self._query.format(summary.shape(span.sql)), span.rows) for span in spans]

    def _read(self, span: Span) -> PackedRows:
        arrays = self._source.connection.execute(span.sql).fetchnumpy()
        columns = {name: np.ma.getdata(column) for name, column in arrays.items()}
        return PackedRows(columns["value"], columns.get("w"))
