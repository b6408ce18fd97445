"""Calibrated scores exceed the noise level at most once in twenty, rare events included."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.metrics import cutoff_calibration
from guarantees.counting import assert_failures_within, assert_probability_within, failure_probability, per_count
from guarantees.worlds import WORLDS, at, spread

CALIBRATED = {
    "even": WORLDS["calibrated"],
    "rare": WORLDS["rare, calibrated"],
    "few grades": at([0.2, 0.5, 0.3], [0.1, 0.4, 0.9], [0.1, 0.4, 0.9]),
    "narrow": spread(lambda s: s, low=0.45, high=0.55),
}


def exceeded(name: str, n: int, repetitions: int, shrink: float = 1.0) -> int:
    samples = CALIBRATED[name].samples(n, repetitions, np.random.default_rng([n, *name.encode()]))
    return sum(found.value > shrink * found.noise_95 for found in map(cutoff_calibration, samples))


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_scores_seldom_exceed_the_noise_level(name, n):
    assert_failures_within(exceeded(name, n, 500), 500, 0.05)


@pytest.mark.parametrize("expected", [0.01, 0.1, 0.123, 0.16, 1.0, 5.0])
@pytest.mark.parametrize("n", [20, 100, 400])
def test_rare_events_at_one_score(n, expected):
    """Exact. Theory marks mean s (1 - s) alone as BAD here: size .116 at .123 expected events."""
    rate = expected / n
    found = [cutoff_calibration(ScoreTable.from_counts([rate], [n], [k])) for k in range(n + 1)]
    above = per_count(n, lambda k: found[k].value > found[k].noise_95).astype(bool)
    assert_probability_within(failure_probability(n, rate, above), 0.05)


def test_a_shrunk_level_is_caught():
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(exceeded("even", 1000, 500, shrink=0.7), 500, 0.05)
