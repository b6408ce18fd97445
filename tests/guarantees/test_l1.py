"""Theorem 1 counted: no difference between its two worlds. And with repeats: unbiased, and bounds that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import fisher_exact

from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss
from calibrant.papers.theorems import l1_cannot_be_certified, l1_from_repeats
from support.counting import (
    FALSE_ALARM,
    assert_failures_within,
    per_count,
    worst_failure_probability,
)

SCORE = (np.arange(60) + 0.5) / 60


def brier_is_low(y, p):
    return brier_score(y, p) <= (p * (1 - p)).mean()


def loss_is_low(y, p):
    return log_loss(y, p) <= -(p * np.log(p) + (1 - p) * np.log1p(-p)).mean()


def error_is_low(y, p):
    return cutoff_calibration_error(y, p) <= 1.5 * math.sqrt((p * (1 - p)).mean() / len(p))


def neighbours_agree(y, p):
    return (y[1:] == y[:-1]).mean() > 0.65


def assert_same_acceptance(found):
    yes = [round(found.accepted_by_chance * found.n_trials), round(found.accepted_by_function * found.n_trials)]
    assert fisher_exact([yes, [found.n_trials - a for a in yes]]).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("verifier", [None, brier_is_low, loss_is_low, error_is_low, neighbours_agree])
def test_no_verifier_tells_the_worlds_apart(verifier):
    found = l1_cannot_be_certified(SCORE, n_trials=1000, verifier=verifier)
    assert_same_acceptance(found)
    assert (found.l1_by_chance, found.l1_by_function > 0.3) == (0.0, True)
    assert found.l1_by_function >= found.lower_bound > 0.24
    if verifier is None:
        assert found.accepted_by_chance > 0.92
    else:  # a verifier that says yes to nearly all or nearly none would show little
        assert 0.2 < found.accepted_by_chance < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("verifier", [None, brier_is_low, error_is_low, neighbours_agree])
def test_no_verifier_tells_the_worlds_apart_in_many_trials(verifier):
    assert_same_acceptance(l1_cannot_be_certified(SCORE, n_trials=20_000, verifier=verifier))


def test_a_world_that_can_be_told_apart_is_caught():
    """Were both worlds given by the distribution of their labels, and one shifted, the comparison would notice."""
    state = {"calls": 0}

    def knows_the_world(y, p):
        state["calls"] += 1
        return brier_is_low(y, p) if state["calls"] % 2 else brier_score(y, p) <= 0.9 * (p * (1 - p)).mean()

    with pytest.raises(AssertionError):
        assert_same_acceptance(l1_cannot_be_certified(SCORE, n_trials=1000, verifier=knows_the_world))


# Items with their score and probability; every sample has these items or draws from them, each equally likely.
ITEMS = {
    "exact": (np.linspace(0.02, 0.98, 40), np.linspace(0.02, 0.98, 40)),
    "labels fixed by the item": (np.resize([0.3, 0.7, 0.5], 60), np.resize([0.0, 1.0, 1.0, 0.0], 60)),
    "overconfident": (np.linspace(0.0, 1.0, 30), 0.5 + 0.5 * (np.linspace(0.0, 1.0, 30) - 0.5)),
    "rare": (np.full(25, 0.01), np.full(25, 0.03)),
    "certain and half right": (np.ones(20), np.full(20, 0.5)),
    "certain and wrong or right": (np.zeros(20), np.resize([0.0, 1.0], 20)),
    "one item": (np.array([0.8]), np.array([0.4])),
}


def samples(name: str, about: str, repetitions: int):
    """Labels, scores and items of samples, with 2 to 4 labels by item and some items with only one."""
    score, eta = ITEMS[name]
    rng = np.random.default_rng([len(score), repetitions, *name.encode()])
    for _ in range(repetitions):
        chosen = np.arange(len(score)) if about == "items" else rng.integers(len(score), size=50)
        item = np.repeat(np.arange(len(chosen)), np.resize([2, 3, 2, 4], len(chosen)))
        item = np.append(item, len(chosen))
        of_row = np.append(chosen, 0)[item]
        yield (rng.random(len(item)) < eta[of_row]).astype(int), score[of_row], item


@pytest.mark.parametrize("about", ["items", "population"])
@pytest.mark.parametrize("name", ITEMS)
def test_unbiased_and_covered(name, about):
    repetitions = 1500
    score, eta = ITEMS[name]
    truth, l1 = float(((eta - score) ** 2).mean()), float(np.abs(eta - score).mean())
    found = [l1_from_repeats(*rows, confidence_level=0.9, about=about) for rows in samples(name, about, repetitions)]
    squared = np.array([f.squared for f in found])
    assert abs(squared.mean() - truth) <= 4.0 * squared.std() / math.sqrt(repetitions) + 1e-12
    assert_failures_within(sum(f.bound < l1 - 1e-12 for f in found), repetitions, 0.1)
    assert_failures_within(sum(f.lower_bound > l1 + 1e-12 for f in found), repetitions, 0.1)
    assert_failures_within(sum(f.squared + f.squared_width < truth for f in found), repetitions, 0.1)
    assert_failures_within(sum(f.squared - f.squared_width > truth for f in found), repetitions, 0.1)


def rows_of_hits(n_items: int, hits: int):
    """At score 0, an item's term is 1 if both of its labels are 1, and 0 otherwise."""
    y = np.zeros((n_items, 2), dtype=int)
    y[:hits] = 1
    y[hits:, 0] = 1
    return y.ravel(), np.zeros(2 * n_items), np.repeat(np.arange(n_items), 2)


