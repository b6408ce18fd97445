"""Two scores of the same rows: where they decide differently, what they cost, and what is known of the difference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import normal_quantile
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, NumberArray, distinct_numbers, score_order
from calibrant.table.score_table import ScoreTable, Weights
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
    quotient = ratio(after, before)
    moments = two.variance(p), one.variance(p), covariance
    lower, upper = ratio_limits(after, before, moments, reach, n, confidence_level)
    return {
        **with_limits("cost_after", after, two.variance(p), reach, n, confidence_level, 0.0),
        **with_limits("difference", after - before, variance, 2.0 * reach, n, confidence_level, -math.inf),
        "loss_ratio": quotient,
        "loss_ratio_lower": lower,
        "loss_ratio_upper": upper,
        **_averaged_ratios(quotient, before, after, p, pairs, confidence_level),
        "difference_band": 2.0 * math.sqrt(-math.log(0.25 * (1.0 - confidence_level)) / (2.0 * n)),
    }


def _averaged_ratios(
    quotient: FloatArray, before: FloatArray, after: FloatArray, p: FloatArray, pairs: Pairs, confidence_level: float
) -> dict[str, float]:
    """The mean of the ratios, with its standard error, and the ratio of the means, with its limits."""
    share = pairs.rows / pairs.rows.sum()
    lost_before, lost_after = (pairs.sums(which, p, 1.0 - p) for which in (pairs.first, pairs.second))
    total_after, total_before = after.sum(keepdims=True), before.sum(keepdims=True)
    off_after, off_before = lost_after - total_after, lost_before - total_before
    moments = [np.dot(share, square).reshape(1) for square in (off_after**2, off_before**2, off_after * off_before)]
    reach = max(float(p.sum()), float((1.0 - p).sum()))
    lower, upper = ratio_limits(total_after, total_before, moments, reach, pairs.n, confidence_level)
    defined = before > 0.0
    mean, error = math.nan, math.nan
    if defined.any():
        mean = float(quotient[defined].mean())
        # what one row adds to the mean of the ratios, to first order
        price = np.zeros(len(p))
        with np.errstate(over="ignore", invalid="ignore"):  # a cost so near 0 that its inverse leaves float64
            price[defined] = 1.0 / before[defined] / defined.sum()
            worth = price * np.where(defined, quotient, 0.0)
            adds = pairs.sums(pairs.second, p * price, (1.0 - p) * price)
            adds = adds - pairs.sums(pairs.first, p * worth, (1.0 - p) * worth)
            error = math.sqrt(float(np.dot(share, adds**2)) / pairs.n)
        if math.isnan(error) and not math.isnan(pairs.n):
            error = math.inf
    return {
        "mean_ratio": mean,
        "mean_ratio_error": error,
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
