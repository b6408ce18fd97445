"""Cost of deciding by scores over all trade-offs between the two mistakes, before and after recalibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.parameters import check_between, check_count
from calibrant.core.pava import isotonic_fit
from calibrant.core.results import Tabular
from calibrant.core.table import FloatArray, ScoreTable, as_table
from calibrant.decisions.cost import costs_by_cut
from calibrant.errors import ArgumentError

__all__ = ["CostCurve", "cheapest_cuts", "cost_curve", "points_or_grid"]


@dataclass(frozen=True, eq=False)
class CostCurve(Tabular):
    """Average cost per case by cost parameter: ``p`` per false positive and ``1 - p`` per false negative.

    Attributes
    ----------
    cost_parameter : ndarray of float64
        The cost parameter p, which is also the score from which one acts.
    cost_before : ndarray of float64
        Cost of acting from p on by the scores `before`.
    cost_after : ndarray of float64 or None
        The same by the scores `after`. None if there are none.
    loss_ratio : ndarray of float64 or None
        ``cost_after / cost_before``; below 1 where `after` is the cheaper. NaN where `cost_before` is 0. None
        without `after`.
    mean_ratio : float
        Mean of `loss_ratio` where it is defined; NaN without `after`.
    overall_ratio : float
        Sum of `cost_after` over sum of `cost_before`. Unlike `mean_ratio` it also counts what `after` costs where
        `before` costs nothing, and it weighs the points by what is at stake.
    cost_best : ndarray of float64
        Smallest cost of any threshold on the scores `before`, chosen on these rows for each p.
    lowest_ratio : ndarray of float64
        ``cost_best / cost_before``: no order-preserving recalibration has a smaller `loss_ratio` on these rows.
        NaN where `cost_before` is 0.
    n : float
        Rows, or total weight.
    """

    cost_parameter: FloatArray
    cost_before: FloatArray
    cost_after: FloatArray | None
    loss_ratio: FloatArray | None
    mean_ratio: float
    overall_ratio: float
    cost_best: FloatArray
    lowest_ratio: FloatArray
    n: float


def cost_curve(
    y_true: npt.ArrayLike | ScoreTable,
    before: npt.ArrayLike | None = None,
    after: npt.ArrayLike | None = None,
    *,
    n_points: int = 99,
    at: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> CostCurve:
    """Cost of deciding by scores, and how recalibration changed it, for all trade-offs between the mistakes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and the scores `before`; a table allows no `after`.
    before : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    after : array-like of shape (n,), optional
        Other probabilities of the same rows: those of a calibrator fitted on other data.
    n_points : int
        Without `at`: the cost parameters are ``1 / (n_points + 1), ..., n_points / (n_points + 1)``.
    at : array-like of float, optional
        Cost parameters, in (0, 1).
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    CostCurve
        Costs per case; those of costs a and b are ``a + b`` times what stands at ``p = a / (a + b)``.

    Raises
    ------
    ArgumentError
        If a cost parameter is out of range, or a table comes with `after`.
    DataError
        If the input cannot be used.

    Notes
    -----
    The experiment of Section 4 and Figure 3 of [1]_: with the loss parameter p "each false negative incurs 1 - p
    cost and each false positive incurs p cost", one predicts 1 "if and only if" the estimate is ``>= p``, and the
    loss ratio is the average loss after calibration over that before. There `after` was fitted on other rows.

    A nondecreasing map of the scores followed by a threshold is again a threshold (``>= t`` or ``> t``), so
    `lowest_ratio` holds for every map without fitting one. A map that changes the order may do better.

    Averaged over all p in (0, 1) the cost is half the Brier score [2]_.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). On the Interpretability of Conditional Probability Estimates in the
       Agnostic Setting. AISTATS.
    .. [2] Hernández-Orallo, Flach & Ferri (2011). Brier curves: a new cost-based visualisation of classifier
       performance. ICML.

    Examples
    --------
    >>> from calibrant.decisions import cost_curve
    >>> curve = cost_curve([0, 0, 0, 1], [0.6, 0.6, 0.6, 0.9], [0.0, 0.0, 0.0, 1.0], at=[0.5, 0.8])
    >>> curve.cost_before.tolist(), curve.cost_after.tolist()
    ([0.375, 0.0], [0.0, 0.0])
    >>> curve.loss_ratio.tolist(), curve.mean_ratio
    ([0.0, nan], 0.0)
    """
    table = as_table(y_true, before, sample_weight=sample_weight, pos_label=pos_label)
    p = points_or_grid(at, n_points)
    cost_before = _costs_at(table, p, np.searchsorted(table.score, p, side="left"))
    # the cheapest cut is found by rounded means, so it might cost a rounding error more than that of p
    cost_best = np.minimum(cost_before, _costs_at(table, p, cheapest_cuts(table, p)))
    cost_after = loss_ratio = None
    mean_ratio = overall_ratio = math.nan
    if after is not None:
        if isinstance(y_true, ScoreTable):
            raise ArgumentError(
                "labels, scores before and scores after",
                "a ScoreTable with scores after",
                "pass the rows: a table does not know which row had which score",
            )
        other = as_table(y_true, after, sample_weight=sample_weight, pos_label=pos_label)
        cost_after = _costs_at(other, p, np.searchsorted(other.score, p, side="left"))
        loss_ratio = _ratio(cost_after, cost_before)
        defined = loss_ratio[~np.isnan(loss_ratio)]
        mean_ratio = float(defined.mean()) if len(defined) else math.nan
        overall_ratio = float(_ratio(cost_after.sum(keepdims=True), cost_before.sum(keepdims=True))[0])
    return CostCurve(
        cost_parameter=p,
        cost_before=cost_before,
        cost_after=cost_after,
        loss_ratio=loss_ratio,
        mean_ratio=mean_ratio,
        overall_ratio=overall_ratio,
        cost_best=cost_best,
        lowest_ratio=_ratio(cost_best, cost_before),
        n=table.total,
    )


def cheapest_cuts(table: ScoreTable, tau: FloatArray) -> npt.NDArray[np.intp]:
    """Row of the table from which to act at the smallest cost, if the costs are tau and ``1 - tau``, for each tau.

    Acting where the isotonic fit reaches tau is the cheapest of all thresholds, whatever tau: one fit answers all.
    """
    fit = isotonic_fit(table)
    starts = np.append(np.searchsorted(table.low, fit.low), len(table))
    return np.asarray(starts[np.searchsorted(fit.value, tau, side="left")], dtype=np.intp)


def points_or_grid(at: npt.ArrayLike | None, n_points: int) -> FloatArray:
    """Return the points asked for if all lie in (0, 1), or else so many at equal distances."""
    if at is None:
        n_points = check_count("n_points", n_points, 1, "99 gives the percents")
        return np.arange(1, n_points + 1) / (n_points + 1)
    points = [check_between("at", value, 0.0, 1.0) for value in np.atleast_1d(np.asarray(at)).ravel().tolist()]
    if not points:
        raise ArgumentError("at least one point in at", "none", "leave at out for an even grid")
    return np.array(points, dtype=np.float64)


def _costs_at(table: ScoreTable, p: FloatArray, cut: npt.NDArray[np.intp]) -> FloatArray:
    """Average cost of acting from the cut on, at costs p and ``1 - p``."""
    bothered, missed = costs_by_cut(table, 1.0, 0.0)[cut], costs_by_cut(table, 0.0, 1.0)[cut]
    return np.asarray(p * bothered + (1.0 - p) * missed, dtype=np.float64)


def _ratio(cost: FloatArray, reference: FloatArray) -> FloatArray:
    """Quotient, NaN where the reference is 0."""
    ratio = np.full(len(cost), np.nan)
    np.divide(cost, reference, out=ratio, where=reference > 0.0)
    return ratio
