"""How far a mean of bounded terms can be below its expectation: the inequality behind most finite-sample statements.

Two inequalities, chosen by the number of terms and the failure probability alone: an empirical Bernstein bound for few
terms, and for many an upper limit of the second moment with the smaller of the Berry-Esseen and the Bennett tail.
Statements and proofs: docs/theory/1-upper-bound.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import overload

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect_all
from calibrant.table.pooling import FloatArray

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
    mean = np.clip(np.asarray(mean, dtype=np.float64), 0.0, 1.0)

    def excess(limit: FloatArray) -> FloatArray:
        return np.asarray(rel_entr(mean, limit) + rel_entr(1.0 - mean, 1.0 - limit) - allowed)

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
