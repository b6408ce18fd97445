"""Sums per bucket of neighbouring scores: what chunks, partitions and engines hand over, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from calibrant.cells.grid import DoubleGrid, Grid
from calibrant.cells.losses import LossTotals
from calibrant.table.fixed_point import BITS, UNIT, FixedPoint, score_units
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, NumberArray, score_order
from calibrant.table.table_sums import CellSums


@dataclass(frozen=True, eq=False)
class _Counted:
    """Buckets, with what is counted in each."""

    bucket: IntArray  # numbers of the buckets on their grid, increasing
    counts: NumberArray  # shape (2, m): rows; positives. Floats if weights are not numbers of rows

    @property
    def n(self) -> NumberArray:
        """Rows of each bucket, or their weight."""
        n: NumberArray = self.counts[0]
        return n

    @property
    def k(self) -> NumberArray:
        """Positives of each bucket, or their weight."""
        k: NumberArray = self.counts[1]
        return k


@dataclass(frozen=True, eq=False)
class GridSums(_Counted):
    """Sums over the buckets of a grid, increasing, as they come out of a histogram of all rows.

    They are far more than the cells that most of them become, so they are no `BucketSums` before.
    """

    grid: Grid
    above: NumberArray  # shape (2, m): how far negatives and positives are above the start of the bucket, in units

    def coarser(self, grid: Grid) -> GridSums:
        """Return the sums over the buckets of a grid of which each is one or several of these."""
        bits = grid.shift - self.grid.shift
        if not bits:
            return self
        wide = self.bucket >> bits
        above = self.above + self._lift(wide << bits)
        starts = _run_starts(wide)
        counts, above = (np.add.reduceat(each, starts, axis=1) for each in (self.counts, above))
        return GridSums(wide[starts], counts, grid, above)

    def _lift(self, first: IntArray) -> NumberArray:
        """Return how far all rows of a bucket together are above the start of that one, in addition to `above`."""
        by = (self.bucket - first) << self.grid.shift
        lift: NumberArray = np.stack([self.counts[0] - self.counts[1], self.counts[1]]) * by
        return lift

    def of_each(self) -> BucketSums:
        """Return the sums of each bucket."""
        return BucketSums.above_starts(self.grid, self.bucket, self.counts, self.above)

    def pick(self, which: npt.NDArray[np.generic]) -> BucketSums:
        """Return the sums of some buckets."""
        return BucketSums.above_starts(self.grid, self.bucket[which], self.counts[:, which], self.above[:, which])

    def in_runs(self, starts: npt.NDArray[np.intp]) -> BucketSums:
        """Return the sums over the runs that begin at `starts`, of at most 2**25 units each."""
        lengths = np.diff(starts, append=len(self.bucket))
        above = self.above + self._lift(np.repeat(self.bucket[starts], lengths))
        counts, above = (np.add.reduceat(each, starts, axis=1) for each in (self.counts, above))
        sums = BucketSums.above_starts(self.grid, self.bucket[starts], counts, above)
        ends = starts + lengths - 1
        return replace(sums, high=_limits(self.grid, self.bucket[ends])[1])

    @property
    def low(self) -> FloatArray:
        """Lower limit of the scores of each bucket."""
        return _limits(self.grid, self.bucket)[0]

    @property
    def settled(self) -> BoolArray:
        """See `BucketSums`: what the limits are is not known."""
        return np.zeros(len(self.bucket), dtype=np.bool_)

    def sums(self) -> FloatArray:
        """Return both sums, see `BucketSums`, as floats."""
        start, positives = (self.bucket << self.grid.shift) * UNIT, self.k.astype(np.float64)
        rise = positives - (positives * start + self.above[1] * UNIT)
        return np.stack([rise, (self.n - positives) * start + self.above[0] * UNIT])


@dataclass(frozen=True, eq=False)
class BucketSums(_Counted):
    """What is known of each bucket that holds rows. Sums are over its rows, each times its weight."""

    low: FloatArray  # limits of the scores
    high: FloatArray
    attained: BoolArray  # whether both limits are scores of rows
    away: FixedPoint  # shape (2, m): sum of `1 - s` over positives; of `s` over negatives

    @classmethod
    def of_scores(
        cls, score: FloatArray, n: NumberArray, k: NumberArray, grid: Grid | DoubleGrid | None = None
    ) -> BucketSums:
        """Return sums over the buckets of a grid, from distinct increasing scores with rows and positives at each.

        Without a grid each score has a bucket of its own.
        """
        units = score_units(score)
        bucket = np.arange(len(score)) if grid is None else grid.bucket_of(score)
        starts = _run_starts(bucket)
        ends = np.append(starts[1:], len(score))[: len(starts)] - 1
        counts = np.stack([np.add.reduceat(n, starts), np.add.reduceat(k, starts)])
        away = FixedPoint.product(np.stack([k, n - k]), np.stack([(1 << BITS) - units, units])).add_runs(starts)
        return cls(bucket[starts], counts, score[starts], score[ends], np.ones(len(starts), dtype=np.bool_), away)

    @classmethod
    def above_starts(cls, grid: Grid, bucket: IntArray, counts: NumberArray, above: NumberArray) -> BucketSums:
        """Return sums over the buckets of a grid from rows and positives of each, see `counts`.

        `above`, of shape (2, m), is how far the scores of negatives and those of positives are above the start of the
        bucket, added up in units. Limits are those of the bucket.
        """
        start = bucket << grid.shift
        away = FixedPoint.product(np.stack([counts[1], counts[0] - counts[1]]), np.stack([(1 << BITS) - start, start]))
        away += FixedPoint.of_units(np.stack([-above[1], above[0]]))
        low, high = _limits(grid, bucket)
        return cls(bucket, counts, low, high, np.zeros(len(bucket), dtype=np.bool_), away)

    @classmethod
    def joined(cls, parts: Sequence[BucketSums]) -> BucketSums:
        """Return all buckets one after the other."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*((part.bucket, part.low, part.high, part.attained, part.counts) for part in parts), strict=True)
        bucket, low, high, attained, counts = (np.concatenate(column, axis=-1) for column in columns)
        return cls(bucket, counts, low, high, attained, FixedPoint.joined([part.away for part in parts]))

    def __len__(self) -> int:
        return len(self.bucket)

    def __add__(self, other: BucketSums) -> BucketSums:
        return BucketSums.joined([self, other]).pooled()

    def pick(self, which: npt.NDArray[np.generic]) -> BucketSums:
        """Return some of the buckets, in the order asked for."""
        return BucketSums(*(getattr(self, field.name)[..., which] for field in fields(self)))

    def pooled(self) -> BucketSums:
        """Return the sums in the order of bucket numbers, one for each number."""
        if not len(self):
            return self
        ordered = self
        if not (ordered.bucket[1:] >= ordered.bucket[:-1]).all():
            ordered = ordered.pick(score_order(ordered.bucket))
        return ordered.in_runs(_run_starts(ordered.bucket))

    def in_runs(self, starts: npt.NDArray[np.intp]) -> BucketSums:
        """Return the sums over the runs that begin at `starts`, each under the number of its first bucket."""
        if len(starts) == len(self):
            return self
        low, high = np.minimum.reduceat(self.low, starts), np.maximum.reduceat(self.high, starts)
        attained = np.logical_and.reduceat(self.attained, starts)
        counts = np.add.reduceat(self.counts, starts, axis=1)
        return BucketSums(self.bucket[starts], counts, low, high, attained, self.away.add_runs(starts))

    def coarser(self, bits: int) -> BucketSums:
        """Return the sums over buckets of which each is ``2**bits`` of these, see `Grid.coarser`."""
        return replace(self, bucket=self.bucket >> bits).pooled()

    def as_weights(self) -> BucketSums:
        """Return the sums in floats, as of weights that are not numbers of rows."""
        counts, *words = (each.astype(np.float64) for each in (self.counts, self.away.upper, self.away.lower))
        return replace(self, counts=counts, away=FixedPoint(*words))

    @property
    def pure(self) -> BoolArray:
        """Whether all rows of a bucket are of one class: nothing turns inside, whatever its scores are."""
        return np.asarray((self.k == 0) | (self.k == self.n))

    @property
    def settled(self) -> BoolArray:
        """Whether there is nothing in a bucket to look for: it holds one score, or one class between known limits."""
        return np.asarray((self.low == self.high) | (self.attained & self.pure))

    def sums(self) -> FloatArray:
        """Return both sums as floats, each rounded once, shape (2, m)."""
        return self.away.to_float()

    def cells(self, losses: LossTotals) -> CellSums:
        """Return the sums as cells of a score table, with the losses of all rows."""
        residual = self.away[0] - self.away[1] if self.counts.dtype.kind == "i" else None
        rise, fall = self.sums()
        return CellSums(
            low=self.low + 0.0,  # -0.0 becomes 0.0
            high=self.high + 0.0,
            rise=rise,
            fall=fall,
            squared_total=losses.squared,
            log_loss_total=losses.log_loss,
            residual=residual,
        )


def _limits(grid: Grid, bucket: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the scores in some buckets."""
    start = bucket << grid.shift
    low = np.clip((start - 0.5) * UNIT, 0.0, 1.0)  # units are the nearest multiples
    end = np.clip((start + ((1 << grid.shift) - 0.5)) * UNIT, 0.0, 1.0)
    return low, np.where(end < 1.0, np.nextafter(end, 0.0), 1.0)


def _run_starts(bucket: IntArray) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1])[: len(bucket)])
