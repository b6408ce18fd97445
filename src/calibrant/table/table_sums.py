"""What follows from the scores, rows and positives of a table; scores as whole numbers, whose sums know no order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, IndexArray, IntArray, NumberArray, ScoreArray, score_order
from calibrant.table.statements import INDEPENDENT, Sampling

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


@dataclass(frozen=True, eq=False)
class CellSums:
    """What is kept of the rows of each cell besides their count, positives and mean score.

    A cell is a run of neighbouring scores that share one row of a table. All arrays have one entry per row of
    the table; sums are over the rows of the data in the cell, each times its weight. What needs no cells is a total.
    """

    low: FloatArray  # limits of the scores in the cell; attained where they are equal, and then the row is exact
    high: FloatArray
    rise: FloatArray  # sum of 1 - s over the positives: the most that the cumulative residuals can rise inside
    fall: FloatArray  # sum of s over the negatives: the most that they can fall inside
    squared_total: float  # sum of (y - s)**2 over the rows of all cells
    log_loss_total: float  # the same of -log of the probability given to the observed label
    residual: FixedPoint | None = None  # sum of y - s; None if weights are not numbers of rows, or if not known

    @property
    def arrays(self) -> list[FloatArray]:
        """All sums that are arrays."""
        return [self.low, self.high, self.rise, self.fall]

    def times(self, factor: float) -> CellSums:
        """Return the sums of rows of so much weight each."""
        totals = self.squared_total * factor, self.log_loss_total * factor
        return CellSums(self.low, self.high, self.rise * factor, self.fall * factor, *totals)

    def __add__(self, other: CellSums) -> CellSums:
        """Put the cells of other rows beside these."""
        low, high, rise, fall = map(np.concatenate, zip(self.arrays, other.arrays, strict=True))
        totals = self.squared_total + other.squared_total, self.log_loss_total + other.log_loss_total
        one, two = self.residual, other.residual
        residual = None if one is None or two is None else FixedPoint.joined([one, two])
        return CellSums(low, high, rise, fall, *totals, residual)


def join_cells(
    n: NumberArray, k: NumberArray, cells: CellSums
) -> tuple[FloatArray, NumberArray, NumberArray, CellSums]:
    """Put cells into increasing order and make one of those that overlap; mean scores, n, k and the other sums."""
    order = score_order(cells.low, cells.high)
    low, reach = cells.low[order], np.maximum.accumulate(cells.high[order])
    starts = np.flatnonzero(np.append(True, low[1:] > reach[:-1]))

    def total(values: NumberArray) -> NumberArray:
        return np.add.reduceat(values[order], starts)

    joined = replace(
        cells,
        low=low[starts],
        high=np.maximum.reduceat(cells.high[order], starts),
        rise=total(cells.rise),
        fall=total(cells.fall),
        residual=None if cells.residual is None else cells.residual[order].add_runs(starts),
    )
    n, k = total(n), total(k)
    # sum s = (k - rise) + fall; the mean is kept inside the cell against rounding
    mean = np.clip(((k - joined.rise) + joined.fall) / n, joined.low, joined.high)
    return mean, n, k, joined


def most_squared(total: FloatArray, count: NumberArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the largest sum of squares of so many numbers from `low` to `high` that add up to `total`."""
    mean = np.divide(total, count, out=np.array(low), where=count > 0)
    # The variance is at most (high - mean) (mean - low) (Bhatia and Davis, 2000).
    return np.asarray(count * (mean**2 + np.maximum(0.0, (high - mean) * (mean - low))))


# Residuals of fewer rows add up to whole units that fit 63 bits; those of more need `FixedPoint`, to the same bits.
_ONE_WORD = 2.0 ** (63 - BITS)


