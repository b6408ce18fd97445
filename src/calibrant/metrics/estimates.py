"""Means and ratios of means over rows, and roots of equations of them, each with its confidence interval.

One way for all: a number t is inside the interval as long as the limits of `bounded_mean_limits` for the mean of a term
that depends on t, such as ``y - t s`` for O:E, hold 0. It asks for no model and no derivative, is exact for one score
(Clopper & Pearson), and holds where a handful of events decide. Terms lie between the least and the largest that a row
of either label can have at the scores seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect
from calibrant.distributions.bounded_mean import bounded_mean_limits
from calibrant.distributions.brownian import normal_quantile
from calibrant.table.arguments import as_table
from calibrant.table.clusters import ClusteredRows, Clusters, cluster_rows
from calibrant.table.parameters import check_between
from calibrant.table.results import Estimate
from calibrant.table.score_table import FloatArray, ScoreTable

__all__ = ["SampledRows", "Terms", "cluster_sums", "sampled_rows"]

# What a row adds, from its label and its score; monotone in the score.
Terms = Callable[[int, FloatArray], FloatArray]

_LARGEST = 745.0  # log loss of the smallest float
_FARTHEST = 2.0**14  # a root this many times as far as the estimate is taken to be infinite
_PRECISION = 1e-11


class Moments(NamedTuple):
    """Mean of a term and of its square, number of independent rows that are worth as much, and range of the term."""

    mean: float
    square: float
    n: float
    low: float
    high: float

    def limits(self, level: float) -> tuple[float, float]:
        """Limits for the mean."""
        if self.low == self.high:
            return self.low, self.high
        limits = bounded_mean_limits(self.mean, self.square, self.n, self.low, min(self.high, _LARGEST), level)
        return float(limits[0]), float(limits[1]) if math.isfinite(self.high) else math.inf


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows, how they came about, and the confidence that is asked for."""

    table: ScoreTable
    clusters: ClusteredRows | None
    confidence_level: float

    def __post_init__(self) -> None:
        check_between("confidence_level", self.confidence_level, 0.0, 1.0)

    @property
    def method(self) -> str:
        """How an interval for these rows is found, see `Estimate`."""
        if self.clusters is not None:
            return "cluster-robust"
        return "asymptotic" if self.table.counts else "none"

    @cached_property
    def student_factor(self) -> float:
        """Quantile of Student's distribution for the clusters there are over the normal one; 1 without clusters."""
        from scipy.special import stdtrit

        if self.clusters is None:
            return 1.0
        degrees, probability = self.clusters.effective_clusters - 1.0, 0.5 + 0.5 * self.confidence_level
        if degrees <= 0.0:
            return math.inf
        return float(stdtrit(degrees, probability)) / normal_quantile(probability)

    def estimate(self, value: float, limits: tuple[float, float], note: str = "", method: str | None = None) -> Estimate:
        """Return an estimate with its limits, which are NaN where nothing is known of chance."""
        if self.method == "none":
            limits = math.nan, math.nan
        return Estimate(value, *limits, self.confidence_level, method or self.method, note)

    def mean(
        self, terms: Terms, value: float | None = None, within: tuple[float, float] | None = None
    ) -> Estimate:
        """Estimate the mean of a term.

        `value` is given where it is known better than from the scores of the table, `within` where a term may also lie
        outside of what it is at the scores seen.
        """
        of_rows = self.of_rows(terms)
        mean = self._mean(of_rows)
        value = mean if value is None else value
        if math.isinf(value):
            return self.estimate(value, (value, value))
        moments = self._moments(terms, of_rows, mean)
        if within is not None:
            moments = moments._replace(low=within[0], high=within[1])
        lower, upper = moments.limits(self.confidence_level)
        return self.estimate(value, (lower + (value - mean), upper + (value - mean)))

    def ratio(self, top: Terms, bottom: Terms) -> Estimate:
        """Estimate the ratio of the means of two terms that are not negative.

        The interval holds the ratios r at which the limits for the mean of ``top - r bottom`` hold 0, as in Fieller
        (1954).
        """
        one, two = self.of_rows(top), self.of_rows(bottom)
        above, below = self._mean(one), self._mean(two)
        if below == 0.0:
            return self.estimate(math.inf if above > 0.0 else math.nan, (0.0, math.inf))
        value = above / below
        squares = [self._mean((u[0] * v[0], u[1] * v[1])) for u, v in ((one, one), (one, two), (two, two))]
        n = self._effective(lambda label, score: top(label, score) - value * bottom(label, score))
        ends = self._possible(top), self._possible(bottom)

        def moments(ratio: float) -> Moments:
            possible = ends[0] - ratio * ends[1]
            square = squares[0] - 2.0 * ratio * squares[1] + ratio**2 * squares[2]
            return Moments(above - ratio * below, square, n, float(possible.min()), float(possible.max()))

        return self.estimate(value, self._roots(moments, value, max(value, 1.0), least=0.0))

    def root(self, terms: Callable[[float], Terms], value: float, short: SampledRows, note: str = "") -> Estimate:
        """Estimate where the mean of a term is 0 that falls as its parameter rises; `value` is where it is on these rows.

        `short` holds the same rows at fewer scores: the limits need the term at many parameters.
        """
        centre = value if math.isfinite(value) else 0.0
        n = self._effective(terms(centre))

        def moments(at: float) -> Moments:
            of_rows = short.of_rows(terms(at))
            return short._moments(terms(at), of_rows, short._mean(of_rows))._replace(n=n)

        return self.estimate(value, self._roots(moments, centre, 1.0, least=-math.inf), note)

    def variance_of_total(self, positive: FloatArray, negative: FloatArray) -> float:
        """Variance of the sum over the rows of a term whose mean is 0, from its values at the scores of the table.

        For clusters that of independent clusters, with the usual correction for their number (Liang & Zeger 1986).
        """
        if self.clusters is None:
            return float(np.dot(self._positives, positive**2) + np.dot(self._negatives, negative**2))
        sums = cluster_sums(self.clusters, positive, negative)
        return float(np.dot(sums, sums)) * len(sums) / (len(sums) - 1.0) if len(sums) > 1 else math.inf

    def of_rows(self, terms: Terms) -> tuple[FloatArray, FloatArray]:
        """Terms of a positive and of a negative at each score; 0 where there is no such row, as some are infinite."""
        score = self.table.score
        positive, negative = terms(1, score), terms(0, score)
        return np.where(self._positives > 0.0, positive, 0.0), np.where(self._negatives > 0.0, negative, 0.0)

    @cached_property
    def _positives(self) -> FloatArray:
        return self.table.k.astype(np.float64)

    @cached_property
    def _negatives(self) -> FloatArray:
        return (self.table.n - self.table.k).astype(np.float64)

    def _mean(self, of_rows: tuple[FloatArray, FloatArray]) -> float:
        positive, negative = of_rows
        return float(np.dot(self._positives, positive) + np.dot(self._negatives, negative)) / self.table.total

    def _possible(self, terms: Terms) -> FloatArray:
        """Terms of rows of either label at the lowest and at the highest score."""
        ends = np.array([self.table.low[0], self.table.high[-1]])
        return np.concatenate([terms(0, ends), terms(1, ends)])

    def _moments(self, terms: Terms, of_rows: tuple[FloatArray, FloatArray], mean: float) -> Moments:
        possible = self._possible(terms)
        square = self._mean((of_rows[0] ** 2, of_rows[1] ** 2))
        return Moments(mean, square, self._effective(terms), float(possible.min()), float(possible.max()))

    def _effective(self, terms: Terms) -> float:
        """Independent rows that are worth as much (Kish 1965), never more than there are; fewer for few clusters."""
        if self.clusters is None or not self.table.counts:
            return self.table.total
        positive, negative = self.of_rows(terms)
        mean = self._mean((positive, negative))
        positive, negative = positive - mean, negative - mean
        variance = self.table.total * self._mean((positive**2, negative**2))
        effect = max(1.0, self.variance_of_total(positive, negative) / variance) if variance > 0.0 else 1.0
        return self.table.total / (effect * self.student_factor**2)

    def _roots(
        self, moments: Callable[[float], Moments], value: float, step: float, *, least: float
    ) -> tuple[float, float]:
        """Parameters between which the limits for the mean hold 0; it falls as the parameter rises."""
        if self.method == "none":
            return math.nan, math.nan

        def too_small(at: float) -> bool:
            return moments(at).limits(self.confidence_level)[0] > 0.0

        def not_too_large(at: float) -> bool:
            return moments(at).limits(self.confidence_level)[1] >= 0.0

        return _turn(too_small, value, step, least), _turn(not_too_large, value, step, least)


