"""Few clusters: the test keeps its level, its lower bound holds, and the worse the scores the likelier it rejects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.few_clusters import RATIOS, FewClusters
from calibrant import audit
from calibrant.auditing.summary import summary
from calibrant.certificates import calibration_test, certify
from calibrant.distributions import null_distribution
from support.counting import assert_failures_within

# Worlds in which the test rejects most often, and rare events.
WORLDS = {
    "5 clusters": FewClusters(5, 0.1, 0.5),
    "8 clusters": FewClusters(8, 0.1, 0.5),
    "20 clusters": FewClusters(20, 0.1, 0.5),
    "20, half of all rows positive": FewClusters(20, 0.5, 0.5),
    "12 unequal": FewClusters(12, 0.1, 0.5, unequal=True),
    "12 unequal that count the same": FewClusters(12, 0.5, 0.5, unequal=True, alike=True),
    "rare": FewClusters(12, 0.01, 0.5),
    "rare, 50 clusters": FewClusters(50, 0.01, 0.5),
}


def rejected(world: FewClusters, samples: int) -> int:
    return int(world.judged(np.random.default_rng(5), samples, bounds=False).rejected.sum())


def check(world: FewClusters, samples: int) -> None:
    assert_failures_within(rejected(world, samples), samples, 0.05)
    for ratio in (0.6, 1.4):
        off = replace(world, ratio=ratio)
        found = off.judged(np.random.default_rng(6), samples)
        assert_failures_within(int((found.lower > off.error).sum()), samples, 0.05)


@pytest.mark.parametrize("name", ["8 clusters", "12 unequal"])
def test_the_level_is_kept_and_the_lower_bound_holds(name):
    check(WORLDS[name], 150)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_in_many_samples(name):
    check(WORLDS[name], 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_worse_the_scores_the_more_often_they_are_rejected(name):
    """Up to O:E .01 the power never falls by more than two standard errors; it fell from .8 on."""
    samples = 400
    power = np.array([rejected(replace(WORLDS[name], ratio=ratio), samples) / samples for ratio in (1.0, *RATIOS)])
    error = np.sqrt((power * (1.0 - power))[:-1] / samples + (power * (1.0 - power))[1:] / samples)
    assert (np.diff(power) >= -2.0 * error).all()
    assert power[-1] > 0.85


def sample(rng: np.random.Generator, ratio: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows of 12 clusters, and the true error."""
    world = replace(WORLDS["12 unequal"], ratio=ratio)
    positives, rows = world.draw(rng, 1)[0].ravel(), np.repeat(world.rows, len(world.score))
    y = np.concatenate([np.arange(n) < k for n, k in zip(rows, positives, strict=True)])
    cluster = np.repeat(np.arange(12), world.rows * len(world.score))
    return y * 1, np.repeat(np.tile(world.score, 12), rows), cluster, world.error


def default_failures(samples: int) -> np.ndarray:
    """Of the test, of both lower bounds, and of an audit's test and lower bound, at default arguments and seed."""
    rng, failures = np.random.default_rng(7), np.zeros(5, dtype=int)
    for _ in range(samples):
        y, p, g, _ = sample(rng)
        failures[0] += calibration_test(y, p, cluster=g).p_value <= 0.05
        y, p, g, error = sample(rng, 0.6)
        failures[1] += certify(y, p, cluster=g).lower_bound > error
        failures[2] += certify(y, p, cluster=g, method="asymptotic", confidence_level=0.975).lower_bound > error
        failures[3] += certify(y, p, cluster=g, cluster_cap=None).lower_bound > error
        failures[4] += certify(y, p, cluster=g, direction="too high").lower_bound > error
    return failures


def test_defaults_on_fresh_data():
    assert_failures_within(int(default_failures(15).max()), 15, 0.05)


@pytest.mark.slow
def test_defaults_on_much_fresh_data():
    assert_failures_within(int(default_failures(100).max()), 100, 0.05)


def test_one_p_value_by_every_way_in():
    y, p, g, _ = sample(np.random.default_rng(0), 0.7)
    every_row = {"cluster": g, "cluster_cap": None}
    found, shown = calibration_test(y, p, **every_row), audit(y, p, cluster=g)
    assert found == shown.test
    lower = certify(y, p, **every_row, method="asymptotic").lower_bound
    assert lower == shown.certificate.lower_bound
    assert (lower > 0.0) == (found.p_value <= 0.05)


def test_twelve_hospitals_that_are_half_as_often_positive():
    """A t-test of their sums has t = -12; it was p = .095, and the lower bound 0."""
    rng = np.random.default_rng(1)
    g, p = np.repeat(np.arange(12), 120), np.full(1440, 0.1)
    y = (rng.random(1440) < 0.049) * 1
    found = audit(y, p, cluster=g, tolerance=0.05)
    assert found.test.p_value == 0.001
    assert 0.03 < found.certificate_ordinary.lower_bound < 0.051
    assert "What is shown of clusters like these is an error of at least 0.0" in summary(found)
    label = [line.split()[0] for line in str(found).splitlines() if line[0] != " "][1]
    assert label == "Total"


@pytest.mark.slow
def test_narrower_rotations_are_caught(monkeypatch):
    monkeypatch.setattr(null_distribution, "_WIDER", 0.8)
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(rejected(WORLDS["20 clusters"], 2_000), 2_000, 0.05)


@pytest.mark.slow
def test_without_independent_rows_rare_events_are_rejected_too_often(monkeypatch):
    kept = null_distribution.rotate
    monkeypatch.setattr(
        "benchmarks.few_clusters.rotate", lambda walks, size, variance, *rest: kept(walks, size, 0 * variance, *rest)
    )
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(rejected(FewClusters(5, 0.01, 0.5), 1_000), 1_000, 0.05)
