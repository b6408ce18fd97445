"""Add up rows in millions of narrow buckets, from one number per row.

Engines add up in so many groups several times slower than they hand over one packed column: the score, and in its sign
the label. So few rows share a bucket then that little is left to be looked at score by score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.grid import Grid
from calibrant.ingest.losses import LossTotals
from calibrant.table.fixed_point import MOST_ROWS, score_units
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.validation import CleanRows, check_weight_range, describe_other_rows

__all__ = ["FineSums", "PackedRows", "blocks", "packed"]

_BLOCK = 1 << 15  # rows at a time, so that temporaries stay in the cache
# Both sums of a bucket are kept in one number, since to fetch it from memory is what takes the time: rows in the upper
# bits, and in the lower ones how far scores are above the start of the bucket.
_COUNT = 42


class PackedRows(NamedTuple):
    """Checked rows: scores, those of negatives times -1 (0 becomes -0.0); and weights, or None."""

    value: FloatArray
    weight: NumberArray | None


def packed(rows: CleanRows) -> PackedRows:
    """Pack rows."""
    return PackedRows(np.abs(rows.score, dtype=np.float64) * (2 * rows.label - 1), rows.weight)


def blocks(parts: Iterable[PackedRows], size: int) -> Iterator[PackedRows]:
    """Cut rows into pieces of so many rows."""
    for value, weight in parts:
        for start in range(0, len(value), size):
            part = slice(start, start + size)
            yield PackedRows(value[part], None if weight is None else weight[part])


class FineSums:
    """Sums of rows in the buckets of a grid from that of `low` to that of `high`.

    What is returned does not depend on the order of the rows, if weights are whole numbers.
    """

    def __init__(self, grid: Grid, low: float, high: float) -> None:
        ends = grid.place(score_units(np.array([low, high])))
        self._grid = grid
        self._first = int(ends[0])
        self._size = int(ends[1]) - self._first + 1
        self.rows = 0
        self.losses = LossTotals()
        self._weight = 0.0
        # Negatives at even places, positives at odd ones; likewise below.
        self._both = np.zeros(2 * self._size, dtype=np.int64)
        self._unchecked = 0  # rows added since the fullest bucket was last looked at, plus the rows in it
        self._most = (1 << min(63 - _COUNT, _COUNT - grid.shift)) - 1  # rows of a bucket that `_both` can hold
        self._counts: NumberArray = np.zeros(0, dtype=np.int64)
        self._above: NumberArray = self._counts

    def add(self, parts: Iterable[PackedRows]) -> None:
        """Add rows."""
        for value, weight in blocks(parts, max(1, min(_BLOCK, self._most // 2))):
            score, positive = np.abs(value), ~np.signbit(value)
            self.losses.add_rows(score, positive, weight)
            units = score_units(score)
            place = self._grid.place(units)
            place -= self._first
            if place.min() < 0 or place.max() >= self._size:
                raise describe_other_rows("scores beyond the smallest or largest of an earlier one")
            place <<= 1
            place |= positive
            above = units
            above &= (1 << self._grid.shift) - 1
            if weight is None:
                self.rows += len(place)
                self._weight += len(place)
                self._reserve(len(place))
                above += 1 << _COUNT
                np.add.at(self._both, place, above)
                continue
            self.rows += int(np.count_nonzero(weight))
            self._weight += float(weight.sum())
            self._unpack()
            if weight.dtype.kind == "f" or not self._weight < MOST_ROWS:
                self._counts, self._above = self._counts.astype(np.float64), self._above.astype(np.float64)
            np.add.at(self._counts, place, weight)
            np.add.at(self._above, place, above * weight)

    def sums(self) -> BucketSums:
        """Return the sums of all buckets that hold rows; no row can be added afterwards."""
        self._unpack()
        counts, above = self._counts.reshape(-1, 2), self._above.reshape(-1, 2)
        self._both = self._counts = self._above = np.zeros(0, dtype=np.int64)  # memory is short here
        rows = counts[:, 0] + counts[:, 1]
        check_weight_range(float(rows.max()), float(rows.sum()))
        held = np.flatnonzero(rows)
        both = np.stack([rows[held], counts[held, 1]])
        del rows, counts
        return BucketSums.above_starts(self._grid, held + self._first, both, above[held].T)

    def _reserve(self, rows: int) -> None:
        """See to it that so many more rows, half of the most at most, fit into any bucket."""
        if self._unchecked + rows > self._most:
            self._unchecked = int(self._both.max() >> _COUNT)
            if 2 * self._unchecked > self._most:
                self._unpack()
        self._unchecked += rows

    def _unpack(self) -> None:
        if not len(self._counts):
            self._counts, self._above = np.zeros((2, len(self._both)), dtype=np.int64)
        if self._unchecked:
            self._counts += self._both >> _COUNT
            self._above += self._both & ((1 << _COUNT) - 1)
            self._both[:] = 0
            self._unchecked = 0
