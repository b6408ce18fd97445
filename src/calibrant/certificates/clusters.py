"""Bounds and tests for rows that belong to clusters (docs/theory/3-clusters.md).

The proved bound is that of `calibrant.distributions.cluster_bound`. The asymptotic statements hold as independent
clusters, none of which counts more than a capped number of rows, become many. The test and the lower bound are one:
rotations of the clusters (`calibrant.distributions.null_distribution`), and hidden events where these are to be
allowed for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from calibrant.certificates.label_test import label_result
from calibrant.certificates.part import SHARES, DrawnPart
from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import Bounds, CalibrationTest, Method
from calibrant.certificates.sample_size import rows_to_decide
from calibrant.certificates.widths.closed_form import brownian_width
from calibrant.distributions.brownian import MEAN_RANGE
from calibrant.distributions.cluster_bound import largest_error
from calibrant.distributions.cluster_jackknife import hidden_share
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, lower_limit, of_one_row, worst_event
from calibrant.distributions.null_distribution import Rotations, rotate
from calibrant.errors import DataError
from calibrant.table.clusters import ClusteredRows, ClusterResiduals, cap_clusters, cluster_residuals
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray
from calibrant.table.seeding import generator_for

# The finite-sample bound says something from about this many clusters for each power of e in 1 / delta.
_CLUSTERS_PER_LOG = 10.0
# With more rotations, which would take too long, a lower bound of one of many parts is that of a Brownian motion.
_TOO_MANY = 5_000
_CHOSEN = "the confidence level, the tolerance and the {}"
LOWER_ASYMPTOTIC = "Lower bounds, and with them the verdict 'refuted', are asymptotic in the {} of the segment."

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
        return cap_clusters(rows, question.cluster_cap), question
    judged = cap_clusters(rows, question.cluster_cap or 1)
    return judged, replace(question, unseen_clusters=True)


def cluster_test(rows: ClusteredRows, question: Question) -> CalibrationTest:
    """Asymptotic test of grouped rows, as they count."""
    dependence = clustered(rows, unseen=question.unseen_clusters)
    statistic, n = extremes(cumulative_residuals(rows.table)).value, int(rows.n_rows)
    p_value = dependence.rotations(question.n_simulations, question.random_state).p_value()
    return label_result(
        rows.sampling,
        n,
        statistic,
        p_value,
        f"{question.n_simulations} rotations of the clusters, asymptotic in their number",
        "asymptotic",
        n_simulations=question.n_simulations,
        assumptions=rows.sampling.assumptions("the method", asymptotic=True, unseen=question.unseen_clusters),
        references=_METHODS["asymptotic"].references,
    )


class ClusterPart(DrawnPart):
    """Labels in clusters, as they count: a part alone, or one of many, of which no bound fails less often than `least`.

    The proved bounds are those of Theorem 3.3 and Theorem 2.1; with `dependence` they are asymptotic. Of many parts
    lower bounds are always asymptotic: proved ones would hide what is shown. Their upper bounds alone may allow for
    `unseen` clusters.
    """

    def __init__(
        self,
        rows: ClusteredRows,
        question: Question,
        least: float | None = None,
        *,
        unseen: bool = False,
        in_all: Agreement | None = None,
    ) -> None:
        need_clusters(rows.size)
        super().__init__(rows.table, question)
        self.rows, self.sampling, self.least = rows, rows.sampling, least
        self.unseen = unseen or question.unseen_clusters
        self.n, self.unit = int(rows.n_rows), rows.table.total
        self.observed, self.predicted = rows.table.base_rate, rows.table.mean_score
        self.method = choose_method(question.bound_method, rows, question.delta * (1.0 if least is None else SHARES[0]))
        self.proved = self.method != "asymptotic"
        self.words, self.walks = _METHODS[self.method], cluster_residuals(rows)
        measured = least is not None or not self.proved
        self.dependence = (
            clustered(rows, self.walks, unseen=question.unseen_clusters, in_all=in_all) if measured else None
        )
        self.limit = "" if self.proved else "asymptotic in the number of clusters"
        self.how = "finite-sample bound" if self.proved else "bound for clusters"
        fixed = _CHOSEN.format("method" if least is None else "segments")
        self.assumptions = rows.sampling.assumptions(fixed, asymptotic=measured, unseen=question.unseen_clusters)
        if least is not None:
            self.assumptions = (*self.assumptions, LOWER_ASYMPTOTIC.format("clusters"))

    def above(self, delta: float, *, enough: float = -math.inf) -> float:
        """See `Part`."""
        if self.dependence and not self.proved:
            return self.seen.value + replace(self.dependence, unseen=self.unseen).upper_width(delta)
        return max(self.seen.value, largest_error(self.walks, cap=self.rows.cap, delta=delta, side=self.side))

    def lower(self, delta: float) -> float:
        """See `Part`."""
        rows, table, dependence = self.rows, self.rows.table, self.dependence
        if dependence and self._simulations <= _TOO_MANY:
            return min(self.seen.value, self.rotations.lower_bound(delta, self.side))
        if dependence:
            # Scores that are wrong vary more, or less, than they say, as in bounds of independent rows.
            more = max(1.0, table.squared_total / (table.total * table.mean_variance)) if table.mean_variance else 1.0
            width = brownian_width(self.unit, more * dependence.variance, delta)
            return max(0.0, self.seen.value - math.hypot(width, dependence.hidden_beside(delta, 1.0)))
        lists = [KeyedRows(rows.score, rows.step, rows.cluster)]

        def bottom(side: int, low: float, high: float) -> float:
            return rows.cap * of_one_row(side, low, high)

        sides = (self.side,) if self.side else (1, -1)
        propose = partial(worst_event, lists, sides=sides, bottom=bottom, unit=rows.size)
        draws = DrawKinds(np.ones(len(rows.size), dtype=np.int64), rows.cap)
        lower = lower_limit(draws, delta, generator_for(rows, self.question.random_state), propose)
        return min(self.seen.value, lower)

    def rows_needed(self, bounds: Bounds, tolerance: float) -> int | None:
        """See `Part`."""
        n, delta, dependence, total = self.n, self.question.delta, self.dependence, self.rows.table.total
        band = self.rotations.width(delta) if dependence else bounds.estimate - bounds.lower_bound
        variance = dependence.variance if dependence else float(self.walks.squares.max(initial=0.0)) / total
        variance *= n / total  # per row as it counts

        def upper_width(at: int) -> float:
            return dependence.upper_width(delta, at / n) if dependence else bounds.width * math.sqrt(n / at)

        def lower_width(at: int) -> float:
            return band * math.sqrt(n / at)

        error = max(0.0, bounds.estimate - self.question.of_range * MEAN_RANGE * math.sqrt(variance / n))
        return rows_to_decide(error, variance, n, upper_width, lower_width, tolerance)

    def totals(self) -> list[FloatArray]:
        """See `Part`."""
        rows = self.rows
        return [*map(rows.by_cluster, (rows.k, rows.n * rows.score)), *[rows.size] * 3]

    @property
    def _simulations(self) -> int:
        """Rotations that a lower bound needs; one alone needs those asked for, whatever they take."""
        return 0 if self.least is None else max(self.question.n_simulations, math.ceil(1.0 / self.least))

    @cached_property
    def rotations(self) -> Rotations:
        """The clusters rotated, where bounds are asymptotic."""
        assert self.dependence is not None
        simulations = self._simulations or self.question.n_simulations
        return self.dependence.rotations(simulations, self.question.random_state)


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
    elsewhere: float = 0.0  # of the events in other parts, the share that seem to take hold of whole clusters

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
        return rotate(walks.at_edge, rows.size, np.diff(below), n_simulations, rng, self.hidden_beside)

    def hidden_beside(self, delta: float, share: float) -> float:
        """Largest error that no cluster shows, with chance `delta`, if the true error is a share of the one seen.

        As far as scores are wrong, or in other parts the rows of a cluster seem to move as one, scores do not tell how
        much rows vary. An event that none has seen then takes hold of as many rows as seem to move as one.
        """
        if self.unseen:
            return self.hidden(delta)
        return -max(share, self.elsewhere) * math.expm1(math.log(delta) / self.draws)

    @cached_property
    def draws(self) -> float:
        """How many independent rows are worth as much, as events agree within clusters (Kish's design effect).

        An event more, which takes hold of a whole cluster, is added to those seen.
        """
        events, together = agreement(self.rows)
        size, n_rows = self.rows.size / self.rows.weight, self.rows.n_rows
        return n_rows / (1.0 + (together + 1.0) / (events + 1.0) * (float(size @ size) / n_rows - 1.0))


class Agreement(NamedTuple):
    """Events, or others if these are fewer, about, and how many of them seem to take hold of whole clusters."""

    events: float = 0.0
    together: float = 0.0


def agreement(rows: ClusteredRows) -> Agreement:
    """Measure how residuals of scores that are right on average agree within clusters; rows count once."""
    table, others = rows.table, rows.size / rows.weight - 1.0
    score = table.base_rate * (rows.score / table.mean_score) if table.mean_score else rows.score
    squares = rows.by_cluster(rows.k * (1.0 - score) ** 2 + rows.negatives * score**2) / rows.weight
    pairs = float(squares @ others)
    if not pairs:
        return Agreement()
    excess = float(np.square(rows.by_cluster(rows.k - rows.n * score) / rows.weight).sum() - squares.sum())
    events = rows.n_rows * table.base_rate * (1.0 - table.base_rate)
    return Agreement(events, events * min(1.0, max(0.0, excess / pairs)))


def in_all(parts: Iterable[ClusteredRows]) -> Agreement:
    """Add up what is seen in parts."""
    return Agreement(*map(sum, zip(Agreement(), *map(agreement, parts), strict=True)))


def clustered(
    rows: ClusteredRows,
    walks: ClusterResiduals | None = None,
    *,
    unseen: bool = False,
    in_all: Agreement | None = None,
) -> Clustered:
    """Measure how rows of a cluster depend on each other; a `DataError` if there are too few clusters.

    `in_all` is what is seen in all parts, of which these rows are one.
    """
    need_clusters(rows.size)
    elsewhere = 0.0
    if in_all is not None:
        events, together = np.subtract(in_all, agreement(rows))
        elsewhere = max(0.0, together) / events if events > 1.0 else 0.0
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
    return Clustered(rows, walks, spread, correlation, float(np.dot(expected, moving)) / total, unseen, elsewhere)


_FEW = "take more clusters, finer ones if these are independent, or let a cluster count fewer rows (`cluster_cap`)"


def need_clusters(size: FloatArray, remedy: str = _FEW) -> None:
    """Raise a `DataError` if clusters of such sizes are worth too few of equal size."""
    effective = float(size.sum() ** 2 / np.dot(size, size))
    if effective < LEAST_GROUPS:
        share = size.max() / size.sum()
        raise DataError(
            f"clusters worth at least {LEAST_GROUPS:g} of equal size",
            f"{len(size)} clusters, the largest with {share:.0%} of the rows, worth {effective:.3g}",
            remedy,
        )
