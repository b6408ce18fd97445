"""What recalibration could truly save is above the saving bound with probability at most delta."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.decisions import expected_cost
from support.counting import (
    assert_probability_within,
    assert_seldom,
    failure_probability,
    per_count,
    worst_failure_probability,
)
from support.worlds import WORLDS

METHODS = ("default", "asymptotic")


def decided(table: ScoreTable, tau: float, delta: float, method: str):
    """The library's answer at costs tau and 1 - tau, which add up to 1."""
    return expected_cost(
        table, false_positive_cost=tau, false_negative_cost=1.0 - tau, confidence_level=1 - delta, method=method
    )


@cache
def decisions(score: float, n: int, tau: float, delta: float, method: str):
    """What the library says for each number of positives among n rows at one score."""
    return [decided(ScoreTable.from_counts([score], [n], [k]), tau, delta, method) for k in range(n + 1)]


def bounds(score: float, n: int, tau: float, delta: float, method: str):
    found = decisions(score, n, tau, delta, method)
    return per_count(n, lambda k: found[k].saving_bound)


def side_of_loss(score: float, tau: float) -> int:
    """At one score, acting loses if the rate is below tau, and not acting if it is above: by their distance."""
    return -1 if score >= tau else 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200])
def test_no_rate_at_one_score_is_missed_too_often(n, delta, method):
    """Costs tau and 1 - tau: with one score the truth is the distance of the rate from tau, on the losing side."""
    for score, tau in ((1.0, 1.0), (0.0, 0.5), (0.5, 0.5), (0.9, 0.25), (0.0, 0.02), (0.98, 0.98), (0.0, 1e-4)):
        found = bounds(score, n, tau, delta, method)
        worst = worst_failure_probability(found, tau, sides=(side_of_loss(score, tau),))
        assert_probability_within(worst, delta)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [500, 1000, 3000])
def test_no_rate_at_one_score_is_missed_too_often_in_large_samples(n, method):
    for score, tau in ((1.0, 1.0), (0.607, 0.607), (0.0, 0.02), (0.98, 0.98)):
        found = bounds(score, n, tau, 0.05, method)
        assert_probability_within(worst_failure_probability(found, tau, sides=(side_of_loss(score, tau),)), 0.05)


# Worst cases of the normal bound found by search: score and tau, true rate, n.
WORST_NORMAL = [(1.0, 0.935, 50), (0.607, 0.560, 1000)]


@pytest.mark.parametrize(("tau", "eta", "n"), WORST_NORMAL)
def test_worst_cases_found_by_search(tau, eta, n):
    """Half of delta is spent on the upper limit of the cost, the other half is used up here, or nearly."""
    failed = bounds(tau, n, tau, 0.1, "asymptotic") < tau - eta
    assert 0.01 <= failure_probability(n, eta, failed) <= 0.1


@pytest.mark.slow
def test_the_normal_bound_without_its_rare_event_term_is_caught():
    """Score and threshold 1 and a rate of 1 - 1/n: coverage .63 without the term in 1 / n."""
    for n in (20, 200, 2000):
        eta = 1.0 - 1.0 / n
        safe = bounds(1.0, n, 1.0, 0.05, "asymptotic")
        naive = safe - np.log(40.0) / n
        assert_probability_within(failure_probability(n, eta, safe < 1.0 - eta), 0.05)
        assert 1.0 - failure_probability(n, eta, naive < 1.0 - eta) == pytest.approx(0.63, abs=0.02)
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(failure_probability(n, eta, naive < 1.0 - eta), 0.05)


def failures(name: str, n: int, tau: float, repetitions: int, method: str, shrink: float = 1.0):
    """Whether the bound, with what it adds times `shrink`, is below the truth, in each of some samples."""
    world = WORLDS[name]
    truth = world.saving(tau)
    for table in world.samples(n, repetitions, np.random.default_rng([n, *name.encode()])):
        found = decided(table, tau, 0.05, method)
        yield found.saving + shrink * (found.saving_bound - found.saving) < truth


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", WORLDS)
def test_true_saving_is_seldom_above_the_bound(name, n, method):
    for tau in (0.05, 0.5, 0.8):
        assert_seldom(failures(name, n, tau, 150, method), 150, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("name", WORLDS)
def test_true_saving_is_seldom_above_the_bound_in_many_samples(name, n, method):
    for tau in (0.01, 0.05, 0.5, 0.8):
        assert_seldom(failures(name, n, tau, 250, method), 250, 0.05)


def test_true_savings_of_the_worlds():
    """Closed forms: overconfident scores at .75 lose the integral of .15 - .6 t over the scores from .75 to 1."""
    assert WORLDS["opposite"].saving(0.5) == pytest.approx(1 / 8, abs=1e-5)
    assert WORLDS["one atom"].saving(0.55) == pytest.approx(0.05)
    assert WORLDS["one atom"].saving(0.5) == 0.0
    assert WORLDS["calibrated"].saving(0.3) == 0.0


def test_bounds_say_something():
    """Hoeffding's inequality has sqrt(log(40) / (2 n)) = .0136 at n = 10,000; where positives are rare, far less."""
    table = next(WORLDS["rare, calibrated"].samples(10_000, 1, np.random.default_rng(0)))
    assert decided(table, 0.05, 0.05, "asymptotic").saving_bound < 0.003
    assert decided(table, 0.05, 0.05, "default").saving_bound < 0.004


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [0.3, 0.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_shrunk_bound_is_caught(method, shrink):
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(failures("one atom", 1000, 0.55, 300, method, shrink), 300, 0.05)
    found = decisions(0.5, 200, 0.5, 0.05, method)
    shrunk = per_count(200, lambda k: found[k].saving + shrink * (found[k].saving_bound - found[k].saving))
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_failure_probability(shrunk, 0.5, sides=(-1,)), 0.05)
