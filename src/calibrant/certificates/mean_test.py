"""Test whether predicted means are right: are the residuals of these rows larger than chance explains?"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np

from calibrant.certificates.clusters import need_clusters
from calibrant.certificates.label_test import SimulatedCounts, table_test
from calibrant.certificates.results import LEVEL, CalibrationTest
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.distributions.null_distribution import rotate
from calibrant.distributions.total_ratio import by_draw, level_of_range, range_p_value, tail_factor
from calibrant.errors import ArgumentError, DataError
from calibrant.table.clusters import walks_at_edges
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import write_p_value
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray, IntArray, number_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for

_WHOLE = 1e-6  # distance from a whole number that is rounding
MOST_EVENTS = 1e15  # that are counted exactly
_ASSUMPTIONS = (
    "The rows are independent of each other.",
    "The predictions were fixed before these rows were seen, and so were the method and the number of rows.",
    "Asymptotic for the self-normalised range: many rows, and outcomes of finite variance.",
)
_CLUSTERS = "The clusters are independent of each other; rows of one cluster may depend on each other."
_MANY = "Asymptotic in the number of clusters, whose totals have finite variances, none of them much larger than all."
Distribution = Literal["poisson", "binomial"]
NAMES = {"poisson": "Poisson", "binomial": "binomial"}


def mean_test(
    table: OutcomeTable,
    distribution: Distribution | None = None,
    n_simulations: int = 999,
    random_state: int | np.random.Generator = 0,
) -> CalibrationTest:
    """Test the hypothesis that outcomes predicted to be f on average are so, for every f; see `calibration_test`.

    The range of the cumulative residuals over the root of the sum of their squares is that of a Brownian motion in the
    limit, whatever the variance of each row is: no distribution is assumed, and over-dispersion does no harm. Few large
    outcomes make right predictions look too high. Unless a distribution is named, or a cap makes single outcomes small
    beside all, a limit for what was not seen is therefore taken off the range: of residuals up to the largest one below
    50,000 rows, up to twice the largest where the tail index is below 2.5, and up to three times where it is below 1.5.
    Of rows that weigh different amounts the largest outcome may be missing where weights are large, or any smallest
    one, so that what such a row could bring to either side is taken off.
    Levels and power are in docs/reference/means.md. The test of a distribution is exact for every number of rows. It
    rejects the distribution as well as the means, so counts that vary more than it says are rejected too.
    """
    if distribution is not None:
        check_choice("distribution", distribution, ("poisson", "binomial"))
    rows, clusters = table.rows, table.sampling.n_units
    if clusters is not None and distribution is not None:
        remedy = "leave `distribution` out: the test of amounts takes clusters"
        raise ArgumentError(f"independent rows, for distribution {distribution!r}", "clusters", remedy)
    factor = _tail_factor(table) if distribution is None else 0
    p_value = distribution_p_value = dispersion = made = None
    if (events := np.count_nonzero(rows.outcome)) >= LEAST_EVENTS:
        if clusters is None:
            p_value = range_p_value(rows.residual, rows.ends, _unseen(table, factor))
        else:
            p_value, made = _of_clusters(table, factor, n_simulations, random_state), n_simulations
    elif distribution is None:
        remedy = "name the `distribution` of counts, whose test is exact for any number of them"
        if rows.chances is not None:
            remedy = "bound the error with `calibrant.certify`, for any number of them"
        raise ArgumentError(f"at least {LEAST_EVENTS:g} outcomes other than 0", f"{events}", remedy)
    if distribution is not None:
        distribution_p_value, made = _distribution_p_value(table, distribution, n_simulations, random_state)
        dispersion = _dispersion(table, distribution)
    statistic = extremes(cumulative_residuals(table)).value
    unseen = ("", "", "twice ", "three times ")[factor]
    largest = "the largest outcome in any row" if table.weighting == "sample_weight" else "as large as the largest"
    less = f", less what residuals that were not seen, up to {unseen}{largest}, may add" if factor else ""
    how = "self-normalised range" if clusters is None else f"{made} rotations of the clusters"
    tests = [] if p_value is None else [f"p = {p_value:.4g} ({how}{less})"]
    within = "" if clusters is None else f" in {clusters:,} clusters"
    if distribution is not None and distribution_p_value is not None:
        tests.append(f"{write_p_value(distribution_p_value, made)} (exact test of {NAMES[distribution]} counts)")
    return CalibrationTest(
        kind="amount",
        left_out=rows.left_out,
        claim=f"If every prediction were the mean of its outcomes, {len(rows):,} rows with these predictions{within} "
        f"would show a mean calibration error of {statistic:.4g} or more with {' and '.join(tests)}.",
        p_value=math.nan if p_value is None else p_value,
        method="asymptotic",
        statistic=statistic,
        n=len(rows),
        tail_factor=factor,
        distribution=distribution,
        distribution_p_value=distribution_p_value,
        dispersion=dispersion,
        n_simulations=made,
        note=_note(distribution and NAMES[distribution], p_value, distribution_p_value, dispersion),
        n_clusters=clusters,
        assumptions=_ASSUMPTIONS if clusters is None else (_CLUSTERS, _ASSUMPTIONS[1], _MANY),
        references=("gao2017", "feller1951") if clusters is None else ("gao2017", "langsrud2005", "ibragimov2010"),
    )


def _of_clusters(table: OutcomeTable, factor: int, n_rotations: int, random_state: int | np.random.Generator) -> float:
    """P-value of the range of the cumulative residuals by rotations of the clusters.

    Another cluster may be off by so many times what the one is off that is too low by most, or as a row may be.
    """
    rows = table.rows
    assert rows.cluster is not None
    cluster = number_values(rows.cluster)
    size = np.bincount(cluster).astype(np.float64)
    need_clusters(size, "take more clusters, or bound the error with `calibrant.certify`")
    _, block, walks = walks_at_edges(rows.residual, rows.ends, cluster, len(size))
    variance = np.bincount(block, rows.residual**2, len(walks) - 1).astype(np.float64)
    rotations, total = rotate(walks, size, variance, n_rotations, generator_for(table, random_state)), float(size.sum())
    if not factor:
        return rotations.p_value()
    above, below = _unseen(table, factor)
    unseen = max(above, factor * float(walks[-1].max())), below
    return level_of_range(
        total * rotations.observed, lambda level: total * rotations.quantile(level), walks[-1], unseen
    )


def _tail_factor(table: OutcomeTable) -> int:
    """How many times the largest residual what was not seen may be."""
    rows, (low, high) = table.rows, table.limits
    if low is not None and high is not None:
        more, fewer = table.total_of(high) - rows.expected, rows.expected - table.total_of(low)
        residual, *reaches, _ = by_draw(rows.cluster, rows.residual, more, fewer)
        if residual @ residual >= LEAST_EVENTS * max(float(reach.max()) for reach in reaches) ** 2:
            return 0
    factor = tail_factor(rows.outcome)
    return factor if table.weighting != "sample_weight" and rows.cluster is None else max(1, factor)


def _unseen(table: OutcomeTable, factor: int) -> tuple[float, float]:
    """Sizes that residuals above 0 and below may have, though none was seen, so many times the largest outcome.

    Of rows that weigh the same the largest has been seen. Of others a large outcome may be missing where weights are
    large, or a small one: what one row shows may happen in each.
    """
    rows, (low, high) = table.rows, table.limits
    if not factor or table.weighting != "sample_weight":
        return factor * float(rows.residual.max()), 0.0
    each = rows.outcome / rows.weight
    most, least = factor * float(each.max()), float(each.min()) if low is None else low
    most = most if high is None else min(most, high)
    return float((most * rows.weight - rows.expected).max()), float((rows.expected - least * rows.weight).max())


def _distribution_p_value(
    table: OutcomeTable, distribution: Distribution, n_simulations: int, random_state: int | np.random.Generator
) -> tuple[float, int | None]:
    """P-value of counts that follow a distribution, and how many simulations it took."""
    rows, labels = table.rows, distribution == "binomial"
    if table.weighting == "sample_weight":
        remedy = "pass them as `exposure`, with outcomes that are totals, or leave `distribution` out"
        raise ArgumentError(f"counts of rows without weights, for distribution {distribution!r}", "weights", remedy)
    for column in (rows.outcome, rows.weight) if labels else (rows.outcome,):
        bad = np.abs(column - np.rint(column)) > _WHOLE
        if bad.any() or table.score[0] < 0.0:
            actual = f"{float(column[np.argmax(bad)])!r}" if bad.any() else f"a prediction of {table.score[0]:g}"
            expected = f"whole numbers of events{' and trials' if labels else ''}, and predictions of at least 0"
            raise DataError(f"{expected}, for distribution {distribution!r}", actual, "leave `distribution` out")
    if (most := float(max(rows.outcome.sum(), rows.weight.sum(), rows.expected.sum()))) > MOST_EVENTS:
        expected = f"at most {MOST_EVENTS:g} events in all, for distribution {distribution!r}"
        raise DataError(expected, f"{most:g}", "leave `distribution` out")
    observed = rows.add(np.rint(rows.outcome)).astype(np.int64)
    if labels:  # as many as there are trials, each with its prediction as score
        of_labels = ScoreTable.from_counts(table.score, rows.add(np.rint(rows.weight)).astype(np.int64), observed)
        test = table_test(of_labels, "default", n_simulations, random_state)
        return test.p_value, test.n_simulations
    mean = rows.add(rows.expected)  # Poisson counts at one prediction add up to one
    simulated = SimulatedCounts(mean, observed, float(mean.sum()), partial(_poisson, mean))
    return simulated.p_value(n_simulations, generator_for(table, random_state))


def _dispersion(table: OutcomeTable, distribution: Distribution) -> float | None:
    """Squared residuals over their expectation around predictions scaled to the observed total, whose level is right.

    Around those as they are, a level that is off would pass for over-dispersion.
    """
    rows = table.rows
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.expected * (rows.outcome.sum() / rows.expected.sum())
        variance = mean if distribution == "poisson" else mean * np.maximum(0.0, 1.0 - mean / rows.weight)
        ratio = float(np.square(rows.outcome - mean).sum() / variance.sum())
    return ratio if math.isfinite(ratio) else None


def _poisson(expected: FloatArray, rng: np.random.Generator, part: slice, scratch: FloatArray) -> IntArray:
    return rng.poisson(expected[part], size=scratch.shape)


def _note(
    distribution: str | None, p_value: float | None, distribution_p_value: float | None, dispersion: float | None
) -> str:
    """Say what to make of two tests of which one rejects."""
    if p_value is None or distribution_p_value is None or dispersion is None:
        return ""
    if (p_value <= LEVEL) == (distribution_p_value <= LEVEL):
        return ""
    ratio = f"in balance, squared residuals are {dispersion:.3g} times what it says"
    if distribution_p_value <= LEVEL:
        meaning = "well above 1 that is over-dispersion, near 1 the means are off"
        return f"Only the test of the {distribution} distribution rejects: {ratio} ({meaning})."
    return f"Only the test that assumes no distribution rejects; of the {distribution} one {ratio}."
