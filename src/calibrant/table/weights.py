"""Weights: those that count rows, and those that do not, of which only the ratios matter.

A weight counts rows only where that was said (`count`). Any other is divided by the weight of one row of equal ones
that are worth as much: then weights add up to ``(sum w)**2 / sum w**2`` (Kish 1965), whatever their scale, and what
counts rows to smooth, or to choose a bandwidth, counts these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.pooling import sorted_values
from calibrant.table.row_errors import describe_zero_weights
from calibrant.table.statements import Sampling

# Totals and shares of weights in this range stay clear of the ends of the range of floats, as do their squares.
LEAST_WEIGHT, MOST_WEIGHT = 1e-140, 1e140

IF_COUNTS = "if each weight is a number of equal rows, pass `count`"
PROVED = (
    f"{IF_COUNTS}; with amounts, or 1 / known chances of having been looked at, `calibrant.audit_means` with the same "
    "weights, `relative_to='exposure'` and `outcome_limits` 0 and 1 bounds the weighted error"
)


class WeightSums(NamedTuple):
    """What is kept of positive weights that do not count rows: how many, their sums, the least and the largest."""

    rows: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = 0.0

    @classmethod
    def of(cls, weight: npt.NDArray[Any]) -> WeightSums:
        """Add up some weights, of which those of 0 are no rows."""
        positive = sorted_values(weight[weight > 0].astype(np.float64))  # so that the order of rows does not show
        if not len(positive):
            return cls()
        with np.errstate(over="ignore", under="ignore"):  # such weights are refused
            total, squares = float(positive.sum()), float((positive * positive).sum())
        return cls(len(positive), total, squares, float(positive[0]), float(positive[-1]))

    def __add__(self, other: object) -> WeightSums:
        """Add the weights of other rows."""
        assert isinstance(other, WeightSums)
        total, squares = self.total + other.total, self.squares + other.squares
        ends = min(self.low, other.low), max(self.high, other.high)
        return WeightSums(self.rows + other.rows, total, squares, *ends)

    def check(self) -> None:
        """Raise a `DataError` if all weights are 0, or some near an end of the range of floats."""
        if not self.rows:
            raise describe_zero_weights()
        remedy = "only the ratios of such weights matter: rescale them, for example by dividing by the largest"
        if not self.total <= MOST_WEIGHT:
            raise DataError(f"weights that add up to at most {MOST_WEIGHT:g}", f"a total of {self.total:g}", remedy)
        if self.high < LEAST_WEIGHT:
            raise DataError(f"some weight of at least {LEAST_WEIGHT:g}", f"{self.high:g} as the largest", remedy)

    @property
    def equal(self) -> bool:
        """Whether all weights are the same, and so say nothing."""
        return self.low == self.high

    @property
    def unit(self) -> float:
        """Weight of one of the equal rows that are worth as much."""
        return self.low if self.equal else self.squares / self.total

    @property
    def sampling(self) -> Sampling:
        """That rows have weights, how many they are, and the unit of their weights."""
        return Sampling("weights", self.rows, unit_weight=self.unit)

    def in_units(self, weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return weights, or sums of them, in units: whole numbers if all weights are the same."""
        return np.rint(weight / self.unit).astype(np.int64) if self.equal else weight / self.unit


def both_kinds() -> ArgumentError:
    """Say that rows have a count or a weight, not both."""
    remedy = "pass `count` if each row stands for so many equal rows, and a weight if it matters so much"
    return ArgumentError("a weight or a `count` of rows", "both", remedy)
