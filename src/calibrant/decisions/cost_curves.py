"""Cost of deciding by scores over all trade-offs between the two mistakes, before and after recalibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.decisions.cost import largest_cell
from calibrant.distributions.brownian import normal_quantile
from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, NumberArray, distinct_numbers, score_order
from calibrant.table.results import Count, Drawable
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.validation import clean_rows, clean_scores


class Mistakes(NamedTuple):
    """Shares of the rows that are false positives and false negatives, at each p."""

    false_positives: FloatArray
    false_negatives: FloatArray

    def cost(self, p: FloatArray) -> FloatArray:
        """Average cost at p per false positive and ``1 - p`` per false negative."""
        return np.asarray(p * self.false_positives + (1.0 - p) * self.false_negatives)

    def variance(self, p: FloatArray) -> FloatArray:
        """Variance of what a row costs."""
        return _squared(p, self.false_positives, self.false_negatives) - self.cost(p) ** 2


def mistakes(table: ScoreTable, cut: IndexArray) -> Mistakes:
    """Count the false positives and negatives from each cut."""
    hits, misses = (np.append(0.0, np.cumsum(counts, dtype=np.float64)) for counts in (table.k, table.negatives))
    return Mistakes((misses[-1] - misses[cut]) / table.total, hits[cut] / table.total)


def _squared(p: FloatArray, negatives: FloatArray, positives: FloatArray) -> FloatArray:
    """Mean square of terms of size p for so many negatives and ``1 - p`` for so many positives."""
    return np.asarray(p**2 * negatives + (1.0 - p) ** 2 * positives)


def compare(one: Mistakes, two: Mistakes, p: FloatArray, pairs: Pairs, confidence_level: float) -> dict[str, Any]:
    """Everything about the scores after, and about both."""
    before, after, reach, n = one.cost(p), two.cost(p), np.maximum(p, 1.0 - p), pairs.n
    negatives, positives = pairs.changed() / float(pairs.rows.sum())
    same_negatives = one.false_positives + two.false_positives - negatives
    same_positives = one.false_negatives + two.false_negatives - positives
    covariance = _squared(p, same_negatives, same_positives) / 2.0 - after * before
    variance = _squared(p, negatives, positives) - (after - before) ** 2
    moments = two.variance(p), one.variance(p), covariance
    lower, upper = ratio_limits(after, before, moments, reach, n, confidence_level)
    return {
        **with_limits("cost_after", after, two.variance(p), reach, n, confidence_level, 0.0),
        **with_limits("difference", after - before, variance, 2.0 * reach, n, confidence_level, -math.inf),
        "loss_ratio": ratio(after, before),
        "loss_ratio_lower": lower,
        "loss_ratio_upper": upper,
        **_overall_ratio(before, after, p, pairs, confidence_level),
        "difference_band": 2.0 * math.sqrt(-math.log(0.25 * (1.0 - confidence_level)) / (2.0 * n)),
    }


def _overall_ratio(
    before: FloatArray, after: FloatArray, p: FloatArray, pairs: Pairs, confidence_level: float
) -> dict[str, float]:
    """The ratio of the means, with its limits."""
    share = pairs.rows / pairs.rows.sum()
    lost_before, lost_after = (pairs.sums(which, p, 1.0 - p) for which in (pairs.first, pairs.second))
    total_after, total_before = after.sum(keepdims=True), before.sum(keepdims=True)
    off_after, off_before = lost_after - total_after, lost_before - total_before
    moments = [np.dot(share, square).reshape(1) for square in (off_after**2, off_before**2, off_after * off_before)]
    reach = max(float(p.sum()), float((1.0 - p).sum()))
    lower, upper = ratio_limits(total_after, total_before, moments, reach, pairs.n, confidence_level)
    return {
        "overall_ratio": float(ratio(total_after, total_before)[0]),
        "overall_ratio_lower": float(lower[0]),
        "overall_ratio_upper": float(upper[0]),
    }


def with_limits(
    name: str, value: FloatArray, variance: FloatArray, reach: FloatArray, n: float, level: float, least: float
) -> dict[str, Any]:
    """Name a quantity that is at least `least`, its standard error and its interval."""
    half = normal_half_width(variance, reach, n, level)
    return {
        name: value,
        f"{name}_error": np.sqrt(np.maximum(0.0, variance) / n),
        f"{name}_lower": np.maximum(least, value - half),
        f"{name}_upper": value + half,
    }


def ratio(cost: FloatArray, reference: FloatArray) -> FloatArray:
    """Quotient, NaN where the reference is 0."""
    ratio = np.full(len(cost), np.nan)
    np.divide(cost, reference, out=ratio, where=reference > 0.0)
    return ratio


def normal_half_width(variance: npt.ArrayLike, reach: npt.ArrayLike, n: float, level: float) -> FloatArray:
    """Half the width of a confidence interval for the mean of n independent terms at most `reach` apart, for large n.

    ``z sqrt(variance / n) + log(2 / (1 - level)) reach / n``. Without the last term the interval would be far too
    narrow where what weighs most is rare: a sample without it says that it is rare, not that it never happens.
    """
    tail = 0.5 * (1.0 - level)
    deviation = np.sqrt(np.maximum(0.0, variance) / n)
    return np.asarray(-normal_quantile(tail) * deviation - math.log(tail) * np.asarray(reach) / n)


def ratio_limits(
    top: FloatArray, bottom: FloatArray, moments: Iterable[FloatArray], reach: npt.ArrayLike, n: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Confidence limits for ratios of two means of the same rows, for large n, each by itself.

    `moments` are the variance of the terms of `top`, of those of `bottom`, and their covariance; no term is negative or
    above `reach`. The interval holds the ratios r for which the interval of `normal_half_width` for the mean of the
    terms ``top - r bottom``, which are at most ``reach (1 + r)`` apart, holds 0 (Fieller 1954): on either side the root
    of a quadratic equation. The upper end is infinite where `bottom` may as well be 0; both are NaN where it is, or n
    is NaN.
    """
    tail = 0.5 * (1.0 - level)
    squared_quantile = normal_quantile(tail) ** 2 / n
    var_top, var_bottom, covariance = (squared_quantile * np.asarray(moment) for moment in moments)
    rare = -math.log(tail) * np.asarray(reach) / n
    less, more = top - rare, bottom + rare
    a, b, c = more**2 - var_bottom, less * more - covariance, less**2 - var_top
    away_from_zero = (less > 0.0) & (c > 0.0)
    lower = np.zeros(len(top))
    np.divide(c, b + np.sqrt(np.maximum(0.0, b**2 - a * c)), out=lower, where=away_from_zero)
    less, more = bottom - rare, top + rare
    a, b, c = less**2 - var_bottom, less * more - covariance, more**2 - var_top
    bounded = (less > 0.0) & (a > 0.0)
    upper = np.full(len(top), np.inf)
    np.divide(b + np.sqrt(np.maximum(0.0, b**2 - a * c)), a, out=upper, where=bounded)
    unknown = (bottom == 0.0) | math.isnan(n)
    return np.where(unknown, np.nan, lower), np.where(unknown, np.nan, upper)


