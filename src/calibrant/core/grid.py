"""Buckets of neighbouring scores: what a scan adds up, and which buckets the next scan looks into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.core.units import IntArray, score_units

__all__ = ["Grid", "Zone"]


@dataclass(frozen=True)
class Grid:
    """Buckets of equal width that begin at 0.

    Only whole numbers and powers of two are used, so every engine that computes in IEEE double precision or in
    64-bit integers puts a score into the same bucket.

    Attributes
    ----------
    shift : int
        A bucket is ``2**shift`` units wide.
    """

    shift: int

    @classmethod
    def over(cls, low: float, high: float, *, bits: int) -> Grid:
        """Return at most ``2**bits + 1`` buckets that hold the scores from `low` to `high`.

        Of any two such grids one divides the buckets of the other, so tables made on them can be merged.
        """
        first, last = (int(unit) for unit in score_units(np.array([low, high])))
        return cls(max(0, (last - first).bit_length() - bits))

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
class Zone:
    """The scores that a scan looks at.

    Attributes
    ----------
    grid : Grid
        Buckets.
    numbers : ndarray of int64, increasing, not empty
        Those that belong to the zone.
    """

    grid: Grid
    numbers: IntArray

    def holds(self, units: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which scores, given in units, lie in the zone."""
        place = self.grid.place(units)
        near = np.minimum(np.searchsorted(self.numbers, place), len(self.numbers) - 1)
        return np.asarray(self.numbers[near] == place)
