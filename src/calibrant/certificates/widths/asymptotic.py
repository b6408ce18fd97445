"""The normal bound on the true cutoff calibration error: asymptotic, with a term for rare events."""

from __future__ import annotations

import math

from calibrant.distributions.brownian import normal_quantile
from calibrant.table.parameters import check_between, check_rows

__all__ = ["asymptotic_width"]


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
    check_rows(n)
    check_between("delta", delta, 0.0, 1.0)
    return max(0.0, -normal_quantile(delta)) * math.sqrt(brier / n) - math.log(delta) / n
