"""Sums per bucket of neighbouring scores: what chunks, partitions and engines hand over, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from calibrant.cells.grid import Grid
from calibrant.cells.losses import LossTotals
from calibrant.table.cells import CellSums
from calibrant.table.fixed_point import BITS, UNIT, FixedPoint, IntArray, score_units
from calibrant.table.pooling import FloatArray, NumberArray, score_order


@dataclass(frozen=True, eq=False)
class BucketSums:
    """What is known of each bucket that holds rows. Sums are over its rows, each times its weight."""

    bucket: IntArray  # number of the bucket on its grid, increasing
    low: FloatArray  # limits of the scores; attained where they are equal
    high: FloatArray
    counts: NumberArray  # shape (2, m): rows; positives. Floats if weights are not numbers of rows
    # Shape (2, m): words of two sums in units, worth ``upper * 2**32 + lower``: `1 - s` over positives; `s` over
    # negatives. Floats may have all in the upper word.
    upper: NumberArray
    lower: NumberArray

    @classmethod
    def of_scores(cls, score: FloatArray, n: NumberArray, k: NumberArray, grid: Grid | None = None) -> BucketSums:
        """Return sums over the buckets of a grid, from distinct increasing scores with rows and positives at each.

        Without a grid each score has a bucket of its own.
        """
        units = score_units(score)
        bucket = np.arange(len(score)) if grid is None else grid.bucket_of(units)
        starts = _run_starts(bucket)
        if not len(starts):
            none = np.zeros((2, 0), dtype=n.dtype)
            return cls(bucket, score, score, none, none, none)
        counts = np.stack([np.add.reduceat(n, starts), np.add.reduceat(k, starts)])
        upper, lower = np.zeros((2, 2, len(starts)), dtype=n.dtype)
        for i, (weight, away) in enumerate([(k, (1 << BITS) - units), (n - k, units)]):
            if n.dtype.kind == "f":
                upper[i] = np.add.reduceat(weight * away * 2.0**-32, starts)
            else:
                total = FixedPoint.product(weight, away).add_runs(starts)
                upper[i], lower[i] = total.upper, total.lower
        ends = np.append(starts[1:], len(score)) - 1
        return cls(bucket[starts], score[starts], score[ends], counts, upper, lower)

    @classmethod
    def above_starts(cls, grid: Grid, bucket: IntArray, counts: NumberArray, above: NumberArray) -> BucketSums:
        """Return sums over the buckets of a grid from rows and positives of each, see `counts`.

        `above`, of shape (2, m), is how far the scores of negatives and those of positives are above the start of the
        bucket, added up in units. Limits are those of the bucket.
        """
        start = bucket << grid.shift
        upper, lower = np.empty((2, *counts.shape), dtype=counts.dtype)
        upper[0], lower[0] = _words(counts[1], (1 << BITS) - start, -above[1])
        upper[1], lower[1] = _words(counts[0] - counts[1], start, above[0])
        low = np.clip((start - 0.5) * UNIT, 0.0, 1.0)  # units are the nearest multiples
        end = np.clip((start + ((1 << grid.shift) - 0.5)) * UNIT, 0.0, 1.0)
        return cls(bucket, low, np.where(end < 1.0, np.nextafter(end, 0.0), 1.0), counts, upper, lower)

    @classmethod
    def joined(cls, parts: Sequence[BucketSums]) -> BucketSums:
        """Return all buckets one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = (field.name for field in fields(cls))
        return cls(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names))

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
        upper, lower = (np.add.reduceat(words, starts, axis=1) for words in (self.upper, self.lower))
        return BucketSums(
            self.bucket[starts],
            np.minimum.reduceat(self.low, starts),
            np.maximum.reduceat(self.high, starts),
            np.add.reduceat(self.counts, starts, axis=1),
            *_carried(upper, lower),
        )

    def coarser(self, bits: int) -> BucketSums:
        """Return the sums over buckets of which each is ``2**bits`` of these, see `Grid.coarser`."""
        return replace(self, bucket=self.bucket >> bits).pooled()

    def as_weights(self) -> BucketSums:
        """Return the sums in floats, as of weights that are not numbers of rows."""
        counts, upper, lower = (each.astype(np.float64) for each in (self.counts, self.upper, self.lower))
        return replace(self, counts=counts, upper=upper, lower=lower)

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

    def sums(self) -> FloatArray:
        """Return both sums as floats, each rounded once, shape (2, m)."""
        return FixedPoint(self.upper, self.lower).to_float()

    def cells(self, losses: LossTotals) -> CellSums:
        """Return the sums as cells of a score table, with the losses of all rows."""
        rise, fall = self.sums()
        counted = self.upper.dtype.kind == "i"
        return CellSums(
            low=self.low + 0.0,  # -0.0 becomes 0.0
            high=self.high + 0.0,
            rise=rise,
            fall=fall,
            squared_total=losses.squared,
            log_loss_total=losses.log_loss,
            residual=FixedPoint(self.upper[0], self.lower[0]) - FixedPoint(self.upper[1], self.lower[1])
            if counted
            else None,
        )


def _run_starts(bucket: IntArray) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1])[: len(bucket)])


def _words(count: NumberArray, each: IntArray, further: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Return ``count * each + further`` in two words, see `BucketSums`."""
    if count.dtype.kind == "f":
        total = (count * each + further) * 2.0**-32
        return total, np.zeros_like(total)
    whole = FixedPoint.product(count, each) + FixedPoint.of(np.zeros_like(further), further)
    return whole.upper, whole.lower


def _carried(upper: NumberArray, lower: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Return words as `FixedPoint` has them, from words as sums leave them; floats as they are."""
    if upper.dtype.kind == "f":
        return upper, lower
    whole = FixedPoint.of(upper, lower)
    return whole.upper, whole.lower
