"""Bentkus's inequality for the tail of a sum of independent bounded terms, and the distance it gives at a level.

For independent terms of mean 0, none above M, with a mean variance of at most v, the sum S of n of them satisfies
P(S >= x) <= E (T - h)_+^2 / (x - h)^2 for every h < x, where T is the sum of n independent two-valued terms with values
M and -v/M and variance v (Bentkus 2004, Theorem 1.1). T is a binomial count in units of M + v/M, less n v/M. Against
Bennett's inequality it saves the factor of about 1/z that separates an exponential from the tail of a normal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray

__all__ = ["bentkus_distance", "bentkus_tail"]

# Distances x - h that are tried, over the slope at which the logarithm of the tail falls. For an exponential tail 2 is
# best, for that of a normal a little less; every one of them gives a bound.
_TRIED = np.array([1.0, 1.3, 1.6, 1.8, 2.0, 2.3, 2.7, 3.3])
_HALVINGS = 20
# Logarithms of factorials lose so much of a probability of 2**31 rows at most; more than is lost is added.
_ROUNDING = 1e-5


def bentkus_tail(n: npt.ArrayLike, t: npt.ArrayLike, variance: npt.ArrayLike, top: npt.ArrayLike) -> FloatArray:
    """Most that the probability can be that a mean of n terms is at least `t` above its expectation.

    The terms are independent, none is more than `top` above its expectation, and `variance` bounds the mean of their
    variances. Everything may be arrays.
    """
    n, t, variance, top = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (n, t, variance, top)))
    chance = variance / (top * top + variance)
    unit = top + variance / top
    mean = n * chance
    above = n * t / unit  # of the count from its mean
    share = np.clip((mean + above) / n, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.log(share) - np.log(chance) + np.log1p(-chance) - np.log1p(-share)
        gap = _TRIED[:, None] / np.clip(slope.ravel(), 1e-9, 1e3)
        found = _second_moment(n.ravel(), chance.ravel(), above.ravel() - gap) / gap**2
    best = np.minimum(1.0, np.nanmin(found, axis=0) * (1.0 + _ROUNDING)).reshape(n.shape)
    # The mean cannot be more than `top` above its expectation.
    return np.asarray(np.where(mean + above > n * (1.0 + 1e-12), 0.0, np.where(above > 0.0, best, 1.0)))


def bentkus_distance(n: npt.ArrayLike, variance: npt.ArrayLike, delta: npt.ArrayLike, top: npt.ArrayLike) -> FloatArray:
    """Distance above its expectation that a mean of n terms reaches with probability at most delta, see `bentkus_tail`.

    Never decreasing in the variance.
    """
    n, variance, delta, top = np.broadcast_arrays(
        *(np.asarray(each, dtype=np.float64) for each in (n, variance, delta, top))
    )
    low = np.zeros(n.shape)
    log_inverse = -np.log(delta)
    # Bernstein's inequality is never narrower.
    high = np.minimum(top, np.sqrt(2.0 * variance * log_inverse / n) + 2.0 * top * log_inverse / (3.0 * n))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        beyond = bentkus_tail(n, middle, variance, top) > delta
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


def _second_moment(n: FloatArray, chance: FloatArray, h: FloatArray) -> FloatArray:
    """Return E (K - n p - h)_+^2 for a binomial count K.

    From j, the first count above n p + h, on: sums of b(k), of (k - n p) b(k) = j q b(j), which telescopes, and of
    (k - n p)^2 b(k), by summation by parts; so nothing of the size of n p is left to cancel.
    """
    from scipy.special import betainc

    mean, other = n * chance, 1.0 - chance
    j = np.clip(np.floor(mean + h) + 1.0, 0.0, n + 1.0)
    inside = j <= n
    at = np.where(inside, j, n)
    tail = np.where(at > 0.0, betainc(np.maximum(at, 1.0), n - at + 1.0, chance), 1.0)
    mass = _binomial(at, n, chance)
    first = at * other * mass
    # (k + 1) q b(k + 1) = (n - k) p b(k)
    second = (at - mean) * first + other * mean * (tail - mass) + other * (n - at) * chance * mass
    moment = second - 2.0 * h * first + h * h * tail
    return np.where(inside, np.maximum(moment, 0.0), 0.0)


def _binomial(k: FloatArray, n: FloatArray, chance: FloatArray) -> FloatArray:
    """Probability of k successes in n."""
    from scipy.special import betaln, xlog1py, xlogy

    logged = xlogy(k, chance) + xlog1py(n - k, -chance) - betaln(k + 1.0, n - k + 1.0) - np.log(n + 1.0)
    return np.asarray(np.exp(logged))
