"""Cost of deciding by scores over all trade-offs between the two mistakes, before and after recalibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.comparison import Pairs, compare, mistakes, pair_rows, ratio, with_limits
from calibrant.decisions.cost import largest_cell
from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.results import Count, Drawable
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table


@dataclass(frozen=True, eq=False, kw_only=True)
class CostCurve(Drawable):
    """Average cost per case by cost parameter: ``p`` per false positive and ``1 - p`` per false negative.

    Standard errors, intervals and bands are NaN where weights do not count rows; what compares with `after` is NaN, or
    None for arrays, if there is none.

    Attributes
    ----------
    cost_parameter : ndarray of float64
        The cost parameter p, which is also the score from which one predicts positive.
    cost_before : ndarray of float64
        Cost of predicting positive from p by the scores `before`.
    cost_before_error, cost_before_lower, cost_before_upper : ndarray of float64
        Its standard error and confidence interval, at each p by itself and for large n, as all intervals here.
    cost_after, cost_after_error, cost_after_lower, cost_after_upper : ndarray of float64 or None
        The same by the scores `after`.
    difference : ndarray of float64 or None
        ``cost_after - cost_before``; negative where `after` is the cheaper.
    difference_error, difference_lower, difference_upper : ndarray of float64 or None
        Its standard error and confidence interval. Both costs are of the same rows: it is known better than either.
    loss_ratio : ndarray of float64 or None
        ``cost_after / cost_before``; below 1 where `after` is the cheaper. NaN where `cost_before` is 0.
    loss_ratio_lower, loss_ratio_upper : ndarray of float64 or None
        Its confidence interval; without upper limit where `cost_before` may as well be 0.
    mean_ratio, mean_ratio_error : float
        Mean of `loss_ratio` where it is defined, and its standard error by the delta method, which is too small where
        a few mistakes decide some of the ratios, as at p near 0 and 1.
    overall_ratio, overall_ratio_lower, overall_ratio_upper : float
        Sum of `cost_after` over sum of `cost_before`, and its confidence interval. Unlike `mean_ratio` it also counts
        what `after` costs where `before` costs nothing, and it weighs the points by what is at stake.
    cost_best : ndarray of float64
        Smallest cost of any threshold on the scores `before`, chosen on these rows for each p.
    lowest_ratio : ndarray of float64
        ``cost_best / cost_before``: no order-preserving recalibration has a smaller `loss_ratio` on these rows.
        NaN where `cost_before` is 0.
    band : float
        The true expected cost is within `band` of `cost_before` at all p in [0, 1] at once, for every n, if `before`
        was fixed before these rows. The same holds for `cost_after` by itself if `after` was; nothing is proved for
        cross-fitted scores, which come from several maps fitted on parts of these rows.
    difference_band : float
        The same for `difference`, if both were fixed before these rows.
    confidence_level : float
        Confidence of each interval by itself, and of each band.
    n : float
        Rows, or total weight.
    references : tuple of str
        Keys of `calibrant.references`.
    """

    _display = "CostCurveDisplay"

    cost_parameter: FloatArray
    cost_before: FloatArray
    cost_before_error: FloatArray
    cost_before_lower: FloatArray
    cost_before_upper: FloatArray
    cost_after: FloatArray | None = None
    cost_after_error: FloatArray | None = None
    cost_after_lower: FloatArray | None = None
    cost_after_upper: FloatArray | None = None
    difference: FloatArray | None = None
    difference_error: FloatArray | None = None
    difference_lower: FloatArray | None = None
    difference_upper: FloatArray | None = None
    loss_ratio: FloatArray | None = None
    loss_ratio_lower: FloatArray | None = None
    loss_ratio_upper: FloatArray | None = None
    mean_ratio: float = math.nan
    mean_ratio_error: float = math.nan
    overall_ratio: float = math.nan
    overall_ratio_lower: float = math.nan
    overall_ratio_upper: float = math.nan
    cost_best: FloatArray
    lowest_ratio: FloatArray
    band: float
    difference_band: float = math.nan
    confidence_level: float
    n: Count
    references: tuple[str, ...]


def cost_curve(
    y_true: Labels,
    before: Scores = None,
    after: Scores = None,
    *,
    n_points: int = 99,
    at: npt.ArrayLike | None = None,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CostCurve:
    r"""Cost of deciding by scores, and how recalibration changed it, for all trade-offs between the mistakes.

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
    confidence_level : float
        Confidence of each interval by itself, and of the bands, in (0, 1).
    sample_weight, count, pos_label : optional
        Non-negative weights, with intervals only where they count rows; the label value that counts as 1.

    Returns
    -------
    CostCurve
        Costs per case; those of costs a and b are ``a + b`` times what stands at ``p = a / (a + b)``. From a table with
        cells, rows are predicted by the mean score of their cell, and the band allows for the rest.

    Raises
    ------
    ArgumentError
        If a cost parameter or the confidence_level is out of range, or a table comes with `after`.

    Notes
    -----
    The experiment of Section 4 and Figure 3 of Gao, Parameswaran & Peng (2017), who fitted `after` on other rows: at
    the loss parameter p a false positive costs p and a false negative ``1 - p``, one predicts 1 if the estimate is
    ``>= p``, and the loss ratio is the average loss after calibration over that before. Averaged over all p the cost is
    half the Brier score (Hernández-Orallo, Flach & Ferri 2011). A nondecreasing map followed by a threshold is again a
    threshold, so `lowest_ratio` holds for every such map without fitting one. One that changes the order may do better.

    Intervals and bands suppose that `before` and `after` were fixed before these rows. Intervals are normal, with
    ``log(2 / (1 - confidence_level)) / n`` times the reach of a term added on either side, since the dearer mistake may
    be too rare to be in this sample. Those of a ratio hold the r that the interval for the mean of ``loss after - r
    loss before`` does not rule out (Fieller).

    The band, ``sqrt(log(2 / (1 - confidence_level)) / (2 n))`` either way, holds for every n: the place of a row among
    the positives by score, followed by the negatives by score, is uniform on [0, 1]. With D the deviation of its
    empirical distribution the cost is off by :math:`(1 - p) D(t_1) - p D(t_0)`, at most :math:`\max |D|`, where p cuts
    the positives at t_1 and the negatives at t_0; Massart (1990) bounds D. For the difference it is twice the width at
    half the failure probability.

    Examples
    --------
    >>> from calibrant.decisions import cost_curve
    >>> curve = cost_curve([0, 0, 0, 1], [0.6, 0.6, 0.6, 0.9], [0.0, 0.0, 0.0, 1.0], at=[0.5, 0.8])
    >>> curve.cost_before.tolist(), curve.cost_after.tolist(), curve.loss_ratio.tolist()
    ([0.375, 0.0], [0.0, 0.0], [0.0, nan])
    """
    table = as_table(y_true, before, sample_weight=sample_weight, count=count, pos_label=pos_label)
    check_between("confidence_level", confidence_level, 0.0, 1.0)
    p = points_or_grid(at, n_points)
    if after is None:
        return curve_of(table, p, confidence_level)
    if isinstance(y_true, ScoreTable):
        remedy = "pass the rows: a table does not know which row had which score"
        raise ArgumentError("labels, scores before and scores after", "a ScoreTable with scores after", remedy)
    assert before is not None  # or there was no table
    other = as_table(y_true, after, sample_weight=sample_weight, count=count, pos_label=pos_label)
    pairs = pair_rows(y_true, before, after, p, sample_weight=sample_weight, count=count, pos_label=pos_label)
    return curve_of(table, p, confidence_level, (other, pairs))


def curve_of(
    table: ScoreTable, p: FloatArray, confidence_level: float, compared: tuple[ScoreTable, Pairs] | None = None
) -> CostCurve:
    """Cost curve of a table, compared with that of other scores of the same rows, paired at `p`."""
    n = table.total if table.independent else math.nan  # what is known of chance needs rows
    one = mistakes(table, np.searchsorted(table.score, p, side="left"))
    cost_before = one.cost(p)
    # the cheapest cut is found by rounded means, so it might cost a rounding error more than that of p
    cost_best = np.minimum(cost_before, mistakes(table, cheapest_cuts(table)(p)).cost(p))
    of_both: dict[str, Any] = {}
    if compared is not None:
        other, pairs = compared
        two = mistakes(other, np.searchsorted(other.score, p, side="left"))
        of_both = compare(one, two, p, pairs, confidence_level)
    return CostCurve(
        cost_parameter=p,
        **with_limits("cost_before", cost_before, one.variance(p), np.maximum(p, 1.0 - p), n, confidence_level, 0.0),
        **of_both,
        cost_best=cost_best,
        lowest_ratio=ratio(cost_best, cost_before),
        band=math.sqrt(-math.log(0.5 * (1.0 - confidence_level)) / (2.0 * n)) + largest_cell(table) / n,
        confidence_level=confidence_level,
        n=table.total,
        references=("gao2017", "hernandez2011", "massart1990"),
    )


def cheapest_cuts(table: ScoreTable) -> Callable[[FloatArray], IndexArray]:
    """Return a function of tau: from which row predicting positive costs least, at the costs tau and ``1 - tau``.

    Predicting positive where the isotonic fit reaches tau is the cheapest of all thresholds, whatever tau: one fit
    answers all.
    """
    fit = isotonic_fit(table)
    starts = np.append(np.searchsorted(table.low, fit.low), len(table))

    def cuts(tau: FloatArray) -> IndexArray:
        return np.asarray(starts[np.searchsorted(fit.value, tau)], dtype=np.intp)

    return cuts


def points_or_grid(at: npt.ArrayLike | None, n_points: int) -> FloatArray:
    """Return the points asked for if all lie in (0, 1), or else so many at equal distances."""
    if at is None:
        n_points = check_count("n_points", n_points, 1, "99 gives the percents")
        return np.arange(1, n_points + 1) / (n_points + 1)
    points = [check_between("at", value, 0.0, 1.0) for value in np.atleast_1d(np.asarray(at)).ravel().tolist()]
    if not points:
        raise ArgumentError("at least one point in at", "none", "leave at out for an even grid")
    return np.array(points, dtype=np.float64)
