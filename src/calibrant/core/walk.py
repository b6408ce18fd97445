"""The cumulative residual walk, and the score interval on which it moves the most.

Gao, Parameswaran & Peng (2017), Definition 2: the empirical calibration error of a classifier is the largest
average residual `|mean (y - s) 1{a < s <= b}|` over all score intervals, which is the range (highest minus lowest
point) of the walk that adds up residuals in the order of the scores, read only where a score ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.core.table import FloatArray, NumberArray, ScoreTable

__all__ = ["BITS", "UNIT", "Extremes", "Walk", "extremes", "residual_walk", "score_units"]

# Residuals are added up as whole multiples of 2**-42. Integer sums do not depend on the order of the rows, on
# chunks or on threads; each row is off by at most 2**-43, hence so is the mean.
BITS = 42
_HALF = 21
UNIT = 2.0**-BITS
# Beyond this many rows whole-number sums would leave 64 bits, and floats are used.
_MOST_ROWS = 2.0**41


def score_units(score: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Return scores as the nearest whole multiple of `UNIT`."""
    return (score.astype(np.float64) * 2.0**BITS + 0.5).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk at the end of each row of the table.

    Attributes
    ----------
    score : ndarray of float64, shape (m,)
        The largest score of each row of the table.
    value : ndarray of float64, shape (m,)
        Sum of residuals `y - s` over all rows up to there, divided by the total weight. It starts from 0.
    """

    score: FloatArray
    value: FloatArray


@dataclass(frozen=True)
class Extremes:
    """Where a walk rises and falls the most.

    Attributes
    ----------
    value : float
        Range of the walk, the cutoff calibration error.
    under, over : float
        Largest climb (more positives than promised) and largest drop (fewer than promised).
    low, high : float
        The score interval `(low, high]` that attains `value`; `low` is `-inf` if it starts below the smallest
        score. Both are NaN if the walk never leaves 0.
    sign : int
        1 if the walk climbs over that interval, -1 if it drops, 0 if there is none.
    ks : float
        Largest distance of the walk from 0.
    bias : float
        End of the walk: base rate minus mean score.
    """

    value: float
    under: float
    over: float
    low: float
    high: float
    sign: int
    ks: float
    bias: float


def residual_walk(table: ScoreTable) -> Walk:
    """Add up the residuals of a table in the order of its scores.

    Parameters
    ----------
    table : ScoreTable
        Any table; at the ends of its rows the walk is exact, cells or not.

    Returns
    -------
    Walk
        One value per row of the table.
    """
    if table.cells is None and table.counts and table.total < _MOST_ROWS:
        sums = _exact_sums(table.score, table.n, table.k)
    elif table.cells is None:
        sums = np.cumsum(table.k - table.n * table.score)
    else:
        sums = np.cumsum(table.rise - table.fall)
    return Walk(table.high, sums / table.total)


def _exact_sums(score: FloatArray, n: NumberArray, k: NumberArray) -> FloatArray:
    """Cumulative sums of `k - n s` in whole units, rounded to float64 once at the end.

    Units are split in two halves so that no product or sum leaves 64 bits below `_MOST_ROWS`.
    """
    units = score_units(score)
    upper = (np.cumsum(k) << _HALF) - np.cumsum(n * (units >> _HALF))
    lower = np.cumsum(n * (units & ((1 << _HALF) - 1)))
    upper = upper - (lower >> _HALF)
    rest = lower & ((1 << _HALF) - 1)
    return np.asarray((upper.astype(np.float64) * 2.0**_HALF - rest) * UNIT)


def extremes(walk: Walk) -> Extremes:
    """Find the range of a walk, its largest climb and drop, and the interval between its extreme points.

    Of several intervals that attain the same value, the one between the first highest and the first lowest point
    is reported.
    """
    value = np.concatenate([[0.0], walk.value])
    if np.ptp(value) <= UNIT:
        value[:] = 0.0  # scores are kept to half a unit each, so a smaller range is rounding
    score = np.concatenate([[-np.inf], walk.score])
    top, bottom = int(np.argmax(value)), int(np.argmin(value))
    first, last = min(top, bottom), max(top, bottom)
    sign = int(np.sign(value[last] - value[first]))
    return Extremes(
        value=float(value[top] - value[bottom]),
        under=float((value - np.minimum.accumulate(value)).max()),
        over=float((np.maximum.accumulate(value) - value).max()),
        low=float(score[first]) if sign else np.nan,
        high=float(score[last]) if sign else np.nan,
        sign=sign,
        ks=float(np.abs(value).max()),
        bias=float(value[-1]),
    )
