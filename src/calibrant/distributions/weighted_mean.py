"""The distribution of a mean under weights drawn evenly from the simplex.

Such weights are shares of independent gamma variables E_i of shapes m_i, the numbers of rows of each value x_i. Their
mean is at least t where ``S = sum E_i (x_i - t)`` is at least 0. With ``K(s) = -sum m_i log(1 - s (x_i - t))``, the
cumulant generating function of S,

    P(S >= 0) = 1 / (2 pi i) times the integral of exp(K(s)) / s

along a path that crosses the real axis between 0 and ``1 / max(x_i - t)``. Where it crosses at the saddlepoint of K the
integrand hardly oscillates (Daniels 1954, 1987), and the trapezoid rule with 41 nodes finds the integral however small
it is: in 1,500 cases drawn, of two to eight values, up to 10^9 rows of each and tails down to 10^-8, the normal deviate
differed by at most 1e-5 from that of finer rules on other paths.
"""

from __future__ import annotations

import numpy as np

from calibrant.distributions.bisection import bisect_all
from calibrant.table.pooling import BoolArray, FloatArray

# Nodes and weights of the trapezoid rule on one half of the path, after v = sinh u.
_U = np.arange(0.0, 8.1, 0.2)
_NODES, _WEIGHTS = np.sinh(_U), 0.2 * np.cosh(_U) * np.where(_U > 0.0, 1.0, 0.5) / np.pi
_LEAN, _UPRIGHT = 1.0 / 8.0, 1e-6  # bend of the path per unit of skewness, and the least
_FARTHEST, _HALVINGS = 40.0, 13  # log-odds of the saddlepoint between 0 and the pole
_LARGEST = 1e3
_NOTHING = -25.0  # logarithm of what may be left out


def tail_deviate(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the standard normal deviate of P(S >= 0), for gamma variables of shape `counts` times `values`.

    The sum is over the last axis. Values that count nothing may not be outside the others.
    """
    from scipy.special import ndtri_exp

    # the side on which the probability is the smaller one, or nearly so
    turned = np.where((counts * values).sum(axis=-1) > 0.0, -1.0, 1.0)
    values = turned[..., None] * values
    most = values.max(axis=-1, keepdims=True)
    reached = most[..., 0] > 0.0
    with np.errstate(all="ignore"):  # where no value is above 0
        log_tail = np.where(reached, np.minimum(_log_tail(values / most, counts), 0.0), -np.inf)
        deviate = ndtri_exp(log_tail)
    return np.asarray(np.clip(turned * deviate, -_LARGEST, _LARGEST))


def _log_tail(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Logarithm of P(S >= 0) for values of which the largest is 1, and a mean of at most 0."""

    def before(log_odds: FloatArray) -> BoolArray:
        saddle, ratio = _at(log_odds, values)
        return np.asarray(saddle * (counts * ratio).sum(axis=-1, keepdims=True) < 1.0)

    farthest = np.full((*values.shape[:-1], 1), _FARTHEST)
    saddle, ratio = _at(bisect_all(before, -farthest, farthest, _HALVINGS)[0], values)
    second = (counts * ratio**2).sum(axis=-1, keepdims=True) + saddle**-2.0
    third = 2.0 * (counts * ratio**3).sum(axis=-1, keepdims=True)
    # The path leans to the side on which the integrand falls, less than that of steepest descent, and ever less: far
    # out many small values may turn the integrand the other way.
    deviation = second**-0.5
    lean = _LEAN * third * deviation**3
    lean = np.where(np.abs(lean) < _UPRIGHT, _UPRIGHT, lean)
    away = deviation * (1j * _NODES + 0.5 / lean * np.log1p((lean * _NODES) ** 2))
    ahead = deviation * (1j + lean * _NODES / (1.0 + (lean * _NODES) ** 2)) * _WEIGHTS
    z = -ratio[..., None, :] * away[..., None]
    logs = 0.5 * np.log1p(2.0 * z.real + z.real**2 + z.imag**2) + 1j * np.arctan2(z.imag, 1.0 + z.real)
    exponent = -(counts[..., None, :] * logs).sum(axis=-1)
    # From where next to nothing is left, or the integrand would rise again, the path goes straight up, which adds less.
    rises = np.diff(exponent.real, axis=-1, prepend=0.0) > 0.0
    gone = np.logical_or.accumulate(rises | (exponent.real < _NOTHING), axis=-1)
    integrand = np.exp(np.where(gone, -np.inf, exponent)) * ahead / (saddle + away)
    height = -(counts * np.log1p(-saddle * values)).sum(axis=-1)
    return np.asarray(height + np.log(integrand.imag.sum(axis=-1)))


def _at(log_odds: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Number between 0 and 1, and the derivative of ``-log(1 - s x)`` by s there."""
    left = 1.0 / (1.0 + np.exp(log_odds))
    return 1.0 / (1.0 + np.exp(-log_odds)), values / (left * values + (1.0 - values))
