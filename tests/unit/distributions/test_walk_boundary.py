"""The boundary against the distribution of every step, and what the theorem about populations needs of it."""

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.distributions.binomial import rows_without_error, walk_boundary

CASES = [
    (59, 0.05, 0.05),
    (60, 0.05, 0.05),
    (200, 0.05, 0.05),
    (200, 0.1, 0.05),
    (1_000, 0.05, 0.05),
    (777, 0.3, 0.3),
    (500, 0.97, 0.05),
    (3_000, 0.02, 1e-6),
    (5, 0.5, 0.5),
    (100, 0.2, 0.9),
    (5_000, 0.1, 0.0125),
]


def crossing(limits, rate):
    """Probability that the walk is ever at or below the limits, step by step."""
    n = len(limits) - 1
    chance, crossed = np.zeros(n + 2), 0.0
    chance[0] = 1.0
    for k in range(1, n + 1):
        chance[1:] = chance[1:] * (1.0 - rate) + chance[:-1] * rate
        chance[0] *= 1.0 - rate
        below = limits[k] + 1
        crossed += chance[:below].sum()
        chance[:below] = 0.0
    return crossed


@pytest.mark.parametrize(("n", "rate", "delta"), CASES)
def test_level_is_used_and_not_exceeded(n, rate, delta):
    boundary = walk_boundary(n, rate, delta)
    limits = boundary.allowed(np.arange(n + 1))
    exact = crossing(limits, rate)
    assert exact <= boundary.crossing <= delta
    assert boundary.crossing - exact < 1e-4 * delta
    if n >= 1_000:
        assert boundary.crossing > 0.99 * delta


@pytest.mark.parametrize(("n", "rate", "delta"), CASES)
def test_shape_that_the_theorem_needs(n, rate, delta):
    boundary = walk_boundary(n, rate, delta)
    limits = boundary.allowed(np.arange(n + 1))
    assert limits[0] == -1
    assert set(np.diff(limits).tolist()) <= {0, 1}
    assert boundary.first == np.flatnonzero(limits >= 0)[0]
    assert (limits[boundary.rows] == boundary.errors).all()


def test_more_errors_than_allowed_would_exceed_the_level():
    """One more error allowed at all of the larger numbers of rows."""
    for n, rate, delta in CASES[:6]:
        limits = walk_boundary(n, rate, delta).allowed(np.arange(n + 1))
        generous = np.where(limits >= 0, limits + 1, -1)
        assert crossing(generous, rate) > delta


@pytest.mark.parametrize("n", [1_000, 3_000])
def test_three_percent_more_errors_would_exceed_the_level(n):
    limits = walk_boundary(n, 0.05, 0.05).allowed(np.arange(n + 1))
    assert crossing(np.where(limits >= 0, np.floor(1.03 * limits), -1).astype(int), 0.05) > 0.0515


def test_no_rows_are_enough():
    assert rows_without_error(0.05, 0.05) == 59
    boundary = walk_boundary(58, 0.05, 0.05)
    assert boundary.first == 59
    assert boundary.crossing == 0.0
    assert (boundary.allowed(np.arange(59)) == -1).all()
    assert binom.cdf(0, 59, 0.05) <= 0.05 < binom.cdf(0, 58, 0.05)
    assert walk_boundary(59, 0.05, 0.05).first == 59


def test_one_row():
    assert walk_boundary(1, 0.96, 0.05).allowed([0, 1]).tolist() == [-1, 0]
    assert walk_boundary(1, 0.94, 0.05).allowed([0, 1]).tolist() == [-1, -1]


@pytest.mark.slow
def test_many_rows():
    boundary = walk_boundary(10_000_000, 0.05, 0.05)
    assert 0.0495 < boundary.crossing <= 0.05
    assert 498_000 < boundary.errors[-1] < 500_000
