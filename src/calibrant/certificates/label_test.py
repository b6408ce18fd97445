"""Test labels of independent rows: are their residuals larger than chance explains?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from calibrant.certificates.results import ASSUMPTIONS, CalibrationTest
from calibrant.distributions.binomial import UNLIKELY, likely_counts
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.distributions.null_distribution import calibrated_p_value
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.progress import report_progress
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT, Sampling, weighting

# Simulated errors that agree with the observed one but for rounding count as reaching it.
_SLACK = 1e-12
# Between these p-values ten times as many simulations are made, as usual levels are there: the p-value at .05 then has
# a standard error of .002 rather than .007.
_DOUBTFUL, _TIMES = (0.003, 0.13), 10
_BLOCK = 1 << 17  # values of simulated paths held at a time
_FEW = 6  # up to so many rows at one score, coins are flipped one by one, which is faster than a binomial draw

_ASSUMPTIONS = (*ASSUMPTIONS[:2], "The method and the number of rows were chosen before looking at the outcomes.")
_ASYMPTOTIC = ("gao2017", "feller1951")


def table_test(
    table: ScoreTable, method: str, n_simulations: int, random_state: int | np.random.Generator
) -> CalibrationTest:
    """Test independent rows, with arguments as in `calibration_test`."""
    need_counts(table, "a test needs rows")
    statistic, n = extremes(cumulative_residuals(table)).value, int(table.total)
    if method == "asymptotic":
        expected = table.total * table.mean_variance
        if expected < LEAST_EVENTS:
            needed = f"n times the mean of s (1 - s) to be at least {LEAST_EVENTS:g} for method 'asymptotic'"
            raise ArgumentError(needed, f"{expected:.4g}", "use method='exact', which is valid for any number of rows")
        p_value = calibrated_p_value(statistic * table.total, expected)
        return label_result(INDEPENDENT, n, statistic, p_value, "asymptotic test", method, references=_ASYMPTOTIC)
    if not table.exact:
        remedy = "exact simulation needs the single scores: pass the rows, or use method='asymptotic'"
        raise DataError("a table of single scores", "cells that hold many", remedy)
    outcomes = likely_outcomes(table)
    if outcomes is not None:
        reached = outcomes.ranges >= _labels(table).observed_range()
        # never too small but for rounding
        p_value = min(1.0, float(outcomes.chance[reached].sum()) + outcomes.left_out)
        return label_result(INDEPENDENT, n, statistic, p_value, "exact test, all outcomes counted", "exact")
    p_value, made = _labels(table).p_value(n_simulations, generator_for(table, random_state))
    procedure = f"exact test, {made} simulations of the labels"
    return label_result(INDEPENDENT, n, statistic, p_value, procedure, "exact", n_simulations=made)


def label_result(
    sampling: Sampling,
    n: int,
    statistic: float,
    p_value: float,
    procedure: str,
    method: str,
    *,
    n_simulations: int | None = None,
    assumptions: tuple[str, ...] = _ASSUMPTIONS,
    references: tuple[str, ...] = ("gao2017",),
) -> CalibrationTest:
    """Say what a test of labels shows, of independent rows or of clusters as they count."""
    clusters = "" if sampling.n_units is None else f" in {sampling.n_units} clusters"
    counting = "" if sampling.cap is None else f", where {weighting(sampling.cap)},"
    return CalibrationTest(
        claim=f"If every score were the true probability at that score, {n} rows with these scores{clusters} would "
        f"show a cutoff calibration error of {statistic:.4g} or more{counting} with p = {p_value:.4g} ({procedure}).",
        p_value=p_value,
        statistic=statistic,
        n=n,
        method=method,
        n_simulations=n_simulations,
        assumptions=assumptions,
        references=references,
        n_clusters=sampling.n_units,
        cluster_cap=sampling.cluster_cap,
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
