"""Bounds that are wider than those of `certify`: Theorem 2 of Gao, Parameswaran & Peng (2017), and Hoeffding's."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_choice, check_width
from calibrant.table.pooling import FloatArray

_MOST_ROWS = 1_000_000  # beyond, the limit is used: above the exact value, by less than 0.1%
_BLOCK = 1 << 12  # values of the maximum handled at a time


def hoeffding_width(n: float, delta: float = 0.05) -> float:
    """Width of Hoeffding's one-sided bound for terms in [-1, 1]: true error <= empirical error + width.

    Parameters
    ----------
    n, delta : float
        Number of independent rows, and the probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        ``sqrt(2 log(1 / delta) / n)``. It holds for the same reason as `calibrant.certificates.widths.default_width`.

    Examples
    --------
    >>> from calibrant.papers import hoeffding_width
    >>> round(hoeffding_width(10_000), 4)
    0.0245
    """
    check_width(n, delta)
    return math.sqrt(-2.0 * math.log(delta) / n)


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
    >>> from calibrant.papers import rademacher_of_intervals, uniform_convergence_width
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


def rademacher_of_intervals(n: int) -> float:
    r"""Expected Rademacher complexity of the intervals of one score, for distinct scores.

    Parameters
    ----------
    n : int
        Number of rows, at least 1.

    Returns
    -------
    float
        Expectation of the largest average sign over an interval of rows. Times ``sqrt(n)`` it grows towards
        ``sqrt(pi / 2)``, which is used above 1,000,000 rows; ties only lower it.

    Notes
    -----
    It is :math:`E \max_k M_k / n` for the walk :math:`M_k = \max(0, M_{k-1} + \sigma_k)`, a walk reflected at 0.
    The probability that the maximum stays below m has the closed form

    .. math:: \frac{4}{2m+1} \sum_{j=1}^m \cos^n\theta_j \cos\tfrac{\theta_j}{2}
              \frac{\sin m\theta_j}{2\sin(\theta_j/2)},\qquad \theta_j = \frac{(2j-1)\pi}{2m+1}.

    Examples
    --------
    >>> from calibrant.papers import rademacher_of_intervals
    >>> [round(rademacher_of_intervals(n), 12) for n in (1, 2, 3)]
    [0.5, 0.5, 0.458333333333]
    >>> round(rademacher_of_intervals(10_000) * 100, 3)
    1.243
    """
    if isinstance(n, bool) or int(n) != n or n < 1:
        raise ArgumentError("n to be a whole number of rows, at least 1", repr(n), "pass the number of rows")
    n = int(n)
    if n > _MOST_ROWS:
        return math.sqrt(0.5 * math.pi / n)
    # Beyond 9 standard deviations the maximum has no mass that float64 can see.
    highest = min(n, math.ceil(9.0 * math.sqrt(n)) + 2)
    # cos(theta)**n vanishes unless theta is near 0 or near pi: with so many terms at each end, the rest is below 1e-20.
    near = np.arange(1, math.ceil(math.sqrt(92.0 / n) * (2 * highest + 1) / (2.0 * math.pi)) + 3)
    few = min(highest, 2 * len(near))
    exceed = sum(float(_exceeds(n, np.array([m]), np.arange(1, m + 1)[None, :])[0]) for m in range(1, few + 1))
    for start in range(few + 1, highest + 1, _BLOCK):
        m = np.arange(start, min(start + _BLOCK, highest + 1))
        exceed += float(_exceeds(n, m, np.hstack([np.tile(near, (len(m), 1)), m[:, None] + 1 - near])).sum())
    return exceed / n


def _exceeds(n: int, m: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> FloatArray:
    """Probability that the maximum reaches each m, from the terms j of its row."""
    theta = (2 * j - 1) * (math.pi / (2 * m + 1))[:, None]
    half = 0.5 * theta
    terms = np.cos(theta) ** n * np.cos(half) * np.sin(m[:, None] * theta) / (2.0 * np.sin(half))
    return np.asarray(1.0 - np.minimum(1.0, 4.0 / (2 * m + 1) * terms.sum(axis=1)))
