"""Calibration in the large: the observed rate and the mean prediction over all rows, as a difference and as a ratio."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.metrics.estimates import SampledRows, sampled_rows
from calibrant.table.clusters import Clusters
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Estimate
from calibrant.table.score_table import Labels, Scores, Weights


def calibration_in_the_large(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    clusters: Clusters | None = None,
    guarantee: Guarantee = "ordinary",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Estimate:
    r"""Observed rate minus mean predicted probability.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. Intervals need rows or a `count`.
    confidence_level : float
        Confidence of the interval, in (0, 1).
    clusters : sequence of length n, optional
        The cluster of each row. Rows of one cluster may then depend on each other.
    guarantee : {"ordinary", "unseen clusters"}
        With clusters: whether limits also allow for clusters of a kind that none of these shows.

    Returns
    -------
    Estimate
        In [-1, 1]; 0 is ideal, below 0 predictions are too high on the whole. Each cell of a table counts at its mean
        score.

    See Also
    --------
    observed_expected_ratio : The same as a ratio.

    Notes
    -----
    The interval is for the population of which the rows are independent draws, both its rate and its mean score, if no
    score of it lies outside the range of those seen; it also holds for these scores as they are. It is that of Gaffke
    [1]_: one row more is added, as unfavourable as a row can be at these scores, and the rows are weighted at random.
    For one score it is the interval of Clopper and Pearson, so that it holds for one event and for none; for many rows
    the normal one. That it holds for every distribution is conjectured, and no exception is known.

    With clusters, each is left out in turn (jackknife), and the limits are those of Student's distribution with one
    degree of freedom less than there are effective clusters, ``(sum m)**2 / sum m**2`` of their sizes m, for clusters
    of these sizes. They do not allow for a kind of cluster that none of these shows. With ``guarantee="unseen
    clusters"`` the limits are those of Gaffke with clusters as the draws, of equal size and so many that an event that
    takes hold of whole clusters could hide in them as well as in these, which makes them wide.

    References
    ----------
    .. [1] Gaffke (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
       variable. Mathematical Methods of Statistics.

    Examples
    --------
    >>> from calibrant.metrics import calibration_in_the_large
    >>> found = calibration_in_the_large([0, 1, 0, 0] * 25, [0.1, 0.6, 0.3, 0.4] * 25)
    >>> round(found.value, 3), round(found.lower, 3), round(found.upper, 3)
    (-0.1, -0.163, -0.025)
    """
    rows = sampled_rows(y_true, y_proba, confidence_level, clusters, guarantee, sample_weight, count, pos_label)
    return difference_of(rows)


def observed_expected_ratio(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    clusters: Clusters | None = None,
    guarantee: Guarantee = "ordinary",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Estimate:
    """O:E, the observed number of positives over the number that the scores predict.

    Parameters
    ----------
    y_true, y_proba, confidence_level, clusters, guarantee, sample_weight, count, pos_label
        As in `calibration_in_the_large`.

    Returns
    -------
    Estimate
        Not negative; 1 is ideal, below 1 predictions are too high on the whole. Infinite if all scores are 0 and there
        is a positive, NaN if there is none. Each cell of a table counts at its mean score.

    Notes
    -----
    The interval holds the ratios r at which that for the mean of ``y - r s`` holds 0 (Fieller 1954), so for independent
    rows it holds 1 if and only if that of `calibration_in_the_large` holds 0. It is about the same population. With
    clusters each is left out in turn, as there, on the log scale.

    References
    ----------
    Debray et al. (2017). A guide to systematic review and meta-analysis of prediction model performance. BMJ.

    Examples
    --------
    >>> from calibrant.metrics import observed_expected_ratio
    >>> found = observed_expected_ratio([0] * 997 + [1] * 3, [0.002] * 1000)
    >>> round(found.value, 3), round(found.lower, 3), round(found.upper, 3)
    (1.5, 0.31, 4.371)
    """
    rows = sampled_rows(y_true, y_proba, confidence_level, clusters, guarantee, sample_weight, count, pos_label)
    return ratio_of(rows)


def difference_of(sample: SampledRows) -> Estimate:
    """Return what `calibration_in_the_large` finds of these rows."""
    return sample.mean(lambda label, score: label - score, sample.table.base_rate - sample.table.mean_score)


def ratio_of(sample: SampledRows) -> Estimate:
    """Return what `observed_expected_ratio` finds of these rows."""
    observed, expected = sample.table.base_rate, sample.table.mean_score
    if expected == 0.0:
        return sample.ratio(label_of, _score, math.inf if observed > 0.0 else math.nan)
    return sample.ratio(label_of, _score, observed / expected)


def label_of(label: int, score: FloatArray) -> FloatArray:
    """Return the label of a row, at each of these scores."""
    return np.full(len(score), float(label))


def _score(_: int, score: FloatArray) -> FloatArray:
    return score
