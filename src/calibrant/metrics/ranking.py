"""How well scores rank positives above negatives, whatever their values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.distributions.bounded_mean import Draws
from calibrant.distributions.cluster_jackknife import LOG_ODDS
from calibrant.metrics.estimates import SampledRows, Terms, TermSample, sampled_rows
from calibrant.table.clusters import Clusters
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray, key_order
from calibrant.table.results import Count, Result
from calibrant.table.score_table import (
    Labels,
    Scores,
    ScoreTable,
    Weights,
    as_table,
    has_both_classes,
    need_both_classes,
)

# Behind fewer effective rows than this a standard error says little.
_LEAST_EFFECTIVE = 5.0
ONE_CLASS = "all rows have the same outcome"
_FEW = "few rows decide, so the interval allows for a row unlike those seen"


@dataclass(frozen=True)
class RocAuc(Result):
    """Area under the ROC curve with its uncertainty.

    Attributes
    ----------
    value : float
        The area; larger is better, 0.5 is chance.
    standard_error : float
        By the method of DeLong, with clusters by the jackknife; 0 if the classes are told apart without error, or all
        scores are equal. NaN if weights do not count rows or a class has fewer than two rows.
    lower, upper : float
        Interval, which holds with probability `confidence_level`, see `roc_auc_interval`. NaN if weights do not count
        rows, and as `note` says.
    confidence_level : float
        As asked.
    n_positives, n_negatives : float
        Rows of each class, or their weight.
    method : {"asymptotic", "cluster jackknife", "unseen clusters", "none"}
        How the interval was found.
    note : str
        Why there is no interval, or that few rows decide; empty if there is nothing to say.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    confidence_level: float
    n_positives: Count
    n_negatives: Count
    method: str
    note: str = ""


