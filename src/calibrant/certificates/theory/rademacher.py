"""Rademacher complexity of score intervals: exactly for one score, bounded for classes of classifiers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_rows

__all__ = ["rademacher_finite", "rademacher_linear", "rademacher_of_intervals"]

_MOST_ROWS = 1_000_000  # beyond, the limit is used: above the exact value, by less than 0.1%
_BLOCK = 1 << 12  # values of the maximum handled at a time


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
    >>> from calibrant.certificates.theory import rademacher_of_intervals
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


def rademacher_finite(n: float, vc_dim: int, n_values: int) -> float:
    r"""Upper bound on the Rademacher complexity of a class of classifiers with finitely many scores.

    Parameters
    ----------
    n : float
        Number of rows, more than ``vc_dim + 1``.
    vc_dim : int
        Vapnik-Chervonenkis dimension of the sets ``{f <= p}`` over the class, at least 1.
    n_values : int
        Number of different scores a classifier can give, at least 1.

    Returns
    -------
    float
        Claim 4 of Gao, Parameswaran & Peng (2017):
        :math:`\sqrt{(2 d (\log(n/d) + 1) + 4 \log(|P| + 1)) / n}`.

    Examples
    --------
    >>> from calibrant.certificates.theory import rademacher_finite
    >>> round(rademacher_finite(10_000, vc_dim=2, n_values=100), 3)
    0.075
    """
    check_between("vc_dim", vc_dim, 1.0, math.inf, closed="left")
    check_between("n_values", n_values, 1.0, math.inf, closed="left")
    if check_rows(n) <= vc_dim + 1:
        raise ArgumentError("more than vc_dim + 1 rows", f"{n:g}", "Claim 4 needs more rows than the dimension")
    return math.sqrt((2.0 * vc_dim * (math.log(n / vc_dim) + 1.0) + 4.0 * math.log(n_values + 1.0)) / n)


def rademacher_linear(n: float, n_features: int) -> float:
    r"""Upper bound on the Rademacher complexity of all monotone functions of a linear score.

    Parameters
    ----------
    n : float
        Number of rows, more than ``n_features + 1``.
    n_features : int
        Number of features d; the score is a monotone function of ``w.x``.

    Returns
    -------
    float
        :math:`2 \sqrt{(d + 1) \log(e n / (d + 1)) / n}`: an interval of scores is the intersection of two half-spaces,
        each of which cuts n points in at most :math:`(e n / (d + 1))^{d + 1}` ways.

    Examples
    --------
    >>> from calibrant.certificates.theory import rademacher_linear
    >>> round(4 * rademacher_linear(1_000_000, 5), 3)
    0.071
    """
    check_between("n_features", n_features, 1.0, math.inf, closed="left")
    if check_rows(n) <= n_features + 1:
        raise ArgumentError("more than n_features + 1 rows", f"{n:g}", "fewer rows can be split in every way")
    return 2.0 * math.sqrt((n_features + 1.0) * math.log(math.e * n / (n_features + 1.0)) / n)


def _exceeds(n: int, m: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Probability that the maximum reaches each m, from the terms j of its row."""
    theta = (2 * j - 1) * (math.pi / (2 * m + 1))[:, None]
    half = 0.5 * theta
    terms = np.cos(theta) ** n * np.cos(half) * np.sin(m[:, None] * theta) / (2.0 * np.sin(half))
    return np.asarray(1.0 - np.minimum(1.0, 4.0 / (2 * m + 1) * terms.sum(axis=1)))
