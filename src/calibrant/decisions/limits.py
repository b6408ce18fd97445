"""Confidence limits for averages of bounded terms over independent rows, for large n."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import normal_quantile
from calibrant.table.pooling import FloatArray


def normal_half_width(variance: npt.ArrayLike, reach: npt.ArrayLike, n: float, level: float) -> FloatArray:
    """Half the width of a confidence interval for the mean of n independent terms at most `reach` apart, for large n.

    ``z sqrt(variance / n) + log(2 / (1 - level)) reach / n``. Without the last term the interval would be far too
    narrow where what weighs most is rare: a sample without it says that it is rare, not that it never happens.
    """
    tail = 0.5 * (1.0 - level)
    deviation = np.sqrt(np.maximum(0.0, variance) / n)
    return np.asarray(-normal_quantile(tail) * deviation - math.log(tail) * np.asarray(reach) / n)


def ratio_limits(
    top: FloatArray,
    bottom: FloatArray,
    moments: tuple[FloatArray, FloatArray, FloatArray],
    reach: npt.ArrayLike,
    n: float,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Confidence limits for ratios of two means of the same rows, for large n, each by itself.

    `moments` are the variance of the terms of `top`, of those of `bottom`, and their covariance; no term is negative or
    above `reach`. The interval holds the ratios r for which the interval of `normal_half_width` for the mean of the
    terms ``top - r bottom``, which are at most ``reach (1 + r)`` apart, holds 0 (Fieller 1954): on either side the root
    of a quadratic equation. The upper end is infinite where `bottom` may as well be 0; both are NaN where it is, or n
    is NaN.
    """
    tail = 0.5 * (1.0 - level)
    squared_quantile = normal_quantile(tail) ** 2 / n
    var_top, var_bottom, covariance = (squared_quantile * np.asarray(moment) for moment in moments)
    rare = -math.log(tail) * np.asarray(reach) / n
    less, more = top - rare, bottom + rare
    a, b, c = more**2 - var_bottom, less * more - covariance, less**2 - var_top
    away_from_zero = (less > 0.0) & (c > 0.0)
    lower = np.zeros(len(top))
    np.divide(c, b + np.sqrt(np.maximum(0.0, b**2 - a * c)), out=lower, where=away_from_zero)
    less, more = bottom - rare, top + rare
    a, b, c = less**2 - var_bottom, less * more - covariance, more**2 - var_top
    bounded = (less > 0.0) & (a > 0.0)
    upper = np.full(len(top), np.inf)
    np.divide(b + np.sqrt(np.maximum(0.0, b**2 - a * c)), a, out=upper, where=bounded)
    unknown = (bottom == 0.0) | math.isnan(n)
    return np.where(unknown, np.nan, lower), np.where(unknown, np.nan, upper)
