"""Count rows in millions of narrow buckets, which is all that a first scan needs to find out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from calibrant.ingest.accumulator import pick
from calibrant.ingest.grid import Grid
from calibrant.table.fixed_point import BITS, MOST_ROWS, IntArray, score_units
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.validation import CleanRows, describe_other_rows

__all__ = ["BucketCounts", "blocks"]

_BLOCK = 1 << 15  # rows or buckets at a time, so that temporaries stay in the cache
_PACKED = (1 << 31) - 1  # rows up to which both counts of a bucket fit into one number
_WORD = 32


def blocks(slices: Iterable[CleanRows]) -> Iterator[CleanRows]:
    """Cut rows into pieces that stay in the cache while they are worked on."""
    for rows in slices:
        for start in range(0, len(rows.score), _BLOCK):
            yield pick(rows, slice(start, start + _BLOCK))


class BucketCounts:
    """Rows and positives in each bucket of a grid, and sums of scores in blocks of ``2**bits`` buckets.

    Buckets count from `first`, the number of one on the grid at which the block of `low` begins, to the end of the
    block of `high`; they are `size`. `rows` were added with a positive weight, `positives` whatever their weight. `n`
    and `k`, rows and positives in each bucket or their weight, are valid once `finish` was called; they are floats if
    weights are not numbers of rows.
    """

    def __init__(self, grid: Grid, low: float, high: float, *, bits: int) -> None:
        self.grid = grid
        self.bits = bits
        ends = grid.coarser(bits).place(score_units(np.array([low, high])))
        self.first = int(ends[0]) << bits
        self.size = int(ends[1] - ends[0] + 1) << bits
        self.rows = self.positives = 0
        # Sums of how far scores are above the start of their block; of negatives at even places, of positives at odd.
        self._above: NumberArray = np.zeros(2 * self.size >> bits, dtype=np.int64)
        self._packed = np.zeros(self.size, dtype=np.int64)
        self._in_packed = 0
        self._total = 0.0
        self.n: NumberArray = np.zeros(0, dtype=np.int64)
        self.k: NumberArray = self.n

    def add(self, rows: CleanRows) -> None:
        """Add rows, not more than `blocks` gives at once."""
        label, score, weight = rows
        self.positives += int(np.count_nonzero(label))
        units = score_units(score)
        place = self.place(units)
        block = place >> self.bits
        block <<= 1
        block |= label
        units &= (1 << (self.grid.shift + self.bits)) - 1
        self._grow(len(place) if weight is None else weight.sum(), weight is not None and weight.dtype.kind == "f")
        if weight is None:
            np.add.at(self._above, block, units)
            if self._in_packed + len(place) > _PACKED:
                self._unpack()
            one = np.left_shift(label, _WORD, dtype=np.int64)
            one += 1
            # One number is fetched from memory for both counts, and that is what takes the time.
            np.add.at(self._packed, place, one)
            self._in_packed += len(place)
            self.rows += len(place)
            return
        self._unpack()
        np.add.at(self._above, block, units * weight)
        np.add.at(self.n, place, weight)
        np.add.at(self.k, place, weight * label)
        self.rows += int(np.count_nonzero(weight))

    def place(self, units: IntArray) -> IntArray:
        """Return the bucket of scores given in units, counted from `first`."""
        place = self.grid.place(units)
        place -= self.first
        if place.min() < 0 or place.max() >= self.size:
            raise describe_other_rows("scores beyond the smallest or largest of an earlier one")
        return place

    def finish(self) -> None:
        """Make `n` and `k` valid; no row can be added afterwards."""
        if len(self.n):
            self._unpack()
        else:
            self.n, self.k = _halves(self._packed, np.int32)
        self._packed = np.zeros(0, dtype=np.int64)

    def sums(self, starts: IntArray, ends: IntArray) -> tuple[NumberArray, NumberArray, FloatArray, FloatArray]:
        """Add up the runs ``starts[i] <= bucket < ends[i]``, in increasing order, none empty, each within one block.

        Returns `n`, `k`, rise and fall: the sum of `1 - s` over the positives and of `s` over the negatives if all
        scores of a bucket were in its middle. Each of these is off by half the width of a bucket for each row.
        """
        kind = np.float64 if self.n.dtype.kind == "f" else np.int64
        n, k = np.empty((2, len(starts)), dtype=kind)
        rise, fall = np.empty((2, len(starts)))
        width = 2.0 ** (self.grid.shift - BITS)
        begin = 0
        while begin < len(starts):
            stop = max(begin + 1, int(np.searchsorted(ends, starts[begin] + _BLOCK, side="right")))
            runs, offset = slice(begin, stop), starts[begin]
            inside = slice(int(offset), int(ends[stop - 1]))
            edges = np.column_stack([starts[runs], ends[runs]]).ravel() - offset
            positives, rows = self.k[inside].astype(kind), self.n[inside].astype(kind)
            middle = (np.arange(inside.start, inside.stop) + (self.first + 0.5)) * width
            for total, values in (
                (n, rows),
                (k, positives),
                (rise, positives * (1.0 - middle)),
                (fall, (rows - positives) * middle),
            ):
                total[runs] = np.add.reduceat(np.append(values, values.dtype.type(0)), edges)[::2]
            begin = stop
        return n, k, rise, fall

    def most_in_block(self) -> float:
        """Return the rows, or weight, of the heaviest block."""
        return float(np.add.reduceat(self.n, np.arange(0, self.size, 1 << self.bits), dtype=np.float64).max())

    def block_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return the sum of `1 - s` over the positives and of `s` over the negatives of each block."""
        blocks = np.arange(0, self.size, 1 << self.bits)
        kind = np.float64 if self.n.dtype.kind == "f" else np.int64
        n, k = (np.add.reduceat(total, blocks, dtype=kind).astype(np.float64) for total in (self.n, self.k))
        start = (blocks + self.first) * 2.0 ** (self.grid.shift - BITS)
        above = self._above * 2.0**-BITS
        return k * (1.0 - start) - above[1::2], (n - k) * start + above[::2]

    def _grow(self, weight: float, broken: bool) -> None:
        """Go over to floats where weights are not numbers of rows, or add up to too many."""
        self._total += float(weight)
        if self._above.dtype.kind == "i" and (broken or not self._total < MOST_ROWS):
            self._unpack()
            self.n, self.k, self._above = (total.astype(np.float64) for total in (self.n, self.k, self._above))

    def _unpack(self) -> None:
        if not len(self.n):
            self.n, self.k = np.zeros((2, self.size), dtype=np.int64)
        if self._in_packed:
            n, k = _halves(self._packed, np.int64)
            self.n, self.k = self.n + n, self.k + k
            self._packed[:] = 0
            self._in_packed = 0


def _halves(packed: IntArray, kind: type) -> tuple[NumberArray, NumberArray]:
    return (packed & ((1 << _WORD) - 1)).astype(kind), (packed >> _WORD).astype(kind)
