"""Scores as whole numbers, and sums of them that do not depend on the order of the rows.

Residuals are added up as whole multiples of 2**-42. Integer sums do not depend on the order of the rows, on chunks,
partitions or threads; each row is off by at most 2**-43, hence so is the mean. Sums of many rows do not fit into
64 bits, so they are kept in two words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, IndexArray, IntArray, ScoreArray

BITS = 42
UNIT = 2.0**-BITS
# Whole weights that add up to more are treated as other weights. Up to here every sum of half words, see `BucketSums`,
# stays in 64 bits, whatever the scores are.
MOST_ROWS = 2.0**38
_WORD = 32


def score_units(score: ScoreArray) -> IntArray:
    """Return scores as the nearest whole multiple of `UNIT`."""
    return (score.astype(np.float64) * 2.0**BITS + 0.5).astype(np.int64)


class Scratch:
    """Arrays for a block of rows, made once: to make new ones for every block takes longer than to compute."""

    def __init__(self, size: int) -> None:
        self._floats, self._whole = np.empty((2, size)), np.empty((2, size), dtype=np.int64)

    def floats(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Return two arrays of so many floats."""
        return self._floats[0, :size], self._floats[1, :size]

    def whole(self, size: int) -> tuple[IntArray, IntArray]:
        """Return two arrays of so many whole numbers."""
        return self._whole[0, :size], self._whole[1, :size]


def write_units(values: ScoreArray, scale: float, floats: FloatArray, whole: IntArray) -> None:
    """Write the nearest whole multiples of ``1 / scale`` into `whole`, as `score_units` does with a scale of 2**42."""
    np.multiply(values, scale, out=floats, dtype=np.float64)
    floats += 0.5
    np.copyto(whole, floats, casting="unsafe")


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Whole numbers of units, each in two words: ``upper * 2**32 + lower``.

    ``0 <= lower < 2**32``, so that equal numbers have equal words. Floats, as weights make them that are not numbers of
    rows, have all in the upper word. Sums run along the last axis.
    """

    upper: npt.NDArray[Any]
    lower: npt.NDArray[Any]

    @classmethod
    def of(cls, upper: npt.NDArray[Any], lower: npt.NDArray[Any], *, word: int = _WORD) -> FixedPoint:
        """Return ``upper * 2**word + lower``, for words of any size and sign as sums leave them; `word` is up to 32."""
        if upper.dtype.kind == "f":
            return cls(upper, lower)
        upper = upper + (lower >> word)
        lower = lower & ((1 << word) - 1)
        spare = _WORD - word
        return cls(upper >> spare, ((upper & ((1 << spare) - 1)) << word) | lower)

    @classmethod
    def of_units(cls, units: npt.NDArray[Any]) -> FixedPoint:
        """Return numbers that fit 64 bits, or floats."""
        none = np.zeros_like(units)
        return cls(units * 2.0**-_WORD, none) if units.dtype.kind == "f" else cls.of(none, units)

    @classmethod
    def product(cls, count: npt.NDArray[Any], units: IntArray) -> FixedPoint:
        """Return `count * units`, for counts below 2**42 and units of scores in [0, 1]."""
        if count.dtype.kind == "f":
            return cls.of_units(count * units)
        half = BITS // 2
        return cls.of(count * (units >> half), count * (units & ((1 << half) - 1)), word=half)

    @classmethod
    def joined(cls, parts: Sequence[FixedPoint]) -> FixedPoint:
        """Return all numbers one after the other."""
        words = zip(*((part.upper, part.lower) for part in parts), strict=True)
        return cls(*(np.concatenate(word, axis=-1) for word in words))

    def __len__(self) -> int:
        return len(self.upper)

    def __getitem__(self, which: Any) -> FixedPoint:
        return FixedPoint(self.upper[which], self.lower[which])

    def __add__(self, other: FixedPoint) -> FixedPoint:
        return FixedPoint.of(self.upper + other.upper, self.lower + other.lower)

    def __sub__(self, other: FixedPoint) -> FixedPoint:
        return FixedPoint.of(self.upper - other.upper, self.lower - other.lower)

    def cumsum(self) -> FixedPoint:
        """Return running totals; exact for up to 2**31 numbers."""
        return FixedPoint.of(np.cumsum(self.upper, axis=-1), np.cumsum(self.lower, axis=-1))

    def add_runs(self, starts: IndexArray) -> FixedPoint:
        """Return the totals of the runs that begin at `starts`."""
        return FixedPoint.of(*(np.add.reduceat(words, starts, axis=-1) for words in (self.upper, self.lower)))

    def to_float(self) -> npt.NDArray[np.float64]:
        """Return the numbers times `UNIT`, rounded once as long as they are below 2**85."""
        return np.asarray((self.upper.astype(np.float64) * 2.0**_WORD + self.lower) * UNIT)
