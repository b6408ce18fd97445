"""A bound on the true cutoff calibration error that holds at every moment: look, and stop, whenever you like."""

from __future__ import annotations

import math

from calibrant.distributions.bisection import bisect
from calibrant.distributions.mean_limits import psi
from calibrant.table.parameters import check_width

# Rates of the mixture and their weights: fixed, because rates that followed the number of rows would break the
# supermartingale. They serve from a handful of rows to about 1e10.
_RATES = tuple(0.7 * 2.0**-k for k in range(14))
_CHARGES = tuple(psi(rate) for rate in _RATES)
_RAW = tuple((k + 2.0) ** -1.2 for k in range(14))
_LOG_WEIGHTS = tuple(math.log(w / math.fsum(_RAW)) for w in _RAW)


def anytime_width(n: float, brier: float, delta: float = 0.05) -> float:
    r"""Width of a bound that holds for all numbers of rows simultaneously: true error <= empirical error + width.

    Parameters
    ----------
    n : float
        Number of independent rows so far.
    brier : float
        Brier score of these rows.
    delta : float
        Probability with which the bound may ever fail, in (0, 1).

    Returns
    -------
    float
        In units of the error: 3.3 to 3.6 ``sqrt(brier / n)`` at delta 0.05 where ``n * brier`` is 100 to 1e6, more
        where it is less. The smallest of the bounds computed so far is a bound too.

    Notes
    -----
    The evidence of `bernstein_width`, with many rates that do not depend on n, is a supermartingale in n. By Ville's
    inequality it stays below :math:`1/\delta` for ever with probability :math:`1 - \delta`; the width solves
    :math:`\sum_k w_k \exp(\lambda_k n w - \psi(\lambda_k) n B) = 1/\delta`.

    References
    ----------
    Howard, Ramdas, McAuliffe & Sekhon (2021). Time-uniform, nonparametric, nonasymptotic confidence sequences.

    Examples
    --------
    >>> from calibrant.certificates.widths import anytime_width
    >>> round(anytime_width(10_000, 0.15) * 100, 2)
    1.28
    """
    check_width(n, delta, brier)
    target = -math.log(delta)
    # One term alone reaches the target at this total, so the mixture does so earlier.
    terms = zip(_LOG_WEIGHTS, _RATES, _CHARGES, strict=True)
    enough = min((target - weight + charge * n * brier) / rate for weight, rate, charge in terms)
    return bisect(lambda total: log_evidence(total, n, brier) < target, 0.0, enough, rtol=1e-12)[1] / n


def log_evidence(total: float, n: float, brier: float) -> float:
    """Logarithm of the mixture in `anytime_width`, where n residuals fall short of their expectation by `total`."""
    terms = zip(_LOG_WEIGHTS, _RATES, _CHARGES, strict=True)
    logs = [weight + rate * total - charge * n * brier for weight, rate, charge in terms]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))
