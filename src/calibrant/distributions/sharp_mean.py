"""How far means of bounded terms can be below their expectations, at the small levels that many statements share.

As `mean_limits.mean_width`, with two changes that count at small levels: Bentkus's inequality in place of Bennett's,
and an upper limit of the second moment that also uses fourth moments. Statements: docs/theory/10-segments.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bentkus import bentkus_distance
from calibrant.distributions.mean_limits import bernstein_mean_width, chernoff_limit
from calibrant.table.pooling import FloatArray

__all__ = ["simultaneous_width"]

# Share of delta spent on the upper limit of the second moment, half on each of two.
_MOMENT = 0.05
# What the mean fourth power is expected to be: it makes the limit tight there, and never decides whether it holds.
_FOURTH = 0.06
# Constants a, b of the bound a (rho + b) / sqrt(n) of Berry and Esseen, for terms that are identically distributed
# (Shevtsova 2013) and for those that are not (Shevtsova 2010).
_IDENTICAL, _OTHER = (0.3031, 0.646), (0.56, 0.0)
_GRID, _LEAST = 16, 50.0  # deviations among which the one where both tails cross is sought, down to a part of it
# From so many rows per unit of log(1 / delta) on this bound is narrower than Bernstein's at a Brier score of about 0.15
# (docs/theory/10-segments.md), with identical rows and with others. The choice must not depend on the terms.
_MANY = (90.0, 200.0)


def simultaneous_width(
    n: FloatArray,
    squares: FloatArray,
    fourths: FloatArray,
    delta: FloatArray,
    *,
    estimate: FloatArray,
    identical: npt.NDArray[np.bool_],
) -> FloatArray:
    """Most that means of n terms of at most 1 in size are below their expectations c, one for each entry of the arrays.

    Theorem 10.3 where n is at least 90 log(1 / delta), or 200 if the rows are not identically distributed; Theorem 1.2
    elsewhere. `squares` and `fourths` are means of second and fourth powers, or more. If rows are `identical`, c is the
    expectation of each of them; `estimate` is at least the mean.
    """
    sharp = n >= np.where(identical, *_MANY) * -np.log(delta)
    width = np.empty(len(n))
    for i in np.flatnonzero(~sharp).tolist():
        width[i] = bernstein_mean_width(n[i], squares[i], delta[i])
    width[sharp] = _sharp_mean_width(
        *(each[sharp] for each in (n, squares, fourths, delta)), estimate=estimate[sharp], identical=identical[sharp]
    )
    return width


def _sharp_mean_width(
    n: FloatArray,
    squares: FloatArray,
    fourths: FloatArray,
    delta: FloatArray,
    *,
    estimate: FloatArray,
    identical: npt.NDArray[np.bool_],
) -> FloatArray:
    """Width of Theorem 10.3, for every number of rows; as `simultaneous_width`."""
    second = np.array([_second_moment(*each) for each in zip(n, squares, fourths, delta, strict=True)])
    left = (1.0 - _MOMENT) * delta
    # A term is no further below its expectation than 1 plus that, so what is known of c narrows the width. Where rows
    # are not identical, the expectation of a single one may be anything.
    reach = np.full(len(n), 2.0)
    first = bentkus_distance(n, second, left, reach)
    reach = np.where(identical, 1.0 + np.minimum(1.0, estimate + first), reach)
    return _tail_distance(n, second, left, reach, identical)


def _second_moment(n: float, squares: float, fourth: float, delta: float) -> float:
    """Upper limit of the expected mean square, which fails with a small part of delta."""
    spent = 0.5 * _MOMENT * delta
    by_fourth = squares + float(bernstein_mean_width(n, fourth, spent, expected=_FOURTH))
    return min(1.0, by_fourth, float(chernoff_limit(squares, n, spent)))


def _tail_distance(
    n: FloatArray, second: FloatArray, delta: FloatArray, reach: FloatArray, identical: npt.NDArray[np.bool_]
) -> FloatArray:
    """Distance that a mean is below its expectation with probability at most delta; `second` bounds the variance.

    It has to hold for every deviation up to the largest. The distance of Bentkus never falls with the deviation, that
    of Berry and Esseen falls and then rises: the first serves up to some deviation, the second from there on, where it
    is largest at one of the ends. Any deviation at which the second is not above the first will do.
    """
    deviation = np.sqrt(second)
    found = bentkus_distance(n, second, delta, reach)
    at_end = _berry_esseen(n, deviation, delta, reach, identical)
    for i in np.flatnonzero(at_end < found).tolist():
        grid = np.geomspace(deviation[i] / _LEAST, deviation[i], _GRID)
        one = (n[i], grid, delta[i], reach[i])
        near, normal = bentkus_distance(n[i], grid**2, delta[i], reach[i]), _berry_esseen(*one, identical[i])
        cross = int(np.flatnonzero((normal <= near) | (grid == grid[-1]))[0])
        found[i] = min(found[i], max(near[cross], at_end[i]))
    return found


def _berry_esseen(
    n: FloatArray, deviation: FloatArray, delta: FloatArray, reach: FloatArray, identical: npt.NDArray[np.bool_]
) -> FloatArray:
    """Distance at which the bound of Berry and Esseen is delta, for terms of this deviation; may be infinite."""
    from scipy.special import ndtri

    a, b = (np.where(identical, *constants) for constants in zip(_IDENTICAL, _OTHER, strict=True))
    left = delta - a * (reach / deviation + b) / np.sqrt(n)
    return np.asarray(np.maximum(0.0, -deviation / np.sqrt(n) * ndtri(np.maximum(left, 0.0))))
