"""Upper limits of the largest mean residual over intervals, by betting: no variance and no lower limit are needed.

Rows are in the order of their predictions; `residual` has the sign of the side asked about (observed minus predicted
for "too low"), and none is above `top`, known beforehand. What a limit is about is the supremum, over intervals of
predictions, of the mean residual inside: the error of that side, which one fixed interval attains or approaches. So the
product over the rows that judges that interval is enough, and no price is paid for the choice of it.
Statements and proofs: docs/theory/16-means.md.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.mean_limits import bernstein_rate
from calibrant.table.pooling import FloatArray, IndexArray

# The ratio limit is known up to this fraction of it, and rounded up.
_FINE = 1e-6
_STEPS = 60


def largest_rise(values: FloatArray, ends: IndexArray) -> tuple[float, int, int]:
    """Largest sum over an interval of predictions, at least 0, and the rows ``first <= i < stop`` it is over.

    `ends` are the last rows of each prediction: rows of one prediction are in an interval together.
    """
    after = np.append(0.0, np.cumsum(values)[ends])
    rises = after - np.minimum.accumulate(after)
    stop = int(np.argmax(rises))
    first = int(np.argmin(after[: stop + 1]))
    rows = np.append(-1, ends)
    return float(rises[stop]), int(rows[first]) + 1, int(rows[stop]) + 1


def betting_rate(n: float, square: float, delta: float, top: float) -> float:
    """About the best fixed rate, below ``1 / top``, for n residuals of this mean square."""
    return bernstein_rate(top * math.sqrt(-2.0 * math.log(delta) / (n * square))) / top


def predictable_rates(
    residual: FloatArray, order: IndexArray, delta: float, top: float, *, square: float, rows: float
) -> FloatArray:
    """Rates below ``1 / top``, each made of the residuals before its row in `order`, a permutation of the rows.

    `square` is a guess of the mean square that counts like so many `rows`. It, the order and `top` must not depend on
    the rows: chosen beforehand, drawn, or made of other rows.
    """
    n = len(residual)
    squares = np.append(0.0, np.cumsum(residual[order[:-1]] ** 2))
    mean = (rows * square + squares) / (rows + np.arange(n))
    rates = np.empty(n)
    rates[order] = bernstein_rate(top * np.sqrt(-2.0 * math.log(delta) / (n * mean))) / top
    return rates


def fixed_rate_limit(rise: float, n: float, rate: float, delta: float) -> float:
    """Theorem 16.1: upper limit of the error per row at a fixed rate, for rows that are only independent.

    `rise` is the largest sum of ``-log(1 - rate * residual)`` over an interval, as `largest_rise` finds it, for every
    residual below ``1 / rate``. If the limit is about the predictions and exposures at hand, the rate may depend on
    them; it must not depend on outcomes. Several rates with chances p that sum to 1: the least limit at ``delta * p``.
    """
    return -math.expm1(-(rise - math.log(delta)) / n) / rate


def predictable_limit(residual: FloatArray, ends: IndexArray, rates: FloatArray, delta: float, top: float) -> float:
    """Theorem 16.2: upper limit of the error per row with predictable rates, for identically distributed rows.

    The largest c, up to `top`, at which ``sum log(1 - rate c)`` plus the rise of ``-log(1 - rate residual)`` is not
    below log(delta).
    """
    evidence = largest_rise(-np.log1p(-rates * residual), ends)[0] - math.log(delta)
    limit = evidence / float(rates.sum())
    if limit >= top and float(np.log1p(-rates * top).sum()) + evidence >= 0.0:
        return top
    limit = min(limit, top)
    # The sum is concave in c, so Newton's steps come closer from above and never pass the solution.
    for _ in range(_STEPS):
        step = (float(np.log1p(-rates * limit).sum()) + evidence) / float((rates / (1.0 - rates * limit)).sum())
        limit += min(0.0, step)
        if step >= -_FINE * limit:
            break
    return limit


def ratio_limit(
    residual: FloatArray, unit: FloatArray, ends: IndexArray, rates: FloatArray | float, delta: float
) -> float:
    """Theorem 16.3: upper limit of ``E residual in I / E unit``, the error per unit, with such rates or a fixed one.

    `unit` is any function of a row that is nowhere negative and not always 0. A ratio is rejected if, whatever the
    interval I, the product of ``1 - rate (residual in I - c unit)`` is above ``1 / delta``.
    """
    scaled, factors = rates * unit, 1.0 - rates * residual

    def excess(ratio: float) -> tuple[float, float]:
        """Least evidence against the ratio over all intervals, above log(1 / delta), and its slope."""
        outside, inside = 1.0 + ratio * scaled, factors + ratio * scaled
        logs = np.log(outside)
        rise, first, stop = largest_rise(logs - np.log(inside), ends)
        slope = scaled / outside
        slope[first:stop] = scaled[first:stop] / inside[first:stop]
        return float(logs.sum()) - rise + math.log(delta), float(slope.sum())

    if not scaled.any():
        return math.inf
    # The evidence grows with the ratio and is concave: Newton's steps stay below the solution, chords above it.
    low = 0.0
    below, slope = excess(low)
    high = -below / slope
    above, next_slope = excess(high)
    while above <= 0.0:
        low, below, slope, high = high, above, next_slope, 2.0 * high
        above, next_slope = excess(high)
    while high - low > _FINE * high and below < 0.0 < above:
        newton, high = low - below / slope, low - below * (high - low) / (above - below)
        low, above = min(newton, high), excess(high)[0]
        below, slope = excess(low)
    return high
