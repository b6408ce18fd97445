"""A two-sided confidence interval for the true cutoff calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from calibrant.certificates.bernstein import bernstein_width
from calibrant.certificates.certify import ASSUMPTIONS, check_request
from calibrant.certificates.normal import normal_width
from calibrant.certificates.uniform import range_width, uniform_width
from calibrant.core.parameters import check_choice
from calibrant.core.results import Result
from calibrant.core.table import ScoreTable, as_table, need_counts
from calibrant.core.walk import extremes, residual_walk

__all__ = ["CutoffInterval", "cutoff_interval"]


@dataclass(frozen=True)
class CutoffInterval(Result):
    """Limits for the true cutoff calibration error that hold together.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    estimate : float
        Empirical cutoff calibration error.
    low, high : float
        The true error lies between them with probability at least ``1 - delta``.
    delta : float
        Probability of failure; each limit is given half of it.
    n : int
        Rows.
    method : {"finite", "asymptotic"}
        Whether the probability holds for every number of rows or in the limit.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    """

    claim: str
    estimate: float
    low: float
    high: float
    delta: float
    n: int
    method: str
    assumptions: tuple[str, ...]
    references: tuple[str, ...]


def cutoff_interval(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    delta: float = 0.05,
    method: Literal["finite", "asymptotic"] = "finite",
    brier_guess: float = 0.12,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> CutoffInterval:
    """Confidence interval for the true cutoff calibration error of a classifier fixed before these rows.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    delta : float
        Probability with which the interval may fail, in (0, 1).
    method : {"finite", "asymptotic"}
        "finite" holds for every n (its lower limit uses Monte Carlo constants, see `uniform_width`); "asymptotic" is
        narrower.
    brier_guess : float
        For "finite", see `certify`.
    sample_weight : array-like of shape (n,), optional
        Whole numbers that count repeated independent rows. Other weights are refused.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    CutoffInterval
        If only one limit is of interest use `certify`, which spends all of `delta` on it.

    Raises
    ------
    ArgumentError
        If a parameter is out of range.
    DataError
        If the input cannot be used, or weights are not whole numbers.

    Notes
    -----
    A percentile bootstrap would be wrong here: the error is not a smooth function of the distribution where the
    classifier is calibrated, and such an interval then never contains the true value 0.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import cutoff_interval
    >>> p = np.tile([0.2, 0.8], 5_000)
    >>> y = np.tile([0, 1], 5_000)  # the true error of these scores is at least 0.05
    >>> interval = cutoff_interval(y, p, method="asymptotic")
    >>> round(interval.low, 3), round(interval.estimate, 3), round(interval.high, 3)
    (0.089, 0.1, 0.104)
    """
    check_request(delta=delta, tolerance=None, method="bernstein")
    check_choice("method", method, ("finite", "asymptotic"))
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    need_counts(table, "an interval needs rows")
    n = int(table.total)
    estimate = extremes(residual_walk(table)).value
    brier = float(table.squared.sum()) / n
    if method == "finite":
        below = uniform_width(n, 0.5 * delta)
        above = bernstein_width(n, brier, 0.5 * delta, brier_guess=brier_guess)
    else:
        below = range_width(n, max(brier, table.mean_variance), 0.5 * delta)
        above = normal_width(n, brier, 0.5 * delta)
    low, high = max(0.0, estimate - below), min(1.0, estimate + above)
    limit = "" if method == "finite" else ", in the limit of many rows,"
    return CutoffInterval(
        claim=f"With probability at least {1 - delta:.6g}{limit} over the draw of the rows, the cutoff calibration "
        f"error of this classifier in the population is between {low:.4g} and {high:.4g}.",
        estimate=estimate,
        low=low,
        high=high,
        delta=delta,
        n=n,
        method=method,
        assumptions=ASSUMPTIONS,
        references=("gao2017", "fan2015") if method == "finite" else ("gao2017", "feller1951"),
    )
