"""Decision curves of two scores of the same rows, one less the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.cost_curve import points_or_grid
from calibrant.decisions.limits import normal_half_width
from calibrant.decisions.net_benefit import net_benefit
from calibrant.decisions.paired import pair_rows
from calibrant.errors import ArgumentError
from calibrant.table.results import Tabular
from calibrant.table.score_table import FloatArray, ScoreTable

__all__ = ["NetBenefitDifference", "net_benefit_difference"]


@dataclass(frozen=True, eq=False)
class NetBenefitDifference(Tabular):
    """Net benefit of one score less that of another, by threshold.

    Attributes
    ----------
    threshold : ndarray of float64
        The score tau from which one predicts positive, by either score.
    net_benefit, other_net_benefit : ndarray of float64
        Net benefit of either score.
    difference : ndarray of float64
        ``net_benefit - other_net_benefit``; positive where the first score is of more use.
    standard_error : ndarray of float64
        Of `difference`, for independent rows; 0 where no row is decided differently. NaN where weights do not count
        rows.
    lower, upper : ndarray of float64
        Confidence interval of `difference`, at each threshold by itself and for large n. NaN where weights do not count
        rows.
    confidence_level : float
        Confidence of each interval by itself.
    n : float
        Rows, or total weight.
    references : tuple of str
        Keys of `calibrant.references`.
    """

    threshold: FloatArray
    net_benefit: FloatArray
    other_net_benefit: FloatArray
    difference: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence_level: float
    n: float
    references: tuple[str, ...]


def net_benefit_difference(
    y_true: npt.ArrayLike,
    y_proba: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    at: npt.ArrayLike | None = None,
    n_points: int = 99,
    confidence_level: float = 0.95,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> NetBenefitDifference:
    """Compare the decision curves of two scores of the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba, other : array-like of shape (n,)
        Two predicted probabilities of the positive class for each row, in [0, 1].
    at : array-like of float, optional
        Thresholds, in (0, 1).
    n_points : int
        Without `at`: the thresholds are ``1 / (n_points + 1), ..., n_points / (n_points + 1)``.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. Intervals are given only for whole numbers that count rows.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    NetBenefitDifference
        One value per threshold.

    Raises
    ------
    ArgumentError
        If a threshold or the confidence_level is out of range, or a table is given: it does not know which row had
        which score.
    DataError
        If the input cannot be used.

    See Also
    --------
    net_benefit : One score.
    cost_curve : The difference of costs, which is ``-(1 - tau)`` times this one.

    Notes
    -----
    Only rows that the two scores decide differently matter, so the difference is known better than either net benefit.
    The intervals are those of `net_benefit`; here contributions are up to ``2 max(1, tau / (1 - tau))`` apart.

    References
    ----------
    Vickers & Elkin (2006). Decision curve analysis: a novel method for evaluating prediction models. Medical Decision
    Making.

    Examples
    --------
    >>> from calibrant.decisions import net_benefit_difference
    >>> found = net_benefit_difference([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], [0.1, 0.6, 0.4, 0.9], at=[0.2, 0.5])
    >>> found.difference.tolist()
    [0.0, 0.5]
    """
    if isinstance(y_true, ScoreTable):
        raise ArgumentError(
            "labels and two scores", "a ScoreTable", "pass the rows: a table does not know which row had which score"
        )
    tau = points_or_grid(at, n_points)
    keywords: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
    one, two = (
        net_benefit(y_true, score, at=tau, confidence_level=confidence_level, **keywords) for score in (y_proba, other)
    )
    pairs = pair_rows(y_true, other, y_proba, tau, **keywords)
    changes = pairs.changes()
    odds = tau / (1.0 - tau)
    difference = one.net_benefit - two.net_benefit
    positives = changes.gained_positives + changes.lost_positives
    negatives = changes.gained_negatives + changes.lost_negatives
    variance = np.maximum(0.0, (positives + odds**2 * negatives) / one.n - difference**2)
    half = normal_half_width(variance, 2.0 * np.maximum(1.0, odds), pairs.n, confidence_level)
    return NetBenefitDifference(
        threshold=tau,
        net_benefit=one.net_benefit,
        other_net_benefit=two.net_benefit,
        difference=difference,
        standard_error=np.sqrt(variance / pairs.n),
        lower=difference - half,
        upper=difference + half,
        confidence_level=confidence_level,
        n=one.n,
        references=("vickers2006",),
    )
