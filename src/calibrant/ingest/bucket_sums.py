"""Sums per bucket of neighbouring scores: what chunks, partitions and engines hand over, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from calibrant.ingest.grid import Grid
from calibrant.table.cells import CellSums
from calibrant.table.fixed_point import BITS, FixedPoint, IntArray, score_units
from calibrant.table.pooling import FloatArray, NumberArray, score_order

__all__ = ["HALF", "HALF_MASK", "LOG_LOSS_BITS", "BucketSums", "carried"]

# -log(p) reaches 745 where p is the smallest double, so it is kept in coarser units than residuals are.
LOG_LOSS_BITS = 36
# All terms of sums are below 745 * 2**LOG_LOSS_BITS < 2**46, so those of fewer rows than this add up in one word.
_FEW_ROWS = 1 << 16
# Other terms are split here: sums of either half stay in 64 bits for up to `units.MOST_ROWS` rows.
HALF = BITS // 2
HALF_MASK = (1 << HALF) - 1
_BLOCK = 1 << 15  # scores at a time, so that temporaries stay in the cache


@dataclass(frozen=True, eq=False)
class BucketSums:
    """What is known of each bucket that holds rows. Sums are over its rows, each times its weight."""

    bucket: IntArray  # number of the bucket on its grid, increasing
    low: FloatArray  # limits of the scores: the smallest and the largest but for resolved cells, see `two_scans`
    high: FloatArray
    # Shape (3, m): rows; positives; rows to which probability 0 was given. Floats if weights are not numbers of
    # rows.
    counts: NumberArray
    # Shape (4, m): words of four sums in units, worth ``upper * 2**32 + lower``: `1 - s` over positives; `s` over
    # negatives; `(y - s)**2`; and, in multiples of ``2**-LOG_LOSS_BITS``, `-log` of the probability given to the
    # observed label, where that is not 0. Floats may have all in the upper word.
    upper: NumberArray
    lower: NumberArray

    @classmethod
    def of_scores(cls, score: FloatArray, n: NumberArray, k: NumberArray, grid: Grid | None = None) -> BucketSums:
        """Return sums over the buckets of a grid, from distinct increasing scores with rows and positives at each.

        Without a grid each score has a bucket of its own.
        """
        units = score_units(score)
        bucket = np.arange(len(score)) if grid is None else grid.place(units)
        starts = _run_starts(bucket)
        if not len(starts):
            none = np.zeros((4, 0), dtype=n.dtype)
            return cls(bucket, score, score, none[:3], none, none)
        impossible = np.zeros(len(starts), dtype=n.dtype)
        impossible[0] += k[0] if score[0] == 0.0 else 0  # only the first score can be 0, only the last can be 1
        impossible[-1] += n[-1] - k[-1] if score[-1] == 1.0 else 0
        counts = np.stack([np.add.reduceat(n, starts), np.add.reduceat(k, starts), impossible])
        few = int(counts[0].max()) < _FEW_ROWS
        upper, lower = np.zeros((2, 4, len(starts)), dtype=n.dtype)
        for runs, rows, begins in _blocks(starts, len(score)):
            terms = _terms(score[rows], units[rows], k[rows], n[rows] - k[rows])
            for i, (hits, of_hit, misses, of_miss) in enumerate(terms):
                if n.dtype.kind == "f":
                    upper[i, runs] = np.add.reduceat((hits * of_hit + misses * of_miss) * 2.0**-32, begins)
                elif few:
                    lower[i, runs] = np.add.reduceat(hits * of_hit + misses * of_miss, begins)
                else:
                    above = hits * (of_hit >> HALF) + misses * (of_miss >> HALF)
                    below = hits * (of_hit & HALF_MASK) + misses * (of_miss & HALF_MASK)
                    upper[i, runs], lower[i, runs] = (np.add.reduceat(half, begins) for half in (above, below))
        ends = np.append(starts[1:], len(score)) - 1
        words = carried(upper, lower, word=32 if few else HALF)
        return cls(bucket[starts], score[starts], score[ends], counts, *words)

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
        held = self
        if not (held.bucket[1:] >= held.bucket[:-1]).all():
            held = held.pick(score_order(held.bucket))
        return held.in_runs(_run_starts(held.bucket))

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
            *carried(upper, lower),
        )

    def coarser(self, bits: int) -> BucketSums:
        """Return the sums over buckets of which each is ``2**bits`` of these, see `Grid.coarser`."""
        return replace(self, bucket=self.bucket >> bits).pooled()

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
        """Return the four sums as floats, each rounded once, shape (4, m)."""
        rise, fall, squared, log_loss_sum = FixedPoint(self.upper, self.lower).to_float()
        return np.stack([rise, fall, squared, log_loss_sum * 2.0 ** (BITS - LOG_LOSS_BITS)])

    def cells(self) -> CellSums:
        """Return the sums as cells of a score table."""
        rise, fall, squared, log_loss_sum = self.sums()
        counted = self.upper.dtype.kind == "i"
        return CellSums(
            low=self.low + 0.0,  # -0.0 becomes 0.0
            high=self.high + 0.0,
            rise=rise,
            fall=fall,
            squared=squared,
            log_loss_sum=np.where(self.counts[2] > 0, np.inf, log_loss_sum),
            residual=FixedPoint(self.upper[0], self.lower[0]) - FixedPoint(self.upper[1], self.lower[1])
            if counted
            else None,
        )


def _run_starts(bucket: IntArray) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1])[: len(bucket)])


def _blocks(starts: npt.NDArray[np.intp], size: int) -> Iterator[tuple[slice, slice, npt.NDArray[np.intp]]]:
    """Yield blocks of whole runs: which runs, which scores, and where in the block each run begins."""
    cuts = np.append(np.searchsorted(starts, np.arange(0, size, _BLOCK)), len(starts))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if first < last:
            begin = int(starts[first])
            end = int(starts[last]) if last < len(starts) else size
            yield slice(first, last), slice(begin, end), starts[first:last] - begin


def _terms(
    score: FloatArray, units: IntArray, hits: NumberArray, misses: NumberArray
) -> Iterator[tuple[NumberArray, IntArray, NumberArray, IntArray]]:
    """Yield for each of the four sums: positives, the whole number each counts for, and the same of negatives."""
    nothing = np.zeros_like(units)
    yield hits, (1 << BITS) - units, misses, nothing
    yield hits, nothing, misses, units
    yield hits, score_units((1.0 - score) ** 2), misses, score_units(score**2)
    with np.errstate(divide="ignore"):
        losses = -np.log(score), -np.log1p(-score)
    for loss in losses:
        loss[loss == np.inf] = 0.0
    of_hit, of_miss = ((loss * 2.0**LOG_LOSS_BITS + 0.5).astype(np.int64) for loss in losses)
    yield hits, of_hit, misses, of_miss


def carried(upper: NumberArray, lower: NumberArray, *, word: int = 32) -> tuple[NumberArray, NumberArray]:
    """Return words as `FixedPoint` has them, from words as sums leave them; floats as they are."""
    if upper.dtype.kind == "f":
        return upper, lower
    whole = FixedPoint.of(upper, lower, word=word)
    return whole.upper, whole.lower
