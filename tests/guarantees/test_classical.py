"""How often the test of intercept and slope rejects calibrated scores, and their intervals and that of the AUC miss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from scipy.stats import binom, norm

from calibrant.metrics import calibration_slope, roc_auc_interval
from support.counting import (
    assert_probability_within,
    assert_seldom,
)
from support.worlds import WORLDS, at, spread

LEVEL = 0.05

# All of them have at least 5 expected positives and negatives in each of ten bins of 2000 rows.
CALIBRATED = {
    "even": spread(lambda s: s, low=0.03, high=0.97),
    "grades": at(np.full(9, 1 / 9), np.arange(1, 10) / 10, np.arange(1, 10) / 10),
    "narrow": spread(lambda s: s, low=0.45, high=0.55),
    "seldom": spread(lambda s: s, low=0.02, high=0.2),
}


def rejected(world, n: int, repetitions: int, seed: int = 0) -> Iterator[bool]:
    """Whether the test rejects, in each of some samples."""
    tables = world.samples(n, repetitions, np.random.default_rng([n, seed]))
    return (calibration_slope(table).p_value <= LEVEL for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_scores_are_seldom_rejected(name):
    assert_seldom(rejected(CALIBRATED[name], 2000, 500), 500, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_scores_are_seldom_rejected_in_many_samples(name):
    """A test that rejects 8% of the time fails with probability .96, one that rejects 7% with .54."""
    assert_seldom(rejected(CALIBRATED[name], 2000, 2000), 2000, LEVEL)


@pytest.mark.slow
def test_level_is_used_up():
    """A test that rejected much less than its level would be valid and useless."""
    enough = int(binom.ppf(1e-4, 500, LEVEL))
    found = (rejects for rejects in rejected(CALIBRATED["narrow"], 2000, 500) if rejects)
    assert len(list(islice(found, enough))) == enough


def test_wrong_scores_are_rejected():
    assert all(rejected(WORLDS["overconfident"], 2000, 50))


def missed_by_slope(world, n: int, repetitions: int, truth: tuple[float, ...], shrink: float = 1.0):
    """Whether each interval of `calibration_slope` leaves out the truth, as many as are given, in some samples."""
    for table in world.samples(n, repetitions, np.random.default_rng([n, 7])):
        found = calibration_slope(table)
        centres = (found.intercept, found.slope, found.calibration_intercept)
        ends = (found.intercept_interval, found.slope_interval, found.calibration_intercept_interval)
        yield [
            not centre - shrink * (centre - lower) <= value <= centre + shrink * (upper - centre)
            for centre, (lower, upper), value in zip(centres, ends, truth, strict=False)
        ]


def distorted(intercept: float, slope: float):
    """Scores whose chances have log-odds of `intercept` plus `slope` times their own."""
    return spread(lambda s: 1 / (1 + np.exp(-intercept) * (1 / s - 1) ** slope), low=0.05, high=0.95, atoms=100)


@pytest.mark.slow
@pytest.mark.parametrize("line", [(0.0, 1.0), (0.4, 0.6), (-0.5, 1.5)])
def test_intervals_of_intercept_and_slope(line):
    # calibration in the large is 0 for the first line, and belongs to a model that does not hold for the others
    truth = (*line, 0.0) if line == (0.0, 1.0) else line
    assert_seldom(missed_by_slope(distorted(*line), 500, 500, truth), 500, LEVEL)


@pytest.mark.slow
def test_short_intervals_of_the_slope_are_caught():
    missed = (slope for _, slope in missed_by_slope(distorted(0.0, 1.0), 500, 500, (0.0, 1.0), 0.7))
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(missed, 500, LEVEL)


def auc_missed(positives: int, negatives: int, distance: float, repetitions: int, shrink: float = 1.0):
    """Whether the interval leaves out the area of two normal distributions, cut into 2000 grades, in some samples."""
    rng = np.random.default_rng([positives, negatives])
    truth = norm.cdf(distance / math.sqrt(2))
    y = np.repeat([1, 0], [positives, negatives])
    for _ in range(repetitions):
        x = rng.normal(size=positives + negatives) + distance * y
        found = roc_auc_interval(y, norm.cdf(x - distance / 2))
        lower = found.value - shrink * (found.value - found.lower)
        yield not lower <= truth <= found.value + shrink * (found.upper - found.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positives", "negatives", "distance"), [(100, 100, 1.0), (30, 1000, 1.0), (50, 50, 2.5), (200, 50, 0.0)]
)
def test_interval_of_the_area(positives, negatives, distance):
    assert_seldom(auc_missed(positives, negatives, distance, 500), 500, LEVEL)


def test_short_intervals_of_the_area_are_caught():
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(auc_missed(100, 100, 1.0, 500, shrink=0.7), 500, LEVEL)


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("extra", [0, 50])
def test_lower_end_where_all_pairs_are_right(n, extra):
    """Worst case: all negatives alike, so that n positives decide. Below the end, no error has a chance of 2.5%."""
    scores = np.repeat([0.3, 0.6], [n + extra, n])
    found = roc_auc_interval((scores > 0.5).astype(int), scores)
    assert_probability_within(found.lower**n, 0.025)
    assert found.lower > (0.0 if n == 2 else 0.2) - 1e-9
