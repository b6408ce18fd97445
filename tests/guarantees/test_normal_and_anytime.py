"""The normal bound keeps its probability where events are rare; the anytime bound keeps it at every moment."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.certificates.widths import anytime_width, asymptotic_width
from support.counting import (
    assert_failures_within,
    assert_probability_within,
    failure_probability,
    per_count,
    worst_failure_probability,
)
from support.worlds import WORLDS


def normal_bounds(score: float, n: int, delta: float = 0.05, without_rare_events: bool = False):
    """Bound for each number of positives among n rows at one score."""
    rest = math.log(1.0 / delta) / n if without_rare_events else 0.0

    def bound(k: int) -> float:
        return (
            certify(ScoreTable.from_counts([score], [n], [k]), confidence_level=1 - delta, method="asymptotic").bound
            - rest
        )

    return per_count(n, bound)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 300])
@pytest.mark.parametrize("score", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_normal_bound_at_one_score(score, n, delta):
    assert_probability_within(worst_failure_probability(normal_bounds(score, n, delta), score), delta)


# Found by search: true rate, n, delta, coverage, for the score 0.
@pytest.mark.parametrize(
    ("eta", "n", "delta", "coverage"),
    [(0.015, 200, 0.05, 0.951), (0.003, 1000, 0.05, 0.9504), (0.0155, 300, 0.01, 0.9908)],
)
def test_worst_cases_found_by_search(eta, n, delta, coverage):
    failed = normal_bounds(0.0, n, delta) < eta
    assert 1.0 - failure_probability(n, eta, failed) == pytest.approx(coverage, abs=6e-4)


def test_without_its_second_term_the_normal_bound_fails():
    """one positive expected, coverage at most .63; and .872 with 10 to 15 expected."""
    for n, expected in ((200, 1.0), (200, 12.0)):
        failed = normal_bounds(0.0, n, without_rare_events=True) < expected / n
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(failure_probability(n, expected / n, failed), 0.05)


@pytest.mark.parametrize("n", [100, 1000, 10_000])
@pytest.mark.parametrize("name", WORLDS)
def test_normal_bound_in_many_worlds(name, n):
    world = WORLDS[name]
    samples = world.samples(n, 300, np.random.default_rng([n, *name.encode()]))
    failures = sum(certify(table, method="asymptotic").bound < world.error for table in samples)
    assert_failures_within(failures, 300, 0.05)


MOMENTS = np.unique(np.geomspace(1, 5000, 60).astype(int))


def ever_missed(score: float, eta: float, repetitions: int, shrink: float = 1.0) -> int:
    """Samples in which the bound is below the truth at any of the moments, for one score."""
    rng, truth, missed = np.random.default_rng([int(1000 * score), int(1000 * eta)]), abs(eta - score), 0
    for _ in range(repetitions):
        k = np.cumsum(rng.random(MOMENTS[-1]) < eta)[MOMENTS - 1]
        error = np.abs(k / MOMENTS - score)
        brier = (k * (1 - score) ** 2 + (MOMENTS - k) * score**2) / MOMENTS
        # Where no interval could still be missed, the width need not be known.
        close = [i for i in range(len(MOMENTS)) if error[i] < truth]
        missed += any(error[i] + shrink * anytime_width(float(MOMENTS[i]), float(brier[i]), 0.2) < truth for i in close)
    return missed


@pytest.mark.parametrize(("score", "eta"), [(0.0, 0.3), (0.0, 0.02), (0.5, 0.6), (0.9, 0.5), (1.0, 0.95)])
def test_anytime_bound_is_seldom_ever_below_the_truth(score, eta):
    assert_failures_within(ever_missed(score, eta, 60), 60, 0.2)


def test_a_shrunk_anytime_bound_is_caught():
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(ever_missed(0.5, 0.6, 60, shrink=0.3), 60, 0.2)


def test_the_normal_bound_is_no_anytime_bound():
    """Looking at it after every row, it fails far more often than its delta."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        k = np.cumsum(rng.random(MOMENTS[-1]) < 0.6)[MOMENTS - 1]
        missed += any(
            abs(x / n - 0.5) + asymptotic_width(float(n), 0.25, 0.2) < 0.1 for x, n in zip(k, MOMENTS, strict=True)
        )
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(missed, 200, 0.2)
