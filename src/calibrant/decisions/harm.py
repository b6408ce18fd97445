"""How much isotonic recalibration can raise the cost of decisions."""

from __future__ import annotations

import math

from calibrant.distributions.brownian import kuiper_upper_quantile
from calibrant.table.parameters import check_rows, failure_probability


def isotonic_harm_bound(n: float, confidence_level: float = 0.95, *, log_safe: bool = True) -> float:
    r"""Most that isotonic recalibration can raise the true cost of decisions, for all costs at once.

    Parameters
    ----------
    n : float
        Number of independent rows on which the isotonic map was fitted. The classifier was fixed before.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    log_safe : bool
        Whether the map was fitted by ``IsotonicCalibrator(log_safe=True)``, which keeps it off 0 and 1.

    Returns
    -------
    float
        Per case and per unit of ``a + b``: with probability `confidence_level`, at all costs a (false positive) and b
        (false negative) the true cost of predicting positive from ``a / (a + b)`` by the recalibrated scores is at most
        that by the original scores plus ``a + b`` times the bound.

    See Also
    --------
    cost_curve : Both costs, on other rows.

    Notes
    -----
    On the rows of the fit, isotonic recalibration does not raise the cost of any p = a / (a + b) (Claim 5 of [1]_);
    that of the log-safe map by at most ``1 / (2 n)``. Thresholding a nondecreasing map of the score differs from
    thresholding by the score on one interval I, so at costs p and ``1 - p`` the two differ by the mean of ``(Y - p)
    1_I`` or its negative. Let V be the place of a row among the positives by score, followed by the negatives by score,
    uniform on [0, 1], and D the deviation of its empirical distribution. The means of ``Y 1_I`` and ``(1 - Y) 1_I``
    deviate by increments D_1 and D_0 of D, over an interval each, and

    .. math:: |(P_n - P)(Y - p) 1_I| = |(1 - p) D_1 - p D_0| \le \max(|D_1|, |D_0|) \le \max D - \min D,

    whatever p and I are. The range of D has the distribution of Kuiper's statistic [2]_. Its limit is used, which it
    approaches from below: the first correction for finite n lowers the tail, and so it was in simulations of n = 1,
    ..., 1000 for all delta up to 0.5. A bound that needs no simulation is ``2 sqrt(log(2 / delta) / (2 n))`` [3]_, half
    as wide again.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). AISTATS.
    .. [2] Kuiper (1960). Tests concerning random points on a circle. Indagationes Mathematicae.
    .. [3] Massart (1990). The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality. Annals of Probability.

    Examples
    --------
    >>> from calibrant.decisions import isotonic_harm_bound
    >>> round(isotonic_harm_bound(10_000), 4)
    0.0175
    """
    check_rows(n)
    delta = failure_probability(confidence_level)
    width = kuiper_upper_quantile(min(delta, 0.5)) / math.sqrt(n)
    return min(1.0, width + 0.5 / n if log_safe else width)
