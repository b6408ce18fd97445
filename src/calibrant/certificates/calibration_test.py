"""Test perfect calibration: are the residuals of these rows larger than chance explains?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from calibrant.certificates.class_test import class_test
from calibrant.certificates.clusters import cluster_test
from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import ASSUMPTIONS, CalibrationTest
from calibrant.distributions.binomial import UNLIKELY, likely_counts
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.distributions.null_distribution import calibrated_p_value
from calibrant.errors import ArgumentError, DataError
from calibrant.table.class_checks import is_of_several, need_alone
from calibrant.table.class_scores import ClassScores, as_class_scores
from calibrant.table.clusters import Clusters, cap_clusters, cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.parameters import check_choice, check_count, check_random_state
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.progress import report_progress
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.seeding import generator_for

# Simulated errors that agree with the observed one but for rounding count as reaching it.
_SLACK = 1e-12
# Between these p-values ten times as many simulations are made, as usual levels are there: the p-value at .05 then has
# a standard error of .002 rather than .007.
_DOUBTFUL, _TIMES = (0.003, 0.13), 10
_BLOCK = 1 << 17  # values of simulated paths held at a time
_FEW = 6  # up to so many rows at one score, coins are flipped one by one, which is faster than a binomial draw

_ASSUMPTIONS = (*ASSUMPTIONS[:2], "The method and the number of rows were chosen before looking at the outcomes.")


def calibration_test(
    y_true: Labels | ClassScores,
    y_proba: Scores = None,
    *,
    classes: Sequence[Any] | None = None,
    method: Literal["default", "exact", "asymptotic"] = "default",
    n_simulations: int = 999,
    clusters: Clusters | None = None,
    max_rows_per_cluster: int | None = 1,
    guarantee: Guarantee = "ordinary",
    count: Weights = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    random_state: int | np.random.Generator = 0,
) -> CalibrationTest:
    """Test the hypothesis that a score of s means a probability of s, for every score.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both. Or those of
        several classes as in `certify_classes`: the hypothesis is then that every label is drawn from its row.
    classes : sequence of length K, optional
        Label of each column, where there are several.
    method : {"default", "exact", "asymptotic"}
        "exact", the default, counts all outcomes where they are few, such as at one score or two, and else simulates
        the labels from the scores. "asymptotic" uses the asymptotic distribution, costs nothing, and also works on a
        table with cells; where these can hide a larger error the p-value is too large, never too small. With clusters
        the test is asymptotic in their number.
    n_simulations : int
        For "exact", or with clusters: simulations of the labels, or rotations of the clusters. The smallest p-value
        that simulation can give is ``1 / (n_simulations + 1)``. For "exact" ten times as many are made if the first
        give a p-value from .003 to .13; of several classes 199 if these give .3 or more.
    clusters, max_rows_per_cluster, guarantee : optional
        As in `certify`; not with method "exact", nor with a table.
    count, pos_label, missing : optional
        As in `certify`.
    random_state : int or numpy.random.Generator
        Seeds the simulation, together with a digest of the rows. Choose it before seeing p-values: another seed gives
        another one, at .05 with a standard deviation of about .002.

    Returns
    -------
    CalibrationTest
        The p-value with everything needed to quote it; a `ClassTest` of more than two classes.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, clusters are given to method "exact", or "asymptotic" is asked without clusters
        where ``n`` times the mean of ``s (1 - s)`` is below 25.
    DataError
        If the input cannot be used, "exact" is asked for a table with cells, a row has
        no cluster, or there are too few clusters.

    See Also
    --------
    certify : Bounds how far the scores are off, rather than asking whether they are off at all.

    Notes
    -----
    "exact" rejects a true hypothesis at level a with probability at most a, for every n, ties and a single class: the
    p-value is the probability of an error of at least the observed one, or, where labels are simulated, the share of
    such errors, the observed one included (docs/theory/7-seeds.md). "asymptotic" takes the range of a Brownian
    motion, with a term for rare events (docs/theory/6-null.md); with clusters their residuals are rotated, which was
    checked by simulation from five clusters on (docs/theory/3-clusters.md). The error is that of Gao, Parameswaran &
    Peng (2017).

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> from calibrant.certificates import calibration_test
    >>> round(calibration_test(ScoreTable.from_counts([0.2, 0.8], [500, 500], [130, 400])).p_value, 3)
    0.02
    """
    check_choice("method", method, ("default", "exact", "asymptotic"))
    n_simulations = check_count("n_simulations", n_simulations, 1, "999 is a good choice")
    check_random_state(random_state)
    if isinstance(y_true, ClassScores) or classes is not None or is_of_several(y_proba):
        other = method if method == "asymptotic" else None
        remedy = "leave it out: the test of several classes is exact, and takes independent rows"
        need_alone(remedy, method=other, clusters=clusters, pos_label=pos_label)
        scores = as_class_scores(y_true, y_proba, classes=classes, count=count, missing=missing)
        if len(scores.classes) > 2:
            return class_test(scores, n_simulations, random_state).without(scores.left_out)
        test = calibration_test(
            scores.code,
            scores.need_matrix("the test")[:, 1],
            method=method,
            n_simulations=n_simulations,
            random_state=random_state,
        )
        assert isinstance(test, CalibrationTest)
        return test.without(scores.left_out)
    if clusters is not None:
        rows = cluster_rows(y_true, y_proba, clusters, count=count, pos_label=pos_label, missing=missing)
        if method != "default":
            need_cluster_method(method, ("asymptotic",))
        question = Question(guarantee=guarantee, n_simulations=n_simulations, random_state=random_state)
        left_out = rows.table.intake.left_out
        return cluster_test(cap_clusters(rows, max_rows_per_cluster), question).without(left_out)
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label, missing=missing)
    return table_test(table, method, n_simulations, random_state).without(table.intake.left_out)


def table_test(
    table: ScoreTable, method: str, n_simulations: int, random_state: int | np.random.Generator
) -> CalibrationTest:
    """Test independent rows, with arguments as in `calibration_test`."""
    need_counts(table, "a test needs rows")
    statistic = extremes(cumulative_residuals(table)).value
    if method == "asymptotic":
        expected = table.total * table.mean_variance
        if expected < LEAST_EVENTS:
            needed = f"n times the mean of s (1 - s) to be at least {LEAST_EVENTS:g} for method 'asymptotic'"
            raise ArgumentError(needed, f"{expected:.4g}", "use method='exact', which is valid for any number of rows")
        p_value = calibrated_p_value(statistic * table.total, expected)
        return _result(table, statistic, p_value, "asymptotic test", method)
    if not table.exact:
        remedy = "exact simulation needs the single scores: pass the rows, or use method='asymptotic'"
        raise DataError("a table of single scores", "cells that hold many", remedy)
    outcomes = likely_outcomes(table)
    if outcomes is not None:
        reached = outcomes.ranges >= _labels(table).observed_range()
        # never too small but for rounding
        p_value = min(1.0, float(outcomes.chance[reached].sum()) + outcomes.left_out)
        return _result(table, statistic, p_value, "exact test, all outcomes counted", "exact")
    p_value, made = _labels(table).p_value(n_simulations, generator_for(table, random_state))
    return _result(table, statistic, p_value, f"exact test, {made} simulations of the labels", "exact", made)


def _result(
    table: ScoreTable, statistic: float, p_value: float, procedure: str, method: str, n_simulations: int | None = None
) -> CalibrationTest:
    n = int(table.total)
    claim = (
        f"If every score were the true probability at that score, {n} rows with these scores would show a "
        f"cutoff calibration error of {statistic:.4g} or more with p = {p_value:.4g} ({procedure})."
    )
    return CalibrationTest(
        claim=claim,
        p_value=p_value,
        statistic=statistic,
        n=n,
        method=method,
        n_simulations=n_simulations,
        assumptions=_ASSUMPTIONS,
        references=("gao2017", "feller1951") if method == "asymptotic" else ("gao2017",),
    )


class SimulatedCounts(NamedTuple):
    """Events at each score as they were observed, and how they are drawn if every score is right."""

    expected: FloatArray
    observed: NumberArray
    total: float  # what rounding is relative to
    # Draws the events at a part of the scores, in as many series as the array has rows, which may be written to.
    draw: Callable[[np.random.Generator, slice, FloatArray], NumberArray]

    def observed_range(self) -> float:
        """Range that simulated events have to reach: the observed one, less what rounding may take away."""
        # The same code on the same scores: rounding treats observed and simulated events alike.
        observed = _walk_ranges(lambda part, _: self.observed[part], self.expected, self._scratch(1))[0]
        return float(observed) - _SLACK * self.total

    def p_value(self, first: int, rng: np.random.Generator) -> tuple[float, int]:
        """P-value, and how many simulations it took: `first`, or ten times as many where these leave it in doubt."""
        least, most = (max(1, round(end * (first + 1))) for end in _DOUBTFUL)
        reached = self._reached(first, rng)
        if not least <= reached < most:
            return (1 + reached) / (first + 1), first
        total = _TIMES * (first + 1) - 1
        reached += self._reached(total - first, rng)
        return _two_rounds(reached, (first, total), (least, most)), total

    def _reached(self, n_simulations: int, rng: np.random.Generator) -> int:
        """Count simulated errors that reach the observed one."""
        observed = self.observed_range()
        at_once = max(1, min(n_simulations, _BLOCK // len(self.expected)))
        scratch, reached = self._scratch(at_once), 0
        for start in range(0, n_simulations, at_once):
            report_progress("Simulated labels", start / n_simulations)
            ranges = _walk_ranges(partial(self.draw, rng), self.expected, scratch[: n_simulations - start])
            reached += int(np.count_nonzero(ranges >= observed))
        return reached

    def _scratch(self, rows: int) -> FloatArray:
        """Memory for a part of so many series: memory asked for anew takes longer than what is done in it."""
        return np.empty((rows, min(len(self.expected), _BLOCK)))


def _labels(table: ScoreTable) -> SimulatedCounts:
    """Positives at each score, and how they are drawn if every score is right."""
    return SimulatedCounts(table.n * table.score, table.k, table.total, partial(_simulated, table))


def _two_rounds(reached: int, simulations: tuple[int, int], doubtful: tuple[int, int]) -> float:
    """Probability that the first round of simulations ends below what is doubtful, or there with no larger a count.

    Of all simulations, if the observed outcome is one like them: any count is then as probable as any other.
    """
    from scipy.stats import hypergeom

    (first, total), (least, most) = simulations, doubtful
    counts = np.arange(reached + 1)
    doubted = hypergeom.cdf(most - 1, total, counts, first) - hypergeom.cdf(least - 1, total, counts, first)
    return least / (first + 1) + float(doubted.sum()) / (total + 1)


def _walk_ranges(
    events: Callable[[slice, FloatArray], NumberArray], expected: FloatArray, scratch: FloatArray
) -> FloatArray:
    """Range of each of several series of cumulative residuals, from their events by part of the scores."""
    last, top, bottom = np.zeros((3, len(scratch)))
    for start in range(0, len(expected), _BLOCK):
        part = slice(start, start + _BLOCK)
        cumulative = scratch[:, : len(expected[part])]
        np.subtract(events(part, cumulative), expected[part], out=cumulative)
        cumulative[:, 0] += last
        np.cumsum(cumulative, axis=1, out=cumulative)
        last = cumulative[:, -1].copy()
        np.maximum(top, cumulative.max(axis=1), out=top)
        np.minimum(bottom, cumulative.min(axis=1), out=bottom)
    return top - bottom


def _simulated(table: ScoreTable, rng: np.random.Generator, part: slice, scratch: FloatArray) -> NumberArray:
    """Positives at each score of a part of the table, in each series, if every score is right."""
    n, score, rows = table.n[part], table.score[part], len(scratch)
    drawn = rng.random(out=scratch) < score
    if n.max() == 1:
        return drawn
    positives = drawn.astype(np.int64)
    small = int(n[n <= _FEW].max(initial=1))
    for flips in range(2, small + 1):
        places = np.flatnonzero((n >= flips) & (n <= _FEW))
        positives[:, places] += rng.random((rows, len(places))) < score[places]
    places = np.flatnonzero(n > _FEW)
    positives[:, places] = rng.binomial(n[places], score[places], size=(rows, len(places)))
    return positives


_MOST = 1 << 17  # outcomes kept
_TRIED = 1 << 21  # outcomes looked at, at all scores together
_SCORES = 20  # scores that can turn out either way; beyond, hardly any outcome is likely by itself


class Outcomes(NamedTuple):
    """Ranges of the cumulative residuals, in rows, with their chances if every score is right; that of all others."""

    ranges: FloatArray
    chance: FloatArray
    left_out: float


def likely_outcomes(table: ScoreTable) -> Outcomes | None:
    """List the likely outcomes of an exact table; None if there are too many.

    Only the scores and the rows at each decide whether there are too many, not the labels.
    """
    open_ = np.flatnonzero((table.score > 0.0) & (table.score < 1.0))
    score = table.score[open_]
    # Rows can turn out in at least 2^bits ways that are about equally likely; one row at each score has fewer bits.
    bits = -(score * np.log2(score) + (1.0 - score) * np.log1p(-score) / math.log(2.0)).sum()
    if len(open_) > _SCORES or bits > math.log2(_MOST):
        return None
    position, top, bottom, left_out = np.zeros(1), np.zeros(1), np.zeros(1), 0.0
    chance, tried = np.ones(1), 0
    for s, n in zip(score.tolist(), table.n[open_].tolist(), strict=True):
        k, of_k = likely_counts(n, s)
        tried += len(k) * len(chance)
        if tried > _TRIED:
            return None
        position = (position[:, None] + (k - n * s)).ravel()
        top = np.maximum(np.repeat(top, len(k)), position)
        bottom = np.minimum(np.repeat(bottom, len(k)), position)
        chance = (chance[:, None] * of_k).ravel()
        likely = chance >= UNLIKELY
        left_out += float(chance[~likely].sum())
        position, top, bottom, chance = position[likely], top[likely], bottom[likely], chance[likely]
        if len(chance) > _MOST:
            return None
    return Outcomes(top - bottom, chance, left_out)
