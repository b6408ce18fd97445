"""Certificates, intervals and tests for rows that belong to clusters (docs/theory/3-clusters.md)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from calibrant.certificates.clusters_asymptotic import clustered, need_clusters
from calibrant.certificates.repeated_splits import PROPOSE, repeated_lower_bound
from calibrant.certificates.results import ASSUMPTIONS, CalibrationTest, Certificate, CutoffInterval, verdict_on
from calibrant.certificates.sample_size import rows_to_decide
from calibrant.distributions.brownian import MEAN_RANGE
from calibrant.distributions.cluster_bound import Sums, largest_error, largest_ratio
from calibrant.distributions.cluster_jackknife import Guarantee, allows_unseen
from calibrant.errors import ArgumentError
from calibrant.table.cluster_residuals import ClusterResiduals, cluster_residuals
from calibrant.table.clusters import ClusteredRows, weighting
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes
from calibrant.table.numbers import at_least, claim_lower, claim_upper
from calibrant.table.parameters import failure_probability
from calibrant.table.pooling import pool_counts
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for

__all__ = ["certify_clusters", "choose_method", "cluster_interval", "cluster_test", "need_cluster_method"]

_METHODS = ("bernstein", "asymptotic")

# The finite-sample bound says something from about this many clusters for each power of e in 1 / delta.
_CLUSTERS_PER_LOG = 10.0

_CLAIM = {
    "bernstein": "finite-sample empirical Bernstein bound for clusters",
    "asymptotic": "the probability is asymptotic in the number of clusters",
}
_REFERENCES = {"bernstein": ("gao2017", "fan2015"), "asymptotic": ("gao2017",)}


def choose_method(method: str, rows: ClusteredRows, delta: float) -> str:
    """Return the method asked for; by default the proved one if there are clusters enough for it to say something.

    "bernstein" from ``10 log(1 / delta)`` clusters of equal size on, 30 at the usual delta of .05, if clusters are
    capped; an `ArgumentError` if the method holds only for independent rows, or needs a cap.
    """
    capped = rows.cap < math.inf
    if method == "default":
        enough = capped and rows.effective_clusters >= -_CLUSTERS_PER_LOG * math.log(delta)
        return "bernstein" if enough else "asymptotic"
    need_cluster_method(method)
    if method == "bernstein" and not capped:
        raise ArgumentError(
            "`max_rows_per_cluster` with method 'bernstein' and clusters",
            "no limit to what a cluster counts",
            "set it, for instance to 1 for clusters that count the same, or leave out `method`",
        )
    return method


def need_cluster_method(method: str, allowed: tuple[str, ...] = _METHODS) -> None:
    """Raise an `ArgumentError` if clusters are given to a method that needs independent rows."""
    if method not in allowed:
        listed = " or ".join(repr(name) for name in allowed)
        raise ArgumentError(
            f"`method` {listed} with `clusters`",
            f"method {method!r}, which holds only for independent rows",
            "leave out `method`, or keep one row of each cluster and leave out `clusters`",
        )


def certify_clusters(
    rows: ClusteredRows,
    *,
    confidence_level: float,
    tolerance: float | None,
    method: str,
    guarantee: Guarantee = "ordinary",
    n_simulations: int,
    random_state: int | np.random.Generator,
    walks: ClusterResiduals | None = None,
) -> Certificate:
    """Certificate for grouped rows, as they count; parameters as in `certify`, and `walks` if they are at hand."""
    delta = failure_probability(confidence_level)
    method = choose_method(method, rows, delta)
    need_clusters(rows)
    walks = cluster_residuals(rows) if walks is None else walks
    estimate, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    if method == "bernstein":
        bound = max(estimate, largest_error(walks, cap=rows.cap, delta=delta))
        lower_bound = _lower(rows, delta, random_state)
        width, band = bound - estimate, estimate - lower_bound
        variance = float(walks.squares.max(initial=0.0)) / rows.table.total
    else:
        found = clustered(rows, walks, guarantee)
        width, band = found.upper_width(delta), found.lower_width(delta, n_simulations, random_state)
        bound, lower_bound = min(1.0, estimate + width), max(0.0, estimate - band)
        variance = found.variance

    def upper_width(at: int) -> float:
        if method == "asymptotic":
            return found.upper_width(delta, at / n)
        return width * math.sqrt(n / at)

    def lower_width(at: int) -> float:
        return band * math.sqrt(n / at)

    mean_score = rows.table.mean_score
    trivial_bound = max(mean_score, 1.0 - mean_score)
    verdict = None if tolerance is None else verdict_on(bound, lower_bound, trivial_bound, tolerance)
    rows_needed = None
    if tolerance is not None and verdict in ("undecided", "uninformative") and bound > tolerance:
        # The variance is per row as it counts.
        variance *= n / rows.table.total
        rows_needed = rows_to_decide(
            max(0.0, estimate - MEAN_RANGE * math.sqrt(variance / n)),
            tolerance,
            mean_variance=variance,
            upper_width=upper_width,
            lower_width=lower_width,
        )
    return Certificate(
        claim=f"With probability at least {at_least(confidence_level)} over the draw of the clusters, the cutoff "
        f"calibration error of this classifier in the population, in which {weighting(rows.cap)}, is at most "
        f"{claim_upper(bound, tolerance)} ({_CLAIM[method]}).",
        verdict=verdict,
        tolerance=tolerance,
        estimate=estimate,
        bound=bound,
        lower_bound=lower_bound,
        width=width,
        trivial_bound=trivial_bound,
        confidence_level=confidence_level,
        n=n,
        method=method,
        rows_needed=rows_needed,
        assumptions=_assumptions(rows, method, guarantee, "the confidence level, the tolerance and the method"),
        references=_REFERENCES[method],
        n_clusters=len(rows.size),
        max_rows_per_cluster=_cap(rows),
    )


def cluster_interval(
    rows: ClusteredRows,
    *,
    confidence_level: float,
    method: str,
    guarantee: Guarantee = "ordinary",
    n_simulations: int,
    random_state: int | np.random.Generator,
) -> CutoffInterval:
    """Interval for grouped rows, as they count; parameters as in `cutoff_interval`."""
    need_clusters(rows)
    bound = choose_method("bernstein" if method == "finite" else "asymptotic", rows, 0.5)
    walks, half = cluster_residuals(rows), 0.5 * failure_probability(confidence_level)
    estimate = extremes(cumulative_residuals(rows.table)).value
    if method == "finite":
        lower, upper = _lower(rows, half, random_state), max(estimate, largest_error(walks, cap=rows.cap, delta=half))
    else:
        found = clustered(rows, walks, guarantee)
        lower = max(0.0, estimate - found.lower_width(half, n_simulations, random_state))
        upper = min(1.0, estimate + found.upper_width(half))
    limit = "" if method == "finite" else " (asymptotic in the number of clusters)"
    return CutoffInterval(
        claim=f"With probability at least {at_least(confidence_level)}{limit} over the draw of the clusters, "
        f"the cutoff calibration error of this classifier in the population, in which {weighting(rows.cap)}, is "
        f"between {claim_lower(lower)} and {claim_upper(upper)}.",
        estimate=estimate,
        lower=lower,
        upper=upper,
        confidence_level=confidence_level,
        n=int(rows.n_rows),
        method=method,
        assumptions=_assumptions(rows, bound, guarantee, "the confidence level and the method"),
        references=_REFERENCES[bound],
        n_clusters=len(rows.size),
        max_rows_per_cluster=_cap(rows),
    )


def cluster_test(
    rows: ClusteredRows,
    *,
    method: str,
    guarantee: Guarantee = "ordinary",
    n_simulations: int,
    random_state: int | np.random.Generator,
    walks: ClusterResiduals | None = None,
) -> CalibrationTest:
    """Test of grouped rows, as they count; parameters as in `calibration_test`, and `walks` if they are at hand."""
    need_cluster_method(method, ("asymptotic",))
    found = clustered(rows, walks, guarantee)
    statistic, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    p_value = found.p_value(statistic, n_simulations, random_state)
    return CalibrationTest(
        claim=f"If every score were the true probability at that score, {n} rows with these scores in "
        f"{len(rows.size)} clusters would show a cutoff calibration error of {statistic:.4g} or more, where "
        f"{weighting(rows.cap)}, with p = {p_value:.4g} (cluster bootstrap with {n_simulations} "
        "simulations, asymptotic in the number of clusters).",
        p_value=p_value,
        statistic=statistic,
        n=n,
        method=method,
        n_simulations=n_simulations,
        assumptions=_assumptions(rows, "asymptotic", guarantee, "the method"),
        references=("gao2017",),
        n_clusters=len(rows.size),
        max_rows_per_cluster=_cap(rows),
    )


def _lower(rows: ClusteredRows, delta: float, random_state: int | np.random.Generator) -> float:
    """Theorem 3.5, for several splits (Theorem 2.3)."""
    rng = generator_for(rows, random_state)
    return repeated_lower_bound(len(rows.size), delta, rng, partial(_lower_of_split, rows))


def _lower_of_split(rows: ClusteredRows, delta: float, rng: np.random.Generator) -> float:
    """A third of the clusters proposes an interval, the others judge it."""
    clusters = len(rows.size)
    proposes = rng.permutation(clusters) < PROPOSE * clusters
    found = _proposal(rows, proposes)
    if found.sign == 0 or proposes.all():
        return 0.0
    inside = (rows.score > found.low) & (rows.score <= found.high)
    sums = found.sign * rows.by_cluster(np.where(inside, rows.step, 0.0))[~proposes]
    size = rows.size[~proposes]
    against = largest_ratio(
        Sums.of(-sums, size),
        rows=float(size.sum()),
        squared_sizes=float(np.dot(size, size)),
        clusters=len(size),
        cap=rows.cap,
        delta=delta,
    )
    return max(0.0, -against)


def _proposal(rows: ClusteredRows, proposes: npt.NDArray[np.bool_]) -> Extremes:
    """The interval on which the residuals of some of the clusters add up to most."""
    mine = np.flatnonzero(proposes[rows.cluster])
    n, k = (values[mine].astype(np.float64) for values in (rows.n, rows.k))
    return extremes(cumulative_residuals(ScoreTable(*pool_counts(rows.score[mine], n, k))))


def _cap(rows: ClusteredRows) -> float | None:
    return None if rows.cap == math.inf else rows.cap


def _assumptions(rows: ClusteredRows, method: str, guarantee: Guarantee, chosen: str) -> tuple[str, ...]:
    many = ""
    if method == "asymptotic":
        many = " The number of clusters is large."
        if not allows_unseen(guarantee):
            many += " There are no clusters of a kind that none of these shows."
    depend = (
        "The clusters are independent draws from the population the statement is about; rows of one cluster may "
        f"depend on each other in any way.{many} Weights, if there are any, count rows."
    )
    fixed = f"The number of clusters, {chosen} were fixed before looking at these rows."
    if _cap(rows) is None:
        return depend, "The statement is about all rows, for clusters of these sizes.", ASSUMPTIONS[1], fixed
    return (
        depend,
        (
            f"The population is one in which {weighting(rows.cap)}: a row of a cluster of m rows has weight "
            f"{'1 / m' if rows.cap == 1.0 else f'min(1, {rows.cap:g} / m)'}. If calibration "
            "depends on the size of the cluster, its error differs from that of all rows."
        ),
        ASSUMPTIONS[1],
        (
            f"The number of clusters, the maximum weight of a cluster, {chosen} were fixed before looking at these "
            "rows. If they depend on the sizes of these clusters, upper bounds hold for clusters of these sizes."
        ),
    )
