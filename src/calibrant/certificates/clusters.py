"""Certificates, intervals and tests for rows that belong to clusters (docs/theory/3-clusters.md).

The proved bound is that of `calibrant.distributions.cluster_bound`. The asymptotic statements hold as independent
clusters, none of which counts more than a capped number of rows, become many. The test and the lower bound are one:
rotations of the clusters (`calibrant.distributions.rotations`), and hidden events where these are to be allowed for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import Bounds, CalibrationTest, Certificate, CutoffInterval, Method, conclude
from calibrant.certificates.sample_size import rows_to_decide
from calibrant.distributions.brownian import MEAN_RANGE
from calibrant.distributions.cluster_bound import largest_error
from calibrant.distributions.cluster_draws import hidden_share
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, lower_limit, of_one_row, worst_event
from calibrant.distributions.rotations import Rotations, nothing_hidden, rotate
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cluster_residuals import ClusterResiduals, cluster_residuals
from calibrant.table.clusters import ClusteredRows, cap_clusters
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes, largest_move
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import check_between
from calibrant.table.seeding import generator_for
from calibrant.table.statements import weighting

# The finite-sample bound says something from about this many clusters for each power of e in 1 / delta.
_CLUSTERS_PER_LOG = 10.0

_METHODS: dict[str, Method] = {
    "default": Method("finite-sample empirical Bernstein bound for clusters", ("gao2017", "fan2015")),
    "asymptotic": Method(
        "the probability is asymptotic in the number of clusters", ("gao2017", "langsrud2005", "ibragimov2010")
    ),
}


def choose_method(method: str, rows: ClusteredRows, delta: float) -> str:
    """Return "default" if the proved bound is asked for and there are clusters enough for it to say something.

    That is from ``10 log(1 / delta)`` clusters of equal size on, 30 at the usual delta of .05, if clusters are capped;
    an `ArgumentError` if the method holds only for independent rows.
    """
    need_cluster_method(method)
    enough = rows.cap < math.inf and rows.effective_clusters >= -_CLUSTERS_PER_LOG * math.log(delta)
    return method if enough else "asymptotic"


def as_judged(rows: ClusteredRows, question: Question) -> tuple[ClusteredRows, Question]:
    """Let clusters count as a question wants it, and say what is asked of them.

    A verdict allows for clusters of a kind that none shows, and is proved where clusters are many: those count the same
    then. A bound alone is about all rows, and asymptotic; it is the same with and without a tolerance.
    """
    if question.tolerance is None or question.bound_method != "default":
        return cap_clusters(rows, question.max_rows_per_cluster), question
    judged = cap_clusters(rows, question.max_rows_per_cluster or 1)
    return judged, replace(question, guarantee="unseen clusters")


def certify_clusters(rows: ClusteredRows, question: Question) -> Certificate:
    """Certificate for grouped rows, as they count."""
    delta, n = question.delta, int(rows.n_rows)
    method = choose_method(question.bound_method, rows, delta)
    need_clusters(rows)
    of = ClusterBounds.of(rows, question, method)
    dependence, (bounds, band) = of.dependence, of.both(question.side, delta)
    variance = dependence.variance if dependence else float(of.walks.squares.max(initial=0.0)) / rows.table.total

    def upper_width(at: int) -> float:
        return dependence.upper_width(delta, at / n) if dependence else bounds.width * math.sqrt(n / at)

    def lower_width(at: int) -> float:
        return band * math.sqrt(n / at)

    variance *= n / rows.table.total  # per row as it counts
    error = max(0.0, bounds.estimate - question.of_range * MEAN_RANGE * math.sqrt(variance / n))
    chosen = "the confidence level, the tolerance and the method"
    assumptions = rows.sampling.assumptions(chosen, asymptotic=bool(dependence), unseen=question.unseen)

    def rows_needed(tolerance: float) -> int | None:
        return rows_to_decide(error, variance, n, upper_width=upper_width, lower_width=lower_width, tolerance=tolerance)

    return conclude(
        question,
        bounds,
        sampling=rows.sampling,
        n=n,
        mean_score=rows.table.mean_score,
        method=method,
        description=_METHODS[method],
        assumptions=assumptions,
        rows_needed=rows_needed,
    )


def cluster_interval(rows: ClusteredRows, question: Question) -> CutoffInterval:
    """Interval for grouped rows, as they count, by the bounds of the method."""
    need_clusters(rows)
    asymptotic = question.bound_method == "asymptotic"
    if not asymptotic and rows.cap == math.inf:
        expected = "`max_rows_per_cluster` with method 'finite' and clusters"
        remedy = "set it, for instance to 1 for clusters that count the same, or use method 'asymptotic'"
        raise ArgumentError(expected, "no limit to what a cluster counts", remedy)
    method = "asymptotic" if asymptotic else "default"
    bounds, _ = ClusterBounds.of(rows, question, method).both(question.side, 0.5 * question.delta)
    lower, upper = bounds.lower_bound, bounds.bound
    limit = " (asymptotic in the number of clusters)" if asymptotic else ""
    chosen = "the confidence level and the method"
    return CutoffInterval(
        estimate=bounds.estimate,
        lower=lower,
        upper=upper,
        n=int(rows.n_rows),
        method="asymptotic" if asymptotic else "finite",
        claim=f"{rows.sampling.sure(question.confidence_level, limit)}, {rows.sampling.error} is between "
        f"{claim_lower(lower)} and {claim_upper(upper)}.",
        confidence_level=question.confidence_level,
        assumptions=rows.sampling.assumptions(chosen, asymptotic=asymptotic, unseen=question.unseen),
        references=_METHODS[question.bound_method].references,
        n_clusters=len(rows.size),
        max_rows_per_cluster=rows.sampling.max_rows_per_cluster,
    )


def cluster_test(rows: ClusteredRows, question: Question) -> CalibrationTest:
    """Asymptotic test of grouped rows, as they count."""
    dependence = clustered(rows, unseen=question.unseen)
    statistic, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    p_value = dependence.rotations(question.n_simulations, question.random_state).p_value()
    claim = (
        f"If every score were the true probability at that score, {n} rows with these scores in "
        f"{len(rows.size)} clusters would show a cutoff calibration error of {statistic:.4g} or more, where "
        f"{weighting(rows.cap)}, with p = {p_value:.4g} ({question.n_simulations} rotations of the clusters, "
        "asymptotic in their number)."
    )
    return CalibrationTest(
        claim=claim,
        p_value=p_value,
        statistic=statistic,
        n=n,
        method="asymptotic",
        n_simulations=question.n_simulations,
        assumptions=rows.sampling.assumptions("the method", asymptotic=True, unseen=question.unseen),
        references=_METHODS["asymptotic"].references,
        n_clusters=rows.sampling.n_units,
        max_rows_per_cluster=rows.sampling.max_rows_per_cluster,
    )


@dataclass(frozen=True, eq=False)
class ClusterBounds:
    """Bounds on the error of grouped rows, each of which fails with a probability of its own.

    The proved ones are those of Theorem 3.3 and Theorem 2.1; with `dependence` they are asymptotic.
    """

    rows: ClusteredRows
    walks: ClusterResiduals
    dependence: Clustered | None
    n_simulations: int
    random_state: int | np.random.Generator

    @classmethod
    def of(cls, rows: ClusteredRows, question: Question, method: str) -> ClusterBounds:
        """Measure how rows depend on each other, where a method needs it."""
        walks = cluster_residuals(rows)
        dependence = clustered(rows, walks, unseen=question.unseen) if method == "asymptotic" else None
        return cls(rows, walks, dependence, question.n_simulations, question.random_state)

    def estimate(self, side: int) -> float:
        """Error of these rows."""
        return largest_move(self.rows.table, side).value

    def upper(self, side: int, delta: float) -> float:
        """Return the upper bound, which may be above 1."""
        estimate = self.estimate(side)
        if self.dependence:
            return estimate + self.dependence.upper_width(delta)
        return max(estimate, largest_error(self.walks, cap=self.rows.cap, delta=delta, side=side))

    def lower(self, side: int, delta: float) -> float:
        """Return the lower bound."""
        if self.dependence:
            return min(self.estimate(side), self.rotations.lower_bound(delta, side))
        rows, sides = self.rows, (side,) if side else (1, -1)
        lists = [KeyedRows(rows.score, rows.step, rows.cluster)]

        def bottom(side: int, low: float, high: float) -> float:
            return rows.cap * of_one_row(side, low, high)

        propose = partial(worst_event, lists, sides=sides, bottom=bottom, unit=rows.size)
        draws = DrawKinds(np.ones(len(rows.size), dtype=np.int64), rows.cap)
        lower = lower_limit(draws, delta, generator_for(rows, self.random_state), propose)
        return min(self.estimate(side), lower)

    def both(self, side: int, delta: float) -> tuple[Bounds, float]:
        """Return both bounds, and how far below a large error the lower one is."""
        estimate, upper, lower = self.estimate(side), self.upper(side, delta), self.lower(side, delta)
        band = self.rotations.width(delta) if self.dependence else estimate - lower
        width = upper - estimate
        return Bounds(estimate=estimate, bound=min(1.0, upper), lower_bound=lower, width=width), band

    @cached_property
    def rotations(self) -> Rotations:
        """The clusters rotated, where bounds are asymptotic."""
        assert self.dependence is not None
        return self.dependence.rotations(self.n_simulations, self.random_state)


# With fewer clusters of equal size, or fewer that count, the asymptotic statement is too wide to be useful.
LEAST_GROUPS = 5.0


@dataclass(frozen=True, eq=False)
class Clustered:
    """What grouped rows tell about their own uncertainty.

    `spread` is the standard deviation of the average residual in the interval where it is largest; `correlation`, in
    [0, 1], how much of a cluster moves as one. `variance` plays the part of the mean of ``s (1 - s)``: the variance per
    row of the sum of all residuals if the scores were exactly right and rows depended on each other as they seem to.
    `unseen` says whether events that take hold of whole clusters are allowed for.
    """

    rows: ClusteredRows
    walks: ClusterResiduals
    spread: float
    correlation: float
    variance: float
    unseen: bool

    def upper_width(self, delta: float, growth: float = 1.0) -> float:
        """Width of the one-sided bound, with `growth` times as many clusters: true error <= empirical error + width.

        The true error is that of one fixed interval and sign, so that the sum of ``sign W_g - m_g c`` over the clusters
        has expectation 0 and one quantile, of Student's distribution, is enough; its variance is bounded by that of the
        widest interval. For clusters of one row this is `asymptotic_width`.
        """
        from scipy.special import stdtrit

        certainty = check_between("probability", 1.0 - delta, 0.0, 1.0)
        chance = max(0.0, float(stdtrit(self.rows.effective_clusters - 1.0, certainty))) * self.spread
        return chance / math.sqrt(growth) + self.hidden(delta) / growth

    def hidden(self, delta: float) -> float:
        """Largest error due to events of which none is seen with chance `delta`: of whole clusters, or of rows."""
        return hidden_share(self.rows.size, delta) if self.unseen else -math.expm1(math.log(delta) / self.rows.n_rows)

    def rotations(self, n_simulations: int, random_state: int | np.random.Generator) -> Rotations:
        """Rotate the clusters: what the test and the lower bound are made of, read at the edges of the walks."""
        rows, walks, rng = self.rows, self.walks, generator_for(self.rows, random_state)
        of_entries = rows.weight[rows.cluster] * rows.n * rows.score * (1.0 - rows.score)
        below = np.append(0.0, np.cumsum(of_entries))[np.append(0, rows.ends + 1)[walks.edges]]
        hidden = partial(hidden_share, rows.size) if self.unseen else nothing_hidden
        return rotate(walks.at_edge, rows.size, np.diff(below), n_simulations, rng, hidden)


def clustered(rows: ClusteredRows, walks: ClusterResiduals | None = None, *, unseen: bool = False) -> Clustered:
    """Measure how rows of a cluster depend on each other; a `DataError` if there are too few clusters."""
    need_clusters(rows)
    # Each row has its weight twice in a square, and n and k hold it once.
    squared = rows.weight * rows.by_cluster(rows.k * (1.0 - rows.score) ** 2 + rows.negatives * rows.score**2)
    expected = rows.weight * rows.by_cluster(rows.n * rows.score * (1.0 - rows.score))
    total = rows.table.total
    walks = cluster_residuals(rows) if walks is None else walks
    spread = walks.largest_spread()
    others = rows.size / rows.weight - 1.0
    pairs = float(np.dot(squared, others))
    excess = spread**2 - float(squared.sum())
    correlation = min(1.0, max(0.0, excess / pairs)) if pairs > 0.0 else 0.0
    moving = 1.0 + correlation * others  # rows of each cluster that move as one (Kish's design effect)
    spread *= math.sqrt(len(rows.size) / (len(rows.size) - 1.0)) / total
    return Clustered(rows, walks, spread, correlation, float(np.dot(expected, moving)) / total, unseen)


def need_clusters(rows: ClusteredRows) -> None:
    """Raise a `DataError` if clusters are worth too few of equal size."""
    if rows.effective_clusters < LEAST_GROUPS:
        share = rows.size.max() / rows.size.sum()
        raise DataError(
            f"clusters worth at least {LEAST_GROUPS:g} of equal size",
            f"{len(rows.size)} clusters, the largest with {share:.0%} of the rows, worth {rows.effective_clusters:.3g}",
            "take more clusters, finer ones if these are independent, or let a cluster count fewer rows "
            "(`max_rows_per_cluster`)",
        )