@dataclass(frozen=True, eq=False)
class TableSums:
    """Base of `ScoreTable`, which describes the fields; where they are cells, the sums are those that cells keep."""

    score: FloatArray
    n: NumberArray
    k: NumberArray
    cells: CellSums | None = None
    sampling: Sampling = INDEPENDENT

    def __post_init__(self) -> None:
        for array in [self.score, self.n, self.k, *(self.cells.arrays if self.cells is not None else [])]:
            array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.score.shape[0])

    @property
    def exact(self) -> bool:
        """Whether every row is one distinct score."""
        return self.cells is None or bool((self.cells.low == self.cells.high).all())

    @property
    def whole(self) -> bool:
        """Whether `n` are whole numbers, so that sums are exact: rows, or weights that are all the same."""
        return self.n.dtype.kind == "i"

    @property
    def weighted(self) -> bool:
        """Whether rows have weights that count no rows: then `n` adds up to the equal rows that are worth as much."""
        return self.sampling.unit == "weights"

    @property
    def n_rows(self) -> float:
        """Number of rows, each counted once if they have weights."""
        return float(self.sampling.n_units or 0) if self.weighted else self.total

    @property
    def independent(self) -> bool:
        """Whether `n` counts independent rows, so that chance may be computed from it."""
        return self.whole and self.sampling.unit == "rows"

    @cached_property
    def total(self) -> float:
        """Number of rows, or of the equal ones that rows with weights are worth."""
        return float(self.n.sum())

    @property
    def total_unit(self) -> float:
        """What sums of residuals are divided by, to have the error in the unit in which it is told."""
        return self.total

    @property
    def resolution(self) -> float:
        """Range of the cumulative residuals that is no more than rounding: scores are kept to half a `UNIT` each."""
        return UNIT

    @cached_property
    def positives(self) -> float:
        """Number of positives, or their weight."""
        return float(self.k.sum())

    @property
    def base_rate(self) -> float:
        """Share of positives."""
        return self.positives / self.total

    @cached_property
    def mean_score(self) -> float:
        """Mean predicted probability."""
        return float(np.dot(self.n, self.score)) / self.total

    @property
    def negatives(self) -> NumberArray:
        """Negatives at each score, or their weight: those of `n` that are not in `k`."""
        return self.n - self.k

    @property
    def variance(self) -> FloatArray:
        """Sum of `s (1 - s)` of each row: the variance of its positives if the scores were exactly right.

        Of a cell as if all scores were their mean: too much by at most a quarter of its squared width for each row.
        """
        return np.asarray(self.n * (self.score * (1.0 - self.score)), dtype=np.float64)

    @cached_property
    def mean_variance(self) -> float:
        """Mean of `s (1 - s)`: the expected Brier score if the scores were exactly right."""
        if self.cells is None:
            return float(self.variance.sum()) / self.total
        return max(0.0, float(self.rise.sum() + self.fall.sum()) - self.squared_total) / self.total

    @property
    def low(self) -> FloatArray:
        """Smallest score of each row of the table."""
        return self.score if self.cells is None else self.cells.low

    @property
    def high(self) -> FloatArray:
        """Largest score of each row of the table; the ends at which the cumulative residuals are known exactly."""
        return self.score if self.cells is None else self.cells.high

    @property
    def rise(self) -> FloatArray:
        """Sum of `1 - s` over the positives of each row."""
        return self.k * (1.0 - self.score) if self.cells is None else self.cells.rise

    @property
    def fall(self) -> FloatArray:
        """Sum of `s` over the negatives of each row."""
        return self.negatives * self.score if self.cells is None else self.cells.fall

    @property
    def squared(self) -> FloatArray:
        """Sum of squared residuals `(y - s)**2` of each row.

        Of a cell the most that it can be, as if scores were either the lowest or the highest: too much by at most a
        quarter of its squared width for each row.
        """
        if self.cells is None:
            return self.k * (1.0 - self.score) ** 2 + self.negatives * self.score**2
        of_positives = most_squared(self.rise, self.k, 1.0 - self.high, 1.0 - self.low)
        return of_positives + most_squared(self.fall, self.negatives, self.low, self.high)

    @cached_property
    def squared_total(self) -> float:
        """Sum of squared residuals of all rows, exact also for cells."""
        return float(self.squared.sum()) if self.cells is None else self.cells.squared_total

    @cached_property
    def log_loss_total(self) -> float:
        """Sum of `-log(probability given to the observed label)` of all rows; infinite if one was 0."""
        if self.cells is not None:
            return self.cells.log_loss_total
        negatives = self.negatives
        with np.errstate(divide="ignore", invalid="ignore"):
            of_positives = np.where(self.k > 0, -self.k * np.log(self.score), 0.0)
            of_negatives = np.where(negatives > 0, -negatives * np.log1p(-self.score), 0.0)
        return float((of_positives + of_negatives).sum())

    @property
    def residual(self) -> FixedPoint | None:
        """Sum of `y - s` of each row in whole units, or None if rows are not independent or are more than fit."""
        if self.cells is not None:
            return self.cells.residual
        if not self.independent or not self.total < MOST_ROWS:
            return None
        positives = FixedPoint.product(self.k, np.full(len(self), 1 << BITS))
        return positives - FixedPoint.product(self.n, score_units(self.score))

    def residual_sums(self) -> FloatArray:
        """Sum of `y - s` at each score; of a cell from its mean score."""
        return np.asarray(self.k - self.n * self.score)

    def cumulative_residual_sums(self) -> FloatArray:
        """Sum of `y - s` over all rows up to the end of each row of the table, cells or not."""
        if self.cells is None and self.independent and self.total < _ONE_WORD:
            return np.asarray(np.cumsum((self.k << BITS) - self.n * score_units(self.score)) * UNIT)
        if (residual := self.residual) is not None:
            return residual.cumsum().to_float()
        return np.cumsum(self.residual_sums() if self.cells is None else self.rise - self.fall)

    def _cell_sums(self) -> CellSums:
        """Return the sums as cells keep them, also of single scores."""
        if self.cells is not None:
            return self.cells
        totals = self.squared_total, self.log_loss_total
        return CellSums(self.low, self.high, self.rise, self.fall, *totals, self.residual)
