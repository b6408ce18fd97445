"""Rows of an open source in slices that NumPy adds up, as often as needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.cells.frame_rows import Arrays
from calibrant.cells.grid import BucketSet
from calibrant.sources.arrow_batches import read_batches
from calibrant.sources.source import Source
from calibrant.table.fixed_point import BITS
from calibrant.table.pooling import distinct_numbers
from calibrant.table.validation import CleanRows

_LISTED_BITS = 19  # two to this power buckets, at most, from the first to the last of those that DuckDB is asked for
_TOGETHER_BITS = 3
_CACHE = "400MB"


class FileSlices:
    """Rows of a SELECT with columns s (score), y (label, TINYINT) and perhaps w (weight).

    They are copied to a temporary table first if they are of text, which is not parsed again then.
    """

    def __init__(self, source: Source, rows: str, *, of_text: bool = False) -> None:
        self._source = source
        self._rows = rows
        self._is_text = of_text

    def all(self) -> Iterator[CleanRows]:
        """Yield all rows, in slices that are valid until the next is asked for."""
        runner, seen = self._source.runner, 0
        if self._is_text:
            self._rows = self._source.copied(self._rows)
            self._is_text = False
        if self._source.format != "Parquet":
            # Of a table, DuckDB would keep in memory all that it has read, up to its limit.
            self._source.connection.execute(f"SET memory_limit = '{_CACHE}'")
        for columns in read_batches(self._source.connection.sql(self._rows)):
            runner.reached(seen)
            rows = _rows(columns)
            yield rows
            seen += len(rows.score)
        runner.reached(None)

    def inside(self, buckets: BucketSet) -> CleanRows:
        """Return the rows in some buckets, and perhaps in some beside them.

        DuckDB joins rows to a table of buckets twice as fast if their numbers span few enough to be listed; so buckets
        are taken together for that, unless so many that far more rows than these might be in them.
        """
        bits = max(0, int(buckets.numbers[-1] - buckets.numbers[0]).bit_length() - _LISTED_BITS)
        bits = bits if bits <= _TOGETHER_BITS else 0
        listed, grid = distinct_numbers(buckets.numbers >> bits), buckets.grid.coarser(bits)
        name = "calibrant_buckets"
        query = f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT unnest(?::BIGINT[]) AS bucket"
        self._source.connection.execute(query, [listed.tolist()])
        bucket = f"CAST(floor((s * {2.0**BITS!r} + 0.5) * {2.0**-grid.shift!r}) AS BIGINT) AS bucket"
        joined = f"(SELECT *, {bucket} FROM ({self._rows})) JOIN {name} USING (bucket)"
        arrays = self._source.connection.execute(f"SELECT * EXCLUDE (bucket) FROM {joined}").fetchnumpy()
        return _rows({name: np.ma.getdata(column) for name, column in arrays.items()})


def _rows(columns: Arrays) -> CleanRows:
    return CleanRows(columns["y"], columns["s"], columns.get("w"))
