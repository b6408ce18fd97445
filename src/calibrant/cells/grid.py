"""Buckets of neighbouring scores: what a scan adds up, and which buckets the next scan looks into."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant.table.fixed_point import score_units
from calibrant.table.pooling import FloatArray, IntArray, ScoreArray

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
