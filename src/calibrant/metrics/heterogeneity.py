"""How far centres differ: calibration and discrimination in each cluster, and a random-effects summary of each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.cluster_jackknife import LOG_ODDS, PLAIN, Link
from calibrant.distributions.random_effects import random_effects
from calibrant.fits.logistic import LogisticProfile, logistic
from calibrant.metrics.estimates import SampledRows
from calibrant.metrics.in_the_large import ratio_of
from calibrant.metrics.ranking import area_of
from calibrant.metrics.slope import log_odds_scale, slope_alone
from calibrant.table import numbers
from calibrant.table.clusters import ClusteredRows, Clusters, cluster_rows
from calibrant.table.pooling import FloatArray, key_order
from calibrant.table.results import Drawable, Estimate, Result, WithTable, joined
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights

# Clusters with fewer rows of either class have no AUC and no slope.
LEAST_OF_CLASS = 10

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
        distribution is symmetric there. NaN with fewer than 3 clusters.
    prediction : (float, float)
        Where the value of a new cluster like these lies. NaN with fewer than 5 clusters.
    tau : Estimate
        Standard deviation between clusters: of the logarithm of O:E, of the log-odds of the AUC, of intercept and slope
        as they are. A value of 0 does not say that clusters are alike: the upper limit is how far they may differ.

    Examples
    --------
    >>> from calibrant.metrics import cluster_heterogeneity
    >>> y, p = [0, 0, 0, 1] * 60 + [0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 90
    >>> print(cluster_heterogeneity(y, p, [i // 120 for i in range(360)]).observed_expected)
    O:E in each cluster: mean 1.2315 (95% CI 0.4200 to 3.6108); tau 0.4 (0.18 to 1.5).
    Cluster  Rows  Positives                O:E
    0         120         30  1 (0.736 to 1.29)
    1         120         30  1 (0.736 to 1.29)
    2         120         60   2 (1.65 to 2.36)
    """

    _display = "ForestDisplay"

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
            return "too few clusters for a summary"
        written = numbers.write_interval(mean.value, mean.lower, mean.upper, write=numbers.signed)
        spread = numbers.write_interval(tau.value, tau.lower, tau.upper, write=partial(numbers.significant, digits=2))
        alike = "" if tau.value else "which is common by chance, and no evidence that clusters are alike"
        return joined(f"mean {written.value} ({sure} CI {written.ends})", f"tau {spread}", alike, self.prediction_text)

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
        written = (str(numbers.write_interval(*ends, write=partial(numbers.significant, digits=3))) for ends in limits)
        cells = zip(self.cluster, map(numbers.rows, self.n), map(numbers.rows, self.positives), written, strict=True)
        return [["Cluster", "Rows", "Positives", self.measure], *map(list, cells)]


