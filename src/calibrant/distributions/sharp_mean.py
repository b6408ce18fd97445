"""How far means of bounded terms can be below their expectations, at the small levels that many statements share.

As `mean_limits.mean_width`, with two changes that count at small levels: Bentkus's inequality in place of Bennett's,
and an upper limit of the second moment that also uses fourth moments. Statements: docs/theory/10-segments.md.

For independent terms of mean 0, none above M, with a mean variance of at most v, the sum S of n of them satisfies
P(S >= x) <= E (T - h)_+^2 / (x - h)^2 for every h < x, where T is the sum of n independent two-valued terms with values
M and -v/M and variance v (Bentkus 2004, Theorem 1.1). T is a binomial count in units of M + v/M, less n v/M. Against
Bennett's inequality it saves the factor of about 1/z that separates an exponential from the tail of a normal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect_all
from calibrant.distributions.mean_limits import BERRY_ESSEEN, bernstein_mean_width, berry_esseen, chernoff_limit
from calibrant.distributions.rare_events import betting_width, choose_bound
from calibrant.table.pooling import BoolArray, FloatArray

# Share of delta spent on the upper limit of the second moment, half on each of two.
_MOMENT = 0.05
# What the mean fourth power is expected to be: it makes the limit tight there, and never decides whether it holds.
_FOURTH = 0.06
# Constants of Berry and Esseen, as in `mean_limits`, for terms that are not identically distributed (Shevtsova 2010).
_OTHER = (0.56, 0.0)
_GRID, _LEAST = 16, 50.0  # deviations among which the one where both tails cross is sought, down to a part of it
# From so many rows per unit of log(1 / delta) on this bound is narrower than Bernstein's at a Brier score of about 0.15
# (docs/theory/10-segments.md), with identical rows and with others. The choice must not depend on the terms.
_MANY = (90.0, 200.0)
# Events up to which a bet may be narrower, whatever delta is.
_RARE = 60.0
# Distances x - h that are tried, over the slope at which the logarithm of the tail falls. For an exponential tail 2 is
# best, for that of a normal a little less; every one of them gives a bound.
_TRIED = np.array([1.0, 1.3, 1.6, 1.8, 2.0, 2.3, 2.7, 3.3])
# Logarithms of factorials lose so much of a probability of 2**31 rows at most; more than is lost is added.
_ROUNDING, _HALVINGS = 1e-5, 20


def simultaneous_width(
    n: FloatArray,
    squares: FloatArray,
    fourths: FloatArray,
    delta: FloatArray,
    *,
    estimate: FloatArray,
    identical: BoolArray,
    variance: FloatArray,
) -> FloatArray:
    """Most that means of n terms of at most 1 in size are below their expectations c, one for each entry of the arrays.

    As `_width_by_moments`, or by a bet where the `variance` that scores predict means few events (Theorem 1.7).
    """
    choices = [
        choose_bound(*each, most=_RARE) for each in zip(n.tolist(), variance.tolist(), delta.tolist(), strict=True)
    ]
    width = np.zeros(len(n))
    for i, choice in enumerate(choices):
        if choice.bets:
            width[i] = betting_width(n[i], squares[i], choice)
    used = np.array([choice.spent is not None for choice in choices], dtype=bool)
    spent = np.array([choice.spent for choice in choices if choice.spent is not None])
    by_moments = _width_by_moments(
        n[used],
        squares[used],
        fourths[used],
        delta[used],
        estimate=estimate[used],
        identical=identical[used],
        spent=spent,
    )
    width[used] = np.maximum(width[used], by_moments)
    return width


def _width_by_moments(
    n: FloatArray,
    squares: FloatArray,
    fourths: FloatArray,
    delta: FloatArray,
    *,
    estimate: FloatArray,
    identical: BoolArray,
    spent: FloatArray,
) -> FloatArray:
    """`simultaneous_width` where no few events are expected.

    Theorem 10.3 where n is at least 90 log(1 / delta), or 200 if the rows are not identically distributed; Theorem 1.2
    elsewhere. `squares` and `fourths` are means of second and fourth powers, or more. If rows are `identical`, c is the
    expectation of each of them; `estimate` is at least the mean.
    """
    sharp = n >= np.where(identical, *_MANY) * -np.log(delta)
    delta = delta * (1.0 - spent)
    width = np.empty(len(n))
    for i in np.flatnonzero(~sharp).tolist():
        width[i] = bernstein_mean_width(n[i], squares[i], delta[i])
    n, squares, fourths, delta, estimate = (each[sharp] for each in (n, squares, fourths, delta, estimate))
    identical = identical[sharp]
    second = np.array([_second_moment(*each) for each in zip(n, squares, fourths, delta, strict=True)])
    left = (1.0 - _MOMENT) * delta
    # A term is no further below its expectation than 1 plus that, so what is known of c narrows the width. Where rows
    # are not identical, the expectation of a single one may be anything.
    reach = np.full(len(n), 2.0)
    first = bentkus_distance(n, second, left, reach)
    reach = np.where(identical, 1.0 + np.minimum(1.0, estimate + first), reach)
    width[sharp] = _tail_distance(n, second, left, reach, identical)
    return width


def single_width(n: int, squares: float, fourths: float, delta: float, estimate: float) -> float:
    """Width by moments, as in `simultaneous_width`, of one mean of identically distributed terms."""
    one = np.ones(1)
    numbers = (n * one, squares * one, fourths * one, delta * one)
    kind = {"identical": one.astype(bool), "spent": 0.0 * one}
    return float(_width_by_moments(*numbers, estimate=min(1.0, estimate) * one, **kind)[0])


def _second_moment(n: float, squares: float, fourth: float, delta: float) -> float:
    """Upper limit of the expected mean square, which fails with a small part of delta."""
    spent = 0.5 * _MOMENT * delta
    by_fourth = squares + float(bernstein_mean_width(n, fourth, spent, expected=_FOURTH))
    return min(1.0, by_fourth, float(chernoff_limit(squares, n, spent)))


def _tail_distance(
    n: FloatArray, second: FloatArray, delta: FloatArray, reach: FloatArray, identical: BoolArray
) -> FloatArray:
    """Distance that a mean is below its expectation with probability at most delta; `second` bounds the variance.

    It has to hold for every deviation up to the largest. The distance of Bentkus never falls with the deviation, that
    of Berry and Esseen falls and then rises: the first serves up to some deviation, the second from there on, where it
    is largest at one of the ends. Any deviation at which the second is not above the first will do.
    """
    deviation = np.sqrt(second)
    distance = bentkus_distance(n, second, delta, reach)
    at_end = _berry_esseen(n, deviation, delta, reach, identical)
    for i in np.flatnonzero(at_end < distance).tolist():
        grid = np.geomspace(deviation[i] / _LEAST, deviation[i], _GRID)
        one = (n[i], grid, delta[i], reach[i])
        near, normal = bentkus_distance(n[i], grid**2, delta[i], reach[i]), _berry_esseen(*one, identical[i])
        cross = int(np.flatnonzero((normal <= near) | (grid == grid[-1]))[0])
        distance[i] = min(distance[i], max(near[cross], at_end[i]))
    return distance


def _berry_esseen(
    n: FloatArray, deviation: FloatArray, delta: FloatArray, reach: FloatArray, identical: BoolArray
) -> FloatArray:
    a, b = (np.where(identical, *constants) for constants in zip(BERRY_ESSEEN, _OTHER, strict=True))
    return berry_esseen(n, deviation, delta, reach, (a, b))


def bentkus_tail(n: npt.ArrayLike, t: npt.ArrayLike, variance: npt.ArrayLike, top: npt.ArrayLike) -> FloatArray:
    """Most that the probability can be that a mean of n terms is at least `t` above its expectation.

    The terms are independent, none is more than `top` above its expectation, and `variance` bounds the mean of their
    variances. Everything may be arrays.
    """
    n, t, variance, top = _alike(n, t, variance, top)
    chance = variance / (top * top + variance)
    unit = top + variance / top
    mean = n * chance
    above = n * t / unit  # of the count from its mean
    share = np.clip((mean + above) / n, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.log(share) - np.log(chance) + np.log1p(-chance) - np.log1p(-share)
        gap = _TRIED[:, None] / np.clip(slope.ravel(), 1e-9, 1e3)
        tails = _moment_beyond(n.ravel(), chance.ravel(), above.ravel() - gap) / gap**2
    best = np.minimum(1.0, np.nanmin(tails, axis=0) * (1.0 + _ROUNDING)).reshape(n.shape)
    # The mean cannot be more than `top` above its expectation.
    return np.asarray(np.where(mean + above > n * (1.0 + 1e-12), 0.0, np.where(above > 0.0, best, 1.0)))


def bentkus_distance(n: npt.ArrayLike, variance: npt.ArrayLike, delta: npt.ArrayLike, top: npt.ArrayLike) -> FloatArray:
    """Distance above its expectation that a mean of n terms reaches with probability at most delta, see `bentkus_tail`.

    Never decreasing in the variance.
    """
    n, variance, delta, top = _alike(n, variance, delta, top)
    log_inverse = -np.log(delta)
    # Bernstein's inequality is never narrower.
    high = np.minimum(top, np.sqrt(2.0 * variance * log_inverse / n) + 2.0 * top * log_inverse / (3.0 * n))
    return bisect_all(lambda t: bentkus_tail(n, t, variance, top) > delta, np.zeros(n.shape), high, _HALVINGS)[1]


def _alike(*numbers: npt.ArrayLike) -> tuple[FloatArray, ...]:
    return np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in numbers))


def _moment_beyond(n: FloatArray, chance: FloatArray, h: FloatArray) -> FloatArray:
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
