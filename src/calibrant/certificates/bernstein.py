"""Empirical Bernstein bound on the true cutoff calibration error: the default certificate.

The true error is attained, or approached, by one fixed interval and sign. The empirical error is at least the
average residual over that interval, an average of independent terms `X` in [-1, 1] whose mean is the true error.
So a bound for the lower tail of one average suffices, with no union over intervals; and the sum of the squared
terms is at most the sum of squared residuals, whichever the interval is.
"""

from __future__ import annotations

import math

from calibrant.core.parameters import check_between, check_rows

__all__ = ["bernstein_width", "mean_width"]


def bernstein_width(n: float, brier: float, delta: float = 0.05, *, brier_guess: float = 0.12) -> float:
    r"""Width of the empirical Bernstein bound: true error <= empirical error + width.

    Parameters
    ----------
    n : float
        Number of independent rows.
    brier : float
        Brier score of these rows, the mean squared residual.
    delta : float
        Probability with which the bound may fail, in (0, 1).
    brier_guess : float
        Brier score expected before seeing the sample, in (0, 1]. It decides how tight the bound is, never whether
        it holds, but it must not be computed from this sample.

    Returns
    -------
    float
        In units of the error; smaller is tighter.

    Notes
    -----
    For a fixed :math:`0 < \lambda < 1` and :math:`\psi(\lambda) = -\log(1-\lambda) - \lambda`,
    :math:`E \exp(-\lambda X - \psi(\lambda) X^2) \le \exp(-\lambda E X)` for :math:`X \le 1` (Fan, Grama & Liu
    2015), hence

    .. math:: w = \frac{\psi(\lambda)\, n B + \log(1/\delta)}{\lambda n}.

    Examples
    --------
    >>> from calibrant.certificates import bernstein_width
    >>> round(bernstein_width(10_000, 0.15), 4)
    0.0097
    """
    check_rows(n)
    check_between("delta", delta, 0.0, 1.0)
    check_between(
        "brier_guess",
        brier_guess,
        0.0,
        1.0,
        closed="right",
        remedy="give the Brier score you expected beforehand, such as that of the training data",
    )
    return mean_width(n, brier, delta, guess=brier_guess)


def mean_width(n: float, squared: float, delta: float, *, guess: float) -> float:
    """Width of the same bound for the mean of n independent terms, none of which is above 1 (or none below -1).

    Parameters
    ----------
    n : float
        Number of terms.
    squared : float
        Mean of the squared terms.
    delta : float
        Probability with which the bound may fail.
    guess : float
        What `squared` was expected to be before seeing the terms.

    Returns
    -------
    float
        With terms at most 1, the true mean is at most the mean seen plus this; with terms at least -1, it is at
        least the mean seen minus this.
    """
    log_inverse = -math.log(delta)
    a = math.sqrt(2.0 * log_inverse / (n * guess))
    rate = min(0.9, a / (1.0 + 0.66 * a))
    psi = -math.log1p(-rate) - rate
    return (psi * n * squared + log_inverse) / (rate * n)
