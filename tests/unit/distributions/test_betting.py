"""Rates and the interval that does best against bets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.distributions.mean_of_bets import betting_rate, concave_root, largest_rise, predictable_rates

DELTA = 0.05


def test_largest_rise_is_that_of_all_intervals():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prediction, values = np.sort(rng.integers(0, 12, 40)), rng.normal(size=40)
        ends = np.flatnonzero(np.append(prediction[1:] != prediction[:-1], True))
        rise, first, stop = largest_rise(values, ends)
        sums = [values[(low <= prediction) & (prediction <= high)].sum() for low in range(12) for high in range(12)]
        assert rise == pytest.approx(max(sums), abs=1e-12)
        assert rise == pytest.approx(values[first:stop].sum(), abs=1e-12)
    assert largest_rise(np.array([-1.0, -2.0]), np.array([0, 1])) == (0.0, 0, 0)


def test_a_rate_is_made_of_earlier_rows_alone():
    rng = np.random.default_rng(0)
    residual, order = rng.normal(size=50), rng.permutation(50)
    rates = predictable_rates(residual, order, DELTA, 4.0)
    assert (rates > 0.0).all()
    assert (rates < 0.25).all()
    changed = residual.copy()
    changed[order[30:]] = 100.0
    again = predictable_rates(changed, order, DELTA, 4.0)
    np.testing.assert_array_equal(rates[order[:31]], again[order[:31]])
    assert rates[order[40]] != again[order[40]]
    assert rates[order[0]] == betting_rate(50, 16.0 / math.sqrt(50), DELTA, 4.0)


def test_roots_are_rounded_up():
    for target in np.linspace(0.1, 2.0, 20):
        root = concave_root(lambda x, t=target: (math.log(x / t), 1.0 / x), 1e-3, 10.0)
        assert target <= root <= target * (1.0 + 2e-5)
