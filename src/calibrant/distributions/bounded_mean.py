"""Confidence limits for the mean of bounded terms, which hold where few rows carry most of it, as with rare events.

The limits of Gaffke (2005): add one row more that is as unfavourable as a row can be, and take the quantile of the mean
under weights drawn at random from the simplex. For terms of 0 and 1 these are the limits of Clopper & Pearson, for sums
of rare events those of Garwood and of Fay & Feuer (1997), and for many rows the normal ones. The random mean is taken
for a beta variable of the same mean and variance, which is exact for terms of 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.score_table import FloatArray

__all__ = ["bounded_mean_limits"]


def bounded_mean_limits(
    mean: npt.ArrayLike, square: npt.ArrayLike, n: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits, each for half of what `level` leaves, for the mean of terms in [low, high]; ``low < high``.

    `mean` and `square` are the means of the terms and of their squares over `n` independent rows. For rows that depend
    on each other `n` is the number of independent ones that are worth as much (Korn & Graubard 1998), whole or not.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    reach = high - low
    with np.errstate(invalid="ignore", over="ignore"):
        share = (np.asarray(mean) - low) / reach
        # of (x - low)^2; a variance that rounding leaves below 0 is none
        spread = np.maximum(0.0, np.asarray(square) - np.asarray(mean) ** 2) / reach**2
    tail = 0.5 - 0.5 * level
    lower = low + reach * (1.0 - _upper(1.0 - share, spread, n, tail))
    upper = low + reach * _upper(share, spread, n, tail)
    return np.asarray(lower), np.asarray(upper)


def _upper(share: FloatArray, spread: FloatArray, n: npt.ArrayLike, tail: float) -> FloatArray:
    """Upper limit for the mean of terms in [0, 1], of mean `share` and variance `spread`."""
    from scipy.special import betaincinv

    rows = np.asarray(n, dtype=np.float64) + 1.0  # one more, of 1
    middle = 1.0 - (1.0 - share) * ((rows - 1.0) / rows)
    variance = (rows - 1.0) / rows * (spread + (1.0 - share) ** 2 / rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = (rows + 1.0) * middle * (1.0 - middle) / variance - 1.0
        limit: Any = betaincinv(size * middle, size * (1.0 - middle), 1.0 - tail)
    # All terms are 1, or there are no rows; SciPy gives up on some quantiles too: there is no limit then.
    return np.asarray(np.where(np.isnan(limit) & ~np.isnan(share), 1.0, limit))