class Pairs(NamedTuple):
    """Rows counted by their label and by how many of the thresholds, in increasing order, either score reaches.

    `order` puts the thresholds in increasing order; a row is predicted positive at the first so many of them. `n`
    counts all rows and is NaN where weights do not count rows, since chance is then unknown.
    """

    order: IndexArray
    positive: BoolArray
    first: IndexArray
    second: IndexArray
    rows: FloatArray
    n: float

    def changed(self) -> FloatArray:
        """Count the negatives and the positives decided differently, in the order in which thresholds were given."""
        size = len(self.order)
        counted = np.zeros((2, size))
        for label in (0, 1):
            for start, stop in ((self.first, self.second), (self.second, self.first)):
                rows = self.rows * ((self.positive == label) & (start < stop))
                steps = np.bincount(start, rows, size + 1) - np.bincount(stop, rows, size + 1)
                counted[label, self.order] += np.cumsum(steps)[:size]
        return counted

    def sums(self, which: IndexArray, of_positive: FloatArray, of_negative: FloatArray) -> FloatArray:
        """Add up over the thresholds what each row costs by one of the two scores, `first` or `second`.

        Costs of a false positive and of a false negative are those at each threshold, in the order given.
        """
        false_positives = np.concatenate([[0.0], np.cumsum(of_positive[self.order])])
        reached = np.concatenate([[0.0], np.cumsum(of_negative[self.order])])
        return np.where(self.positive, (reached[-1] - reached)[which], false_positives[which])