def roc_auc(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Probability that a random positive scores above a random negative; ties count half.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels of both classes, scores (or one `ScoreTable`) and weights, as in `brier_score`.

    Returns
    -------
    float
        In [0, 1]; larger is better, 0.5 is chance. From a table with cells, the middle of what they allow.

    Examples
    --------
    >>> from calibrant.metrics import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    low, high = auc_limits(table)
    return 0.5 * (low + high)


def auc_limits(table: ScoreTable) -> tuple[float, float]:
    """Return the smallest and the largest area that a table allows: in a cell, the order of the rows is not known.

    Examples
    --------
    >>> auc_limits(as_table([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    (0.75, 0.75)
    """
    positives, negatives = _shares_of_classes(table)
    below, above = np.cumsum(negatives) - negatives, np.cumsum(negatives[::-1])[::-1] - negatives
    wins, losses = (float(np.dot(positives, beside + 0.5 * negatives)) for beside in (below, above))
    unknown = float(np.dot(positives, 0.5 * negatives * (table.low < table.high)))
    # Shares that are rounded do not add up to 1; where no pair is lost, the area is 1 all the same.
    return max((wins - unknown) / (wins + losses), 0.0), min((wins + unknown) / (wins + losses), 1.0)


def roc_auc_interval(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    cluster: Clusters | None = None,
    unseen_clusters: bool = False,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> RocAuc:
    r"""Area under the ROC curve with the standard error of DeLong and an interval.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `roc_auc`.
    confidence_level : float
        Confidence of the interval, in (0, 1).
    cluster : sequence of length n, optional
        The cluster of each row. Rows of one cluster may then depend on each other.
    unseen_clusters : bool
        With clusters: whether limits also allow for clusters of a kind that none of these shows.

    Returns
    -------
    RocAuc
        Without standard error and interval if weights do not count rows. From a table with cells, the order within
        a cell is taken for a tie, and the interval is wider by what another order could change.

    Notes
    -----
    Each row adds a square :math:`v_i` to the variance of [1]_. With one more row of each class, placed as far from its
    class as a row can be, the number of effective rows behind it is :math:`(\sum v)^2 / \sum v^2`. If few rows decide,
    or a row of a kind not seen would, it is small.

    From 5 effective rows on, the interval is that of Student's distribution on the log-odds of the area, with one
    degree of freedom less than the rarer class has rows. Below, it holds the areas a at which the limits of Gaffke [2]_
    for the mean over both classes of the placement less ``(value + a) / 2`` hold 0, as in `observed_expected_ratio`:
    these count one row more, of the rarer class, placed as badly as a row can be. Neither is proved; how often both
    miss, in the worst worlds that a search found too, is told in docs/reference/validation.md.

    With clusters, each is left out in turn (jackknife, on the log-odds of the area), and the degrees of freedom are
    those of the clusters that hold the rarer class, see `calibration_in_the_large`. With `unseen_clusters` the
    standard error is that of the sums of clusters [3]_, and the interval is Gaffke's with clusters in place of rows.
    Clusters that were not seen have scores like these and any labels, so with few clusters it is wide.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988). Biometrics 44, 837-845.
    .. [2] Gaffke (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
       variable. Mathematical Methods of Statistics 14, 451-467.
    .. [3] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578.

    Examples
    --------
    >>> from calibrant.metrics import roc_auc_interval
    >>> result = roc_auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> round(result.value, 4), round(result.standard_error, 4)
    (0.8889, 0.1571)
    """
    rows = sampled_rows(y_true, y_proba, confidence_level, cluster, unseen_clusters, sample_weight, count, pos_label)
    need_both_classes(rows.table)
    return area_of(rows)


def area_of(sample: SampledRows) -> RocAuc:
    """Return what `roc_auc_interval` finds of these rows; of one class no number."""
    table, method, level = sample.table, sample.method, sample.confidence_level
    n_positives, n_negatives = table.positives, float(table.negatives.sum())
    if not has_both_classes(table):
        return RocAuc(math.nan, math.nan, math.nan, math.nan, level, n_positives, n_negatives, method, ONE_CLASS)
    low, high = auc_limits(table)
    value, pooled = 0.5 * (low + high), 0.5 * (high - low)
    error = lower = upper = math.nan
    if (rows := sample.clusters) is not None and (jackknife := sample.jackknife) is not None:
        without = areas_without(rows.score, rows.n, rows.k, rows.cluster, len(rows.size))
        estimate = sample.left_out(value, without, LOG_ODDS, of_classes=True)
        if not jackknife.refusal:
            error = float(jackknife.deviation(((without - value) ** 2).sum()))
        return RocAuc(
            value, error, estimate.lower, estimate.upper, level, n_positives, n_negatives, method, estimate.note
        )
    note = ""
    if method != "none":
        tail, rarer = 0.5 - 0.5 * level, min(n_positives, n_negatives)
        error, effective = (math.nan, 0.0) if rarer < 2.0 else _delong(table, value)
        if sample.clusters is not None:
            of_clusters, lower, upper = _of_clusters(sample, value)
            error = math.nan if rarer < 2.0 else of_clusters
        # An area that rounds to 0 or 1, where log-odds end, has few effective rows: unseen ones would decide.
        elif effective >= _LEAST_EFFECTIVE:
            from scipy.special import expit, stdtrit

            logit, half = math.log(value) - math.log1p(-value), error / (value * (1.0 - value))
            lower, upper = (float(expit(logit + stdtrit(rarer - 1.0, p) * half)) for p in (tail, 1.0 - tail))
        else:
            note = _FEW
            lower, upper = _with_another_row(sample, value)
        lower, upper = max(0.0, min(lower, value) - pooled), min(1.0, max(upper, value) + pooled)
    return RocAuc(value, error, lower, upper, level, n_positives, n_negatives, method, note)


def _shares_of_classes(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Positives and negatives of each row of the table, as shares of their class."""
    need_both_classes(table)
    positives, negatives = table.k.astype(np.float64), table.negatives.astype(np.float64)
    # Shares instead of weights: products of very large or very small weights would leave the range of floats.
    return positives / positives.sum(), negatives / negatives.sum()


def _delong(table: ScoreTable, value: float) -> tuple[float, float]:
    """Root of the variance of DeLong, and effective rows behind it.

    For each row, the share of the other class on its right side is its placement, whose spread makes the variance.
    """
    positives, negatives = _shares_of_classes(table)
    placements = np.cumsum(negatives) - 0.5 * negatives, 1.0 - (np.cumsum(positives) - 0.5 * positives)
    farthest = max(value, 1.0 - value) ** 2
    variance = unseen = squares = 0.0
    rows = table.positives, table.total - table.positives
    for n, share, placement in zip(rows, (positives, negatives), placements, strict=True):
        deviation = (placement - value) ** 2
        variance += float(np.dot(share, deviation)) / (n - 1.0)
        unseen += farthest / (n * (n - 1.0))
        squares += (float(np.dot(share, deviation**2)) * n + farthest**2) / (n * (n - 1.0)) ** 2
    return math.sqrt(variance), (variance + unseen) ** 2 / squares


def _placements(table: ScoreTable) -> Terms:
    """Share of the other class on the right side of a row, from its label and its score."""
    positives, negatives = (np.concatenate([[0.0], np.cumsum(share)]) for share in _shares_of_classes(table))

    def placement(label: int, score: FloatArray) -> FloatArray:
        others = negatives if label else positives
        left, right = (others[np.searchsorted(table.score, score, side)] for side in ("left", "right"))
        below = 0.5 * (left + right)
        return np.asarray(below if label else 1.0 - below)

    return placement


def _with_another_row(sample: SampledRows, value: float) -> tuple[float, float]:
    """Limits that allow for one more row, of the rarer class and placed as badly as a row can be.

    What rows of either class add to the area (DeLong et al. 1988) is that class's mean of placements less the area. The
    limits are those of the area a at which ``placement - (value + a) / 2`` has mean 0 over both classes, which counts
    what both add.
    """
    short, placement = sample.short, _placements(sample.table)
    rows = np.concatenate([short.k, short.negatives]).astype(np.float64)
    odds = sample.table.positives / (sample.table.total - sample.table.positives)
    weight = np.repeat([1.0, odds], len(short))
    placements = np.concatenate([placement(label, short.score) for label in (1, 0)])

    def terms(area: float) -> TermSample:
        middle, most = 0.5 * (value + area), max(1.0, odds)
        return TermSample(Draws(weight * (placements - middle), rows), -most * middle, most * (1.0 - middle))

    return sample.roots(terms, value, sample.table.total / sample.table.positives, least=0.0)


def _of_clusters(sample: SampledRows, value: float) -> tuple[float, float, float]:
    """Standard error (Obuchowski 1997) and limits that allow for clusters that were not seen.

    These are the limits of `_with_another_row`, with clusters as the draws. Those that were not seen have the scores of
    these, and any labels.
    """
    placement, odds = _placements(sample.table), sample.table.positives / (sample.table.total - sample.table.positives)

    def half(label: int, score: FloatArray) -> FloatArray:
        return np.full(len(score), 0.5 if label else 0.5 * odds)

    def added(label: int, score: FloatArray) -> FloatArray:
        return np.asarray((placement(label, score) - 0.5 * value) * (1.0 if label else odds))

    estimate = sample.ratio(added, half, value, same_scores=True)
    variance = sample.variance_of_total(lambda label, score: added(label, score) - value * half(label, score))
    error = math.sqrt(variance) / sample.table.positives if math.isfinite(variance) else math.nan
    return error, estimate.lower, estimate.upper


def areas_without(score: FloatArray, n: NumberArray, k: NumberArray, cluster: IndexArray, clusters: int) -> FloatArray:
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


def _below(score: FloatArray, count: FloatArray, key: IndexArray) -> FloatArray:
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
