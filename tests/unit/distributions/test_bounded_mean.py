"""Limits for the mean of bounded terms: the cases in which they are known, and the quantiles they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, multinomial

from calibrant.distributions.binomial import clopper_pearson
from calibrant.distributions.bounded_mean import PowerMeans, bounded_mean_limits
from support.counting import assert_probability_within


def limits(terms, low, high, level=0.95, n=None):
    terms = np.asarray(terms, dtype=float)
    powers = PowerMeans(*((terms**i).mean() for i in (1, 2, 3)))
    return tuple(float(v) for v in bounded_mean_limits(powers, len(terms) if n is None else n, low, high, level))


@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000])
def test_two_values_are_those_of_clopper_and_pearson(n):
    k = np.unique(np.linspace(0, n, 8).astype(int))
    share = k / n
    found = bounded_mean_limits(PowerMeans(share, share, share), n, 0.0, 1.0, 0.9)
    assert np.array(found) == pytest.approx(np.array(clopper_pearson(np.full(len(k), n), k, 0.9)), rel=1e-7, abs=1e-9)
    # on any other scale too: -3 and 2
    x = -3.0 + 5.0 * share
    moments = PowerMeans(x, 9 - 5 * share, -27 + 35 * share)
    other = bounded_mean_limits(moments, n, -3.0, 2.0, 0.9)
    assert np.array(other) == pytest.approx(-3.0 + 5.0 * np.array(found), rel=1e-6, abs=1e-6)


def test_equal_terms_leave_the_row_that_is_added():
    """Arithmetic: (1 - W) x + W high with W of the distribution Beta(1, n), whose quantile is 1 - tail ** (1 / n)."""
    weight = 1 - 0.025 ** (1 / 20)
    assert limits([0.3] * 20, -1.0, 1.0) == pytest.approx((0.3 - 1.3 * weight, 0.3 + 0.7 * weight))
    assert limits([0.0] * 20, -19.0, 1.0) == pytest.approx((-19 * weight, weight))


def test_one_row_of_three_quarters():
    """Arithmetic: from the row to the end of the range, evenly."""
    assert limits([0.75], 0.0, 1.0) == pytest.approx((0.75 * 0.025, 1 - 0.25 * 0.025))


@pytest.mark.parametrize(
    ("terms", "low", "high"),
    [
        (np.linspace(0.1, 0.6, 25), 0.0, 1.0),
        (np.repeat([0.02, 0.5, 0.9], [60, 3, 1]), 0.0, 1.0),
        (np.repeat([0.0, 1.0, -0.3], [80, 5, 10]), -0.3, 1.0),
        (np.repeat([0.0, 1.0, -4.0], [80, 2, 1]), -4.0, 1.0),
        (-np.log(np.linspace(0.05, 0.95, 40)), 0.0, 9.0),
    ],
)
def test_quantiles_of_means_weighted_at_random(terms, low, high):
    """The definition, with 100,000 draws of the weights."""
    rng = np.random.default_rng(0)
    for side, end, probability, found in zip(
        (-1, 1), (low, high), (0.025, 0.975), limits(terms, low, high), strict=True
    ):
        weights = rng.dirichlet(np.ones(len(terms) + 1), 100_000)
        means = weights @ np.append(terms, end)
        # in standard deviations further out: a gamma distribution is, where few rows are skewed to the other side
        assert -0.1 < side * (found - np.quantile(means, probability)) / means.std() < 0.5


def test_ends_of_the_range_may_be_infinite():
    terms = np.repeat([0.1, 2.0], [30, 5])
    lower, upper = limits(terms, 0.0, math.inf)
    assert upper == math.inf
    assert lower == limits(terms, 0.0, 50.0)[0]


def test_no_rows_set_no_limit():
    assert limits([0.3], -1.0, 2.0, n=0.0) == (-1.0, 2.0)
    assert limits([1.0] * 5, 0.0, 1.0)[1] == 1.0
    assert np.isnan(limits([0.3, 0.4], 0.0, 1.0, n=math.nan)).all()


def test_many_rows_are_normal():
    terms = np.random.default_rng(3).normal(0.4, 0.05, 100_000)
    half = 1.959964 * terms.std() / math.sqrt(len(terms))
    assert limits(terms, -1.0, 1.0) == pytest.approx((terms.mean() - half, terms.mean() + half), abs=0.06 * half)


@pytest.mark.parametrize("n", [3, 10, 25])
@pytest.mark.parametrize("middle", [0.1, 0.5, -2.0])
def test_no_mixture_of_three_values_is_missed_too_often(n, middle):
    """All samples are listed. Gaffke's limits are thought to hold for all distributions; no proof is known."""
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    values = np.array([0.0, middle, 1.0])
    powers = PowerMeans(*((counts @ values**i) / n for i in (1, 2, 3)))
    lower, upper = bounded_mean_limits(powers, n, values.min(), 1.0, 0.9)
    worst = 0.0
    for chances in np.random.default_rng(n).dirichlet([0.4, 0.4, 0.4], 400):
        truth = chances @ values
        likelihood = multinomial.pmf(counts, n, chances)
        worst = max(worst, likelihood[lower > truth + 1e-9].sum(), likelihood[upper < truth - 1e-9].sum())
    assert_probability_within(worst, 0.05)
    assert worst > 0.03  # and they are no wider than they have to be


def test_by_hand_for_one_event():
    """Garwood for one event: (0.0253, 5.5716), about those of Clopper and Pearson for one of 100,000."""
    share = 1e-5
    found = bounded_mean_limits(PowerMeans(share, share, share), 1e5, 0.0, 1.0, 0.95)
    assert np.array(found) * 1e5 == pytest.approx((0.0253178, 5.5716434), rel=1e-4)
    assert float(found[1]) == pytest.approx(beta.ppf(0.975, 2, 99_999), rel=1e-9)
