"""Rows that come in slices, from chunks or out of an engine, added up in memory that does not grow."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.cells.bucket_sums import BucketSet, BucketSums, DoubleGrid, Grid, GridSums, Intervals, LossTotals
from calibrant.table.pooling import (
    IntArray,
    LabelArray,
    NumberArray,
    Pooled,
    ScoreArray,
    pool_counts,
    pool_rows,
    pool_weighted,
)
from calibrant.table.row_errors import describe_no_rows, describe_other_rows
from calibrant.table.rules import WeightSums
from calibrant.table.table_sums import BITS, MOST_ROWS, Scratch, score_units, write_units
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


_SIFT_BITS = 10  # one score in two to this power is remembered, to estimate how many are different
_SIFTED = 1 << 12  # so many are remembered at most
_ODD = np.int64(-7046029254386353131)  # the bits of a number times this one look random


class FirstPass:
    """Rows with weight, added up in buckets that are as narrow as their number and the range of the scores allow.

    There are at most ``2**bits + 1`` buckets. Which they are depends in the end on the rows alone, not on their order:
    whenever the range grows, what was added up before is put into wider ones, or into the same ones elsewhere.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.rows = 0
        self.low, self.high = 1.0, 0.0
        self.losses = LossTotals()
        self.weights = WeightSums()
        self._fine: FineSums | None = None
        self._remembered: set[float] = set()
        self._side = 0  # on which the spare buckets are: -1 below, 1 beyond, 0 both

    def add(self, rows: CleanRows) -> None:
        """Add rows; those without weight are passed over."""
        if rows.weight is not None and not rows.weight.all():
            rows = rows.pick(np.flatnonzero(rows.weight))
            if not len(rows.score):
                return
        low, high = float(rows.score.min()), float(rows.score.max())
        if not 0.0 <= low <= high <= 1.0:  # as of a NaN
            raise describe_other_rows("a score that is no number from 0 to 1 where the first reading had none")
        self._cover(low, high).add(rows)
        self.losses.add_rows(rows)
        self.rows += len(rows.score)
        if rows.weight is not None:
            self.weights += WeightSums.of(rows.weight)
        if len(self._remembered) < _SIFTED:
            self._sift(rows.score)

    @property
    def different(self) -> int:
        """About how many scores are different: 2% is a usual error. Beyond four million all numbers are alike."""
        return len(self._remembered) << _SIFT_BITS

    def sums(self, bits: int) -> GridSums:
        """Return the sums over at most ``2**bits + 1`` buckets, no more than asked for at first; ends the pass."""
        if self._fine is None:
            raise describe_no_rows()
        return self._fine.sums().coarser(Grid.over(self.low, self.high, bits=bits))

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers, and so small that they are added up as such."""
        return self._fine is not None and self._fine.whole

    def _cover(self, low: float, high: float) -> FineSums:
        """See to it that scores in a range have buckets."""
        below, beyond = low < self.low, high > self.high
        if self._fine is not None and not below and not beyond:
            return self._fine
        self.low, self.high = min(low, self.low), max(high, self.high)
        grid = Grid.over(self.low, self.high, bits=self._bits)
        first, last = grid.bucket_of(np.array([self.low, self.high])).tolist()
        before = self._fine
        if before is not None and before.grid == grid and before.inside.spans(first, last):
            return before
        # Spare buckets are on the side on which scores went beyond the range: they may be sorted. They are on both if
        # scores did so on the other side the last time.
        spare, side = (1 << self._bits) - (last - first), beyond - below
        if side == -self._side:
            side = 0
        start = max(0, first - {-1: spare, 0: spare // 2, 1: 0}[side])
        self._side = side
        self._fine = FineSums(grid, BucketSet(grid, np.arange(start, start + (1 << self._bits) + 1)))
        if before is not None:
            self._fine.put(before.sums().coarser(grid))
        return self._fine

    def _sift(self, score: ScoreArray) -> None:
        mixed = (score.astype(np.float64) + 0.0).view(np.int64) * _ODD  # -0.0 becomes 0.0
        self._remembered.update(score[mixed >> (64 - _SIFT_BITS) == 0].tolist())


_BATCH = 1 << 20  # rows that are pooled together


class Accumulator:
    """Rows added up score by score as long as there are few different scores, and in buckets from then on.

    Buckets have equal width: the smallest power of two, in units, at which no more than `most_buckets` (at least 2)
    hold rows. So what is held depends on the rows alone, bit for bit if weights are whole numbers: not on their order,
    nor on how they were cut into chunks.
    """

    def __init__(self, *, most_distinct: int, most_buckets: int) -> None:
        self._most_distinct = most_distinct
        self._most_buckets = most_buckets
        none = np.zeros(0, dtype=np.int64)
        self.sums: Pooled | BucketSums = (np.zeros(0), none, none)
        self.grid = Grid(0)

    def add(self, pooled: Pooled) -> None:
        """Add distinct scores with rows and positives at each."""
        if isinstance(self.sums, BucketSums):
            self.sums += BucketSums.of_scores(*pooled, self.grid)
            if not self.sums.n.sum(dtype=np.float64) < MOST_ROWS:
                self.sums = self.sums.as_weights()
            while len(self.sums) > self._most_buckets:
                self.sums, self.grid = self.sums.coarser(1), self.grid.coarser(1)
            return
        self.sums = pool_together([self.sums, pooled])
        if len(self.sums[0]) > self._most_distinct:
            self.grid = self._narrowest(self.sums)
            self.sums = BucketSums.of_scores(*self.sums, self.grid)

    def _narrowest(self, pooled: Pooled) -> Grid:
        """Return the narrowest buckets of which few enough hold rows."""
        units = score_units(pooled[0])

        def few(shift: int) -> bool:
            return int(np.count_nonzero(np.diff(units >> shift))) < self._most_buckets

        return Grid(bisect.bisect_left(range(BITS), 1, key=few))


def pool_together(parts: list[Pooled]) -> Pooled:
    """Add up what several parts hold at the same score."""
    score, n, k = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if n.dtype.kind == "i" and not n.sum(dtype=np.float64) < MOST_ROWS:
        n, k = n.astype(np.float64), k.astype(np.float64)
    return pool_counts(score, n, k)


def pooled_batches(parts: Iterable[CleanRows]) -> Generator[Pooled]:
    """Add up rows at each score, many parts at a time, whatever their size."""
    batch: list[CleanRows] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += len(part.score)
        if size >= _BATCH:
            yield _pool(batch)
            batch, size = [], 0
    if batch:
        yield _pool(batch)


def _pool(slices: list[CleanRows]) -> Pooled:
    label, score = (np.concatenate(columns) for columns in list(zip(*slices, strict=True))[:2])
    if all(rows.weight is None for rows in slices):
        return pool_rows(label, score)
    weights = [np.ones(len(rows.score), dtype=np.int64) if rows.weight is None else rows.weight for rows in slices]
    # Each slice has whole weights that can be added up, but perhaps not all of them together.
    return pool_together([pool_weighted(label, score, np.concatenate(weights))])


class Slices(NamedTuple):
    """Ways to have the checked rows of an engine or of files, as often as needed."""

    all: Callable[[], Iterator[CleanRows]]  # all rows, a slice at a time, which is valid until the next is asked for
    inside: Callable[[BucketSet], CleanRows]  # those in some buckets, which the engine is quicker to find


class SliceRows:
    """Rows of which `slices` yields all, the same ones whenever it is called.

    `fetch` returns those in some buckets, where the engine that has the rows is quicker to find them.
    """

    def __init__(
        self, slices: Callable[[], Iterable[CleanRows]], fetch: Callable[[BucketSet], CleanRows] | None = None
    ) -> None:
        self._slices = slices
        self._fetch = fetch

    def read_all(self, bits: int) -> FirstPass:
        """Add up all rows, in at most ``2**bits + 1`` buckets."""
        first = FirstPass(bits)
        for part in self._pieces():
            first.add(part)
        return first

    def bucket_sums(self, grid: Grid, buckets: BucketSet) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some wider buckets."""
        sums = FineSums(grid, buckets)
        for part in self._pieces():
            sums.add(part)
        if not sums.rows:
            raise describe_other_rows("no row where the first reading had some")
        return sums.sums().of_each()

    def pool_scores(self, buckets: BucketSet | Intervals) -> Pooled:
        """Return distinct scores in some buckets, with rows and positives at each."""
        pooled = list(pooled_batches(self._inside(buckets)))
        if not pooled:
            raise describe_other_rows("no row where the first reading had some")
        return pool_together(pooled)

    def limits(self, buckets: BucketSet) -> BucketSums:
        """Return the sums of some buckets with the least and the largest score in each."""
        sums, low, high = FineSums(buckets.grid, buckets), np.ones(len(buckets.numbers)), np.zeros(len(buckets.numbers))
        for rows in self._pieces():
            sums.add(rows)
            index = buckets.index(rows.score)
            weighty = np.flatnonzero(index >= 0 if rows.weight is None else (index >= 0) & (rows.weight > 0))
            index, score = index[weighty], rows.score[weighty]
            np.minimum.at(low, index, score)
            np.maximum.at(high, index, score)
        if not sums.rows:
            raise describe_other_rows("no row where the first reading had some")
        filled = low <= high
        attained = np.ones(int(filled.sum()), dtype=np.bool_)
        return replace(sums.sums().of_each(), low=low[filled], high=high[filled], attained=attained)

    def double_sums(self, grid: DoubleGrid) -> BucketSums:
        """Add up the buckets of a grid of doubles."""
        parts = (BucketSums.of_scores(*pooled, grid) for pooled in pooled_batches(self._inside(grid.divided)))
        sums = next(parts, None)
        if sums is None:
            raise describe_other_rows("no row where the first reading had some")
        return sum(parts, sums)

    def keep(self, buckets: BucketSet | Intervals) -> SliceRows:
        """Return the rows in some buckets, in memory."""
        if self._fetch is not None and isinstance(buckets, BucketSet):
            fetched = self._fetch(buckets)
            return SliceRows(lambda: [fetched])
        rows = list(self._inside(buckets))
        return SliceRows(lambda: rows)

    def _pieces(self) -> Iterator[CleanRows]:
        """Yield all rows in pieces that stay in the cache."""
        return (part for rows in self._slices() for part in rows.pieces(BLOCK))

    def _inside(self, buckets: BucketSet | Intervals) -> Iterator[CleanRows]:
        """Yield rows in arrays of their own: whoever makes the slices may fill the same arrays again."""
        for rows in self._pieces():
            inside = np.flatnonzero(buckets.index(rows.score) >= 0)
            if len(inside):
                yield rows.pick(inside)
