"""Test that residuals have mean 0 along the predictions, from their sums and squares alone.

The range of the cumulative residuals over the root of the sum of their squares is that of a Brownian motion, in the
limit, if their variance is finite, whatever their distributions are. Where few large outcomes carry the variance, an
upper limit for what was not seen is taken off the range first (docs/theory/17-mean-measures.md).
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.distributions.bounded_mean import Draws, limit_excess
from calibrant.distributions.brownian import normal_quantile, range_survival, range_upper_quantile
from calibrant.table.pooling import FloatArray, IndexArray, sorted_values

# Largest outcomes from which the tail index is estimated.
FEWEST, _SHARE = 20, 0.02
# Below the first index a few outcomes decide every mean. By index, how many times the largest one that was not seen may
# be: found by counting; an infinite variance (index 2) often seems less heavy. From so many outcomes and the last index
# on it does not matter.
HEAVY = 1.5
_MANY, _LIGHT = 50_000, 2.5
_FACTORS = ((HEAVY, 3), (_LIGHT, 2))
_LEAST, _MOST, _FINE = 1e-6, 0.5, 0.01  # levels between which the p-value is sought, and its relative error


def range_p_value(residual: FloatArray, ends: IndexArray, times: float = 0.0, squares: float | None = None) -> float:
    """P-value of the self-normalised range; 1 if all residuals are 0.

    `ends` are the last rows of each prediction. With `times`, what residuals up to so many times the largest may add is
    taken off: the p-value is then the level at which the range, less the limit at that level, is just significant.
    `squares` is the sum of squares that the range is measured by; by default that of the residuals.
    """
    squares = float(residual @ residual) if squares is None else squares
    scale, cumulative = math.sqrt(squares), np.cumsum(residual)[ends]
    if scale == 0.0:
        return 1.0
    size = float(max(0.0, cumulative.max()) - min(0.0, cumulative.min()))
    if not times:
        return range_survival(size / scale)

    def too_small(level: float) -> bool:
        beyond = size - scale * range_upper_quantile(level)
        return beyond < 0.0 or _may_add(residual, times, beyond, level)

    return bisect(too_small, _LEAST, _MOST, atol=_LEAST, rtol=_FINE)[1]


def _may_add(residual: FloatArray, times: float, more: float, level: float) -> bool:
    """Whether residuals up to so many times the largest, which were not seen, may add so much to the sum of all.

    Beyond chance: it is judged by the limit of Gaffke for the mean, with the end of the range there, and how far that
    is above the normal limit.
    """
    n, end = len(residual), times * float(residual.max())
    chance = -normal_quantile(level) * float(residual.std()) * math.sqrt(n)
    at = float(residual.mean()) + (chance + more) / n
    return end > at and limit_excess(1, Draws(residual - at, np.ones(n)), end - at, 1.0 - 2.0 * level) > 0.0


def tail_factor(outcome: FloatArray) -> int:
    """How many times the largest outcome one that was not seen may be; 0 if that does not matter."""
    index = tail_index(outcome)
    for below, factor in _FACTORS:
        if index < below:
            return factor
    return 0 if len(outcome) >= _MANY and index >= _LIGHT else 1


def tail_index(outcome: FloatArray) -> float:
    """Hill's estimate of the tail index from the largest 2% of the positive outcomes, at least 20; NaN of too few."""
    positive = sorted_values(outcome[outcome > 0.0])
    largest = max(FEWEST, math.ceil(_SHARE * len(positive)))
    if len(positive) <= largest:
        return math.nan
    excess = float(np.log(positive[-largest:] / positive[-largest - 1]).mean())
    return 1.0 / excess if excess > 0.0 else math.inf
