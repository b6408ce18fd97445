"""Bets where few events are expected, and the rule that chooses them, against docs/theory/1-upper-bound.md, 1.5."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from calibrant.distributions.mean_limits import _least, _most, _rate, betting_width, choose_bound

DELTA = 0.05


def border_of(n, delta):
    """Where the error of Berry and Esseen's theorem is four fifths of delta, in events; written again here."""
    left = 0.8 * delta - 0.3031 * 0.646 / math.sqrt(n)
    return min(1000.0, (0.3031 / left) ** 2 if left > 0.0 else math.inf)


@given(st.integers(300, 10**7), st.floats(0.0, 200.0), st.floats(0.0, 1.0), st.sampled_from([0.05, 0.025, 0.01, 1e-4]))
def test_every_expectation_within_the_limits_is_covered(n, events, between, delta):
    """Theorem 1.7: for each V that the rows do not contradict, what is right for it is among what is reported."""
    variance = min(0.25, events / n)
    choice = choose_bound(n, variance, delta)
    low, high = (limit(n, variance, 0.005 * delta) for limit in (_least, _most))
    expectation = low + between * (high - low)
    if choice == ((), 0.0):
        assert _least(n, variance, 1e-16 * delta) * n > border_of(n, delta)
    elif n * expectation <= border_of(n, delta):
        assert sum(bet.delta for bet in choice.bets) == pytest.approx(0.99 * delta)
        for times, bet in zip((1, 8), choice.bets, strict=True):
            rate = _rate(times * max(4.0, n * expectation), bet.delta)
            assert min(bet.rates) * (1 - 1e-9) <= rate <= max(bet.rates) * (1 + 1e-9)
    else:
        assert choice.spent == 0.005


@pytest.mark.parametrize(("n", "chance"), [(200, 0.4), (200, 0.01), (1_000, 0.9), (10**6, 1e-4)])
def test_limits_of_the_expectation_hold_exactly(n, chance):
    """Scores of 1/2 with this chance, and of 0 otherwise, vary most: v is a quarter of a binomial share."""
    count = np.arange(binom.ppf(1 - 1e-9, n, chance) + 2)
    limits = np.array([[limit(n, k / (4 * n), 0.01) for limit in (_least, _most)] for k in count])
    mass = binom.pmf(count, n, chance)
    assert mass[limits[:, 0] > chance / 4].sum() <= 0.01
    assert mass[limits[:, 1] < chance / 4].sum() <= 0.01


@pytest.mark.parametrize("n", [1_000, 10_000, 10**6])
def test_many_events_leave_the_bound_by_moments_as_it_was(n):
    for events in (175, 240):
        assert choose_bound(n, events / n, DELTA) == ((), 0.0)
    assert choose_bound(n, 40 / n, DELTA).spent is None


@pytest.mark.parametrize(("n", "delta"), [(299, 0.05), (10_000, 0.1), (10_000, 0.9)])
def test_few_rows_and_a_large_delta_have_no_bets(n, delta):
    assert choose_bound(n, 1e-4, delta) == ((), 0.0)


def test_an_extreme_mean_variance_has_a_bound():
    for variance in (0.0, 1e-300, 0.25, 0.25 + 1e-16):
        for n in (300, 10**12):
            choice = choose_bound(n, variance, DELTA)
            assert choice.bets or choice.spent is not None
            assert all(0.0 < rate < 1.0 for bet in choice.bets for rate in bet.rates)


def test_a_bet_without_squares_is_the_log_of_delta_at_its_rate():
    """Arithmetic: 4 events or fewer share the rate for 4, and log(1 / delta) is 3.05708 at 0.99 * 0.95 * 0.05."""
    choice = choose_bound(10_000, 0.0, DELTA)
    a = math.sqrt(2 * 3.05708 / 4)
    assert betting_width(10_000, 0.0, choice) == pytest.approx(3.05708 * (1 + 0.66 * a) / a / 10_000, rel=1e-5)


def test_many_more_events_than_predicted_are_bet_on_at_another_rate():
    choice = choose_bound(10_000, 10 / 10_000, DELTA)
    first = choice._replace(bets=choice.bets[:1])
    assert betting_width(10_000, 0.01, choice) < 0.75 * betting_width(10_000, 0.01, first)
