"""Confidence limits for the mean of bounded terms, which hold where few rows carry most of it, as with rare events.

The limits of Gaffke (2005): add one row more that is as unfavourable as a row can be, and take the quantile of the mean
under weights drawn evenly from the simplex. For terms of two values these are the limits of Clopper & Pearson, for sums
of rare events those of Garwood, as in Fay & Feuer (1997), and for many rows the normal ones. The distribution of the
weighted mean is taken for a beta distribution that ends at the largest term and has the same mean, variance and
skewness, which it is for terms of two values; or, if it is skewed away from that end by more than a beta distribution
can be, for a gamma distribution that starts there, which is wider on this side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.score_table import FloatArray

__all__ = ["PowerMeans", "bounded_mean_limit", "bounded_mean_limits"]
_GAMMA = 1e12  # a beta distribution of this size is a gamma distribution


class PowerMeans(NamedTuple):
    """Means of terms, of their squares and of their cubes."""

    first: float | FloatArray
    second: float | FloatArray
    third: float | FloatArray


def bounded_mean_limits(
    powers: PowerMeans, n: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits, each for half of what `level` leaves, for the mean of terms in [low, high], from `n` independent rows.

    For rows that depend on each other they are moments and number of draws, see `cluster_moments`. An end of the range
    may be infinite; so is the limit on its side.
    """
    return bounded_mean_limit(-1, powers, n, low, level), bounded_mean_limit(1, powers, n, high, level)


def bounded_mean_limit(side: int, powers: PowerMeans, n: npt.ArrayLike, end: npt.ArrayLike, level: float) -> FloatArray:
    """One of the limits: the lower (-1), for which only the lower end of the range counts, or the upper one (1)."""
    first, second, third = (np.asarray(power, dtype=np.float64) for power in powers)
    high, tail = side * np.asarray(end, dtype=np.float64), 0.5 - 0.5 * level
    return side * _upper(side * first, second, side * third, np.asarray(n, dtype=np.float64), high, tail)


def _upper(
    first: FloatArray, second: FloatArray, third: FloatArray, n: FloatArray, high: FloatArray, tail: float
) -> FloatArray:
    from scipy.special import betaincinv

    rows = n + 1.0
    share, reach = n / rows, high - first
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # central moments with the row that is added, at `gap` above the new mean
        gap = share * reach
        spread = np.maximum(0.0, second - first**2)
        variance = share * (spread + reach**2 / rows)
        skew = third - 3.0 * first * second + 2.0 * first**3 - 3.0 * spread * reach / rows - (reach / rows) ** 3
        skew = share * skew + gap**3 / rows
        # of the weighted mean: its variance in units of the gap, and its skewness times the root of that, below 0 if up
        ratio = variance / (rows + 1.0) / gap**2
        turned = -2.0 * skew / ((rows + 2.0) * variance * gap)
        size = np.where(2.0 * ratio > turned, (2.0 + turned) / (2.0 * ratio - turned), _GAMMA)
        size = np.clip(size, 1.0, _GAMMA)
        middle = 1.0 / (1.0 + ratio * size)
        below = betaincinv((size - 1.0) * middle, (size - 1.0) * (1.0 - middle), tail)
        limit = high - gap / middle * below
    # No rows, or every term is the largest there can be; SciPy gives up on quantiles at some levels below 1e-200.
    return np.asarray(np.where(np.isnan(limit) & ~np.isnan(first + n), high, limit))
