"""How far centres differ: calibration and discrimination in each cluster, and a random-effects summary of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.distributions.cluster_jackknife import random_effects, root_scale
from calibrant.fits.log_odds import LogisticProfile, logistic
from calibrant.metrics.estimates import SampledRows, ratio_of
from calibrant.metrics.ranking import area_of
from calibrant.metrics.slope import log_odds_scale, slope_alone
from calibrant.table import numbers
from calibrant.table.clusters import ClusteredRows, Clusters, cluster_rows
from calibrant.table.pooling import FloatArray, key_order
from calibrant.table.results import Drawable, Estimate, Result, WithTable, joined
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights

# Clusters with fewer rows of either class have no AUC and no slope.
LEAST_OF_CLASS = 10

# Clusters whose positives vary less by chance, since scores are 0, 1 or next to it, have no intercept.
_LEAST = 0.01

_TWO_DIGITS = partial(numbers.significant, digits=2)
_PARTS = re.compile(r"(\d+)")


@dataclass(frozen=True, eq=False)
class BetweenClusters(WithTable, Drawable):
    """A number in each cluster, such as a hospital, and how far clusters differ.

    All intervals are approximate, and each holds by itself.

    Attributes
    ----------
    measure : str
        What it is: "O:E", "Calibration intercept", "Calibration slope" or "AUC".
    cluster : ndarray of str
        Names, as given, of the clusters that were used: in the order of the alphabet, numbers in them by size.
    n, positives : ndarray of float64
        Rows of each, and positives among them.
    value, lower, upper : ndarray of float64
        The number in each, with its interval for independent rows.
    mean : Estimate
        Random-effects mean: taken on the scale of `tau` and carried back, so that it is the median cluster where their
        distribution is symmetric there. NaN with fewer than 3 clusters, or fewer in which anything varies by chance.
    prediction : (float, float)
        Where the value of a new cluster like these lies. NaN with fewer than 5 clusters.
    tau : Estimate
        Standard deviation between clusters: of the logarithm of O:E and of 1 - AUC, of intercept and slope as they
        are. A value of 0 does not say that clusters are alike: the upper limit is how far they may differ.

    Examples
    --------
    >>> from calibrant.metrics import cluster_heterogeneity
    >>> y, p = [0, 0, 0, 1] * 60 + [0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 90
    >>> print(cluster_heterogeneity(y, p, [i // 120 for i in range(360)]).observed_expected)
    O:E in each cluster: mean 1.2506 (95% CI 0.4420 to 3.5382); tau 0.4 (0.17 to 2.1).
    Cluster  Rows  Positives                O:E
    0         120         30  1 (0.736 to 1.29)
    1         120         30  1 (0.736 to 1.29)
    2         120         60   2 (1.65 to 2.36)
    """

    _display = "plots.forest.ForestDisplay"

    measure: str
    cluster: npt.NDArray[np.str_]
    n: FloatArray
    positives: FloatArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    mean: Estimate
    prediction: tuple[float, float]
    tau: Estimate

    @property
    def summary_text(self) -> str:
        """What clusters have in common, how far they differ, and where a new one lies, in words."""
        mean, tau, sure = self.mean, self.tau, numbers.confidence(self.mean.confidence_level)
        if math.isnan(mean.value):
            return "too few clusters with any variance for a summary"
        written = numbers.write_interval(mean.value, mean.lower, mean.upper, write=numbers.signed)
        limits: Any = "0, without limits: clusters vary less than chance makes them"
        if tau.upper:
            limits = numbers.write_interval(tau.value, tau.lower, tau.upper, write=_TWO_DIGITS)
        alike = "" if tau.value else "which is common by chance, and no evidence that clusters are alike"
        return joined(f"mean {written.value} ({sure} CI {written.ends})", f"tau {limits}", alike, self.prediction_text)

    @property
    def prediction_text(self) -> str:
        """Where a new cluster lies, in words; empty if that is not known."""
        low, high = (f"{end:.2f}".replace("-", "\N{MINUS SIGN}") for end in self.prediction)
        return "" if math.isnan(self.prediction[0]) else f"about {low} to {high} in a new cluster"

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the fields as plain data, those of the clusters too, which are no curve."""
        return super().to_dict()

    def sentences(self) -> list[str]:
        """See `WithTable`."""
        return [f"{self.measure} in each cluster: {self.summary_text}."]

    def lines(self) -> list[list[str]]:
        """See `WithTable`."""
        limits = zip(self.value, self.lower, self.upper, strict=True)
        intervals = [numbers.write_interval(*ends, write=partial(numbers.significant, digits=3)) for ends in limits]
        written = (f"{one.value} ({one.ends})" for one in intervals)
        cells = zip(self.cluster, map(numbers.rows, self.n), map(numbers.rows, self.positives), written, strict=True)
        return [["Cluster", "Rows", "Positives", self.measure], *map(list, cells)]


@dataclass(frozen=True)
class ClusterHeterogeneity(Result):
    """Calibration and discrimination in each cluster, such as a hospital, and how far clusters differ.

    Attributes
    ----------
    observed_expected, calibration_intercept : BetweenClusters
        O:E in all clusters with a score above 0, the intercept where not all scores are 0 or 1, or next to it.
    calibration_slope, roc_auc : BetweenClusters
        In clusters with at least 10 rows of either class; of slopes those that are finite.

    Examples
    --------
    >>> from calibrant import audit
    >>> y, p = [0, 0, 0, 1] * 60 + [0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 90
    >>> found = audit(y, p, cluster=[f"hospital {i // 60}" for i in range(360)]).heterogeneity
    >>> print(found.observed_expected.cluster[-1], found.observed_expected.value[-1].round(2))
    hospital 5 2.0
    """

    observed_expected: BetweenClusters
    calibration_intercept: BetweenClusters
    calibration_slope: BetweenClusters
    roc_auc: BetweenClusters


def cluster_heterogeneity(
    y_true: Labels,
    y_proba: Scores,
    cluster: Clusters,
    *,
    confidence_level: float = 0.95,
    count: Weights = None,
    pos_label: Any = None,
) -> ClusterHeterogeneity:
    r"""O:E, calibration intercept and slope, and AUC of each cluster, and how far these differ between clusters.

    Parameters
    ----------
    y_true, y_proba, count, pos_label
        Labels of both classes, scores, and how many equal rows each row stands for. A cell of a table has no cluster.
    cluster : sequence of length n
        The cluster of each row.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    ClusterHeterogeneity
        For each of the four a `BetweenClusters`, whose ``plot`` is a forest plot.

    Raises
    ------
    DataError, ArgumentError
        If the rows cannot be used, or the confidence level is out of range.

    See Also
    --------
    calibrant.audit : Which has this as `heterogeneity`, where rows have clusters.

    Notes
    -----
    O:E is summarised by roots of counts [1]_, with what is expected at the O:E of all rows: a cluster without a
    positive counts as it is, and no weight depends on a cluster's own positives. Mean and limits come back by the
    moments of a log-normal distribution. Intercepts are summarised likewise, about what they have in common; 1 - AUC as
    a ratio, with the variance of DeLong as it is on average for so many rows of either class; slopes as they are, with
    the information at the slope that fits all rows best.

    The variance between clusters is that of Paule & Mandel [2]_, its limits are those of the Q profile, the limits of
    the mean those of Hartung & Knapp [3]_, and the prediction interval carries the uncertainty of tau [4]_. All is
    approximate, and takes effects of clusters for normal and unrelated to their sizes: if they are skew, limits of tau
    missed in up to 25% of samples, and if they go with sizes, those of the mean in 22%, where else they miss in 5 to
    10% (docs/theory/19-between-clusters.md).

    References
    ----------
    .. [1] Anscombe (1948). The transformation of Poisson, binomial and negative-binomial data. Biometrika 35, 246-254.
    .. [2] Paule & Mandel (1982). Consensus values and weighting factors. J. Res. Natl. Bur. Stand.
    .. [3] Hartung & Knapp (2001). A refined method for the meta-analysis of controlled clinical trials. Stat. Med.
    .. [4] Nagashima, Noma & Furukawa (2019). Prediction intervals for random-effects meta-analysis. SMMR.

    Examples
    --------
    >>> from calibrant.metrics import cluster_heterogeneity
    >>> y, p = [0, 0, 0, 1] * 60 + [0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 90
    >>> found = cluster_heterogeneity(y, p, [f"hospital {i // 60}" for i in range(360)]).observed_expected
    >>> found.value.round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 2.0, 2.0]
    >>> round(found.mean.value, 1), [round(end, 1) for end in found.prediction]
    (1.3, [0.5, 3.1])
    """
    rows = cluster_rows(y_true, y_proba, cluster, count=count, pos_label=pos_label)
    return heterogeneity_of(rows, confidence_level)


def heterogeneity_of(rows: ClusteredRows, confidence_level: float) -> ClusterHeterogeneity:
    """Return what `cluster_heterogeneity` finds of these rows."""
    parts = np.split(key_order(rows.cluster), np.cumsum(np.bincount(rows.cluster))[:-1])
    tables = (ScoreTable(rows.score[part], rows.n[part], rows.k[part]) for part in parts)
    each = (_Cluster(name, table, confidence_level) for name, table in zip(rows.names, tables, strict=True))
    in_order = sorted(each, key=_by_name)
    scored = [one for one in in_order if one.table.mean_score > 0.0]
    both = [one for one in in_order if min(one.table.positives, one.table.negatives.sum()) >= LEAST_OF_CLASS]
    whole = _Cluster("", rows.table, confidence_level)
    ratio, at = _ratios(whole, scored)
    return ClusterHeterogeneity(ratio, _intercepts(whole, scored, ratio, at), _slopes(whole, both), _areas(whole, both))


@dataclass(frozen=True, eq=False)
class _Cluster:
    name: str
    table: ScoreTable
    level: float

    @property
    def rows(self) -> SampledRows:
        return SampledRows(self.table, None, self.level)

    @cached_property
    def log_odds(self) -> FloatArray:
        return log_odds_scale(self.table).of(self.table.score)

    def moments(self, intercept: float) -> tuple[float, float, float]:
        """Positives beyond their mean, and variance and third moment, if the log-odds are off by an intercept."""
        chance = logistic(intercept + self.log_odds)
        variance = self.table.n * chance * (1.0 - chance)
        more = self.table.positives - np.dot(self.table.n, chance)
        return float(more), float(variance.sum()), float(np.dot(variance, 1.0 - 2.0 * chance))

    def intercept_at(self, ratio: float) -> float:
        """Intercept, with slope 1, at which rows like these have so many positives for one that is expected."""
        n, total = self.table.n.astype(np.float64), float(self.table.total)
        positives = ratio * float(np.dot(n, self.table.score))
        if not 0.0 < positives < total:
            return math.nan if math.isnan(ratio) else math.copysign(math.inf, positives - 0.5 * total)
        # Of the positives only the number counts, so they are spread evenly: at none of the scores more than all.
        return LogisticProfile(self.log_odds, n, n * (positives / total)).other(1, 1.0, math.log(ratio))


def _by_name(one: _Cluster) -> list[Any]:
    """Order of names, with numbers in them by size, however many digits these have."""
    parts = _PARTS.split(one.name)
    return [(len(digits := part.lstrip("0")), digits, part) if part.isdecimal() else part for part in parts]


_Back = Callable[[FloatArray], FloatArray]


def _between(
    what: str,
    whole: _Cluster,
    used: list[_Cluster],
    limits: Sequence[Sequence[float]],
    scaled: tuple[FloatArray, FloatArray, FloatArray],
    back: _Back,
) -> BetweenClusters:
    """Join the numbers of clusters, with their limits, and the summary of them on another scale, carried back.

    The scale has a value, a variance and a skew of each cluster, as `random_effects` takes them; some have no variance.
    """
    value, lower, upper = np.array(limits).reshape(-1, 3).T
    values, variances, skews = (part[scaled[1] > 0.0] for part in scaled)
    effects = random_effects(values, variances, whole.level, skew=float(skews.sum()) / max(1, len(skews)))
    ends = back(effects.ends)
    size, positives = (np.array([getattr(one.table, name) for one in used]) for name in ("total", "positives"))
    summary = _summary(ends, whole.level), (float(ends[3]), float(ends[4])), _summary(effects.tau, whole.level)
    names = np.array([one.name for one in used], np.str_)
    return BetweenClusters(what, names, size, positives, value, lower, upper, *summary)


def _summary(ends: FloatArray, level: float) -> Estimate:
    return Estimate(float(ends[0]), float(ends[1]), float(ends[2]), level, "random effects")


def _ratios(whole: _Cluster, clusters: list[_Cluster]) -> tuple[BetweenClusters, float]:
    """Return the O:E of clusters, and the intercept at which all rows have theirs."""
    overall = whole.table.base_rate / (whole.table.mean_score or math.nan)
    intercept, ratios = whole.intercept_at(overall), [ratio_of(one.rows) for one in clusters]
    expected = np.array([overall * one.table.total * one.table.mean_score for one in clusters])
    spread, value = np.array([one.moments(intercept)[1] for one in clusters]), np.array([one.value for one in ratios])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # where next to nothing is expected
        scaled = root_scale(value / overall, spread / expected / expected, np.ones(len(ratios)))
    limits = [(one.value, one.lower, one.upper) for one in ratios]
    return _between("O:E", whole, clusters, limits, scaled, lambda x: overall * np.exp(x)), intercept


def _intercepts(whole: _Cluster, clusters: list[_Cluster], ratio: BetweenClusters, at: float) -> BetweenClusters:
    """Intercepts that give O:E, and in the summary finite ones, about what they have in common."""
    rows = zip(clusters, ratio.value, ratio.lower, ratio.upper, strict=True)
    used = {one: ends for one, *ends in rows if one.moments(at)[1] >= _LEAST}
    for _ in range(4):
        more, spread, third = np.array([one.moments(at) for one in used]).reshape(-1, 3).T
        start, curvature = at, third / spread
        scaled = root_scale(1.0 + curvature * more / spread, curvature**2 / spread, curvature)
        at += float(np.clip(random_effects(scaled[0], scaled[1], whole.level).ends[0], -1.0, 1.0))
    limits = [[one.intercept_at(end) for end in ends] for one, ends in used.items()]
    return _between("Calibration intercept", whole, list(used), limits, scaled, lambda x: start + x)


def _slopes(whole: _Cluster, clusters: list[_Cluster]) -> BetweenClusters:
    """Slopes, with the information that each cluster has at that of all rows; infinite ones are left out."""
    common, used, limits, variance = slope_alone(whole.rows)[0], [], [], []
    for one in clusters:
        fit, x = slope_alone(one.rows), one.log_odds
        if math.isfinite(fit[0]):
            n, k = one.table.n.astype(np.float64), one.table.k.astype(np.float64)
            chance = logistic(LogisticProfile(x, n, k).other(1, common, 0.0) + common * x)
            weight = n * chance * (1.0 - chance)
            variance.append(1.0 / np.dot(weight, (x - np.average(x, weights=weight)) ** 2))
            limits.append(fit)
            used.append(one)
    scaled = np.array([fit[0] for fit in limits]), np.array(variance), np.zeros(len(used))
    return _between("Calibration slope", whole, used, limits, scaled, np.asarray)


def _areas(whole: _Cluster, clusters: list[_Cluster]) -> BetweenClusters:
    """Areas, their distance to 1 as a ratio, with the variance of DeLong as it is for one row of each class."""
    areas, fields = [area_of(one.rows) for one in clusters], ("value", "standard_error", "n_positives", "n_negatives")
    # Rounded, so that areas of 1 have no distance and no variance.
    value, error, positives, negatives = (np.round([getattr(area, name) for area in areas], 12) for name in fields)
    size = 1.0 / (1.0 / positives + 1.0 / negatives)
    share = size / size.sum()
    mean = float(np.dot(share, 1.0 - value)) or 1.0
    variance = np.dot(share, error**2 * size) / size / mean**2
    scaled = 1.0 - (1.0 - value) / mean, variance, np.full(len(areas), -1.0)
    limits = [(area.value, area.lower, area.upper) for area in areas]
    back = lambda x: 1.0 - np.minimum(1.0, mean * np.exp(-x))  # noqa: E731
    return _between("AUC", whole, clusters, limits, scaled, back)
