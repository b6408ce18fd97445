"""How many rows it takes to certify that a share of the cases may be decided without review."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.distributions.walk_boundary import binomial_limits, rows_without_error, walk_boundary
from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, failure_probability
from calibrant.table.pooling import IntArray

_MOST_ROWS = 10**7
_CLOSE = 0.002  # relative; power as a function of rows has small teeth


def selective_plan(
    *,
    risk: float,
    coverage: float,
    target_error: float = 0.05,
    confidence_level: float = 0.95,
    power: float = 0.8,
) -> int:
    """Rows that it takes for `calibrant.selective` to certify a cut-off, with some chance.

    Parameters
    ----------
    risk : float
        Expected share of errors among the cases at or above the cut-off, in [0, target_error).
    coverage : float
        Expected share of such cases, in (0, 1].
    target_error, confidence_level : float
        As in `calibrant.selective`. Of several targets or groups, those of one: m targets have a confidence level of
        ``1 - (1 - confidence_level) / m`` each.
    power : float
        Chance that this cut-off is certified, in (0, 1).

    Returns
    -------
    int
        Number of rows, accepted or not, to about 0.2%.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or about 10**7 rows are not enough.

    Examples
    --------
    >>> from calibrant.decisions import selective_plan
    >>> 2_900 < selective_plan(risk=0.03, coverage=0.4) < 3_200
    True
    """
    delta = failure_probability(confidence_level)
    check_between("target_error", target_error, 0.0, 1.0)
    check_between("risk", risk, 0.0, target_error, closed="left", remedy="no larger risk can be certified")
    check_between("coverage", coverage, 0.0, 1.0, closed="right")
    check_between("power", power, 0.0, 1.0)

    def fails(rows: float) -> bool:
        boundary = walk_boundary(int(rows), target_error, delta)
        return _power(int(rows), risk, coverage, boundary.allowed) < power

    # The boundary allows no more errors than the limit for one number of rows, which takes no time.
    alone = _power(_MOST_ROWS, risk, coverage, lambda rows: binomial_limits(rows, target_error, np.array([delta])))
    if alone < power:
        raise ArgumentError("a plan within 10**7 rows", "a larger one", "choose a `risk` further below the target")
    high = rows_without_error(target_error, delta)
    while fails(high):
        high *= 2
    return math.ceil(bisect(fails, 0.5 * high, high, rtol=_CLOSE, atol=1.0)[1])


def _power(n: int, risk: float, coverage: float, limits: Callable[[IntArray], IntArray]) -> float:
    """Chance that so few errors are seen among the accepted of n rows, whose number is random too."""
    from scipy.special import bdtr

    spread = 8.0 * math.sqrt(n * coverage * (1.0 - coverage))
    accepted = np.arange(max(0, int(n * coverage - spread)), min(n, math.ceil(n * coverage + spread)) + 1)
    chance = np.diff(bdtr(accepted, n, coverage), prepend=0.0)
    allowed = limits(accepted)
    return float(chance @ np.where(allowed < 0, 0.0, bdtr(np.maximum(allowed, 0), accepted, risk)))