class MappedPart(NamedTuple):
    """Rows and positives at increasing scores, and what a nondecreasing map makes of these scores."""

    first: FloatArray
    second: FloatArray
    n: NumberArray
    k: NumberArray


def pair_rows(
    y_true: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    thresholds: FloatArray,
    *,
    sample_weight: Weights,
    count: Weights,
    pos_label: Any,
) -> Pairs:
    """Count rows, with weights and labels as in `clean_rows`.

    Without weights the result does not depend on the order of the rows.
    """
    rows = clean_rows(y_true, first, sample_weight=sample_weight, count=count, pos_label=pos_label)
    order = score_order(thresholds)
    i, j = (
        np.searchsorted(thresholds[order], score.astype(np.float64), side="right")
        for score in (rows.score, clean_scores(second))
    )
    pairs = _counted(order, rows.label, i, j, rows.rows)
    return pairs if rows.weights is None else pairs._replace(n=math.nan)


def pair_mapped(parts: Iterable[MappedPart], thresholds: FloatArray) -> Pairs:
    """Count rows whose second score is a nondecreasing map of the first, part by part with a map of its own."""
    order = score_order(thresholds)
    counted: list[tuple[NumberArray, ...]] = []
    for part in parts:
        # Both scores increase, so rows that reach as many thresholds by either stand together.
        cuts = [np.searchsorted(score, thresholds[order]) for score in (part.first, part.second)]
        starts = distinct_numbers(np.zeros(1, np.intp), *cuts)
        starts = starts[starts < len(part.n)]
        i, j = (np.searchsorted(cut, starts, side="right") for cut in cuts)
        n, k = np.add.reduceat(part.n, starts), np.add.reduceat(part.k, starts)
        counted += [(np.full(len(n), label), i, j, rows) for label, rows in ((0, n - k), (1, k))]
    return _counted(order, *(np.concatenate(columns) for columns in zip(*counted, strict=True)))


def _counted(
    order: IndexArray, label: npt.NDArray[np.integer], i: IndexArray, j: IndexArray, weight: NumberArray
) -> Pairs:
    counted = np.flatnonzero(weight > 0)  # sums are rounded by the number of their terms
    by_pair = counted[score_order(label[counted], i[counted], j[counted])]
    label, i, j, weight = label[by_pair], i[by_pair], j[by_pair], weight[by_pair]
    starts = np.flatnonzero(np.append(True, (np.diff(label) != 0) | (np.diff(i) != 0) | (np.diff(j) != 0)))
    rows = np.add.reduceat(weight, starts).astype(np.float64)
    n = float(weight.sum()) if weight.dtype.kind == "i" else math.nan
    return Pairs(order, label[starts] == 1, i[starts], j[starts], rows, n)


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
    overall_ratio, overall_ratio_lower, overall_ratio_upper : float
        Sum of `cost_after` over sum of `cost_before`, and its confidence interval. Unlike the mean of `loss_ratio` it
        counts what `after` costs where `before` costs nothing, and it weighs the points by what is at stake.
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

    _display = "plots.decisions.CostCurveDisplay"

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
