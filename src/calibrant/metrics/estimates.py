"""Means and ratios over rows, and roots of equations of them, with confidence intervals; calibration in the large."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits, limit_excess
from calibrant.distributions.cluster_jackknife import (
    LOG,
    PLAIN,
    Jackknife,
    Link,
    Parts,
    cluster_draws,
)
from calibrant.errors import DataError
from calibrant.fits.score_map import shortened
from calibrant.table.clusters import ClusteredRows, Clusters, cluster_rows
from calibrant.table.parameters import check_between, check_flag
from calibrant.table.pooling import BoolArray, FloatArray
from calibrant.table.results import Estimate
from calibrant.table.rules import IF_COUNTS
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table

# What a row adds, from its label and its score.
Terms = Callable[[int, FloatArray], FloatArray]

_GROUPS = 4096
_FARTHEST = 2.0**14  # a root this many times as far as the estimate is taken to be infinite
_PRECISION, _MOST_STEPS = 1e-11, 100


class TermSample(NamedTuple):
    """Independent draws of a term, and the ends of its range."""

    draws: Draws
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows, how they came about, and the confidence that is asked for.

    Limits are found on the same rows at fewer scores, `short`, since they need moments of terms at many parameters.
    """

    table: ScoreTable
    clusters: ClusteredRows | None
    confidence_level: float
    unseen_clusters: bool = False

    def __post_init__(self) -> None:
        check_between("confidence_level", self.confidence_level, 0.0, 1.0)
        check_flag("unseen_clusters", self.unseen_clusters)

    @property
    def method(self) -> str:
        """How an interval for these rows is found, see `Estimate`."""
        if self.clusters is not None:
            return "cluster jackknife" if self.jackknife is not None else "unseen clusters"
        return "asymptotic" if self.table.independent else "none"

    @cached_property
    def jackknife(self) -> Jackknife | None:
        """What leaves out one cluster at a time; None without clusters, and for limits that allow for unseen ones."""
        if self.clusters is None or self.unseen_clusters:
            return None
        return Jackknife(self.clusters.size)

    def estimate(self, value: float, limits: tuple[float, float], note: str = "") -> Estimate:
        """Return an estimate with its limits, which are NaN where nothing is known of chance."""
        if self.method == "none":
            limits = math.nan, math.nan
        if self.jackknife is not None and math.isnan(limits[0]) and not note:
            note = self.jackknife.refusal or self._undefined
        return Estimate(value, *limits, self.confidence_level, self.method, note)

    def left_out(
        self,
        value: float,
        without: FloatArray,
        scale: Link = PLAIN,
        parts: Parts | None = None,
        *,
        of_classes: bool = False,
    ) -> Estimate:
        """Return an estimate with limits from what it is without each cluster, or for a signed mean from its parts.

        `of_classes` says that it sets the rows of one class against those of the other.
        """
        assert self.jackknife is not None
        jackknife = replace(self.jackknife, deciding=self._rarer) if of_classes else self.jackknife
        *limits, why = jackknife.limits(value, without, self.confidence_level, scale, parts)
        if why and not self.jackknife.refusal and self._class_in_one_cluster:
            why = self._undefined
        return self.estimate(value, (limits[0], limits[1]), why)

    def mean(
        self, terms: Terms, value: float, within: tuple[float, float] | None = None, scale: Link = PLAIN
    ) -> Estimate:
        """Return the mean of a term, whose value is known, with limits.

        `within` is given where a term may also lie outside of what it is at the scores seen; `scale` is for clusters.
        """
        if math.isinf(value):
            return self.estimate(value, (value, value))
        if self.jackknife is not None:
            parts = None
            if scale is PLAIN:
                parts = self.jackknife.parts(np.array([self._by_cluster(_part(terms, sign)) for sign in (1.0, -1.0)]))
            return self.left_out(value, self.jackknife.means_without(self._by_cluster(terms)), scale, parts)
        sample = self._sample(terms, self._by_cluster(terms), self._sizes(terms))
        low, high = within or (sample.low, sample.high)
        shift = value - self._mean(self.of_rows(terms))
        limits = bounded_mean_limits(sample.draws, low, high, self.confidence_level)
        lower, upper = (float(limit) + shift for limit in limits)
        return self.estimate(value, (min(lower, value), max(upper, value)))

    def ratio(self, top: Terms, bottom: Terms, value: float, *, same_scores: bool = False) -> Estimate:
        """Return the ratio of the means of two terms, the second not negative, with limits from 0 up.

        The interval holds the ratios r at which the limits for the mean of ``top - r bottom`` hold 0, as in Fieller
        (1954). `same_scores` is that of `root`.
        """
        if not math.isfinite(value):
            return self.estimate(value, (0.0, math.inf) if self.jackknife is None else (math.nan, math.nan))
        if self.jackknife is not None:
            return self.left_out(value, self.ratios_without(top, bottom), LOG)
        unit = self._mean(self.of_rows(bottom))  # of the second term, so that no power of it leaves the range of floats
        of_top, of_bottom = self._by_cluster(top), self._by_cluster(bottom) / unit

        def difference(ratio: float) -> Terms:
            return lambda label, score: top(label, score) - ratio * (bottom(label, score) / unit)

        sizes = self._sizes(difference(value * unit), same_scores=same_scores)

        def sample(ratio: float) -> TermSample:
            return self._sample(difference(ratio), of_top - ratio * of_bottom, sizes, same_scores=same_scores)

        lower, upper = self.roots(sample, value * unit, 1.0, least=0.0)
        return self.estimate(value, (min(lower / unit, value), max(upper / unit, value)))

    def root(
        self, terms: Callable[[float], Terms], value: float, slope: float, *, same_scores: bool = False
    ) -> Estimate:
        """Return where the mean of a term that falls as its parameter rises is 0, with limits.

        `slope` is about how fast it falls there. With `same_scores`, rows or clusters that were not seen have scores
        like these, and may differ in their labels: for terms that a few scores far out can make as large as they like.
        """
        centre = value if math.isfinite(value) else 0.0

        sizes = self._sizes(terms(centre), same_scores=same_scores)

        def sample(at: float) -> TermSample:
            there = terms(at)
            return self._sample(there, self._by_cluster(there), sizes, same_scores=same_scores)

        lower, upper = self.roots(sample, centre, 1.0 / max(slope, 1e-9), least=-math.inf)
        return self.estimate(value, (min(lower, value), max(upper, value)))

    def ratios_without(self, top: Terms, bottom: Terms) -> FloatArray:
        """Ratio of the means of two terms without each cluster."""
        sums = self._by_cluster(top), self._by_cluster(bottom)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((sums[0].sum() - sums[0]) / (sums[1].sum() - sums[1]))

    @cached_property
    def one_class_without(self) -> BoolArray:
        """Whether the rows without each cluster are of one class, so that no coefficient fits them best."""
        assert self.clusters is not None
        n, k = (self.clusters.by_cluster(counts) for counts in (self.clusters.n, self.clusters.k))
        others = k.sum() - k
        return np.asarray((others == 0.0) | (others == n.sum() - n))

    @property
    def _rarer(self) -> FloatArray:
        """Rows of the rarer class in each cluster."""
        assert self.clusters is not None
        rarer_is_positive = 2.0 * self.table.positives <= self.table.total
        return self.clusters.by_cluster(self.clusters.k if rarer_is_positive else self.clusters.negatives)

    @property
    def _class_in_one_cluster(self) -> bool:
        """Whether all rows of a class are in one cluster; not if there are none of it."""
        return 0.0 < self.table.positives < self.table.total and bool(self.one_class_without.any())

    @property
    def _undefined(self) -> str:
        """Why a number has no value without one of the clusters."""
        if not self._class_in_one_cluster:
            return "no interval: it has no value without one cluster"
        rarer = "positives" if 2.0 * self.table.positives <= self.table.total else "negatives"
        return f"no interval: all {rarer} are in one cluster"

    def variance_of_total(self, terms: Terms) -> float:
        """Variance of the sum over the rows of clusters of a term whose mean is 0.

        That of independent clusters, with the usual correction for their number (Liang & Zeger 1986).
        """
        sums = self._by_cluster(terms)
        return float(np.dot(sums, sums)) * len(sums) / (len(sums) - 1.0) if len(sums) > 1 else math.inf

    def of_rows(self, terms: Terms) -> tuple[FloatArray, FloatArray]:
        """Terms of a positive and of a negative at each score; 0 where there is no such row, as some are infinite."""
        positive, negative = terms(1, self.short.score), terms(0, self.short.score)
        positives, negatives = self._counts
        return np.where(positives > 0.0, positive, 0.0), np.where(negatives > 0.0, negative, 0.0)

    @cached_property
    def short(self) -> ScoreTable:
        """The same rows at fewer scores."""
        return shortened(self.table, _GROUPS)

    @cached_property
    def _counts(self) -> tuple[FloatArray, FloatArray]:
        return self.short.k.astype(np.float64), self.short.negatives.astype(np.float64)

    def _mean(self, of_rows: tuple[FloatArray, FloatArray]) -> float:
        (positives, negatives), (positive, negative) = self._counts, of_rows
        return float(np.dot(positives, positive) + np.dot(negatives, negative)) / self.table.total

    def _possible(self, terms: Terms, *, same_scores: bool = False) -> tuple[float, float]:
        """Least and largest term of a row of either label at the scores seen.

        With `same_scores` the means of what labels can make of the rows, to which each row counts as much as its own.
        Of clusters it is the plain means.
        """
        if same_scores:
            either = terms(0, self.short.score), terms(1, self.short.score)
            ends = []
            for end in (np.minimum(*either), np.maximum(*either)):
                mean = self._mean((end, end))
                ends.append(self._mean((end**2, end**2)) / mean if self.clusters is None and mean else mean)
            return ends[0], ends[1]
        seen = np.concatenate([self.table.low[:1], self.short.score, self.table.high[-1:]])
        either = terms(0, seen), terms(1, seen)
        return float(np.minimum(*either).min()), float(np.maximum(*either).max())

    def _sizes(self, terms: Terms, *, same_scores: bool = False) -> FloatArray:
        """Rows of each cluster; with `same_scores` what its labels can change of the sum of the term."""
        if self.clusters is None:
            return np.empty(0)
        if not same_scores:
            return self.clusters.size
        change = np.abs(terms(1, self.table.score) - terms(0, self.table.score))
        return cluster_sums(self.clusters, change, change)

    def _sample(self, terms: Terms, sums: FloatArray, sizes: FloatArray, *, same_scores: bool = False) -> TermSample:
        """Draws of a term: the rows, or what its sums and sizes of clusters make of them, if there are any."""
        positive, negative = self.of_rows(terms)
        (low, high), rows = self._possible(terms, same_scores=same_scores), self.table.total
        if self.clusters is None or not self.table.independent:
            return TermSample(Draws(np.concatenate([positive, negative]), np.concatenate(self._counts)), low, high)
        value = self._mean((positive, negative))
        variance = self._mean(((positive - value) ** 2, (negative - value) ** 2)) / rows
        parts = (sums - self.clusters.size * (sums.sum() / rows)) / rows
        draws = cluster_draws(value, parts, variance, sizes, 0.5 - 0.5 * self.confidence_level)
        return TermSample(draws, low, high)

    def _by_cluster(self, terms: Terms) -> FloatArray:
        """Sum of a term over the rows of each cluster; nothing without clusters."""
        if self.clusters is None:
            return np.empty(0)
        return cluster_sums(self.clusters, terms(1, self.table.score), terms(0, self.table.score))

    def roots(
        self, sample: Callable[[float], TermSample], value: float, scale: float, *, least: float
    ) -> tuple[float, float]:
        """Parameters between which the limits for the mean hold 0; it falls by 1 over about `scale` of them."""
        if self.method == "none":
            return math.nan, math.nan

        def excess(side: int, at: float) -> float:
            draws, low, high = sample(at)
            return limit_excess(side, draws, low if side < 0 else high, self.confidence_level)

        return _root(partial(excess, -1), value, scale, least), _root(partial(excess, 1), value, scale, least)


