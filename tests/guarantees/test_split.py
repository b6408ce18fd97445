"""The lower bound by splitting the rows is above the true error with probability at most delta."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ArgumentError, ScoreTable
from calibrant.cells import gathering
from calibrant.certificates import split_lower_bound
from calibrant.certificates.widths import monotone_width
from calibrant.distributions.mean_limits import mean_width
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.counting import assert_seldom
from support.worlds import WORLDS, at, spread

# What could hurt: events that are rare but weigh much, few rows, errors of nearly 0 and nearly 1.
HARD = WORLDS | {
    "all wrong": at([1.0], [1.0], [0.0]),
    "nearly all wrong": at([1.0], [1.0], [0.02]),
    "hidden positives": at([1.0], [0.0], [0.004]),
    "rare and predicted": at([0.99, 0.01], [0.01, 0.9], [0.0, 0.99]),
    "just above": spread(lambda s: s + 1e-6, high=0.99),
    "two rare sides": at([0.5, 0.5], [0.001, 0.999], [0.011, 0.989]),
}


def failures(world, n: int, repetitions: int, delta: float, seed: int):
    """Whether the bound is above the true error, in each of some samples."""
    rng = np.random.default_rng(seed)
    samples = world.samples(n, repetitions, rng)
    return (split_lower_bound(table, confidence_level=1 - delta) > world.error + 1e-12 for table in samples)


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("n", [5, 30, 300])
@pytest.mark.parametrize("name", HARD)
def test_bound_is_seldom_above_the_truth(name, n, delta):
    assert_seldom(failures(HARD[name], n, 120, delta, n), 120, delta)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100, 1000, 10_000])
@pytest.mark.parametrize("name", HARD)
def test_bound_is_seldom_above_the_truth_in_many_samples(name, n):
    assert_seldom(failures(HARD[name], n, 500, 0.05, n), 500, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_bound_by_buckets_is_seldom_above_the_truth(monkeypatch, name):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 0)
    assert_seldom(failures(HARD[name], 1000, 500, 0.2, 7), 500, 0.2)


@pytest.mark.slow
def test_one_score_is_the_hardest_world_and_uses_most_of_delta():
    # One score: no interval has to be found, so all that is lost is what the inequality loses.
    world = at([1.0], [0.5], [0.6])
    assert 3 <= sum(failures(world, 2000, 2000, 0.2, 0)) <= 400


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [0.0, 0.5])
def test_a_narrower_bound_would_be_caught(monkeypatch, shrink):
    narrow = lambda *data, **guess: shrink * mean_width(*data, **guess)  # noqa: E731
    monkeypatch.setitem(split_lower_bound.__globals__, "mean_width", narrow)
    with pytest.raises(AssertionError):
        assert_seldom(failures(at([1.0], [0.5], [0.6]), 2000, 2000, 0.05, 0), 2000, 0.05)


@pytest.mark.parametrize(
    ("name", "n", "least"),
    [("one atom", 10_000, 0.080), ("overconfident", 10_000, 0.034), ("no one at all", 100, 0.20)],
)
def test_bound_says_something(name, n, least):
    world = HARD[name]
    bounds = [split_lower_bound(table) for table in world.samples(n, 50, np.random.default_rng(1))]
    assert np.mean(bounds) > least


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one atom", "overconfident", "ten grades", "zeros and ones", "opposite", "all wrong"])
def test_bound_is_higher_than_that_of_the_uniform_band(name):
    for n in (100, 1000, 10_000):
        tables = list(HARD[name].samples(n, 100, np.random.default_rng(n)))
        by_band = [max(0.0, extremes(cumulative_residuals(t)).value - monotone_width(n)) for t in tables]
        assert np.mean([split_lower_bound(t) for t in tables]) >= np.mean(by_band)


def test_bound_does_not_depend_on_the_order_of_rows_but_on_the_seed():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2000)
    y = rng.uniform(size=2000) < p**2
    order = rng.permutation(2000)
    one, other = ScoreTable.from_scores(y, p), ScoreTable.from_scores(y[order], p[order])
    assert split_lower_bound(one) == split_lower_bound(other) > 0.0
    assert split_lower_bound(one, random_state=1) != split_lower_bound(one)


def test_few_or_agreeing_rows_give_no_bound():
    assert split_lower_bound(ScoreTable.from_scores([1], [0.5])) == 0.0
    assert split_lower_bound(ScoreTable.from_scores([1, 0] * 50, [1.0, 0.0] * 50)) == 0.0


def test_rows_or_their_table():
    y, p = np.tile([0, 1, 1, 1, 0], 400), np.tile([0.2, 0.2, 0.9, 0.3, 0.3], 400)
    w = np.tile([1, 2], 1_000)
    found = split_lower_bound(y, p, count=w, confidence_level=0.9, random_state=3)
    table = ScoreTable.from_scores(y, p, count=w)
    assert found == split_lower_bound(table, confidence_level=0.9, random_state=3) > 0.0
    words = split_lower_bound(
        np.where(y, "yes", "no"), p, count=w, pos_label="yes", confidence_level=0.9, random_state=3
    )
    assert words == found


@pytest.mark.parametrize("seed", ["a", -1, 0.5])
def test_no_seed(seed):
    with pytest.raises(ArgumentError, match="random_state"):
        split_lower_bound([0, 1], [0.2, 0.7], random_state=seed)
