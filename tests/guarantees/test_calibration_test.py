"""Exact scores are seldom rejected, wrong ones are; and the ways in which such a test goes wrong are shown to."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import ArgumentError, ScoreTable
from calibrant.certificates import calibration_test
from calibrant.certificates.label_test import likely_outcomes
from calibrant.distributions.brownian import range_survival
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.counting import (
    assert_probability_within,
    assert_seldom,
    failure_probability,
    per_count,
)
from support.worlds import WORLDS


def mixed(n: int):
    """Certain scores, ties, rare ones and distinct ones."""
    return np.resize([0.0, 1.0, 0.5, 0.5, 0.03, 0.9, 0.317], n)


# Rows of a sample whose scores are all exact.
SCORES = {
    "one": np.array([0.3]),
    "two": np.array([0.0, 0.5]),
    "five, ties": np.array([0.2, 0.2, 0.5, 0.5, 0.5]),
    "ten, rare": np.linspace(0.001, 0.03, 10),
    "ten, half": np.full(10, 0.5),
    "twenty, mixed": mixed(20),
    "fifty, distinct": (np.arange(50) + 0.5) / 50,
    "hundred, rare and tied": np.repeat([0.002, 0.01], 50),
    "hundred, distinct": (np.arange(100) + 0.5) / 100,
    "hundred, mixed": mixed(100),
    "hundred, near certain": np.linspace(0.98, 1.0, 100),
}


@pytest.fixture(autouse=True)
def outcomes_are_listed_once(monkeypatch):
    """They depend on the scores alone, and here many samples share these."""
    listed = {}

    def once(table):
        key = (table.score.tobytes(), table.n.tobytes())
        if key not in listed:
            listed[key] = likely_outcomes(table)
        return listed[key]

    monkeypatch.setattr("calibrant.certificates.label_test.likely_outcomes", once)


def rejected(scores, n_simulations: int, level: float, repetitions: int, test=calibration_test) -> Iterator[bool]:
    """Whether exact scores are rejected, in each of some samples."""
    rng = np.random.default_rng([len(scores), n_simulations, int(1000 * scores.sum())])
    score, n = np.unique(scores, return_counts=True)
    for _ in range(repetitions):
        table = ScoreTable.from_counts(score, n, rng.binomial(n, score))
        yield test(table, n_simulations=n_simulations).p_value <= level


@pytest.mark.parametrize(("n_simulations", "level"), [(19, 0.05), (19, 0.2), (99, 0.05)])
@pytest.mark.parametrize("name", SCORES)
def test_exact_scores_are_seldom_rejected(name, n_simulations, level):
    assert_seldom(rejected(SCORES[name], n_simulations, level, 1000), 1000, level)


@pytest.mark.slow
@pytest.mark.parametrize(("n_simulations", "level"), [(19, 0.05), (99, 0.05), (99, 0.01), (99, 0.2)])
@pytest.mark.parametrize("name", SCORES)
def test_exact_scores_are_seldom_rejected_in_many_samples(name, n_simulations, level):
    assert_seldom(rejected(SCORES[name], n_simulations, level, 5_000), 5_000, level)


@pytest.mark.slow
def test_level_is_used_up_where_errors_do_not_tie():
    """An exact test that rejected much less than its level would be valid and useless."""
    count = sum(rejected(SCORES["hundred, distinct"], 19, 0.05, 4000))
    assert binom.ppf(1e-4, 4000, 0.05) <= count <= binom.ppf(1 - 1e-4, 4000, 0.05)


@pytest.mark.slow
def test_leaving_out_the_observed_error_is_caught():
    """#{c* >= c} / m instead of (1 + #) / (m + 1): with m = 20 simulations it rejects two times in 21."""

    class Wrong:
        def __init__(self, *args, n_simulations, **kwargs):
            right = calibration_test(*args, n_simulations=n_simulations, **kwargs).p_value
            self.p_value = (right * (n_simulations + 1) - 1) / n_simulations

    scores = SCORES["hundred, distinct"]
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(rejected(scores, 20, 0.05, 1500, test=Wrong), 1500, 0.05)


def p_by_limit(table: ScoreTable, variance: float) -> float:
    """With the variance to be chosen."""
    return range_survival(extremes(cumulative_residuals(table)).value * math.sqrt(table.total / variance))


def p_unsafe(table: ScoreTable) -> float:
    return p_by_limit(table, table.mean_variance)


