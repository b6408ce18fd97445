"""Limits of mean residuals over intervals against brute force (docs/theory/16-means.md)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

from calibrant.certificates.widths import default_width
from calibrant.distributions.interval_means import (
    DrawnRows,
    Reach,
    betting_limit,
    moment_width,
    width_limit,
)
from calibrant.distributions.mean_limits import chernoff_limit, mean_width
from calibrant.distributions.mean_of_bets import largest_rise, predictable_rates
from calibrant.table.score_table import as_table

DELTA = 0.05


def book(seed, n=60, *, clusters=False):
    """Residuals "too high" with claims, ties of predictions, units of very different size, and perhaps clusters."""
    rng = np.random.default_rng(seed)
    prediction = np.sort(rng.integers(1, 12, n) / 20)
    residual = prediction - np.where(rng.random(n) < 0.3, rng.exponential(2.0, n), 0.0)
    if not clusters:
        return DrawnRows(prediction, residual, rng.uniform(0.1, 1.0, n) * (rng.random(n) < 0.9)), rng
    cluster = np.unique(rng.integers(0, n // 3, n), return_inverse=True)[1]
    return DrawnRows(prediction, residual, rng.uniform(0.1, 1.0, cluster.max() + 1), cluster), rng


def intervals(draws):
    """Sums of every draw in each interval of predictions, the empty one among them."""
    yield np.zeros(draws.n)
    values = np.unique(draws.prediction)
    for i, low in enumerate(values):
        for high in values[i:]:
            inside = (low <= draws.prediction) & (draws.prediction <= high)
            yield draws.total(np.where(inside, draws.residual, 0.0))


def largest_allowed(draws, rates):
    """Largest ratio at which the product of some interval is at most 1 / delta."""
    sums = list(intervals(draws))

    def least(ratio):
        return min(np.log1p(-rates * (each - ratio * draws.unit)).sum() for each in sums) + math.log(DELTA)

    return brentq(least, 0.0, 100.0, xtol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_betting_allows_what_some_interval_does(seed):
    draws, rng = book(seed)
    order = rng.permutation(draws.n)
    exact = largest_allowed(draws, predictable_rates(draws.residual, order, DELTA, 0.55))
    assert exact * (1 - 1e-9) <= betting_limit(draws, order, DELTA, 0.55) <= exact * (1 + 3e-5)


@pytest.mark.parametrize("seed", range(6))
def test_betting_on_clusters_is_not_below_that(seed):
    draws, rng = book(seed, clusters=True)
    top = draws.total(np.maximum(draws.residual, 0.0)).max()
    order = rng.permutation(draws.n)
    rates = predictable_rates(draws.total(np.abs(draws.residual)), order, DELTA, top)
    exact, limit = largest_allowed(draws, rates), betting_limit(draws, order, DELTA, top)
    assert exact * (1 - 1e-9) <= limit <= 1.5 * exact


def test_clusters_of_one_row_bet_as_rows():
    draws, rng = book(3)
    alone = DrawnRows(draws.prediction, draws.residual, draws.unit, np.arange(draws.n))
    order = rng.permutation(draws.n)
    limit = betting_limit(draws, order, DELTA, 0.55)
    assert betting_limit(alone, order, DELTA, 0.55) == pytest.approx(limit, rel=3e-5)


def test_shares_of_a_square_add_up_to_it_at_least():
    draws, _ = book(1, clusters=True)
    values = np.unique(draws.prediction)
    for sums, (low, high) in zip(
        list(intervals(draws))[1:], [(a, b) for i, a in enumerate(values) for b in values[i:]], strict=True
    ):
        inside = (low <= draws.prediction) & (draws.prediction <= high)
        assert np.square(sums).sum() <= draws.squares[inside].sum() + 1e-12


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_moments_allow_what_some_interval_does(seed, clusters):
    """At least the largest ratio at which some interval is within its own width, and not much more."""
    draws, _ = book(seed, n=400, clusters=clusters)
    reach, middle = Reach(2.0, 30.0, 0.0, 1.0), float(draws.unit.mean())
    width = partial(moment_width, draws.n, 0.45, reach, middle)
    limit = width_limit(draws, width, middle)

    def most(ratio):
        of_all = []
        for sums in intervals(draws):
            squares = np.square(sums - ratio * (draws.unit - middle)).mean()
            of_all.append((sums - ratio * draws.unit).mean() + float(width(squares, ratio)))
        return max(of_all)

    exact = brentq(most, 0.0, 50.0)
    assert exact <= limit <= exact * (1.6 if clusters else 1.2)


def test_moments_of_labels_are_those_of_the_binary_certificate():
    """With a unit of 1 and residuals in [-1, 1]."""
    rng = np.random.default_rng(0)
    score = np.sort(rng.integers(1, 50, 3_000) / 50)
    label = (rng.random(3_000) < score).astype(float)
    table = as_table(label, score)
    reach = Reach(1.0, 1.0, 1.0, 1.0)
    for sign in (1.0, -1.0):
        draws = DrawnRows(score, sign * (label - score), np.ones(3_000))
        limit = width_limit(draws, partial(moment_width, 3_000, DELTA, reach, 1.0), 1.0)
        seen = largest_rise(draws.residual, draws.ends)[0] / 3_000
        assert limit <= seen + default_width(3_000, table.squared_total / 3_000, DELTA, estimate=seen) + 1e-12


def test_a_reach_below_serves_bennett_alone():
    squares = np.array([1e-4, 1e-2, 0.2])
    same = mean_width(2_000, squares, DELTA, reach=1.5)
    np.testing.assert_array_equal(mean_width(2_000, squares, DELTA, reach=1.5, below=1.5), same)
    assert (mean_width(2_000, squares, DELTA, reach=1.5, below=0.2) <= same).all()
    assert float(chernoff_limit(0.0, 2_000, DELTA)) > 0.0
