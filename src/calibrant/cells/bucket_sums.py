"""Buckets of neighbouring scores and their sums: what chunks, partitions and engines hand over, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import BoolArray, FloatArray, IntArray, NumberArray, ScoreArray, run_starts, score_order
from calibrant.table.table_sums import BITS, UNIT, CellSums, FixedPoint, Scratch, score_units, write_units
from calibrant.table.validation import CleanRows

_MOST_LISTED = 1 << 23


@dataclass(frozen=True)
class Grid:
    """Buckets of equal width, ``2**shift`` units, that begin at 0.

    Only whole numbers and powers of two are used, so every engine that computes in IEEE double precision or in
    64-bit integers puts a score into the same bucket.
    """

    shift: int

    @classmethod
    def over(cls, low: float, high: float, *, bits: int) -> Grid:
        """Return at most ``2**bits + 1`` buckets that hold the scores from `low` to `high`.

        Of any two such grids one divides the buckets of the other, so tables made on them can be merged.
        """
        first, last = (int(unit) for unit in score_units(np.array([low, high])))
        return cls(max(0, max(0, last - first - 1).bit_length() - bits))

    def finer(self, bits: int) -> Grid:
        """Return a grid that divides each bucket into ``2**bits``, or as many as there are units."""
        return Grid(max(0, self.shift - bits))

    def coarser(self, bits: int) -> Grid:
        """Return a grid that makes one of every ``2**bits`` buckets; their numbers lose as many bits."""
        return Grid(self.shift + bits)

    def bucket_of(self, score: ScoreArray) -> IntArray:
        """Return the bucket of scores; it never decreases with the score."""
        return score_units(score) >> self.shift


@dataclass(frozen=True, eq=False)
class BucketSet:
    """The scores that a scan looks at: some buckets of a grid, their numbers increasing and not empty."""

    grid: Grid
    numbers: IntArray

    @classmethod
    def over(cls, grid: Grid, low: float, high: float) -> BucketSet:
        """Return all buckets of a grid from that of one score to that of another."""
        first, last = grid.bucket_of(np.array([low, high])).tolist()
        return cls(grid, np.arange(first, last + 1))

    def spans(self, first: int, last: int) -> bool:
        """Whether the bucket of one number and that of another are not beyond the first and the last of these."""
        return bool(self.numbers[0] <= first and last <= self.numbers[-1])

    @cached_property
    def _listed(self) -> npt.NDArray[np.int32] | None:
        """Place among the `numbers` of each number from the first to the last, and -1 at the end; -1 if it is none.

        None if that would be too long a list.
        """
        span = int(self.numbers[-1] - self.numbers[0])
        if span > _MOST_LISTED:
            return None
        listed = np.full(span + 2, -1, dtype=np.int32)
        listed[self.numbers - self.numbers[0]] = np.arange(len(self.numbers))
        return listed

    def index(self, score: ScoreArray) -> IntArray:
        """Return at which place of `numbers` the bucket of each score stands; -1 if it is none."""
        return self.places(self.grid.bucket_of(score))

    def places(self, number: IntArray) -> IntArray:
        """Do the same with numbers of buckets, in place of which the result may be written."""
        if self.numbers[-1] - self.numbers[0] == len(self.numbers) - 1:
            number -= self.numbers[0]
            number[(number < 0) | (number >= len(self.numbers))] = -1
            return number
        if self._listed is None:
            near = np.minimum(np.searchsorted(self.numbers, number), len(self.numbers) - 1)
            return np.where(self.numbers[near] == number, near, -1)
        number -= self.numbers[0]
        np.clip(number, -1, len(self._listed) - 1, out=number)
        return self._listed[number].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Some intervals of scores, each from a lowest to a highest one, increasing and apart: what no grid divides."""

    low: FloatArray
    high: FloatArray

    def index(self, score: ScoreArray) -> IntArray:
        """Return in which interval each score lies; -1 if it is in none."""
        which = np.searchsorted(self.low, score, side="right") - 1
        return np.where(score <= self.high[which], which, -1)


@dataclass(frozen=True, eq=False)
class DoubleGrid:
    """Buckets that divide each of some others, from `low` to `high`, by the doubles in it: into ``2**bits`` at most.

    Positive doubles increase with their bits, read as a whole number. So scores that share a unit are told apart too.
    """

    divided: BucketSet | Intervals
    low: FloatArray
    high: FloatArray
    bits: int  # 2 at least, so that each of several doubles is divided

    def bucket_of(self, score: ScoreArray) -> IntArray:
        """Return the bucket of scores that lie in those divided; it never decreases with the score."""
        first, last = _bits(self.low), _bits(self.high)
        width = np.frexp((last - first).astype(np.float64))[1]  # bits of the difference, or one more by rounding
        which = self.divided.index(score)
        # A score may be off the limits of its bucket by rounding.
        above = np.clip(_bits(score) - first[which], 0, (last - first)[which])
        parts = above >> np.maximum(0, width - self.bits)[which]
        return np.asarray((which << self.bits) | parts)


