"""The inequality behind every empirical Bernstein bound of the package, and the rates used with it.

For 0 < l < 1 and x <= 1: exp(-l x - psi(l) x^2) <= 1 - l x, with equality at x = 1 (Fan, Grama & Liu 2015; Lemmas
1.1 and 3.1 of docs/theory). So exp(l sum (E X - X) - psi(l) sum X^2) has an expectation of at most 1 for independent
X <= 1.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from calibrant.table.pooling import FloatArray


@overload
def psi(rate: float) -> float: ...
@overload
def psi(rate: FloatArray) -> FloatArray: ...
def psi(rate: float | FloatArray) -> float | FloatArray:
    """Return ``-log(1 - rate) - rate``, for rates in [0, 1): the smallest charge for squares with which it holds.

    A Python float goes through `math`, whose last bit does not depend on the processor; anything else through NumPy.
    """
    if type(rate) is float:
        return -math.log1p(-rate) - rate
    return np.asarray(-np.log1p(-np.asarray(rate)) - rate)


@overload
def bernstein_rate(a: float) -> float: ...
@overload
def bernstein_rate(a: FloatArray) -> FloatArray: ...
def bernstein_rate(a: float | FloatArray) -> float | FloatArray:
    """Return about the best rate for ``a = sqrt(2 log(1 / delta) / (n mean square))``, below 1 as `psi` needs it.

    Any rate in (0, 1) that is fixed beforehand gives a bound.
    """
    rate = np.minimum(0.9, a / (1.0 + 0.66 * a))
    return float(rate) if type(a) is float else np.asarray(rate)
