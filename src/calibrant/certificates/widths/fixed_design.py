"""A band for the cumulative residuals of given cases around their expectation, for every number of rows.

Given the scores, the walk of `y - eta` is a sum of independent centred terms. Each can be read off a Brownian motion
that is stopped when it leaves an interval of length one (Skorokhod 1965). So the walk is a Brownian motion seen at
random times, and its range over n rows is at most the range of the motion up to a time that the n stopping times
together seldom pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from calibrant.distributions.bisection import bisect
from calibrant.distributions.brownian import range_upper_quantile
from calibrant.errors import ArgumentError, DataError
from calibrant.table.parameters import check_between, check_width
from calibrant.table.score_table import ScoreTable, need_counts

# Share of delta spent on the time; the rest is spent on the range of the motion.
_TIME = 0.1
# Share spent on the variance where that is bounded from the rows.
_VARIANCE = 0.05
# With so few rows the band is wider than 0.95 at delta 0.05.
_TOO_FEW = 5


def fixed_design_width(n: float, delta: float = 0.05, *, variance: float = 0.25) -> float:
    r"""Width of a band for all score intervals at once, given the scores: every mean residual is within it.

    Parameters
    ----------
    n : float
        Number of rows, more than 5.
    delta : float
        Probability with which the band may fail, in (0, 1).
    variance : float
        Upper bound, known before the outcomes, on the mean of ``eta (1 - eta)`` over the rows, with eta their true
        probabilities; in (0, 0.25]. The default always holds. `variance_bound` gives one from the rows.

    Returns
    -------
    float
        In units of the error: with probability at least ``1 - delta`` no sum of ``y - eta`` over the rows of a score
        interval is larger than n times this, in size.

    Raises
    ------
    ArgumentError
        If there are 5 rows or fewer, or a parameter is out of range.

    Notes
    -----
    The walk of ``y - eta`` is a Brownian motion read at the sum of n exit times, which seldom pass a time T (Theorem
    8.1 of docs/theory/8-these-cases.md). The width is :math:`\sqrt{T} q / n` with q the quantile of the range of a
    Brownian motion at :math:`0.9 \delta`, and

    .. math:: T = \min_k \frac{n (\ln \cos(k \sqrt{1/4 - v}) - \ln \cos(k / 2)) + \ln(10/\delta)}{k^2 / 2}

    for variance v. For many rows it tends to :math:`q \sqrt{v / n}`.

    References
    ----------
    Skorokhod (1965). Studies in the Theory of Random Processes. Addison-Wesley.

    Examples
    --------
    >>> from calibrant.certificates.widths.fixed_design import fixed_design_width
    >>> [round(fixed_design_width(n) * n**0.5, 3) for n in (100, 1_000, 10_000, 100_000)]
    [1.442, 1.321, 1.284, 1.273]
    """
    check_width(n, delta)
    check_between("variance", variance, 0.0, 0.25, closed="right", remedy="0.25 always holds")
    if n <= _TOO_FEW:
        remedy = "collect more: with so few rows such a band says nothing"
        raise ArgumentError(f"more than {_TOO_FEW} rows", f"{n:g}", remedy)
    return _width(n, variance, for_range=(1.0 - _TIME) * delta, for_time=_TIME * delta)


def variance_bound(n: float, brier: float, delta: float) -> float:
    r"""Upper confidence bound on the mean of ``eta (1 - eta)``, the unavoidable part of the Brier score.

    Parameters
    ----------
    n : float
        Number of rows.
    brier : float
        Their Brier score.
    delta : float
        Probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        At most 0.25.

    Notes
    -----
    The expected squared residual of a row is at least :math:`\eta (1 - \eta)`, whatever its score, and the squared
    residuals are independent and lie in [0, 1]: the Chernoff limit of Lemma 1.2 (docs/theory/1-upper-bound.md).

    Examples
    --------
    >>> from calibrant.certificates.widths.fixed_design import variance_bound
    >>> round(variance_bound(10_000, 0.01, 0.05), 4)
    0.0126
    """
    check_width(n, delta, brier)
    allowed, most = -math.log(delta) / n, 0.25
    if brier >= most or _divergence(brier, most) <= allowed:
        return most
    return bisect(lambda variance: _divergence(brier, variance) <= allowed, brier, most, rtol=1e-12)[1]


def cumulative_width(table: ScoreTable, delta: float = 0.05) -> float:
    """Width of the band of `fixed_design_width` with the variance bounded from the rows themselves.

    Parameters
    ----------
    table : ScoreTable
        Rows, or a count of equal ones, more than 5.
    delta : float
        Probability with which the band may fail, in (0, 1): 0.85 of it is spent on the range, 0.1 on the time, 0.05 on
        the variance.

    Returns
    -------
    float
        In units of the error. One event of this probability stands behind everything that is derived from it: the
        calibration error of these cases, every window, and the band of `isotonic_band`.

    Raises
    ------
    DataError
        If weights do not count rows, or there are 5 rows or fewer.

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> from calibrant.certificates.widths.fixed_design import cumulative_width, fixed_design_width
    >>> rare = ScoreTable.from_counts([0.01], [10_000], [100])
    >>> round(cumulative_width(rare), 4), round(fixed_design_width(10_000), 4)
    (0.0032, 0.0128)
    """
    check_between("delta", delta, 0.0, 1.0)
    need_counts(table, "a band needs rows")
    if table.total <= _TOO_FEW:
        raise DataError(f"more than {_TOO_FEW} rows", f"{table.total:g}", "collect more: such a band says nothing here")
    brier = min(1.0, float(table.squared.sum()) / table.total)
    variance = variance_bound(table.total, brier, _VARIANCE * delta)
    return _width(table.total, variance, for_range=(1.0 - _TIME - _VARIANCE) * delta, for_time=_TIME * delta)


def _width(n: float, variance: float, *, for_range: float, for_time: float) -> float:
    """Width from the time that n stopping times of this mean variance seldom pass."""
    log_inverse = -math.log(for_time)
    inner = math.sqrt(0.25 - variance)
    outer = 0.5 + inner  # the inner edge is 1/2 - inner = variance / outer away from the end: no cancellation

    def cumulant(k: float) -> float:
        bend = math.sin(0.5 * k * outer) * math.sin(0.5 * k * variance / outer)
        return n * math.log1p(2.0 * bend / math.cos(0.5 * k))

    def growth(k: float) -> float:
        return 0.5 * k * n * (0.5 * math.tan(0.5 * k) - inner * math.tan(k * inner))

    return math.sqrt(_time(cumulant, growth, log_inverse)) * range_upper_quantile(for_range) / n


def _time(
    cumulant: Callable[[float], float], growth: Callable[[float], float], log_inverse: float, rtol: float = 1e-9
) -> float:
    """Time that stopping times with this cumulant seldom pass; `growth` is half of k times its derivative."""
    k, _ = bisect(lambda k: growth(k) - cumulant(k) < log_inverse, 0.0, math.pi, rtol=rtol)
    return (cumulant(k) + log_inverse) / (0.5 * k * k)


def _divergence(seen: float, true: float) -> float:
    """Kullback-Leibler divergence between two coins."""
    hit = seen * math.log(seen / true) if seen > 0.0 else 0.0
    return hit + (1.0 - seen) * (math.log1p(-seen) - math.log1p(-true))
