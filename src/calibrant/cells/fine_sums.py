"""Add up rows in millions of narrow buckets.

So few rows share a bucket then that little is left to be looked at score by score.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.cells.bucket_sums import GridSums
from calibrant.cells.grid import BucketSet, Grid
from calibrant.table.fixed_point import BITS, MOST_ROWS, Scratch, write_units
from calibrant.table.pooling import IntArray, LabelArray, NumberArray
from calibrant.table.validation import CleanRows

BLOCK = 1 << 15  # rows at a time, so that temporaries stay in the cache
# Both sums of a bucket are kept in one number, since to fetch it from memory is what takes the time: rows in the upper
# bits, and in the lower ones how far scores are above the start of the bucket.
_COUNT = 42


class FineSums:
    """Sums of rows in the buckets of a grid, or of one that divides each of its buckets, that lie in a set.

    What is returned does not depend on the order of the rows, if weights are whole numbers.
    """

    def __init__(self, grid: Grid, inside: BucketSet) -> None:
        self.grid = grid
        self.inside = inside
        self._bits = inside.grid.shift - grid.shift  # each bucket of the set is divided into two to this power
        self.rows = 0  # that lie in the set
        self._weight = 0.0
        # Negatives at even places, positives at odd ones; likewise below.
        self._both = np.zeros(2 * len(inside.numbers) << self._bits, dtype=np.int64)
        self._unchecked = 0  # rows added since the fullest bucket was last looked at, plus the rows in it
        self._most = (1 << min(63 - _COUNT, _COUNT - grid.shift)) - 1  # rows of a bucket that `_both` can hold
        self._scratch = Scratch(BLOCK)
        self._counts: NumberArray = np.zeros(0, dtype=np.int64)
        self._above: NumberArray = self._counts

    def add(self, rows: CleanRows) -> None:
        """Add those rows that lie in the set."""
        for part in rows.pieces(max(1, min(BLOCK, self._most // 2))):
            units, number = self._scratch.whole(len(part.score))
            write_units(part.score, 2.0**BITS, self._scratch.floats(len(part.score))[0], units)
            index = self.inside.places(np.right_shift(units, self.inside.grid.shift, out=number))
            if index.min() >= 0:
                self._add(part.label, units, index, part.weight)
            elif index.max() >= 0:
                inside = np.flatnonzero(index >= 0)
                weight = None if part.weight is None else part.weight[inside]
                self._add(part.label[inside], units[inside], index[inside], weight)

    def _add(self, label: LabelArray, units: IntArray, index: IntArray, weight: NumberArray | None) -> None:
        self.rows += len(index)
        if self._bits:
            index <<= self._bits
            index |= (units >> self.grid.shift) & ((1 << self._bits) - 1)
        index <<= 1
        index |= label
        above = units
        above &= (1 << self.grid.shift) - 1
        rows = len(index) if weight is None else float(weight.sum())
        self._weight += rows
        most = rows if weight is None else len(index) * float(weight.max())
        if (weight is None or weight.dtype.kind == "i") and 2 * most <= self._most:
            self._reserve(int(most))
            above += 1 << _COUNT
            if weight is not None:
                above *= weight
            np.add.at(self._both, index, above)
            return
        weight = np.ones(len(index), dtype=np.int64) if weight is None else weight
        self._unpack(weight.dtype)
        np.add.at(self._counts, index, weight)
        np.add.at(self._above, index, above * weight)

    @property
    def whole(self) -> bool:
        """Whether the weights of all rows are whole numbers, and so small that they are added up as such."""
        return self._counts.dtype.kind == "i" and self._weight < MOST_ROWS

    def put(self, sums: GridSums) -> None:
        """Begin with sums over some of the buckets, which follow one another."""
        self._weight = float(sums.n.sum())
        self._counts, self._above = np.zeros((2, len(self._both)), dtype=sums.counts.dtype)
        where = sums.bucket - self.inside.numbers[0]
        self._counts.reshape(-1, 2)[where] = np.stack([sums.n - sums.k, sums.k], axis=1)
        self._above.reshape(-1, 2)[where] = sums.above.T

    def sums(self) -> GridSums:
        """Return the sums of all buckets that hold rows; no row can be added afterwards."""
        self._unpack()
        counts, above = self._counts.reshape(-1, 2), self._above.reshape(-1, 2)
        self._both = self._counts = self._above = np.zeros(0, dtype=np.int64)  # memory is short here
        rows = counts[:, 0] + counts[:, 1]
        filled = np.flatnonzero(rows)
        both = np.stack([rows[filled], counts[filled, 1]])
        del rows, counts
        bucket = self.inside.numbers[filled >> self._bits] << self._bits
        bucket |= filled & ((1 << self._bits) - 1)
        return GridSums(bucket, both, self.grid, above[filled].T)

    def _reserve(self, rows: int) -> None:
        """See to it that so many more rows, half of the most at most, fit into any bucket."""
        if self._unchecked + rows > self._most:
            self._unchecked = int(self._both.max() >> _COUNT)
            if 2 * self._unchecked > self._most:
                self._unpack()
        self._unchecked += rows

    def _unpack(self, kind: npt.DTypeLike = np.int64) -> None:
        """Make way for weights of a kind, and keep floats from now on if they or the weight of all rows need them."""
        if not len(self._counts):
            self._counts, self._above = np.zeros((2, len(self._both)), dtype=np.int64)
        if self._unchecked:
            self._counts += self._both >> _COUNT
            self._above += self._both & ((1 << _COUNT) - 1)
            self._both[:] = 0
            self._unchecked = 0
        kind = np.result_type(self._counts, kind if self._weight < MOST_ROWS else np.float64)
        self._counts, self._above = self._counts.astype(kind, copy=False), self._above.astype(kind, copy=False)
