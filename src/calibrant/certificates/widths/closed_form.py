"""Widths in one line: Hoeffding's bound, which needs nothing but the number of rows, and the asymptotic ones."""

from __future__ import annotations

import math

from calibrant.distributions.brownian import normal_quantile, range_upper_quantile
from calibrant.table.parameters import check_width


def hoeffding_width(n: float, delta: float = 0.05) -> float:
    """Width of Hoeffding's one-sided bound for terms in [-1, 1]: true error <= empirical error + width.

    Parameters
    ----------
    n, delta : float
        Number of independent rows, and the probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        ``sqrt(2 log(1 / delta) / n)``. It holds for the same reason as `bernstein_width`.

    Examples
    --------
    >>> from calibrant.certificates.widths import hoeffding_width
    >>> round(hoeffding_width(10_000), 4)
    0.0245
    """
    check_width(n, delta)
    return math.sqrt(-2.0 * math.log(delta) / n)


def asymptotic_width(n: float, brier: float, delta: float = 0.05) -> float:
    """Width of the asymptotic one-sided bound: true error <= empirical error + width.

    Parameters
    ----------
    n : float
        Number of independent rows.
    brier : float
        Brier score of these rows.
    delta : float
        Probability with which the bound may fail, asymptotically in the number of rows, in (0, 1).

    Returns
    -------
    float
        ``z sqrt(brier / n) + log(1 / delta) / n`` with z the normal quantile, at least 0.

    Notes
    -----
    Without the second term coverage tends to 0 where positives are rare and none was seen. With it, no world was
    found, by exact enumeration of single scores (n = 1 to 3000) and by adversarial search over up to six, in which
    the bound fails more often than it should; that is evidence, not a proof.

    Examples
    --------
    >>> from calibrant.certificates.widths import asymptotic_width
    >>> round(asymptotic_width(10_000, 0.15), 4)
    0.0067
    """
    check_width(n, delta)
    return max(0.0, -normal_quantile(delta)) * math.sqrt(brier / n) - math.log(delta) / n


def brownian_width(n: float, variance: float, delta: float = 0.05) -> float:
    """Asymptotic width of a band for every interval of one fixed score: true error >= empirical error - width.

    Parameters
    ----------
    n : float
        Number of independent rows.
    variance : float
        The larger of the Brier score and the mean of ``s (1 - s)``. The Brier score alone is not safe: where
        positives are rare and none was seen it is far too small.
    delta : float
        Probability with which the band may fail, asymptotically in the number of rows, in (0, 1).

    Returns
    -------
    float
        ``q sqrt(variance / n)`` with q the quantile of the range of a Brownian motion, which dominates the limit of
        the cumulative residuals around their expectation (Anderson 1955; Feller 1951).

    Examples
    --------
    >>> from calibrant.certificates.widths import brownian_width
    >>> round(brownian_width(10_000, 0.15), 4)
    0.0097
    """
    check_width(n, delta)
    return range_upper_quantile(delta) * math.sqrt(variance / n)
