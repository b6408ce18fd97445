"""What a score table keeps of rows that it does not tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.table.fixed_point import FixedPoint
from calibrant.table.pooling import FloatArray, NumberArray, score_order


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

    ends, residual = (low[starts], np.maximum.reduceat(cells.high[order], starts)), cells.residual
    residual = None if residual is None else residual[order].add_runs(starts)
    totals = cells.squared_total, cells.log_loss_total
    joined = CellSums(*ends, total(cells.rise), total(cells.fall), *totals, residual)
    n, k = total(n), total(k)
    # sum s = (k - rise) + fall; the mean is kept inside the cell against rounding
    mean = np.clip(((k - joined.rise) + joined.fall) / n, joined.low, joined.high)
    return mean, n, k, joined


def most_squared(total: FloatArray, count: NumberArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the largest sum of squares of so many numbers from `low` to `high` that add up to `total`."""
    mean = np.divide(total, count, out=np.array(low), where=count > 0)
    # The variance is at most (high - mean) (mean - low) (Bhatia and Davis, 2000).
    return np.asarray(count * (mean**2 + np.maximum(0.0, (high - mean) * (mean - low))))
