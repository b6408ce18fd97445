"""Certificates, intervals and tests for rows that belong to clusters (docs/theory/3-clusters.md).

The proved bound is that of `calibrant.distributions.cluster_bound`. The asymptotic statements hold as independent
clusters, none of which counts more than a capped number of rows, become many. What makes them safe for few clusters and
rare events (Student's distribution, wide steps, the shortfall, and hidden events where these are to be allowed for) was
chosen by simulation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import Bounds, CalibrationTest, Certificate, CutoffInterval, Method, conclude
from calibrant.certificates.sample_size import rows_to_decide
from calibrant.distributions.brownian import MEAN_RANGE
from calibrant.distributions.cluster_bound import ClusterSums, largest_error, largest_ratio
from calibrant.distributions.cluster_draws import hidden_share
from calibrant.distributions.repeated_splits import PROPOSE, repeated_lower_bound
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cluster_residuals import ClusterResiduals, cluster_residuals, round_up
from calibrant.table.clusters import ClusteredRows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes, largest_move
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray, pool_counts
from calibrant.table.progress import report_progress
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.statements import weighting

# The finite-sample bound says something from about this many clusters for each power of e in 1 / delta.
_CLUSTERS_PER_LOG = 10.0

_METHODS: dict[str, Method] = {
    "bernstein": Method("finite-sample empirical Bernstein bound for clusters", ("gao2017", "fan2015")),
    "asymptotic": Method("the probability is asymptotic in the number of clusters", ("gao2017",)),
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
        expected = "`max_rows_per_cluster` with method 'bernstein' and clusters"
        remedy = "set it, for instance to 1 for clusters that count the same, or leave out `method`"
        raise ArgumentError(expected, "no limit to what a cluster counts", remedy)
    return method


def certify_clusters(rows: ClusteredRows, question: Question) -> Certificate:
    """Certificate for grouped rows, as they count."""
    delta, n = question.delta, int(rows.n_rows)
    method = choose_method(question.bound_method, rows, delta)
    need_clusters(rows)
    walks = cluster_residuals(rows)
    dependence = clustered(rows, walks, unseen=question.unseen) if method == "asymptotic" else None
    bounds, band = _bounds(rows, walks, dependence, delta, question)
    variance = dependence.variance if dependence else float(walks.squares.max(initial=0.0)) / rows.table.total

    def upper_width(at: int) -> float:
        return dependence.upper_width(delta, at / n) if dependence else bounds.width * math.sqrt(n / at)

    def lower_width(at: int) -> float:
        return band * math.sqrt(n / at)

    variance *= n / rows.table.total  # per row as it counts
    error = max(0.0, bounds.estimate - question.of_range * MEAN_RANGE * math.sqrt(variance / n))
    chosen = "the confidence level, the tolerance and the method"
    assumptions = rows.sampling.assumptions(chosen, asymptotic=bool(dependence), unseen=question.unseen)

    def rows_needed(tolerance: float) -> int | None:
        return rows_to_decide(error, variance, upper_width=upper_width, lower_width=lower_width, tolerance=tolerance)

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
    method = choose_method(question.bound_method, rows, 0.5)
    asymptotic = method == "asymptotic"
    walks = cluster_residuals(rows)
    dependence = clustered(rows, walks, unseen=question.unseen) if asymptotic else None
    bounds, _ = _bounds(rows, walks, dependence, 0.5 * question.delta, question)
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
        references=_METHODS[method].references,
        n_clusters=len(rows.size),
        max_rows_per_cluster=rows.sampling.max_rows_per_cluster,
    )


def cluster_test(rows: ClusteredRows, question: Question) -> CalibrationTest:
    """Asymptotic test of grouped rows, as they count."""
    dependence = clustered(rows, unseen=question.unseen)
    statistic, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    p_value = dependence.p_value(statistic, question.n_simulations, question.random_state)
    claim = (
        f"If every score were the true probability at that score, {n} rows with these scores in "
        f"{len(rows.size)} clusters would show a cutoff calibration error of {statistic:.4g} or more, where "
        f"{weighting(rows.cap)}, with p = {p_value:.4g} (cluster bootstrap with {question.n_simulations} "
        "simulations, asymptotic in the number of clusters)."
    )
    return CalibrationTest(
        claim=claim,
        p_value=p_value,
        statistic=statistic,
        n=n,
        method="asymptotic",
        n_simulations=question.n_simulations,
        assumptions=rows.sampling.assumptions("the method", asymptotic=True, unseen=question.unseen),
        references=("gao2017",),
        n_clusters=rows.sampling.n_units,
        max_rows_per_cluster=rows.sampling.max_rows_per_cluster,
    )


def _bounds(
    rows: ClusteredRows, walks: ClusterResiduals, dependence: Clustered | None, delta: float, question: Question
) -> tuple[Bounds, float]:
    """Bounds that each fail with probability `delta`, and how far below the error seen the lower one is, if it may be.

    The proved ones are the upper limit of Theorem 3.3, and the lower limit of Theorem 3.5 for several splits (Theorem
    2.3).
    """
    estimate, side = largest_move(rows.table, question.side).value, question.side
    if dependence:
        width = dependence.upper_width(delta)
        band = dependence.lower_width(delta, question.n_simulations, question.random_state)
        upper, lower = min(1.0, estimate + width), max(0.0, estimate - band)
        return Bounds(estimate=estimate, bound=upper, lower_bound=lower, width=width), band
    upper = max(estimate, largest_error(walks, cap=rows.cap, delta=delta, side=side))
    rng = generator_for(rows, question.random_state)
    lower = repeated_lower_bound(len(rows.size), delta, rng, partial(_lower_of_split, rows, side))
    return Bounds(estimate=estimate, bound=upper, lower_bound=lower, width=upper - estimate), estimate - lower


def _lower_of_split(rows: ClusteredRows, side: int, delta: float, rng: np.random.Generator) -> float:
    """A third of the clusters proposes an interval, the others judge it."""
    clusters = len(rows.size)
    proposes = rng.permutation(clusters) < PROPOSE * clusters
    # The interval on which the residuals of those that propose add up to most.
    mine = np.flatnonzero(proposes[rows.cluster])
    n, k = (values[mine].astype(np.float64) for values in (rows.n, rows.k))
    interval = largest_move(ScoreTable(*pool_counts(rows.score[mine], n, k)), side)
    if interval.sign == 0 or proposes.all():
        return 0.0
    inside = (rows.score > interval.low) & (rows.score <= interval.high)
    sums = interval.sign * rows.by_cluster(np.where(inside, rows.step, 0.0))[~proposes]
    size = rows.size[~proposes]
    sizes = {"rows": float(size.sum()), "squared_sizes": float(np.dot(size, size)), "clusters": len(size)}
    return max(0.0, -largest_ratio(ClusterSums.of(-sums, size), **sizes, cap=rows.cap, delta=delta))


# With fewer clusters of equal size, or fewer that count, the asymptotic statement is too wide to be useful.
LEAST_GROUPS = 5.0
_FACTORS = 1 << 21  # random factors held at a time
# A simulated path is followed between two edges only if that many standard deviations could take it to a new extreme.
_FAR = 4.0
# Simulated errors that agree with the observed one but for rounding count as reaching it.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Clustered:
    """What grouped rows tell about their own uncertainty.

    `spread` is the standard deviation of the average residual in the interval where it is largest; `correlation`, in
    [0, 1], how much of a cluster moves as one. `variance` plays the part of the mean of ``s (1 - s)``: the variance per
    row of the sum of all residuals if the scores were exactly right and rows depended on each other as they seem to.
    `shortfall` is the root of `variance` over its empirical counterpart, at least 1: large where positives are expected
    and almost none was seen. `unseen` says whether events that take hold of whole clusters are allowed for.
    """

    rows: ClusteredRows
    walks: ClusterResiduals
    spread: float
    correlation: float
    variance: float
    shortfall: float
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

    def lower_width(self, delta: float, n_simulations: int, random_state: int | np.random.Generator) -> float:
        """Width of a band for all intervals at once: true error >= empirical error - width.

        The larger of two quantiles of the range of simulated paths: of the sums of residuals of the clusters, and of
        these less their expectation. The second is the cluster bootstrap of the centred process; the first is safe
        where the clusters happen to agree. Its square and that of `hidden` are added: it takes both to see no such
        event and to be led astray by the others. An `ArgumentError` if there are fewer simulations than ``1 / delta -
        1``.
        """
        rank = math.ceil((1.0 - delta) * (n_simulations + 1) - 1e-9)
        if rank > n_simulations:
            expected = f"at least {math.ceil(1.0 / delta - 1e-9) - 1} simulations for this delta"
            raise ArgumentError(expected, f"{n_simulations}", "raise n_simulations, or choose a larger delta")
        simulated = self.simulated_errors(n_simulations, generator_for(self.rows, random_state), centred=True)
        quantile = float(np.partition(simulated, rank - 1, axis=1)[:, rank - 1].max())
        return math.hypot(round_up(quantile), self.hidden(delta))

    def p_value(self, statistic: float, n_simulations: int, random_state: int | np.random.Generator) -> float:
        """Smallest level at which the error seen is more than a simulated one and `hidden` at that level explain."""
        simulated = self.simulated_errors(n_simulations, generator_for(self.rows, random_state), centred=False)[0]

        def reached(level: int) -> bool:
            errors = np.hypot(simulated, self.hidden(min(level / (n_simulations + 1.0), 1.0)))
            return 1 + int(np.count_nonzero(errors >= statistic - _SLACK)) <= level

        # the larger the level, the less is hidden and the fewer simulations reach the rest
        level = 1 + bisect_left(range(1, n_simulations + 1), True, key=reached)
        return level / (n_simulations + 1.0)

    def simulated_errors(self, n_simulations: int, rng: np.random.Generator, *, centred: bool) -> FloatArray:
        r"""Errors that such clusters would show if the scores were exactly right, in one row, or two if `centred`.

        Ranges of :math:`\frac{1}{N} \sum_g \xi_g W_g(t)` with standard normal :math:`\xi_g`, in a second row of the
        walks of the clusters around their expectation ``m_g C(t)``, times the factor by which a sample of few clusters
        underrates its variance (Student), times `shortfall`. Where no row spoke against the score, residuals are
        enlarged to the standard deviation they should have.
        """
        rows = self.rows
        total, few, n_clusters = rows.table.total, rows.effective_clusters - 1.0, len(rows.size)
        scale = np.sqrt(few / rng.chisquare(few, n_simulations)) * self.shortfall * _few_groups(rows) / total
        wide = _wide_steps(rows)
        walks = self.walks if np.array_equal(wide, rows.step) else cluster_residuals(rows, wide)
        ranges = np.empty((1 + centred, n_simulations))
        at_once = max(1, min(n_simulations, _FACTORS // n_clusters))
        for start in range(0, n_simulations, at_once):
            report_progress("Cluster bootstrap", start / n_simulations)
            part = slice(start, min(n_simulations, start + at_once))
            xi = rng.standard_normal((part.stop - start, n_clusters))
            ranges[:, part] = _ranges(rows, wide, walks, xi, centred=centred)
        return ranges * scale


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
    seen, variance = float(np.dot(squared, moving)), float(np.dot(expected, moving))
    shortfall = math.sqrt(variance / seen) if variance > seen > 0.0 else 1.0
    spread = spread * _few_groups(rows) / total
    return Clustered(rows, walks, spread, correlation, variance / total, shortfall, unseen)


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


def _few_groups(rows: ClusteredRows) -> float:
    return math.sqrt(len(rows.size) / (len(rows.size) - 1.0))


def _wide_steps(rows: ClusteredRows) -> FloatArray:
    """Residuals of the entries; where no row spoke against the score, at least their standard deviation."""
    step = rows.step
    deviation = rows.n * np.sqrt(rows.score * (1.0 - rows.score))
    return np.where(rows.silent, np.copysign(np.maximum(np.abs(step), deviation), step), step)


def _ranges(
    rows: ClusteredRows, step: FloatArray, walks: ClusterResiduals, xi: FloatArray, *, centred: bool
) -> FloatArray:
    """Ranges of walks in which the steps of each cluster are multiplied by its number in a row of `xi`.

    The ranges of the same walks less their expectation follow in a second row if `centred`. Walks are read at the
    edges first. Between two edges a walk is followed row by row only where it could reach a new extreme: by more than
    `_FAR` of its standard deviations it hardly ever leaves the line from one to the other.
    """
    at_edge = xi @ walks.at_edge.T
    drift = np.einsum("rg,g->r", xi, rows.size)
    forms: list[tuple[FloatArray, FloatArray, FloatArray | None]] = [(at_edge, walks.between, None)]
    if centred:
        around = at_edge - drift[:, None] * walks.drift[walks.edges]
        forms.append((around, walks.centred_between, walks.drift))
    extremes = np.array([[values.max(axis=1), values.min(axis=1)] for values, _, _ in forms])
    follow = np.zeros((len(xi), len(walks.edges) + 1), dtype=bool)  # nothing before the first edge, nor after the last
    for (values, between, _), (top, bottom) in zip(forms, extremes[:, :, :, None], strict=True):
        left, right, far = values[:, :-1], values[:, 1:], _FAR * between
        follow[:, 1:-1] |= (np.maximum(left, right) + far > top) | (np.minimum(left, right) - far < bottom)
    follow[:, 1:-1] &= np.diff(walks.edges) > 1
    stops = np.append(0, rows.ends + 1)
    for i, (factor, some) in enumerate(zip(xi, follow, strict=True)):  # one at a time: its factors stay in the cache
        for begin, end in np.flatnonzero(some[1:] != some[:-1]).reshape(-1, 2):
            first, last = walks.edges[begin], walks.edges[end]
            part = slice(stops[first], stops[last])
            cumulative = factor[rows.cluster[part]]
            cumulative *= step[part]
            np.cumsum(cumulative, out=cumulative)
            if len(rows.ends) < len(step):
                cumulative = cumulative[stops[first + 1 : last + 1] - 1 - part.start]
            for extreme, (values, _, mean) in zip(extremes, forms, strict=True):
                if mean is not None:
                    cumulative = cumulative - drift[i] * (mean[first + 1 : last + 1] - mean[first])
                extreme[0, i] = max(extreme[0, i], values[i, begin] + cumulative.max())
                extreme[1, i] = min(extreme[1, i], values[i, begin] + cumulative.min())
    return np.asarray(extremes[:, 0] - extremes[:, 1])
