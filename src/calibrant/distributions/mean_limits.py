"""How far means of bounded terms can be below their expectations: the inequality behind most statements, and others."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect_all
from calibrant.table.pooling import BoolArray, FloatArray

# The error of Berry-Esseen falls like 1 / sqrt(n). From this n * delta on it is small enough beside delta to be worth
# paying at every mean square (docs/explanation/widths.md); the choice must not depend on the terms.
MANY = 50.0

# Mean squares, in units of the largest term, for which the rates of the Bernstein mixture are best, and their weights.
# Fixed once and for all: they decide how tight the bound is, never whether it holds.
Mixture = tuple[tuple[float, float], ...]
MIXTURE: Mixture = ((0.12, 0.9), (0.004, 0.1))

# Share of delta spent on the upper limit of the second moment.
_MOMENT = 0.025
# Constants a, b of the bound a (rho + b) / sqrt(n) for the distance of a standardised mean from the normal,
# with rho the third absolute moment over the cubed deviation.
BERRY_ESSEEN = (0.3031, 0.646)
_HALVINGS = 45
_NEARLY_1 = 0.99
_GRID = 32  # deviations among which the one where the two bounds cross is sought, twice
_NEWTON = 12  # from that side the steps double the digits; more would change nothing

# One number, or an array of them.
Number = float | FloatArray


def mean_width(
    n: float,
    squares: npt.ArrayLike,
    delta: float,
    *,
    top: float = 1.0,
    largest: float = 1.0,
    reach: float = 2.0,
    below: float | None = None,
    expected: float | None = None,
    spent: float = 0.0,
) -> FloatArray:
    """Most that the mean of n independent, identically distributed terms is below its expectation, in their units.

    For each mean of squares in [0, largest**2], never decreasing in it: Theorem 1.4 where ``n * delta`` is at least 50,
    Theorem 1.2 elsewhere. Known beforehand are an upper limit `top` of a term, one of its size, `largest`, and one of
    its distance from its expectation, `reach`, and of a lower one, `below` (`reach` if not given). `expected` is what
    `squares` was expected to be before the terms were seen: it makes the bound for few terms tight there, and never
    decides whether it holds. A share `spent` of delta is needed elsewhere, and does not change which theorem is used.
    """
    few = n * delta < MANY
    delta *= 1.0 - spent
    if few:
        return bernstein_mean_width(n, squares, delta, top=top, expected=expected)
    second = largest**2 * chernoff_limit(np.asarray(squares) / largest**2, n, _MOMENT * delta)
    return _tail_width(n, second, (1.0 - _MOMENT) * delta, reach, reach if below is None else below)


def bernstein_mean_width(
    n: float,
    squares: npt.ArrayLike,
    delta: float,
    *,
    top: float = 1.0,
    expected: float | None = None,
    mixture: Mixture = MIXTURE,
) -> FloatArray:
    """Width of the empirical Bernstein bound alone (Theorem 1.2): as `mean_width`, for terms only independent.

    A `mixture` has mean squares for which its rates are best, and their weights; with `expected` it is that alone.
    """
    log_inverse = -math.log(delta)
    total_squares = n * np.asarray(squares, dtype=np.float64) / top**2
    if expected is not None:
        mixture = ((expected / top**2, 1.0),)
    height, rate = exponentials(n, total_squares, delta, mixture)
    # One exponential alone reaches 1 / delta at this total, so the average of all does so earlier.
    total = ((log_inverse - height) / rate).min(axis=0)
    # The logarithm of the average is convex, so Newton's steps never pass the solution. One exponential needs none.
    for _ in range(_NEWTON if len(mixture) > 1 else 0):
        logs = height + rate * total
        average = np.logaddexp.reduce(logs)
        total -= np.maximum(0.0, (average - log_inverse) / (rate * np.exp(logs - average)).sum(axis=0))
    return np.asarray(top * total / n)


def exponentials(
    n: float, total_squares: FloatArray, delta: float, mixture: Mixture = MIXTURE
) -> tuple[FloatArray, FloatArray]:
    """Logarithms at 0 and slopes of the exponentials of Theorem 1.2, of ``sum (E X - X)``, for terms of at most 1.

    Their sum, the evidence, has an expectation of at most 1, so it exceeds 1 / delta with probability at most delta.
    The first axis is that of the exponentials.
    """
    rates, heights = [], []
    for square, weight in mixture:
        rates.append(bernstein_rate(math.sqrt(-2.0 * math.log(delta) / (n * square))))
        heights.append(math.log(weight) - psi(rates[-1]) * total_squares)
    return np.array(heights), np.array(rates).reshape(-1, *[1] * total_squares.ndim)


def line_above(nodes: FloatArray, width: FloatArray, near: float) -> tuple[float, float]:
    """Slope and height at 0 of a line that is nowhere below a width of `mean_width`, and close to it near `near`.

    The width is given at increasing mean squares, at least three; the line holds from the first to the last of them.
    """
    at = int(np.clip(np.searchsorted(nodes, near), 1, len(nodes) - 2))
    slope = float(width[at + 1] - width[at - 1]) / float(nodes[at + 1] - nodes[at - 1])
    # The width never falls as squares grow: between two nodes it is at most what it is at the second.
    return slope, float((width[1:] - slope * nodes[:-1]).max())


def chernoff_limit(mean: npt.ArrayLike, n: float, delta: float) -> FloatArray:
    """Upper confidence limit for the expected mean of n independent terms in [0, 1] (Hoeffding 1963, Theorem 1).

    The largest expectation whose Kullback-Leibler divergence from `mean` is at most ``log(1 / delta) / n``.
    """
    from scipy.special import rel_entr

    allowed = -math.log(delta) / n
    mean = np.clip(np.asarray(mean, dtype=np.float64), 0.0, 1.0)[()]

    def excess(limit: FloatArray) -> FloatArray:
        excess: FloatArray = rel_entr(mean, limit) + rel_entr(1.0 - mean, 1.0 - limit) - allowed
        return excess

    # The divergence is at least (limit - mean)^2 / (2 limit), which gives a limit that is not too small. It is convex,
    # so Newton's steps from there come closer and never pass the solution.
    high = mean + allowed + np.sqrt(allowed * (allowed + 2.0 * mean))
    if float(high.max(initial=0.0)) < _NEARLY_1:
        for _ in range(_NEWTON):
            high = high - np.maximum(0.0, excess(high)) * high * (1.0 - high) / np.maximum(high - mean, allowed)
        return high
    return bisect_all(lambda limit: excess(limit) <= 0.0, mean, np.ones_like(mean), _HALVINGS)[1]


def _tail_width(n: float, second: FloatArray, delta: float, reach: float, below: float) -> FloatArray:
    """Distance t that a mean is below its expectation with probability at most delta.

    `second` bounds the second moment of the terms, `reach` their distance from the expectation, `below` that of lower
    ones, all that Bennett's inequality needs.
    """
    # The bound has to hold for every standard deviation up to the largest. Berry-Esseen's t is infinite for small ones,
    # falls, and then rises; Bennett's never falls. Bennett's serves up to some deviation, Berry-Esseen's from there on,
    # where it is largest at one of the ends. Every such deviation is right; the best is where the two cross.
    deviation = np.sqrt(second)
    by_bennett = _bennett(n, deviation, delta, below)
    cross, at_cross = _crossing(n, delta, reach, below)
    ends = np.maximum(at_cross, berry_esseen(n, deviation, delta, reach))
    return np.where(deviation > cross, np.minimum(by_bennett, ends), by_bennett)


@lru_cache(maxsize=1024)
def _crossing(n: float, delta: float, reach: float, below: float) -> tuple[float, float]:
    """Deviation from which on Berry-Esseen's distance is not above Bennett's, and the latter there; or infinity."""
    left = delta * math.sqrt(n) / BERRY_ESSEEN[0] - BERRY_ESSEEN[1]
    if left <= 1.0:
        return math.inf, math.inf  # Berry-Esseen's distance is infinite for every deviation
    low, high = reach / left, reach
    for _ in range(2):  # a coarse grid, then a fine one where the two cross
        grid = np.geomspace(low, high, _GRID)
        bennett, normal = _bennett(n, grid, delta, below), berry_esseen(n, grid, delta, reach)
        crossed = np.flatnonzero(bennett >= normal)
        if len(crossed) == 0:
            return math.inf, math.inf
        low, high = float(grid[max(0, crossed[0] - 1)]), float(grid[crossed[0]])
    return high, float(bennett[crossed[0]])


def berry_esseen(
    n: Number, deviation: FloatArray, delta: Number, reach: Number, constants: tuple[Number, Number] = BERRY_ESSEEN
) -> FloatArray:
    """Distance at which the bound of Berry and Esseen is delta, for terms of this deviation; may be infinite."""
    from scipy.special import ndtri

    a, b = constants
    left = delta - a * (reach / deviation + b) / np.sqrt(n)
    return np.asarray(np.maximum(0.0, -deviation / np.sqrt(n) * ndtri(np.maximum(left, 0.0))))


def _bennett(n: float, deviation: FloatArray, delta: float, reach: float) -> FloatArray:
    """Distance at which Bennett's inequality gives delta: ``(1 + w) log(1 + w) - w = log(1/delta) reach^2 / (n var)``.

    With w = reach t / var.
    """
    from scipy.special import lambertw

    if not reach:
        return deviation * math.sqrt(-2.0 * math.log(delta) / n)  # the limit as it falls to 0
    z = -math.log(delta) * (reach / deviation) ** 2 / n
    # Near its branch point Lambert's function loses digits; there Bernstein's inequality is as good, and above.
    w = np.where(z < 1e-4, z / 3.0 + np.sqrt(z**2 / 9.0 + 2.0 * z), np.expm1(1.0 + lambertw((z - 1.0) / math.e).real))
    return np.asarray(deviation**2 * w / reach)


# The inequality behind every empirical Bernstein bound of the package: for 0 < l < 1 and x <= 1,
# exp(-l x - psi(l) x^2) <= 1 - l x, with equality at x = 1 (Fan, Grama & Liu 2015; Lemmas 1.1 and 3.1 of docs/theory).
# So exp(l sum (E X - X) - psi(l) sum X^2) has an expectation of at most 1 for independent X <= 1.


@overload
def psi(rate: float) -> float: ...
@overload
def psi(rate: FloatArray) -> FloatArray: ...
def psi(rate: Number) -> Number:
    """Return ``-log(1 - rate) - rate``, for rates in [0, 1): the smallest charge for squares with which that holds.

    A Python float goes through `math`, whose last bit does not depend on the processor; anything else through NumPy.
    """
    if type(rate) is float:
        return -math.log1p(-rate) - rate
    return np.asarray(-np.log1p(-np.asarray(rate)) - rate)


@overload
def bernstein_rate(a: float) -> float: ...
@overload
def bernstein_rate(a: FloatArray) -> FloatArray: ...
def bernstein_rate(a: Number) -> Number:
    """Return about the best rate for ``a = sqrt(2 log(1 / delta) / (n mean square))``, below 1 as `psi` needs it.

    Any rate in (0, 1) that is fixed beforehand gives a bound.
    """
    rate = np.minimum(0.9, a / (1.0 + 0.66 * a))
    return float(rate) if type(a) is float else np.asarray(rate)


# The bet is used while the error of Berry and Esseen's theorem is more than this share of delta, at the variance
# predicted: where both bounds are about as wide.
_SHARE = 0.8
# Share of delta spent on the limits of the expectation of the predicted variance.
_SPENT = 0.01
# Share of delta that makes no difference: less than half of its last digit.
_NOTHING = 1e-16
# Up to so many events, and above this rate, one rate serves: limits of their number are too wide to know a better one.
_LEAST_EVENTS, _LARGEST_RATE = 4.0, 0.75
# With fewer rows, or a delta so large that the border is below so many events, those limits cost more than bets gain.
_FEWEST_ROWS, _LEAST_BORDER = 300, 30.0

# Events for which the rate of each bet is best, over those predicted, and its share of delta. The second costs next to
# nothing, and keeps the bound small where there are many more events than predicted.
_BETS = ((1.0, 0.95), (8.0, 0.05))


class Bet(NamedTuple):
    """A bet at the rates that suit the lowest and highest expectation."""

    rates: tuple[float, ...]
    delta: float


class Choice(NamedTuple):
    """Bounds of which the largest is reported: the smallest of the bets, if any, and that by moments, if at all."""

    bets: tuple[Bet, ...]
    spent: float | None  # share of delta that the bound by moments must do without; None if it is not used


def choose_bound(n: float, variance: float, delta: float, *, most: float = 1000.0) -> Choice:
    """Choose by the number of rows and the mean of ``s (1 - s)`` alone; with more than `most` events never a bet."""
    left = _SHARE * delta - math.prod(BERRY_ESSEEN) / math.sqrt(n)
    border = min(most, (BERRY_ESSEEN[0] / left) ** 2 if left > 0.0 else math.inf)
    if n < _FEWEST_ROWS or border < _LEAST_BORDER:
        return Choice((), 0.0)
    border /= n
    if border < variance and _least(n, variance, _NOTHING * delta) > _most(n, border, _NOTHING * delta):
        return Choice((), 0.0)
    low, high = (limit(n, variance, 0.5 * _SPENT * delta) for limit in (_least, _most))
    bets = []
    for events, share in _BETS if low <= border else ():
        level = (1.0 - _SPENT) * share * delta
        rates = (_rate(events * max(_LEAST_EVENTS, n * each), level) for each in (low, min(high, border)))
        bets.append(Bet(tuple(rates), level))
    return Choice(tuple(bets), None if high <= border else 0.5 * _SPENT)


def _least(n: float, variance: float, delta: float) -> float:
    """Lower limit of the expectation of a mean of terms in [0, 1/4], which fails with probability delta."""
    return (1.0 - float(chernoff_limit(1.0 - 4.0 * variance, n, delta))) / 4.0


def _most(n: float, variance: float, delta: float) -> float:
    """Upper limit, as `_least`."""
    return float(chernoff_limit(4.0 * variance, n, delta)) / 4.0


def _rate(events: float, delta: float) -> float:
    return min(_LARGEST_RATE, bernstein_rate(math.sqrt(-2.0 * math.log(delta) / events)))


def betting_width(n: float, squares: float, choice: Choice) -> float:
    """Most that the bets chosen are above the mean of n terms with this mean of squares."""

    def width(rate: float, delta: float) -> float:
        return (psi(rate) * n * squares - math.log(delta)) / (rate * n)

    return min(max(width(rate, bet.delta) for rate in bet.rates) for bet in choice.bets)


# Share of delta spent on the upper limit of the second moment, half on each of two.
_SHARP_MOMENT = 0.05
# What the mean fourth power is expected to be: it makes the limit tight there, and never decides whether it holds.
_FOURTH = 0.06
# Constants of Berry and Esseen, as in `mean_limits`, for terms that are not identically distributed (Shevtsova 2010).
_OTHER = (0.56, 0.0)
_SHARP_GRID, _LEAST = 16, 50.0  # deviations among which the one where both tails cross is sought, down to a part of it
# From so many rows per unit of log(1 / delta) on this bound is narrower than Bernstein's at a Brier score of about 0.15
# (docs/theory/10-segments.md), with identical rows and with others. The choice must not depend on the terms.
_MANY = (90.0, 200.0)
# Events up to which a bet may be narrower, whatever delta is.
_RARE = 60.0
# Distances x - h that are tried, over the slope at which the logarithm of the tail falls. For an exponential tail 2 is
# best, for that of a normal a little less; every one of them gives a bound.
_TRIED = np.array([1.0, 1.3, 1.6, 1.8, 2.0, 2.3, 2.7, 3.3])
# Logarithms of factorials lose so much of a probability of 2**31 rows at most; more than is lost is added.
_ROUNDING, _FEW_HALVINGS = 1e-5, 20


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
    left = (1.0 - _SHARP_MOMENT) * delta
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
    spent = 0.5 * _SHARP_MOMENT * delta
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
        grid = np.geomspace(deviation[i] / _LEAST, deviation[i], _SHARP_GRID)
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
    return bisect_all(lambda t: bentkus_tail(n, t, variance, top) > delta, np.zeros(n.shape), high, _FEW_HALVINGS)[1]


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
