"""Widths for means of bounded terms against their definitions (docs/theory/1-upper-bound.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from calibrant.distributions.mean_limits import bernstein_mean_width, chernoff_limit, line_above, mean_width

A, B = 0.3031, 0.646  # Shevtsova (2013), for identically distributed terms


def berry_esseen(n, t, sigma, reach):
    """Equation (1.1)."""
    return ndtr(-t * math.sqrt(n) / sigma) + A * (reach / sigma + B) / math.sqrt(n)


def bennett(n, t, sigma, reach):
    """Equation (1.2)."""
    w = reach * t / sigma**2
    return math.exp(-n * sigma**2 / reach**2 * ((1 + w) * math.log1p(w) - w))


def smallest_width(n, second, delta, reach):
    """The supremum that Theorem 1.3 bounds: over deviations, of the smaller of the two distances at delta."""

    def excess(t, sigma):
        return min(berry_esseen(n, t, sigma, reach), bennett(n, t, sigma, reach)) - delta

    worst = 0.0
    for sigma in math.sqrt(second) * np.geomspace(1e-3, 1.0, 1000):
        if excess(max(worst, 1e-12), sigma) > 0.0:
            worst = brentq(excess, 1e-12, 4.0, args=(sigma,))
    return worst


@pytest.mark.grid
@pytest.mark.parametrize("reach", [1.0, 1.3, 2.0])
@pytest.mark.parametrize(
    ("n", "square", "delta"),
    [
        (1000, 0.15, 0.05),
        (1000, 0.01, 0.05),
        (250, 0.25, 0.2),
        (10_000, 0.001, 0.05),
        (5_000, 0.15, 0.01),
    ],
)
def test_width_is_the_least_favourable_one_of_the_smaller_tail(n, square, delta, reach):
    second = float(chernoff_limit(square, n, 0.025 * delta))
    oracle = smallest_width(n, second, 0.975 * delta, reach)
    assert oracle * (1 - 1e-6) <= float(mean_width(n, square, delta, reach=reach)) <= oracle * 1.02


@pytest.mark.parametrize("n", [10, 1000, 1e9, 1e15])
@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.3, 1.0])
def test_chernoff_limit_is_as_far_as_it_may_be(n, mean):
    limit = float(chernoff_limit(mean, n, 0.01))
    assert mean <= limit <= 1.0
    if mean == 0.0:
        assert limit == pytest.approx(-math.expm1(math.log(0.01) / n))  # (1 - limit)^n = .01
    elif n <= 1000 and mean < 1.0:
        kl = mean * math.log(mean / limit) + (1 - mean) * math.log((1 - mean) / (1 - limit))
        assert kl == pytest.approx(math.log(100) / n)


@pytest.mark.parametrize("n", [1, 7, 1000, 1e9])
@pytest.mark.parametrize("square", [0.0, 1e-4, 0.1, 1.0])
@pytest.mark.parametrize("expected", [None, 0.03])
def test_bernstein_width_is_where_the_average_of_exponentials_is_large(n, square, expected):
    """Theorem 1.2, with the rates written out: sum of w exp(rate n width - psi(rate) n squares) = 1 / delta."""
    width = float(bernstein_mean_width(n, square, 0.05, expected=expected))
    wealth = []
    for guess, weight in ((0.12, 0.9), (0.004, 0.1)) if expected is None else ((expected, 1.0),):
        a = math.sqrt(2.0 * math.log(20.0) / (n * guess))
        rate = min(0.9, a / (1.0 + 0.66 * a))
        wealth.append(math.log(weight) + rate * n * width - (-math.log(1.0 - rate) - rate) * square * n)
    assert np.logaddexp.reduce(wealth) == pytest.approx(math.log(20.0), abs=1e-6)


@pytest.mark.parametrize("n", [30, 3000, 1e7])
def test_widths_grow_with_the_squares_and_scale_with_the_terms(n):
    squares = np.append(0.0, np.geomspace(1e-9, 1.0, 200))
    width = mean_width(n, squares, 0.05)
    assert (np.diff(width) >= 0.0).all()
    scaled = mean_width(n, 9.0 * squares, 0.05, top=3.0, largest=3.0, reach=6.0)
    assert scaled == pytest.approx(3.0 * width, rel=1e-6)


def test_the_choice_between_the_two_depends_on_rows_and_delta_alone():
    squares = np.linspace(0.01, 0.25, 30)
    assert mean_width(999, squares, 0.05).tolist() == bernstein_mean_width(999, squares, 0.05).tolist()
    assert (mean_width(1000, squares, 0.05) != bernstein_mean_width(1000, squares, 0.05)).all()


def test_lines_are_nowhere_below_the_width():
    for n, delta in ((100, 0.05), (5_000, 0.05), (10**6, 0.01)):
        nodes = 0.2 * np.arange(97) / 96
        width = mean_width(n, nodes, delta)
        fine = np.linspace(0.0, 0.2, 5_000)
        exact = mean_width(n, fine, delta)
        for near in (0.0, 0.001, 0.05, 0.2):
            slope, level = line_above(nodes, width, near)
            assert (level + slope * fine >= exact * (1 - 1e-12)).all()
        # near the place asked for, not much above it either
        slope, level = line_above(nodes, width, 0.1)
        assert level + slope * 0.1 <= 1.02 * float(mean_width(n, 0.1, delta))
