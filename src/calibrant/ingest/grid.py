"""Buckets of neighbouring scores: what a scan adds up, and which buckets the next scan looks into."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant.table.fixed_point import IntArray, score_units

__all__ = ["BucketSet", "Grid"]

_MOST_LISTED = 1 << 23  # bytes


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

    def place(self, units: IntArray) -> IntArray:
        """Return the bucket of scores given in units; it never decreases with the score."""
        return units >> self.shift


@dataclass(frozen=True, eq=False)
class BucketSet:
    """The scores that a scan looks at: some buckets of a grid, their numbers increasing and not empty."""

    grid: Grid
    numbers: IntArray

    @cached_property
    def _listed(self) -> npt.NDArray[np.bool_] | None:
        """Which numbers from the first to the last belong, and False at the end; None if they are too many to list."""
        if self.numbers[-1] - self.numbers[0] > _MOST_LISTED:
            return None
        listed = np.zeros(self.numbers[-1] - self.numbers[0] + 2, dtype=np.bool_)
        listed[self.numbers - self.numbers[0]] = True
        return listed

    def holds(self, units: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which scores, given in units, lie in the set."""
        place = self.grid.place(units)
        if self._listed is not None:
            place -= self.numbers[0]
            return self._listed[np.clip(place, -1, len(self._listed) - 1, out=place)]
        near = np.minimum(np.searchsorted(self.numbers, place), len(self.numbers) - 1)
        return np.asarray(self.numbers[near] == place)
