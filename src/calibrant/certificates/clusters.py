"""Certificates, intervals and tests for rows that belong to clusters (docs/theory/3-clusters.md)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from calibrant.certificates.clusters_asymptotic import clustered, need_clusters
from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import Bounds, CalibrationTest, Certificate, CutoffInterval, Method, conclude
from calibrant.certificates.sample_size import rows_to_decide
from calibrant.certificates.split import PROPOSE, repeated_lower_bound
from calibrant.distributions.brownian import MEAN_RANGE
from calibrant.distributions.cluster_bound import Sums, largest_error, largest_ratio
from calibrant.errors import ArgumentError
from calibrant.table.cluster_residuals import ClusterResiduals, cluster_residuals
from calibrant.table.clusters import ClusteredRows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.pooling import pool_counts
from calibrant.table.sampling import weighting
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for

# The finite-sample bound says something from about this many clusters for each power of e in 1 / delta.
_CLUSTERS_PER_LOG = 10.0

_METHODS: dict[str, Method] = {
    "bernstein": ("finite-sample empirical Bernstein bound for clusters", ("gao2017", "fan2015")),
    "asymptotic": ("the probability is asymptotic in the number of clusters", ("gao2017",)),
}


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


def certify_clusters(rows: ClusteredRows, question: Question) -> Certificate:
    """Certificate for grouped rows, as they count."""
    delta = question.delta
    method = choose_method(question.bound_method, rows, delta)
    need_clusters(rows)
    walks, asymptotic = cluster_residuals(rows), method == "asymptotic"
    estimate, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    if asymptotic:
        found = clustered(rows, walks, unseen=question.unseen)
        width = found.upper_width(delta)
        band = found.lower_width(delta, question.n_simulations, question.random_state)
        bound, lower_bound = min(1.0, estimate + width), max(0.0, estimate - band)
        variance = found.variance
    else:
        bound, lower_bound = _proved_limits(rows, walks, estimate, delta, question.random_state)
        width, band = bound - estimate, estimate - lower_bound
        variance = float(walks.squares.max(initial=0.0)) / rows.table.total

    def upper_width(at: int) -> float:
        return found.upper_width(delta, at / n) if asymptotic else width * math.sqrt(n / at)

    def lower_width(at: int) -> float:
        return band * math.sqrt(n / at)

    variance *= n / rows.table.total  # per row as it counts
    return conclude(
        question,
        Bounds(estimate, bound, lower_bound, width),
        rows.sampling,
        method,
        _METHODS[method],
        n=n,
        mean_score=rows.table.mean_score,
        assumptions=rows.sampling.assumptions(
            "the confidence level, the tolerance and the method", asymptotic=asymptotic, unseen=question.unseen
        ),
        rows_needed=lambda tolerance: rows_to_decide(
            max(0.0, estimate - MEAN_RANGE * math.sqrt(variance / n)), tolerance, variance, upper_width, lower_width
        ),
    )


def cluster_interval(rows: ClusteredRows, question: Question) -> CutoffInterval:
    """Interval for grouped rows, as they count, by the bounds of the method."""
    need_clusters(rows)
    method = choose_method(question.bound_method, rows, 0.5)
    walks, half, asymptotic = cluster_residuals(rows), 0.5 * question.delta, method == "asymptotic"
    estimate = extremes(cumulative_residuals(rows.table)).value
    if asymptotic:
        found = clustered(rows, walks, unseen=question.unseen)
        lower = max(0.0, estimate - found.lower_width(half, question.n_simulations, question.random_state))
        upper = min(1.0, estimate + found.upper_width(half))
    else:
        upper, lower = _proved_limits(rows, walks, estimate, half, question.random_state)
    limit = " (asymptotic in the number of clusters)" if asymptotic else ""
    return CutoffInterval(
        claim=f"{rows.sampling.sure(question.confidence_level, limit)}, {rows.sampling.error} is between "
        f"{claim_lower(lower)} and {claim_upper(upper)}.",
        estimate=estimate,
        lower=lower,
        upper=upper,
        confidence_level=question.confidence_level,
        n=int(rows.n_rows),
        method="asymptotic" if asymptotic else "finite",
        assumptions=rows.sampling.assumptions(
            "the confidence level and the method", asymptotic=asymptotic, unseen=question.unseen
        ),
        references=_METHODS[method][1],
        n_clusters=len(rows.size),
        max_rows_per_cluster=rows.sampling.max_rows_per_cluster,
    )


def cluster_test(rows: ClusteredRows, question: Question) -> CalibrationTest:
    """Asymptotic test of grouped rows, as they count."""
    found = clustered(rows, unseen=question.unseen)
    statistic, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    p_value = found.p_value(statistic, question.n_simulations, question.random_state)
    claim = (
        f"If every score were the true probability at that score, {n} rows with these scores in "
        f"{len(rows.size)} clusters would show a cutoff calibration error of {statistic:.4g} or more, where "
        f"{weighting(rows.cap)}, with p = {p_value:.4g} (cluster bootstrap with {question.n_simulations} "
        "simulations, asymptotic in the number of clusters)."
    )
    assumptions = rows.sampling.assumptions("the method", asymptotic=True, unseen=question.unseen)
    how = "asymptotic", question.n_simulations, assumptions, ("gao2017",)
    return CalibrationTest(
        claim, p_value, statistic, n, *how, rows.sampling.n_units, rows.sampling.max_rows_per_cluster
    )


def _proved_limits(
    rows: ClusteredRows, walks: ClusterResiduals, estimate: float, delta: float, random_state: int | np.random.Generator
) -> tuple[float, float]:
    """Upper limit of Theorem 3.3, and lower limit of Theorem 3.5 for several splits (Theorem 2.3)."""
    upper = max(estimate, largest_error(walks, cap=rows.cap, delta=delta))
    rng = generator_for(rows, random_state)
    return upper, repeated_lower_bound(len(rows.size), delta, rng, partial(_lower_of_split, rows))


def _lower_of_split(rows: ClusteredRows, delta: float, rng: np.random.Generator) -> float:
    """A third of the clusters proposes an interval, the others judge it."""
    clusters = len(rows.size)
    proposes = rng.permutation(clusters) < PROPOSE * clusters
    # The interval on which the residuals of those that propose add up to most.
    mine = np.flatnonzero(proposes[rows.cluster])
    n, k = (values[mine].astype(np.float64) for values in (rows.n, rows.k))
    found = extremes(cumulative_residuals(ScoreTable(*pool_counts(rows.score[mine], n, k))))
    if found.sign == 0 or proposes.all():
        return 0.0
    inside = (rows.score > found.low) & (rows.score <= found.high)
    sums = found.sign * rows.by_cluster(np.where(inside, rows.step, 0.0))[~proposes]
    size = rows.size[~proposes]
    sizes = {"rows": float(size.sum()), "squared_sizes": float(np.dot(size, size)), "clusters": len(size)}
    return max(0.0, -largest_ratio(Sums.of(-sums, size), **sizes, cap=rows.cap, delta=delta))
