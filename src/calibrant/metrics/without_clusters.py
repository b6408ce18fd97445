"""Numbers without the rows of each cluster, from one pass: the area under the ROC curve, and coefficients.

The area is exact. Coefficients of the logistic recalibration are found by one step from those of all rows, and NaN
where the other rows are of one class, so that no coefficients fit them best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant.fits.logistic import logistic
from calibrant.metrics.estimates import SampledRows, cluster_sums
from calibrant.table.pooling import FloatArray, NumberArray, key_order

_Index = npt.NDArray[np.int64]
_Scale = Callable[[FloatArray], FloatArray]


def areas_without(score: FloatArray, n: NumberArray, k: NumberArray, cluster: _Index, clusters: int) -> FloatArray:
    """Area of the rows that are not of a cluster, for each cluster; NaN if these are of one class.

    An entry is some rows of one cluster at one score, `n` rows with `k` positives; entries are in the order of scores.
    Pairs that a cluster has a row in are taken from all pairs: those of its positives, and of its negatives, less those
    inside the cluster, which are among both.
    """
    positive, negative = np.asarray(k, dtype=np.float64), np.asarray(n - k, dtype=np.float64)
    whole = np.zeros(len(score), dtype=np.int64)
    below = _below(score, negative, whole)
    above = positive.sum() - _below(score, positive, whole)
    inside = positive * _below(score, negative, cluster)
    of_positives, of_negatives, both, positives, negatives = (
        np.bincount(cluster, values, clusters)
        for values in (positive * below, negative * above, inside, positive, negative)
    )
    won = of_positives.sum() - of_positives - of_negatives + both
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(won / ((positives.sum() - positives) * (negatives.sum() - negatives)))


def _below(score: FloatArray, count: FloatArray, key: _Index) -> FloatArray:
    """How much is counted at lower scores of the same key, and half of what is at the same score."""
    order = key_order(key)  # and within a key still by score
    counted, keys, scores = np.cumsum(count[order]), key[order], score[order]
    first = np.append(True, (keys[1:] != keys[:-1]))
    tied = np.flatnonzero(first | np.append(True, scores[1:] != scores[:-1]))
    start, length = np.append(0.0, counted)[tied], np.diff(tied, append=len(score))
    middle = np.repeat(0.5 * (start + counted[tied + length - 1]), length)
    starts = np.flatnonzero(first)
    before = np.repeat(np.append(0.0, counted)[starts], np.diff(starts, append=len(score)))
    lower = np.empty(len(score))
    lower[order] = middle - before
    return lower


def lines_without(
    sample: SampledRows, log_odds: _Scale, intercept: float, slope: float
) -> tuple[FloatArray, FloatArray]:
    """Intercept and slope without each cluster: one step of Newton from the line that fits all rows best."""
    (u0, u1), (h0, h1, h2) = _sums(sample, log_odds, intercept, slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h0 * h2 - h1**2
        changes = (h2 * u0 - h1 * u1) / determinant, (h0 * u1 - h1 * u0) / determinant
    known = np.where(sample.one_class_without, np.nan, 1.0)
    return known * (intercept - changes[0]), known * (slope - changes[1])


def intercepts_without(sample: SampledRows, log_odds: _Scale, intercept: float) -> FloatArray:
    """Intercept beside a slope of 1 without each cluster: one step of Newton from the one that fits all rows best."""
    (u0, _), (h0, _, _) = _sums(sample, log_odds, intercept, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sample.one_class_without, np.nan, intercept - u0 / h0)


def _sums(
    sample: SampledRows, log_odds: _Scale, intercept: float, slope: float
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Sums of scores by cluster, of powers 0 and 1 of x; and of information over all others, of powers 0 to 2."""
    rows = sample.clusters
    assert rows is not None
    x = log_odds(sample.table.score)
    chance = logistic(intercept + slope * x)
    weight = chance * (1.0 - chance)
    scores = [cluster_sums(rows, x**power * (1.0 - chance), -(x**power) * chance) for power in (0, 1)]
    information = [cluster_sums(rows, weight * x**power, weight * x**power) for power in (0, 1, 2)]
    return scores, [sums.sum() - sums for sums in information]