@pytest.mark.parametrize("about", ["items", "population"])
@pytest.mark.parametrize("n_items", [1, 5, 40])
def test_bound_on_squares_exactly(n_items, about):
    """At score 0 the terms are coins with chance eta^2, and the bound fails with an enumerated probability."""
    found = [l1_from_repeats(*rows_of_hits(n_items, h), confidence_level=0.9, about=about) for h in range(n_items + 1)]
    upper = per_count(n_items, lambda h: found[h].squared + found[h].squared_width)
    below = per_count(n_items, lambda h: 1.0 - (found[h].squared - found[h].squared_width))
    assert worst_failure_probability(upper, 0.0, sides=(1,)) <= 0.1
    assert worst_failure_probability(below, 1.0, sides=(-1,)) <= 0.1


@pytest.mark.parametrize(("about", "shrink"), [("items", 0.65), ("population", 0.52)])
def test_a_shrunk_bound_is_caught(about, shrink):
    """Hoeffding's inequality is off by a third at most where coins are fair; a range of 1.25 leaves a quarter more."""
    n_items = 40
    found = [l1_from_repeats(*rows_of_hits(n_items, h), confidence_level=0.9, about=about) for h in range(n_items + 1)]
    upper = per_count(n_items, lambda h: found[h].squared + shrink * found[h].squared_width)
    assert worst_failure_probability(upper, 0.0, sides=(1,)) > 0.1


def test_copies_of_one_measurement_only_widen():
    """The first assumption: copied labels look like probabilities of 0 and 1, so only the lower bound is lost."""
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(2000), 2)
    y = np.repeat(rng.random(2000) < p[::2], 2)
    found = l1_from_repeats(y, p, np.repeat(np.arange(2000), 2))
    assert found.squared == pytest.approx((p * (1 - p)).mean(), abs=0.02)
    assert found.bound > found.lower_bound > 0.0


def test_repeats_tell_the_two_worlds_of_theorem_1_apart():
    """What distinct items cannot show: measured twice, a label that is a function of its item shows itself."""
    rng = np.random.default_rng(1)
    score = rng.random(4000)
    item, p = np.repeat(np.arange(4000), 2), np.repeat(score, 2)
    by_chance = l1_from_repeats(rng.random(8000) < p, p, item)
    by_function = l1_from_repeats(np.repeat(rng.random(4000) < score, 2), p, item)
    assert by_chance.lower_bound == 0.0
    assert by_function.lower_bound > 0.1 > by_chance.squared + by_chance.squared_width
