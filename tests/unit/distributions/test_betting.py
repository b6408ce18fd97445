"""Limits by betting against brute force over all intervals (docs/theory/16-means.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from calibrant.distributions.betting import (
    betting_rate,
    fixed_rate_limit,
    largest_rise,
    predictable_limit,
    predictable_rates,
    ratio_limit,
)

DELTA = 0.05


def book(seed, n=60):
    """Sorted predictions with ties, residuals with claims, units of very different size."""
    rng = np.random.default_rng(seed)
    prediction = np.sort(rng.integers(1, 15, n) / 20)
    outcome = np.where(rng.random(n) < 0.3, rng.exponential(2.0, n), 0.0)
    unit = rng.uniform(0.1, 1.0, n) * (rng.random(n) < 0.9)
    ends = np.flatnonzero(np.append(prediction[1:] != prediction[:-1], True))
    return prediction, prediction - outcome, unit, ends, rng


def intervals(prediction):
    """Every set of rows that an interval of predictions contains, the empty one among them."""
    yield np.zeros(len(prediction), dtype=bool)
    values = np.unique(prediction)
    for i, low in enumerate(values):
        for high in values[i:]:
            yield (low <= prediction) & (prediction <= high)


def test_largest_rise_is_that_of_all_intervals():
    for seed in range(20):
        prediction, residual, _, ends, _ = book(seed)
        rise, first, stop = largest_rise(residual, ends)
        assert rise == pytest.approx(max(residual[inside].sum() for inside in intervals(prediction)), abs=1e-12)
        assert rise == pytest.approx(residual[first:stop].sum(), abs=1e-12)
    assert largest_rise(np.array([-1.0, -2.0]), np.array([0, 1])) == (0.0, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_limits_are_the_largest_errors_that_some_interval_does_not_reject(seed):
    prediction, residual, unit, ends, rng = book(seed)
    n, top = len(residual), 0.75
    rates = predictable_rates(residual, rng.permutation(n), DELTA, top, square=0.3, rows=2.0)
    assert (rates > 0.0).all()
    assert (rates < 1.0 / top).all()

    def not_rejected(log_product):
        """Largest error at which the least log product over all intervals is at most log(1 / delta)."""
        least = lambda error: min(log_product(error, inside) for inside in intervals(prediction)) + math.log(DELTA)  # noqa: E731
        return brentq(least, 0.0, 50.0, xtol=1e-13) if least(0.0) < 0.0 else 0.0

    rate = betting_rate(n, 0.3, DELTA, top)
    fixed = fixed_rate_limit(largest_rise(-np.log1p(-rate * residual), ends)[0], n, rate, DELTA)
    solved = max(
        -math.expm1((np.log1p(-rate * residual[inside]).sum() + math.log(DELTA)) / n) / rate
        for inside in intervals(prediction)
    )
    assert fixed == pytest.approx(solved, rel=1e-12)

    def ratio(error, inside):
        return np.log1p(-rates * (np.where(inside, residual, 0.0) - error * unit)).sum()

    exact = not_rejected(ratio)
    assert exact <= ratio_limit(residual, unit, ends, rates, DELTA) <= exact * (1 + 2e-6)

    def per_row(error, inside):
        return (np.log1p(-rates * np.where(inside, residual, 0.0)) - np.log1p(-rates * min(error, top))).sum()

    largest = predictable_limit(residual, ends, rates, DELTA, top)
    highest = min(per_row(top, inside) for inside in intervals(prediction))
    exact = top if highest <= -math.log(DELTA) else not_rejected(per_row)
    assert exact - 1e-12 <= largest <= exact * (1 + 1e-6)


def test_a_rate_is_made_of_earlier_rows_alone():
    rng = np.random.default_rng(0)
    residual, order = rng.normal(size=50), rng.permutation(50)
    rates = predictable_rates(residual, order, DELTA, 4.0, square=1.0, rows=3.0)
    changed = residual.copy()
    changed[order[30:]] = 100.0
    again = predictable_rates(changed, order, DELTA, 4.0, square=1.0, rows=3.0)
    np.testing.assert_array_equal(rates[order[:31]], again[order[:31]])
    assert rates[order[40]] != again[order[40]]
    assert rates[order[0]] == betting_rate(50, 1.0, DELTA, 4.0)


def test_nothing_but_the_unit_limits_a_ratio():
    residual, ends = np.array([-1.0, -2.0, 0.5]), np.arange(3)
    assert ratio_limit(residual, np.zeros(3), ends, 0.5, DELTA) == math.inf
    one, ten = (ratio_limit(residual, np.full(3, unit), ends, 0.5, DELTA) for unit in (1.0, 10.0))
    assert one == pytest.approx(10.0 * ten, rel=2e-6)
