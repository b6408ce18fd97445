"""Hoeffding's bound on the true cutoff calibration error: needs nothing but the number of rows."""

from __future__ import annotations

import math

from calibrant.table.parameters import check_between, check_rows

__all__ = ["hoeffding_width"]


def hoeffding_width(n: float, delta: float = 0.05) -> float:
    """Width of Hoeffding's one-sided bound for terms in [-1, 1]: true error <= empirical error + width.

    Parameters
    ----------
    n : float
        Number of independent rows.
    delta : float
        Probability with which the bound may fail, in (0, 1).

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
    check_rows(n)
    check_between("delta", delta, 0.0, 1.0)
    return math.sqrt(-2.0 * math.log(delta) / n)