def sampled_rows(
    y_true: npt.ArrayLike | ScoreTable | ClusteredRows,
    y_proba: npt.ArrayLike | None = None,
    *,
    confidence_level: float,
    clusters: Clusters | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> SampledRows:
    """Pool the rows, by cluster if there are clusters."""
    if isinstance(y_true, ClusteredRows):
        return SampledRows(y_true.table, y_true, confidence_level)
    if clusters is None:
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        return SampledRows(table, None, confidence_level)
    rows = cluster_rows(y_true, y_proba, clusters, sample_weight=sample_weight, pos_label=pos_label)
    return SampledRows(rows.table, rows, confidence_level)


def cluster_sums(rows: ClusteredRows, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Sum of a term over the rows of each cluster, from its values at the scores of the table."""
    lengths = np.diff(rows.ends, prepend=-1)
    return rows.by_cluster(rows.k * np.repeat(positive, lengths) + (rows.n - rows.k) * np.repeat(negative, lengths))


def _turn(below: Callable[[float], bool], start: float, step: float, least: float) -> float:
    """Where `below` turns from true to false."""
    rising, end, farthest = below(start), start, _FARTHEST * max(1.0, abs(start))
    while below(end) is rising:
        if end <= least:
            return least
        if abs(end) > farthest:
            return math.copysign(math.inf, end)
        end, step = max(least, end + step if rising else end - step), 2.0 * step
    low, high = bisect(below, min(start, end), max(start, end), atol=_PRECISION * max(1.0, abs(start)))
    return 0.5 * (low + high)
