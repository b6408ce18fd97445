"""How far means of bounded terms can be below their expectations, at the small levels that many statements share.

As `mean_limits.mean_width`, with two changes that count at small levels: Bentkus's inequality in place of Bennett's,
and an upper limit of the second moment that also uses fourth moments. Statements: docs/theory/10-segments.md.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.bentkus import bentkus_distance
from calibrant.distributions.mean_limits import bernstein_mean_width, chernoff_limit
from calibrant.table.pooling import FloatArray

__all__ = ["sharp_mean_width", "simultaneous_width"]

# Share of delta spent on the upper limit of the second moment, half on each of two.
_MOMENT = 0.05
# What the mean fourth power is expected to be: it makes the limit tight there, and never decides whether it holds.
_FOURTH = 0.06
# Constants a, b of the bound a (rho + b) / sqrt(n) of Berry and Esseen, for terms that are identically distributed
# (Shevtsova 2013) and for those that are not (Shevtsova 2010).
_IDENTICAL, _OTHER = (0.3031, 0.646), (0.56, 0.0)
_GRID = 24  # deviations among which the one where both tails cross is sought
_ROUNDS = 3
# From so many rows per unit of log(1 / delta) on this bound is narrower than Bernstein's at a Brier score of about 0.15
# (docs/theory/10-segments.md), with identical rows and with others. The choice must not depend on the terms.
_MANY = {True: 90.0, False: 200.0}


def simultaneous_width(
    n: float, squares: float, fourth: float, delta: float, *, estimate: float = 0.0, identical: bool = True
) -> float:
    """Most that the mean of n terms of at most 1 in size is below its expectation c, where it is at least `estimate`.

    Theorem 10.3 where n is at least 90 log(1 / delta), or 200 if the rows are not identically distributed; Theorem 1.2
    elsewhere. `squares` and `fourth` are means of second and fourth powers, or more. If rows are `identical`, c is the
    expectation of each of them.
    """
    if n < -_MANY[identical] * math.log(delta):
        return float(bernstein_mean_width(n, squares, delta))
    return sharp_mean_width(n, squares, fourth, delta, estimate=estimate, identical=identical)


def sharp_mean_width(
    n: float, squares: float, fourth: float, delta: float, *, estimate: float = 0.0, identical: bool = True
) -> float:
    """Width of Theorem 10.3, for every number of rows."""
    spent = 0.5 * _MOMENT * delta
    by_fourth = squares + float(bernstein_mean_width(n, fourth, spent, expected=_FOURTH))
    second = min(1.0, by_fourth, float(chernoff_limit(squares, n, spent)))
    width = reach = 2.0
    # A term is no further below its expectation than 1 plus that, so what is known of c narrows the width. Where rows
    # are not identical, that of a single one may be anything.
    for _ in range(_ROUNDS if identical else 1):
        width = _tail_distance(n, second, (1.0 - _MOMENT) * delta, reach, identical=identical)
        reach = 1.0 + min(1.0, estimate + width)
    return width


def _tail_distance(n: float, second: float, delta: float, reach: float, *, identical: bool) -> float:
    """Distance that a mean is below its expectation with probability at most delta; `second` bounds the variance."""
    deviation = math.sqrt(second)
    by_bentkus = float(bentkus_distance(n, second, delta, reach))
    constants = _IDENTICAL if identical else _OTHER
    at_end = float(_berry_esseen(n, np.array([deviation]), delta, reach, constants)[0])
    if at_end >= by_bentkus:
        return by_bentkus
    # The distance has to hold for every deviation up to the largest. That of Bentkus never falls with it, that of Berry
    # and Esseen falls and then rises: the first serves up to some deviation, the second from there on, where it is
    # largest at one of the ends. Any deviation at which the second is not above the first will do.
    grid = np.geomspace(deviation * 1e-3, deviation, _GRID)
    near, normal = bentkus_distance(n, grid**2, delta, reach), _berry_esseen(n, grid, delta, reach, constants)
    cross = int(np.flatnonzero(normal <= near)[0])
    return max(float(near[cross]), at_end)


def _berry_esseen(
    n: float, deviation: FloatArray, delta: float, reach: float, constants: tuple[float, float]
) -> FloatArray:
    """Distance at which the bound of Berry and Esseen is delta, for terms of this deviation; may be infinite."""
    from scipy.special import ndtri

    left = delta - constants[0] * (reach / deviation + constants[1]) / math.sqrt(n)
    return np.asarray(np.maximum(0.0, -deviation / math.sqrt(n) * ndtri(np.maximum(left, 0.0))))