def sampled_rows(
    y_true: Labels,
    y_proba: Scores,
    confidence_level: float,
    clusters: Clusters | None,
    unseen_clusters: bool,
    sample_weight: Weights,
    count: Weights,
    pos_label: Any,
) -> SampledRows:
    """Pool the rows, by cluster if there are clusters."""
    if clusters is None:
        table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
        return SampledRows(table, None, confidence_level, unseen_clusters)
    if sample_weight is not None:
        raise DataError("clusters of rows, or of a `count` of equal ones", "weights that count no rows", IF_COUNTS)
    rows = cluster_rows(y_true, y_proba, clusters, count=count, pos_label=pos_label)
    return SampledRows(rows.table, rows, confidence_level, unseen_clusters)


def _part(terms: Terms, sign: float) -> Terms:
    """What rows add, or for a sign of -1 what they take off."""
    return lambda label, score: np.maximum(0.0, sign * terms(label, score))


def cluster_sums(rows: ClusteredRows, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Sum of a term over the rows of each cluster, from its values at the scores of the table."""
    lengths, negatives = np.diff(rows.ends, prepend=-1), rows.negatives
    # a term may be infinite where there is no row for it
    of_positives = rows.k * np.where(rows.k > 0, np.repeat(positive, lengths), 0.0)
    return rows.by_cluster(of_positives + negatives * np.where(negatives > 0, np.repeat(negative, lengths), 0.0))


def _root(function: Callable[[float], float], start: float, scale: float, least: float) -> float:
    """Where a falling function passes 0: a step of twice what `scale` suggests or more, then Chandrupatla (1997).

    That is inverse quadratic interpolation where the last three places lie on something like a parabola, and halving
    elsewhere, as at the jumps where values are pooled in another way.
    """
    end, value = start, function(start)
    other, at_other = end, value
    step, farthest = 2.0 * scale * value, _FARTHEST * max(1.0, abs(start))
    while value * at_other > 0.0:
        if value < 0.0 and end <= least:
            return least
        if abs(end) > farthest:
            return math.copysign(math.inf, end)
        other, at_other = end, value
        end, step = max(least, end + step), 2.0 * step
        value = function(end)
    precision = _PRECISION * max(1.0, abs(start))
    # Share of the way from the last place to the other side: at first that of the secant, if there is one.
    share = value / (value - at_other) if math.isfinite(value - at_other) and value != at_other else 0.5
    for _ in range(_MOST_STEPS):
        width = abs(other - end)
        if value == 0.0 or width <= precision:
            break
        least_share = 0.5 * precision / width  # so that the other side is passed in the end
        new = end + min(max(share, least_share), 1.0 - least_share) * (other - end)
        at_new = function(new)
        if (at_new > 0.0) == (value > 0.0):
            third, at_third = end, value
        else:
            third, at_third, other, at_other = other, at_other, end, value
        end, value, share = new, at_new, 0.5
        if at_third == at_other:  # both are 0 but for rounding
            continue
        across, up = (end - other) / (third - other), (value - at_other) / (at_third - at_other)
        if abs(up) < math.sqrt(across) and abs(1.0 - up) < math.sqrt(1.0 - across):
            share = value / (at_other - value) * at_third / (at_other - at_third)
            share += (third - end) / (other - end) * value / (at_third - value) * at_other / (at_third - at_other)
    return end


def calibration_in_the_large(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    cluster: Clusters | None = None,
    unseen_clusters: bool = False,
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
    cluster : sequence of length n, optional
        The cluster of each row. Rows of one cluster may then depend on each other.
    unseen_clusters : bool
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
    of these sizes. They do not allow for a kind of cluster that none of these shows. With `unseen_clusters`
    the limits are those of Gaffke with clusters as the draws, of equal size and so many that an event that takes hold
    of whole clusters could hide in them as well as in these, which makes them wide.

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
    rows = sampled_rows(y_true, y_proba, confidence_level, cluster, unseen_clusters, sample_weight, count, pos_label)
    return difference_of(rows)


def observed_expected_ratio(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    cluster: Clusters | None = None,
    unseen_clusters: bool = False,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Estimate:
    """O:E, the observed number of positives over the number that the scores predict.

    Parameters
    ----------
    y_true, y_proba, confidence_level, cluster, unseen_clusters, sample_weight, count, pos_label
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
    rows = sampled_rows(y_true, y_proba, confidence_level, cluster, unseen_clusters, sample_weight, count, pos_label)
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
