"""Rates of bets against a mean residual, and the interval of predictions that does best against them.

A bet needs an upper limit of the residuals and nothing else: no variance, and no lower limit. Statements and proofs:
docs/theory/16-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant.distributions.mean_limits import bernstein_rate
from calibrant.table.pooling import FloatArray, IndexArray

# Roots are known up to this fraction of them, and rounded up.
_FINE = 1e-5
# The first rate is for a mean square of top^2 / sqrt(n), which counts like so many rows: from frequent to rare outcomes
# limits are then within 2% of those with the best fixed rate.
_GUESS = 1.0
_STEPS = 60


def largest_rise(values: FloatArray, ends: IndexArray) -> tuple[float, int, int]:
    """Largest sum over an interval of predictions, at least 0, and the rows ``first <= i < stop`` it is over.

    `ends` are the last rows of each prediction: rows of one prediction are in an interval together.
    """
    after = np.zeros(len(values) + 1)
    np.cumsum(values, out=after[1:])
    if len(ends) < len(values):
        after = np.append(0.0, after[ends + 1])
    rises = after - np.minimum.accumulate(after)
    stop = int(np.argmax(rises))
    first = int(np.argmin(after[: stop + 1]))
    return float(rises[stop]), int(ends[first - 1]) + 1 if first else 0, int(ends[stop - 1]) + 1 if stop else 0


def betting_rate(n: float, square: float, delta: float, top: float) -> float:
    """About the best fixed rate, below ``1 / top``, for n residuals of this mean square."""
    return bernstein_rate(top * math.sqrt(-2.0 * math.log(delta) / (n * square))) / top


def predictable_rates(residual: FloatArray, order: IndexArray, delta: float, top: float) -> FloatArray:
    """Rates below ``1 / top``, each made of the residuals before its row in `order`, a permutation of the rows.

    The order and `top` must not depend on the rows: chosen beforehand, drawn, or made of other rows.
    """
    n = len(residual)
    squares = np.append(0.0, np.cumsum(residual[order[:-1]] ** 2))
    mean = (_GUESS * top**2 / math.sqrt(n) + squares) / (_GUESS + np.arange(n))
    rates = np.empty(n)
    rates[order] = bernstein_rate(top * np.sqrt(-2.0 * math.log(delta) / (n * mean))) / top
    return rates


def concave_root(excess: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Root of a growing concave function, rounded up; it returns its value and slope, negative at `low` alone."""
    (below, slope), above = excess(low), excess(high)[0]
    # Newton's steps from below stay below the root, chords above it.
    while high - low > _FINE * max(abs(high), abs(low)) and below < 0.0 < above:
        newton, high = low - below / slope, low - below * (high - low) / (above - below)
        low, above = min(newton, high), excess(high)[0]
        below, slope = excess(low)
    return high