def size_at_one_score(n: int, score: float, p_value) -> float:
    tables = [ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1)]
    return failure_probability(n, score, per_count(n, lambda k: p_value(tables[k])) <= 0.05)


@pytest.mark.parametrize("n", [50, 400])
def test_expected_variance_alone_is_unsafe_for_rare_events(n):
    """Found by search: size .116 at f = .123 / n, whatever n; the rest of a safe test's level."""
    score = 0.123 / n
    size = size_at_one_score(n, score, p_unsafe)
    assert size == pytest.approx(0.116, abs=0.001)
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(size, 0.05)
    safe = size_at_one_score(n, score, lambda t: p_by_limit(t, max(t.squared.sum() / n, t.mean_variance)))
    assert_probability_within(safe, 0.05)
    table = ScoreTable.from_counts([score], [n], [1])
    with pytest.raises(ArgumentError, match="use method='exact'"):
        calibration_test(table, method="asymptotic")
    # The chance of a single event is above .05, so no honest test rejects for it.
    assert calibration_test(table).p_value > 0.05
    assert p_unsafe(table) <= 0.05


def test_expected_variance_alone_is_unsafe_for_distinct_rare_scores():
    """Found by search: size .149 at n = 400 distinct scores near .16 / n. Counted by single events."""
    n = 400
    score = 0.16 / n * (1.0 + 1e-6 * np.arange(n))
    chance = score / (1.0 - score) * np.prod(1.0 - score)
    tables = [ScoreTable.from_counts(score, np.ones(n, dtype=int), (np.arange(n) == j).astype(int)) for j in range(n)]
    unsafe = np.array([p_unsafe(t) <= 0.05 for t in tables])
    safe = np.array([p_by_limit(t, max(t.squared.sum() / n, t.mean_variance)) <= 0.05 for t in tables])
    at_two_events = 1.0 - np.prod(1.0 - score) - chance.sum()
    assert chance[unsafe].sum() + at_two_events == pytest.approx(0.149, abs=0.002)
    assert_probability_within(chance[safe].sum() + at_two_events, 0.05)
    assert calibration_test(tables[n // 2]).p_value > 0.05


@pytest.mark.parametrize(("n", "score"), [(100, 0.5), (300, 0.1), (2600, 0.01), (1500, 0.98), (1000, 0.3)])
def test_asymptotic_test_at_one_score_exactly(n, score):
    def p_value(table):
        return calibration_test(table, method="asymptotic").p_value

    assert_probability_within(size_at_one_score(n, score, p_value), 0.05)


def rejected_by_the_limit(scores, repetitions: int) -> Iterator[bool]:
    rng = np.random.default_rng(len(scores))
    ones = np.ones(len(scores), dtype=int)
    tables = (ScoreTable.from_counts(scores, ones, (rng.random(len(scores)) < scores) * 1) for _ in range(repetitions))
    return (calibration_test(table, method="asymptotic").p_value <= 0.05 for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("high", [1.0, 0.1])
def test_asymptotic_test_at_distinct_scores(high):
    n = 150 if high == 1.0 else 600
    assert_seldom(rejected_by_the_limit(high * (np.arange(n) + 0.5) / n, 3000), 3000, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "high"), [(151, 1.0), (600, 0.1), (6000, 0.009), (5000, 1.0)])
def test_asymptotic_test_at_distinct_scores_in_many_samples(n, high):
    assert_seldom(rejected_by_the_limit(high * (np.arange(n) + 0.5) / n, 5_000), 5_000, 0.05)


WRONG = ("overconfident", "shifted", "opposite", "one atom", "ten grades")


@pytest.mark.parametrize(
    ("name", "method"),
    [("zeros and ones", "exact"), *((name, method) for name in WRONG for method in ("exact", "asymptotic"))],
)
def test_wrong_scores_are_rejected(name, method):
    """Errors of .05 and more, where 2.5 standard deviations of the walk are at most .028."""
    for table in WORLDS[name].samples(2000 if name != "shifted" else 20_000, 20, np.random.default_rng(4)):
        assert calibration_test(table, method=method, n_simulations=199).p_value <= 0.05


def test_one_impossible_row_is_enough():
    p = np.append(np.linspace(0.1, 0.9, 9), 0.0)
    y = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
    assert calibration_test(y, p).p_value > 0.05
    certain = calibration_test(np.append(np.zeros(200, dtype=int), 1), np.zeros(201))
    assert certain.p_value == 0.0
