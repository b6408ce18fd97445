"""The lower bound is above the true error with probability at most delta; its constant is a Monte Carlo one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.certificates.widths import monotone_width
from support.counting import (
    assert_failures_within,
    assert_probability_within,
    assert_seldom,
    failure_probability,
    per_count,
)
from support.worlds import WORLDS

DELTAS = (0.2, 0.1, 0.05, 0.025, 0.01)


def deviations(n: int, pi: float, repetitions: int, rng: np.random.Generator):
    """Largest climb on [0, pi] plus largest drop on [pi, 1], or the reverse, of a uniform empirical process.

    It bounds the deviation over all intervals and all monotone maps at once, whatever the data.
    """
    u = np.sort(rng.random((repetitions, n)), axis=1)
    ranks = np.arange(n)
    points = np.empty((repetitions, 2 * n))
    points[:, 0::2], points[:, 1::2] = ranks / n - u, (ranks + 1) / n - u
    first = np.repeat(u <= pi, 2, axis=1)
    at_pi = ((u <= pi).sum(axis=1) / n - pi)[:, None]
    zero = np.zeros((repetitions, 1))
    part_one = np.hstack([zero, np.where(first, points, at_pi), at_pi])
    part_two = np.hstack([at_pi, np.where(first, at_pi, points), zero])
    return np.maximum(climb(part_one) + climb(-part_two), climb(-part_one) + climb(part_two))


def climb(paths):
    return (paths - np.minimum.accumulate(paths, axis=1)).max(axis=1)


def many_deviations(n: int, pi: float, repetitions: int):
    rng, block = np.random.default_rng([n, int(1000 * pi)]), max(1, 2_000_000 // n)
    sizes = [min(block, repetitions - start) for start in range(0, repetitions, block)]
    return np.concatenate([deviations(n, pi, size, rng) for size in sizes])


@pytest.mark.parametrize("pi", [0.5, 0.2, 0.02])
@pytest.mark.parametrize("n", [3, 10, 50, 1000])
def test_constant_bounds_the_uniform_process(n, pi):
    repetitions = 20_000 if n <= 50 else 4_000
    seen = many_deviations(n, pi, repetitions)
    for delta in DELTAS:
        assert_failures_within(int((seen > monotone_width(n, delta)).sum()), repetitions, delta)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "repetitions"), [(5, 400_000), (50, 200_000), (1000, 40_000), (10_000, 8_000)])
def test_constant_bounds_the_uniform_process_in_many_samples(n, repetitions):
    seen = many_deviations(n, 0.5, repetitions)
    for delta in DELTAS:
        assert_failures_within(int((seen > monotone_width(n, delta)).sum()), repetitions, delta)


@pytest.mark.slow
def test_constant_is_not_larger_than_it_has_to_be():
    """Found by search: coverage .955 at n = 1000, so more than 3% of the deviations are beyond it."""
    beyond = int((many_deviations(1000, 0.5, 4_000) > monotone_width(1000)).sum())
    assert beyond >= binom.ppf(1e-4, 4_000, 0.035)


def test_closed_form_bounds_the_uniform_process():
    seen = many_deviations(50, 0.5, 20_000)
    assert_failures_within(int((seen > monotone_width(50, 0.0009)).sum()), 20_000, 0.0009)


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("score", [0.0, 0.01, 0.5, 0.9])
def test_one_score_exactly(score, n):
    tables = [ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1)]
    lower = per_count(n, lambda k: certify(tables[k], confidence_level=0.8).lower_bound)
    for eta in np.linspace(0.0, 1.0, 101):
        assert_probability_within(failure_probability(n, eta, lower > abs(eta - score)), 0.2)


def failures(name: str, n: int, repetitions: int, shrink: float = 1.0):
    """Whether the bound, with its width times `shrink`, is above the true error, in each of some samples."""
    world = WORLDS[name]
    for table in world.samples(n, repetitions, np.random.default_rng([n, *name.encode()])):
        yield certify(table).estimate - shrink * monotone_width(n) > world.error


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("name", WORLDS)
def test_true_error_is_seldom_below_the_lower_bound(name, n):
    assert_seldom(failures(name, n, 120), 120, 0.05)


def test_the_bound_by_bets_is_higher_than_that_of_a_band():
    table = next(WORLDS["opposite"].samples(1000, 1, np.random.default_rng(0)))
    found = certify(table)
    assert found.lower_bound > found.estimate - monotone_width(1000)


@pytest.mark.slow
def test_large_errors_are_found():
    """Width .0911 at n = 1000, so an error of 1/4 is above .1 for sure."""
    tables = WORLDS["opposite"].samples(1000, 100, np.random.default_rng(2))
    assert all(certify(table, tolerance=0.1).verdict == "refuted" for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [0.2, 0.0])
def test_a_shrunk_bound_is_caught(shrink):
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(failures("calibrated", 1000, 300, shrink), 300, 0.05)


@pytest.mark.slow
def test_a_shrunk_constant_is_caught():
    seen = many_deviations(1000, 0.5, 4_000)
    with pytest.raises(AssertionError, match="failures in 4000"):
        assert_failures_within(int((seen > 0.9 * monotone_width(1000)).sum()), 4_000, 0.05)
