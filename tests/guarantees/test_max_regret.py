"""The true largest regret over all costs is above its bound with probability at most delta."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import multinomial

from calibrant import ScoreTable
from calibrant.decisions.regret import max_regret
from support.counting import (
    assert_probability_within,
    assert_seldom,
    failure_probability,
    per_count,
    worst_failure_probability,
)
from support.worlds import WORLDS, World, at, true_largest_regret

# Sharp cases of Claim 1, rare mistakes, and scores next to each other, where every band has a chance to look bad.
HARD = {
    "only false positives": at([1.0], [1.0], [0.293]),
    "fail to act": at([1.0], [0.0], [0.707]),
    "rare and never predicted": at([1.0], [0.0], [0.005]),
    "near 1": at(np.full(5, 0.2), 1.0 - np.arange(5)[::-1] * 1e-6, np.full(5, 0.4)),
    "no information": at(np.full(50, 0.02), (np.arange(50) + 0.5) / 50, np.full(50, 0.5)),
    "right but for one in a hundred": at([0.01, 0.99], [0.99, 0.999], [0.0, 0.999]),
}
ALL = WORLDS | HARD


@cache
def bounds(score: float, n: int, delta: float):
    found = [max_regret(ScoreTable.from_counts([score], [n], [k]), confidence_level=1 - delta) for k in range(n + 1)]
    return per_count(n, lambda k: found[k].bound), per_count(n, lambda k: found[k].value)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200])
def test_no_rate_at_one_score_is_missed_too_often(n, delta):
    """At one score the largest regret is the distance of the rate from the score: an exact binomial sum."""
    for score in (0.0, 1e-4, 0.02, 0.5, 0.607, 0.98, 1.0):
        assert_probability_within(worst_failure_probability(bounds(score, n, delta)[0], score), delta)


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 1000, 3000])
def test_no_rate_at_one_score_is_missed_too_often_in_large_samples(n):
    for score in (0.0, 0.02, 0.607, 1.0):
        assert_probability_within(worst_failure_probability(bounds(score, n, 0.05)[0], score), 0.05)


def exact_failure_probability(world: World, n: int, delta: float) -> float:
    """Sum over all samples of n rows: how many positives and negatives stand at each atom."""
    chances = np.concatenate([world.mass * world.eta, world.mass * (1.0 - world.eta)])
    atoms, truth, total = len(world.mass), true_largest_regret(world), 0.0
    for split in itertools.product(range(n + 1), repeat=len(chances) - 1):
        if sum(split) <= n:
            counts = np.array([*split, n - sum(split)])
            k, rest = counts[:atoms], counts[atoms:]
            found = max_regret(ScoreTable.from_counts(world.score, k + rest, k), confidence_level=1 - delta)
            if found.bound < truth:
                total += float(multinomial.pmf(counts, n, chances))
    return total


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_several_atoms_in_all_samples(n, delta):
    """Several atoms near 1 and n = 3: every sample is listed, none is drawn."""
    for eta in (0.2, 0.293, 0.4, 0.6):
        world = at([0.5, 0.5], [1.0 - 1e-6, 1.0], [eta, eta])
        assert_probability_within(exact_failure_probability(world, n, delta), delta)
    world = at([0.5, 0.5], [0.3, 0.6], [0.6, 0.3])
    assert_probability_within(exact_failure_probability(world, n, delta), delta)


def failures(world: World, n: int, repetitions: int, delta: float = 0.05, shrink: float = 1.0):
    """Whether the bound, with what it adds times `shrink`, is below the truth, in each of some samples."""
    truth = true_largest_regret(world)
    for table in world.samples(n, repetitions, np.random.default_rng([n, len(world.mass)])):
        found = max_regret(table, confidence_level=1 - delta)
        yield found.value + shrink * (found.bound - found.value) < truth


@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", ALL)
def test_true_largest_regret_is_seldom_above_the_bound(name, n, delta):
    assert_seldom(failures(ALL[name], n, 200, delta), 200, delta)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("name", ALL)
def test_true_largest_regret_is_seldom_above_the_bound_in_many_samples(name, n):
    for delta in (0.05, 0.2, 0.5):
        assert_seldom(failures(ALL[name], n, 400, delta), 400, delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["overconfident", "several atoms", "no information", "calibrated"])
def test_costs_chosen_on_the_same_rows_are_covered(name):
    """The costs are those that look worst on the sample; their true regret is within the bound all the same."""
    world = ALL[name]

    def missed():
        for table in world.samples(300, 200, np.random.default_rng(0)):
            found = max_regret(table, confidence_level=0.8)
            threshold = found.threshold if found.rule == ">=" else np.nextafter(found.threshold, 1.0)
            yield bool(found.value) and world.saving(threshold) > found.bound

    assert_seldom(missed(), 200, 0.2)


@pytest.mark.parametrize("name", ALL)
def test_truth_is_the_largest_regret_over_thresholds(name):
    """The bands against costs of thresholds, at every atom and just above it; and c^2 / (4 + 2 c) <= M <= c."""
    world = ALL[name]
    thresholds = np.concatenate([world.score, np.nextafter(world.score, 1.0)])
    truth, c = true_largest_regret(world), world.error
    assert max(world.saving(tau) for tau in thresholds) == pytest.approx(truth, abs=1e-12)
    assert c**2 / (4 + 2 * c) - 1e-12 <= truth <= c + 1e-12


def test_true_largest_regrets_of_the_worlds():
    """Closed forms: integrals over the scores that are decided wrongly."""
    assert true_largest_regret(WORLDS["calibrated"]) == pytest.approx(0.0, abs=1e-12)
    assert true_largest_regret(WORLDS["one atom"]) == pytest.approx(0.1)
    # predictions .05 too low over [0, .95]: at every tau, .05 - u is lost at the scores u below it
    assert true_largest_regret(WORLDS["shifted"]) == pytest.approx(0.05**2 / 2 / 0.95, rel=0.06)
    # rate 1 - s: the threshold tau loses (1 - tau) (3 tau - 1) / 2 against treating none, the most at tau = 2/3
    assert true_largest_regret(WORLDS["opposite"]) == pytest.approx(1 / 6, rel=0.01)


def test_bound_says_something():
    """Hoeffding's inequality has .0122 at n = 10,000; what counts is the squares inside an interval, far fewer."""
    for name in ("calibrated", "shifted", "rare, calibrated"):
        table = next(WORLDS[name].samples(10_000, 1, np.random.default_rng(0)))
        found = max_regret(table)
        assert found.bound - found.value < 0.006
    assert max_regret(next(WORLDS["opposite"].samples(10_000, 1, np.random.default_rng(0)))).bound < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [0.3, 0.0])
def test_a_shrunk_bound_is_caught(shrink):
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(failures(WORLDS["one atom"], 1000, 300, shrink=shrink), 300, 0.05)
    bound, value = bounds(0.5, 200, 0.05)
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_failure_probability(value + shrink * (bound - value), 0.5), 0.05)


def test_a_bound_that_looks_at_one_side_only_is_caught():
    """Missing the rows on which one fails to act, the bound is the width alone where scores are too low."""
    width = math.sqrt(math.log(20.0) / 200.0)
    found = bounds(0.3, 100, 0.05)
    one_sided = np.minimum(1.0, per_count(100, lambda k: max(0.0, 0.3 - k / 100)) + width)
    assert_probability_within(failure_probability(100, 0.6, found[0] < 0.3), 0.05)
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(failure_probability(100, 0.6, one_sided < 0.3), 0.05)
