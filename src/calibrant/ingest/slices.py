"""Checked rows as arrays, a slice at a time, the next one read while one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from calibrant.ingest.checks import Summary
from calibrant.ingest.source import Source, Span
from calibrant.table.validation import CleanRows

__all__ = ["SlicedRows"]

_LEAST = 1 << 17  # rows of a span; a query for fewer takes longer to begin than to read


class SlicedRows:
    """Checked rows of a source, to be read as often as needed.

    Those that cannot be read from the middle, or are in too many pieces, are copied to a temporary table first.
    """

    def __init__(self, source: Source, summary: Summary) -> None:
        self._source = source
        self._summary = summary
        self._query = f"SELECT s, positive{summary.weight} FROM ({{}})"
        self._spans: list[Span] = []

    def __call__(self) -> Iterator[CleanRows]:
        """Yield all rows."""
        if not self._spans:
            self._spans = self._cut()
        self._source.expect(sum(span.rows for span in self._spans))
        seen = 0
        with ThreadPoolExecutor(1, thread_name_prefix="calibrant-slice") as ahead:
            waiting: list[Future[CleanRows]] = []
            for span in self._spans:
                waiting.append(ahead.submit(self._read, span))
                if len(waiting) > 1:
                    yield waiting.pop(0).result()
                self._source.reached(seen)
                seen += span.rows
            yield waiting.pop().result()
        self._source.reached(None)

    def _cut(self) -> list[Span]:
        source, summary = self._source, self._summary
        spans = source.spans()
        if spans is None or sum(span.rows for span in spans) < _LEAST * len(spans):
            return source.copied(self._query.format(summary.sql))
        return [Span(self._query.format(summary.shape(span.sql)), span.rows) for span in spans]

    def _read(self, span: Span) -> CleanRows:
        found = self._source.connection.execute(span.sql).fetchnumpy()
        columns = {name: np.ma.getdata(column) for name, column in found.items()}
        return CleanRows(columns["positive"].view(np.int8), columns["s"], columns.get("w"))
