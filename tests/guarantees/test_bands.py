"""Bands fail with probability at most delta, and say something."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.certificates import isotonic_band
from calibrant.certificates.widths.fixed_design import cumulative_width, fixed_design_width, variance_bound
from support.counting import (
    assert_failures_within,
    assert_probability_within,
    failure_probability,
    per_count,
)
from support.worlds import WORLDS, World, at, spread

HARD = WORLDS | {
    "fair coins": spread(lambda s: np.full_like(s, 0.5)),
    "hidden positives": at([1.0], [0.0], [0.004]),
    "never predicted": at([0.5, 0.5], [0.001, 0.999], [0.011, 0.989]),
    "a step": spread(lambda s: np.where(s < 0.5, 0.02, 0.98)),
}
SIZES = [10, 100, 1000, pytest.param(10_000, marks=pytest.mark.slow)]
NONDECREASING = [name for name, world in HARD.items() if (np.diff(world.eta) >= 0.0).all()]


def walk_ranges(weight, eta, repetitions: int, rng):
    """Range of the walk of `w (y - eta)` over rows in the order of their scores, many times."""
    walk = np.cumsum(weight * ((rng.random((repetitions, len(weight))) < eta) - eta), axis=1)
    return np.maximum(walk.max(axis=1), 0.0) - np.minimum(walk.min(axis=1), 0.0)


def true_walk(table: ScoreTable, world: World):
    """True probabilities at the scores of a sample."""
    return world.eta[np.searchsorted(world.score, table.score)]


def true_error(table: ScoreTable, world: World) -> float:
    """Calibration error of these cases: the range of the sums of `n * (eta - score)`, over n."""
    walk = np.concatenate([[0.0], np.cumsum(table.n * (true_walk(table, world) - table.score))])
    return float(np.ptp(walk)) / table.total


# --- the band for the walk ------------------------------------------------------------------------------------


def exact_excess(weight, eta, width: float) -> float:
    """Probability, over all label vectors, that the range of the walk is above `width` times the total weight."""
    n = len(weight)
    labels = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    chance = np.where(labels == 1, eta, 1.0 - np.asarray(eta)).prod(axis=1)
    walk = np.cumsum(weight * (labels - eta), axis=1)
    reach = np.maximum(walk.max(axis=1), 0.0) - np.minimum(walk.min(axis=1), 0.0)
    return float(chance[reach > width * np.sum(weight) + 1e-12].sum())


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [6, 9, 12])
def test_band_of_few_rows_by_enumeration(n, delta):
    ones = np.ones(n)
    alike = [np.full(n, eta) for eta in (0.5, 0.3, 0.1, 0.02)]
    for eta in (*alike, np.linspace(0.0, 1.0, n), np.tile([0.0, 0.5], n)[:n]):
        variance = min(0.25, float((eta * (1.0 - eta)).mean()) + 1e-12)
        assert_probability_within(exact_excess(ones, eta, fixed_design_width(n, delta)), delta)
        assert_probability_within(exact_excess(ones, eta, fixed_design_width(n, delta, variance=variance)), delta)


@pytest.mark.parametrize(("n", "repetitions", "coverage"), [(100, 20_000, 0.986), (1_000, 4_000, 0.969)])
def test_coverage_where_outcomes_are_even(n, repetitions, coverage):
    """Found by search: eta = .5, distinct scores, n = 100 and 1000: .986 and .969."""
    found = walk_ranges(np.ones(n), 0.5, repetitions, np.random.default_rng(n)) <= n * fixed_design_width(n)
    error = np.sqrt(coverage * (1.0 - coverage) / repetitions)
    assert found.mean() == pytest.approx(coverage, abs=4 * error + 0.0005)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "coverage"), [(100, 0.986), (1_000, 0.969), (10_000, 0.960)])
def test_coverage_where_outcomes_are_even_in_many_samples(n, coverage):
    rng = np.random.default_rng(n)
    inside = np.concatenate([walk_ranges(np.ones(n), 0.5, 500, rng) <= n * fixed_design_width(n) for _ in range(20)])
    assert inside.mean() == pytest.approx(coverage, abs=4 * np.sqrt(coverage * (1.0 - coverage) / 10_000) + 0.001)


def test_a_narrower_band_would_be_caught():
    outside = walk_ranges(np.ones(1_000), 0.5, 2_000, np.random.default_rng(0))
    assert_failures_within(int((outside > 1_000 * fixed_design_width(1_000)).sum()), 2_000, 0.05)
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(int((outside > 0.85 * 1_000 * fixed_design_width(1_000)).sum()), 2_000, 0.05)


@pytest.mark.parametrize("score", [0.0, 0.1, 0.5, 0.97])
def test_variance_bound_at_one_score_by_enumeration(score):
    for n in (5, 30, 200):
        brier = per_count(n, lambda k, n=n: (k * (1.0 - score) ** 2 + (n - k) * score**2) / n)
        bound = np.array([variance_bound(n, value, 0.05) for value in brier])
        for eta in np.linspace(0.0, 0.5, 101):
            assert_probability_within(failure_probability(n, eta, bound < eta * (1.0 - eta) - 1e-12), 0.05)


# --- the band for a nondecreasing share -----------------------------------------------------------------------


def band_misses(world: World, table: ScoreTable, method: str, delta: float = 0.05, shrink: float = 1.0) -> bool:
    band = isotonic_band(table, confidence_level=1 - delta, method=method)
    eta = true_walk(table, world)
    below = band.rate - shrink * (band.rate - band.lower)
    above = band.rate + shrink * (band.upper - band.rate)
    return bool((eta < below - 1e-12).any() or (eta > above + 1e-12).any())


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", NONDECREASING)
def test_share_is_seldom_outside_anywhere(name, n, method):
    world = HARD[name]
    rng = np.random.default_rng([n, *name.encode()])
    failures = sum(band_misses(world, table, method) for table in world.samples(n, 30, rng))
    assert_failures_within(failures, 30, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", ["calibrated", "fair coins", "rare, calibrated", "one atom", "ten grades", "a step"])
def test_share_is_seldom_outside_anywhere_in_many_samples(name, n, method, delta):
    world = HARD[name]
    rng = np.random.default_rng([n, *name.encode()])
    failures = sum(band_misses(world, table, method, delta) for table in world.samples(n, 400, rng))
    assert_failures_within(failures, 400, delta)


def test_one_score_by_enumeration():
    for n in (1, 8, 40, 200):
        for method in ("binomial", "fixed_design") if n > 5 else ("binomial",):
            bands = [isotonic_band(ScoreTable.from_counts([0.5], [n], [k]), method=method) for k in range(n + 1)]
            low, high = (np.array([getattr(b, side)[0] for b in bands]) for side in ("lower", "upper"))
            for eta in np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), low + 1e-9, high - 1e-9]).clip(0, 1)):
                failed = (eta < low - 1e-12) | (eta > high + 1e-12)
                assert_probability_within(failure_probability(n, eta, failed), 0.05)


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
@pytest.mark.parametrize("name", ["one atom", "fair coins", "ten grades"])
def test_a_narrower_band_around_the_fit_would_be_caught(name, method):
    world = HARD[name]
    tables = world.samples(1000, 200, np.random.default_rng(0))
    failures = sum(band_misses(world, table, method, shrink=0.3) for table in tables)
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(failures, 200, 0.05)


@pytest.mark.slow
def test_a_falling_share_is_seldom_found_where_there_is_none():
    """Where the share is constant, every sample falls somewhere."""
    for method in ("binomial", "fixed_design"):
        tables = HARD["fair coins"].samples(500, 200, np.random.default_rng(0))
        assert_failures_within(sum(not isotonic_band(t, method=method).consistent for t in tables), 200, 0.05)
        tables = HARD["opposite"].samples(500, 20, np.random.default_rng(0))
        assert not any(isotonic_band(t, method=method).consistent for t in tables)


def test_band_around_the_fit_says_something():
    """Scores uniform, slope 1, half-width around the middle as bias plus noise of the best window.

    Walk: N / 2n + n w / N is least at sqrt(2 w). Binomial with 87 groups and so 2 * 3828 limits, each at 4.36 standard
    errors: N / 2n + 4.36 / 2 sqrt(N) is least at .117, for N = 780.
    """
    table = next(HARD["calibrated"].samples(10_000, 1, np.random.default_rng(0)))
    inner = (table.score > 0.3) & (table.score < 0.7)
    wide = isotonic_band(table, method="fixed_design")
    assert ((wide.upper - wide.lower)[inner] <= 1.1 * 2.0 * np.sqrt(2.0 * wide.width)).all()
    narrow = isotonic_band(table)
    assert (narrow.upper - narrow.lower)[inner].mean() < 1.05 * 2.0 * 0.117
    assert (narrow.upper - narrow.lower).mean() < 0.8 * (wide.upper - wide.lower).mean()


# --- the walk of outcomes -------------------------------------------------------------------------------------


def strays(world: World, table: ScoreTable, shrink: float = 1.0) -> bool:
    """Whether sums of outcomes stray from their means by more than the width, which is made from the rows."""
    walk = np.append(0.0, np.cumsum(table.k - table.n * true_walk(table, world)))
    return bool(np.ptp(walk) > shrink * cumulative_width(table) * table.total + 1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", HARD)
def test_walks_of_outcomes_are_covered(name, n):
    world, rng = HARD[name], np.random.default_rng([n, *name.encode()])
    failures = sum(strays(world, table) for table in world.samples(n, 30, rng))
    assert_failures_within(failures, 30, 0.05)


def test_a_smaller_width_of_walks_would_be_caught():
    world, rng = HARD["fair coins"], np.random.default_rng(0)
    failures = sum(strays(world, table, shrink=0.6) for table in world.samples(1000, 200, rng))
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(failures, 200, 0.05)
