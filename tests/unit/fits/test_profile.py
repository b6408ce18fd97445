"""The coefficient that fits best beside a fixed one, against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from calibrant.fits.log_odds import LogisticProfile, logistic_fit

X = np.array([-6.0, -4.5, -3.0, -2.0, 0.5, 1.5])
N = np.array([200.0, 80.0, 40.0, 30.0, 6.0, 4.0])
CASES = {
    "ordinary": np.array([2.0, 2.0, 4.0, 6.0, 3.0, 3.0]),
    "two events": np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    "falling": np.array([20.0, 5.0, 2.0, 1.0, 0.0, 0.0]),
    "nearly separated": np.array([0.0, 0.0, 0.0, 1.0, 5.0, 4.0]),
}


@pytest.mark.parametrize("at", [-2.0, 0.0, 0.7, 3.0])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_the_other_coefficient_fits_best(name, column, at):
    k = CASES[name]

    def loss(free):
        logit = at + free * X if column == 0 else free + at * X
        return float((N * np.logaddexp(0, logit) - k * logit).sum())

    best = min(
        (minimize_scalar(loss, bounds=(-end, end), method="bounded", options={"xatol": 1e-11}) for end in (60, 8, 3)),
        key=lambda found: found.fun,
    )
    for start in (0.0, 40.0):
        assert LogisticProfile(X, N, k).other(column, at, start) == pytest.approx(best.x, abs=1e-5)


def test_beside_the_fitted_coefficient_it_is_the_fitted_one():
    fit = logistic_fit(np.stack([np.ones(6), X]).T, N, CASES["ordinary"])
    for column in (0, 1):
        found = LogisticProfile(X, N, CASES["ordinary"]).other(column, float(fit.coefficients[column]), 0.0)
        assert found == pytest.approx(fit.coefficients[1 - column], rel=1e-8)


def test_where_all_chances_are_next_to_certain():
    """By hand: 24 positives at -4 and 3 negatives at -3 balance where 24 exp(-(736 + c)) = 3 exp(552 + c)."""
    profile = LogisticProfile(np.array([-4.0, -3.0]), np.array([24.0, 3.0]), np.array([24.0, 0.0]))
    for start in (0.0, -700.0):
        assert profile.other(1, -184.0, start) == pytest.approx(0.5 * (np.log(8.0) - 736.0 - 552.0), rel=1e-9)


def test_where_what_speaks_for_a_value_is_nothing_beside_the_rest():
    """One positive at 740 and 1,000 negatives at 0 balance where exp(-(740 + c)) = 1000 exp(c)."""
    profile = LogisticProfile(np.array([740.0, 0.0]), np.array([1.0, 1000.0]), np.array([1.0, 0.0]))
    assert profile.other(1, 1.0, 0.0) == pytest.approx(-0.5 * (740.0 + np.log(1000.0)), rel=1e-9)