@dataclass(frozen=True)
class ClusterHeterogeneity(Result):
    """Calibration and discrimination in each cluster, such as a hospital, and how far clusters differ.

    Attributes
    ----------
    observed_expected, calibration_intercept : BetweenClusters
        O:E, and the same on the scale of log-odds, in all clusters.
    calibration_slope, roc_auc : BetweenClusters
        In clusters with at least 10 rows of either class; of slopes those that are finite.

    Examples
    --------
    >>> from calibrant import audit
    >>> y, p = [0, 0, 0, 1] * 60 + [0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 90
    >>> found = audit(y, p, clusters=[f"hospital {i // 60}" for i in range(360)]).heterogeneity
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
    clusters: Clusters,
    *,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    pos_label: Any = None,
) -> ClusterHeterogeneity:
    r"""O:E, calibration intercept and slope, and AUC of each cluster, and how far these differ between clusters.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels of both classes, scores and whole weights, as in `brier_score`. Rows: a cell of a table has no cluster.
    clusters : sequence of length n
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
    O:E is summarised as a ratio, weighted by what is expected at the O:E of all rows: nothing is added to clusters
    without a positive, and no weight depends on a cluster's own positives. Mean and limits come back by the moments of
    a log-normal distribution. The intercept is O:E on the scale of log-odds, carried over for the rows of all clusters.
    AUC (on log-odds) and slope have variances from what clusters share: that of DeLong [1]_ as it is on average for so
    many rows of either class, and the information at the slope that fits all rows best.

    The variance between clusters is that of Paule & Mandel [2]_, the limits of the mean are those of Hartung & Knapp
    [3]_ with a factor of at least 1, and the prediction interval carries the uncertainty of tau [4]_. All of it is
    approximate: docs/theory/19-between-clusters.md has how often it misses.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988). Biometrics 44, 837-845.
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
    (1.3, [0.4, 3.0])
    """
    rows = cluster_rows(y_true, y_proba, clusters, sample_weight=sample_weight, pos_label=pos_label)
    return heterogeneity_of(rows, confidence_level)


def heterogeneity_of(rows: ClusteredRows, confidence_level: float) -> ClusterHeterogeneity:
    """Return what `cluster_heterogeneity` finds of these rows."""
    parts = np.split(key_order(rows.cluster), np.cumsum(np.bincount(rows.cluster))[:-1])
    tables = (ScoreTable(rows.score[part], rows.n[part], rows.k[part]) for part in parts)
    each = (_Cluster(name, table, confidence_level) for name, table in zip(rows.names, tables, strict=True))
    in_order = sorted(
        each, key=lambda one: [int(part) if part.isdecimal() else part for part in _PARTS.split(one.name)]
    )
    scored = [one for one in in_order if one.table.mean_score > 0.0]
    large = [one for one in in_order if min(one.table.positives, one.table.negatives.sum()) >= LEAST_OF_CLASS]
    whole = _Cluster("", rows.table, confidence_level)
    ratio = _ratios(whole, scored)
    return ClusterHeterogeneity(ratio, _intercepts(whole, scored, ratio), _slopes(whole, large), _areas(whole, large))


class _Cluster(NamedTuple):
    name: str
    table: ScoreTable
    level: float

    @property
    def rows(self) -> SampledRows:
        return SampledRows(self.table, None, self.level)

    @property
    def log_odds(self) -> FloatArray:
        return log_odds_scale(self.table).of(self.table.score)

    def spread(self, intercept: float) -> float:
        """Variance of the number of positives, if the log-odds are off by an intercept."""
        chance = logistic(intercept + self.log_odds)
        return float(np.dot(self.table.n, chance * (1.0 - chance)))

    def intercept_at(self, ratio: float) -> float:
        """Intercept, with slope 1, at which rows like these have so many positives for one that is expected."""
        positives = ratio * self.table.n * self.table.score
        if not 0.0 < positives.sum() < self.table.total:
            return math.nan if math.isnan(ratio) else math.copysign(math.inf, positives.sum() - 0.5 * self.table.total)
        return LogisticProfile(self.log_odds, self.table.n.astype(np.float64), positives).other(1, 1.0, math.log(ratio))


# Of each cluster a number with its limits, and that on the scale of the summary, with its variance.
_Entries = list[tuple[float, float, float, float, float]]


def _between(
    measure: str, clusters: list[_Cluster], entries: _Entries, level: float, link: Link, *, log_normal: bool = False
) -> BetweenClusters:
    """Summarise the numbers of clusters."""
    value, lower, upper, scaled, variance = np.array(entries).reshape(-1, 5).T
    effects = random_effects(scaled, variance, level, log_normal=log_normal)
    ends = link.back(effects.ends)
    size, positives = (np.array([getattr(one.table, name) for one in clusters]) for name in ("total", "positives"))
    summary = _summary(ends, level), (float(ends[3]), float(ends[4])), _summary(effects.tau, level)
    names = np.array([one.name for one in clusters], np.str_)
    return BetweenClusters(measure, names, size, positives, value, lower, upper, *summary)


def _summary(ends: FloatArray, level: float) -> Estimate:
    return Estimate(float(ends[0]), float(ends[1]), float(ends[2]), level, "random effects")


def _ratios(whole: _Cluster, clusters: list[_Cluster]) -> BetweenClusters:
    overall, entries = whole.table.base_rate / whole.table.mean_score, []
    intercept = whole.intercept_at(overall)
    for one in clusters:
        ratio, expected = ratio_of(one.rows), overall * one.table.total * one.table.mean_score
        variance = one.spread(intercept) / expected**2
        entries.append((ratio.value, ratio.lower, ratio.upper, ratio.value / overall, variance))
    link = Link(np.log, lambda logarithm: overall * np.exp(logarithm))
    return _between("O:E", clusters, entries, whole.level, link, log_normal=True)


def _intercepts(whole: _Cluster, clusters: list[_Cluster], ratio: BetweenClusters) -> BetweenClusters:
    """Carry O:E over to log-odds: in each cluster for its rows, what is said of all for all rows."""
    limits = zip(clusters, ratio.value, ratio.lower, ratio.upper, strict=True)
    value, lower, upper = np.array([[one.intercept_at(end) for end in ends] for one, *ends in limits]).T
    mean, tau = ratio.mean, np.array([ratio.tau.value, ratio.tau.lower, ratio.tau.upper])
    ends = np.array([whole.intercept_at(end) for end in (mean.value, mean.lower, mean.upper, *ratio.prediction)])
    tau *= whole.table.total * whole.table.mean_score * mean.value / whole.spread(ends[0])
    own: dict[str, Any] = {"measure": "Calibration intercept", "value": value, "lower": lower, "upper": upper}
    own |= {"mean": _summary(ends, whole.level), "prediction": (float(ends[3]), float(ends[4]))}
    return replace(ratio, **own, tau=_summary(tau, whole.level))


def _slopes(whole: _Cluster, clusters: list[_Cluster]) -> BetweenClusters:
    """Slopes, with the information that each cluster has at that of all rows; infinite ones are left out."""
    common, used, entries = slope_alone(whole.rows)[0], [], []
    for one in clusters:
        fit, x = slope_alone(one.rows), one.log_odds
        if math.isfinite(fit[0]):
            n, k = one.table.n.astype(np.float64), one.table.k.astype(np.float64)
            chance = logistic(LogisticProfile(x, n, k).other(1, common, 0.0) + common * x)
            weight = n * chance * (1.0 - chance)
            information = np.dot(weight, (x - np.average(x, weights=weight)) ** 2)
            entries.append((*fit, fit[0], 1.0 / information))
            used.append(one)
    return _between("Calibration slope", used, entries, whole.level, PLAIN)


def _areas(whole: _Cluster, clusters: list[_Cluster]) -> BetweenClusters:
    """Areas, on log-odds, with the variance of DeLong as it is in all clusters for one row of each class."""
    areas = [area_of(one.rows) for one in clusters]
    value, error, positives, negatives = (
        np.array([(area.value, area.standard_error, area.n_positives, area.n_negatives) for area in areas])
        .reshape(-1, 4)
        .T
    )
    half_pair, size = 0.5 / (positives * negatives), 1.0 / (1.0 / positives + 1.0 / negatives)
    value = np.clip(value, half_pair, 1.0 - half_pair)  # so that an area of 1 has log-odds
    share = size / size.sum()
    mean, variance = np.dot(share, value), np.dot(share, error**2 * size) / size
    scaled = zip(LOG_ODDS.to(value), variance / (mean * (1.0 - mean)) ** 2, strict=True)
    entries = [(area.value, area.lower, area.upper, *own) for area, own in zip(areas, scaled, strict=True)]
    return _between("AUC", clusters, entries, whole.level, LOG_ODDS)
