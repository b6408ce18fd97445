"""How often the classical tests reject calibrated scores, and where their asymptotic distributions do not hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np
import pytest
from scipy.stats import binom, norm

from calibrant import ScoreTable
from calibrant.fits.log_odds import logistic_fit
from calibrant.metrics import (
    calibration_slope,
    hosmer_lemeshow,
    roc_auc_interval,
    spiegelhalter,
)
from support.counting import (
    assert_failures_within,
    assert_probability_within,
    assert_seldom,
    failure_probability,
    per_count,
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
TESTS = {
    "hosmer_lemeshow": hosmer_lemeshow,
    "spiegelhalter": spiegelhalter,
    "calibration_slope": calibration_slope,
}


def rejected(test, world, n: int, repetitions: int, seed: int = 0) -> Iterator[bool]:
    """Whether a test rejects, in each of some samples."""
    tables = world.samples(n, repetitions, np.random.default_rng([n, seed]))
    return (test(table).p_value <= LEVEL for table in tables)


@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize("test", TESTS)
def test_calibrated_scores_are_seldom_rejected(test, name):
    assert_seldom(rejected(TESTS[test], CALIBRATED[name], 2000, 500), 500, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize("test", TESTS)
def test_calibrated_scores_are_seldom_rejected_in_many_samples(test, name):
    """A test that rejects 8% of the time fails with probability .96, one that rejects 7% with .54."""
    assert_seldom(rejected(TESTS[test], CALIBRATED[name], 2000, 2000), 2000, LEVEL)


@pytest.mark.parametrize("test", TESTS)
def test_level_is_used_up(test):
    """A test that rejected much less than its level would be valid and useless."""
    enough = int(binom.ppf(1e-4, 500, LEVEL))
    found = (rejects for rejects in rejected(TESTS[test], CALIBRATED["narrow"], 2000, 500) if rejects)
    assert len(list(islice(found, enough))) == enough


@pytest.mark.parametrize("test", TESTS)
def test_wrong_scores_are_rejected(test):
    assert all(rejected(TESTS[test], WORLDS["overconfident"], 2000, 50))


def test_too_few_degrees_of_freedom_are_caught():
    """Counting two fitted parameters where none was fitted."""
    careless = partial(hosmer_lemeshow, in_sample=True)
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(rejected(careless, CALIBRATED["even"], 2000, 500), 500, LEVEL)


def test_a_p_value_of_one_tail_is_caught():
    class OneTail:
        def __init__(self, table):
            self.p_value = norm.sf(abs(spiegelhalter(table).statistic))

    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(rejected(OneTail, CALIBRATED["even"], 2000, 500), 500, LEVEL)


def fitted_here(table: ScoreTable) -> ScoreTable:
    """The table with the scores of a logistic regression fitted on it."""
    design = np.column_stack([np.ones(len(table)), table.score])
    logit = design @ logistic_fit(design, table.n, table.k).coefficients
    return ScoreTable.from_counts(1 / (1 + np.exp(-logit)), table.n, table.k)


@pytest.mark.slow
def test_scores_fitted_on_the_same_rows():
    """The chances follow a logistic regression, so its fit is right; two degrees of freedom are used up by it."""
    world = spread(lambda s: 1 / (1 + np.exp(1 - 3 * s)))
    tables = list(world.samples(1000, 600, np.random.default_rng(5)))
    count = sum(hosmer_lemeshow(fitted_here(table), in_sample=True).p_value <= LEVEL for table in tables)
    assert_failures_within(count, 600, LEVEL)
    assert count >= binom.ppf(1e-4, 600, LEVEL)
    careless = sum(hosmer_lemeshow(fitted_here(table)).p_value <= LEVEL for table in tables)
    assert careless < count / 1.5


def size_at_one_score(test, n: int, score: float, level: float) -> float:
    tables = [ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1)]
    return failure_probability(n, score, per_count(n, lambda k: test(tables[k]).p_value) <= level)


@pytest.mark.parametrize("test", [spiegelhalter, hosmer_lemeshow])
def test_one_event_where_few_are_expected_is_significant(test):
    """Where the limit fails: with .1 events expected, any event gives p < .01, and there is one with chance .095."""
    n, expected = 400, 0.1
    size = size_at_one_score(test, n, expected / n, 0.01)
    assert size == pytest.approx(1 - (1 - expected / n) ** n)
    with pytest.raises(AssertionError, match=r"failure probability 0\.095"):
        assert_probability_within(size, 0.01)


def test_hosmer_lemeshow_says_where_not_to_trust_it():
    """Rare events: too often significant, and the least expected number of positives is far below 5."""
    world = spread(lambda s: s, high=0.005)
    tables = list(world.samples(1000, 400, np.random.default_rng(1)))
    found = [hosmer_lemeshow(table) for table in tables]
    assert max(result.least_expected for result in found) < 1
    with pytest.raises(AssertionError, match="failures in 400"):
        assert_failures_within(sum(result.p_value <= 0.01 for result in found), 400, 0.01)


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
