"""Widths in closed form: the asymptotic ones, and a simulated band for all maps of the score."""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.brownian import normal_quantile, range_upper_quantile
from calibrant.table.parameters import check_width


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


# delta -> quantile of sqrt(n) times the largest deviation over all intervals and all monotone maps of the score.
# Monte Carlo, rounded up past its error (1.5e6 runs at n = 1000, 3.5e5 at 6400, 2e5 at 10000, extrapolated in
# 1 / sqrt(n)); the limit does not depend on the distribution of the data.
_KAPPA = ((0.2, 2.38), (0.1, 2.64), (0.05, 2.88), (0.025, 3.10), (0.01, 3.38), (0.005, 3.58), (0.001, 4.00))


def monotone_width(n: float, delta: float = 0.05) -> float:
    r"""Width of a band that holds for every interval at once: true error >= empirical error - width.

    Parameters
    ----------
    n : float
        Number of independent rows.
    delta : float
        Probability with which the band may fail, in (0, 1). Above 0.2 the width at 0.2 is used.

    Returns
    -------
    float
        In units of the error.

    Notes
    -----
    ``|(P_n - P)(Y - g) 1_I|`` over all monotone g and intervals I is bounded by the largest climb plus the largest
    drop of a uniform empirical process cut at the base rate. Its quantiles from 0.2 to 0.001 are Monte Carlo constants,
    the largest over base rates and numbers of rows. As functions of the normal quantile, those of its limit are convex
    and rise at most at rate 1 (docs/theory/6-null.md, Theorem 6.6), so between constants the width is interpolated
    linearly in :math:`z = \Phi^{-1}(1 - \delta)`, and beyond the last

    .. math:: w = \frac{4.00 + z_\delta - z_{0.001}}{\sqrt{n}}.

    For finite n this is checked by simulation, not proved. What is proved for every n is the width
    ``4 sqrt(log(2 / delta) / (2 n))`` of the Dvoretzky-Kiefer-Wolfowitz inequality, about twice as large.

    Examples
    --------
    >>> from calibrant.certificates.widths import monotone_width
    >>> round(monotone_width(10_000), 4), round(monotone_width(10_000, 1e-6), 4)
    (0.0288, 0.0566)
    """
    check_width(n, delta)
    kappa = [value for _, value in _KAPPA]
    nodes = [-normal_quantile(tabulated) for tabulated, _ in _KAPPA]
    z = -normal_quantile(delta)
    beyond = max(0.0, z - nodes[-1])
    return (float(np.interp(z, nodes, kappa)) + beyond) / math.sqrt(n)