def _bits(score: ScoreArray) -> IntArray:
    return (score.astype(np.float64) + 0.0).view(np.int64)  # -0.0 becomes 0.0


# -log(p) reaches 745 where p is the smallest double, so it is kept in coarser units than scores are.
LOG_LOSS_BITS = 36
HALF = 21  # terms are split here: sums of either half stay in 64 bits for up to `fixed_point.MOST_ROWS` rows

_MOST_AT_ONCE = 1 << 15  # terms are below 745 * 2**LOG_LOSS_BITS < 2**46


class LossTotals:
    """Totals over rows, each times its weight, in whole units; in floats if weights are not numbers of rows.

    `squared` is of ``(y - s)**2``, `log_loss` of ``-log`` of the probability given to the observed label where that is
    not 0, and `impossible` says whether it was.
    """

    def __init__(self, squared: float = 0, log_loss: float = 0, *, impossible: bool = False) -> None:
        self._squared, self._log_loss, self._impossible = squared, log_loss, impossible

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch(_MOST_AT_ONCE)

    def add(self, score: npt.NDArray[np.floating], positives: NumberArray, negatives: NumberArray) -> None:
        """Add what stands at each score: the weight of positives and of negatives."""
        for label, weight in ((1, positives), (0, negatives)):
            there = np.flatnonzero(weight > 0)
            self.add_rows(CleanRows(np.full(len(there), label, dtype=np.int8), score[there], weight[there]))

    def add_rows(self, rows: CleanRows) -> None:
        """Add rows."""
        for label, score, weight, *_ in rows.pieces(_MOST_AT_ONCE):
            away, chance = self._scratch.floats(len(score))
            np.subtract(label, score, out=away, dtype=np.float64)
            np.subtract(1, label, out=chance, dtype=np.float64)
            chance -= score
            np.abs(chance, out=chance)
            self._add(away, chance, weight)

    def _add(self, away: FloatArray, chance: FloatArray, weight: NumberArray | None) -> None:
        """Add rows by how far the score is from the label, and the probability given to it; both are overwritten."""
        away *= away
        self._squared += self._total(away, 2.0**BITS, weight)
        if chance.min(initial=1.0) == 0.0:
            never = chance == 0.0
            self._impossible |= weight is None or bool((weight[never] > 0).any())
            chance[never] = 1.0
        np.log(chance, out=chance)
        self._log_loss += self._total(chance, -(2.0**LOG_LOSS_BITS), weight)

    def _total(self, values: FloatArray, scale: float, weight: NumberArray | None) -> float:
        """Return the sum of values in units times weight: a Python integer, of any size, if weights are whole."""
        units = self._scratch.whole(len(values))[0]
        write_units(values, scale, values, units)
        if weight is None:
            return int(units.sum())
        if weight.dtype.kind == "f":
            return float(np.dot(units.astype(np.float64), weight))
        weight = weight.astype(np.int64, copy=False)
        upper, lower = (int(np.dot(half, weight)) for half in (units >> HALF, units & ((1 << HALF) - 1)))
        return (upper << HALF) + lower

    @property
    def squared(self) -> float:
        """Sum of the squared residuals."""
        return self._squared * UNIT

    @property
    def log_loss(self) -> float:
        """Sum of the log loss; infinite if an outcome was observed that was given probability 0."""
        return float("inf") if self._impossible else self._log_loss * 2.0**-LOG_LOSS_BITS


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
        starts = run_starts(wide)
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
        starts = run_starts(bucket)
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
        return ordered.in_runs(run_starts(ordered.bucket))

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
        low, high = self.low + 0.0, self.high + 0.0  # -0.0 becomes 0.0
        return CellSums(low, high, rise, fall, losses.squared, losses.log_loss, residual)


def _limits(grid: Grid, bucket: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the scores in some buckets."""
    start = bucket << grid.shift
    low = np.clip((start - 0.5) * UNIT, 0.0, 1.0)  # units are the nearest multiples
    end = np.clip((start + ((1 << grid.shift) - 0.5)) * UNIT, 0.0, 1.0)
    return low, np.where(end < 1.0, np.nextafter(end, 0.0), 1.0)
