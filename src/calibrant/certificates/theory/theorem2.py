"""Theorem 2 of Gao, Parameswaran & Peng (2017): uniform convergence of the calibration error over a class."""

from __future__ import annotations

import math
from typing import Literal

from calibrant.table.parameters import check_choice, check_width

__all__ = ["PRINTED_LIMIT", "uniform_convergence_width"]

# The printed form is proved, by way of the sharp one, where sqrt(n) times the complexity is at most this.
PRINTED_LIMIT = 1.45


def uniform_convergence_width(
    n: float, delta: float, rademacher: float, *, form: Literal["sharp", "proof", "printed"] = "sharp"
) -> float:
    """Width of the two-sided bound of Theorem 2: the true error lies within it of the empirical error.

    Parameters
    ----------
    n, delta : float
        Number of independent rows, and the probability with which the bound may fail, in (0, 1).
    rademacher : float
        Expected Rademacher complexity of the score intervals of the class, for instance
        `rademacher_of_intervals(n)` for one classifier.
    form : {"sharp", "proof", "printed"}
        "printed" is the statement of the paper, ``2 R + 2 sqrt(2 log(8 / delta) / n)``; "proof" is what its proof
        gives, ``4 R + 2 sqrt(2 log(8 / delta) / n)``: the printed one lost a factor 2 on the way. "sharp" does the
        same in one step, ``4 R + sqrt(2 log(2 / delta) / n)``.

    Returns
    -------
    float
        In units of the error; smaller is tighter.

    Notes
    -----
    The printed form is nevertheless true where ``sqrt(n) * rademacher <= 1.45``, and so for a single classifier
    and for all monotone maps of one, because the sharp form is then smaller.

    Examples
    --------
    >>> from calibrant.certificates.theory import rademacher_of_intervals, uniform_convergence_width
    >>> r = rademacher_of_intervals(10_000)
    >>> [round(uniform_convergence_width(10_000, 0.05, r, form=f), 4) for f in ("proof", "printed", "sharp")]
    [0.1135, 0.0886, 0.0769]
    """
    check_width(n, delta)
    check_choice("form", form, ("sharp", "proof", "printed"))
    if form == "sharp":
        return 4.0 * rademacher + math.sqrt(2.0 * (math.log(2.0) - math.log(delta)) / n)
    tail = 2.0 * math.sqrt(2.0 * (math.log(8.0) - math.log(delta)) / n)
    return (2.0 if form == "printed" else 4.0) * rademacher + tail
