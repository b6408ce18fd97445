"""Limits for the mean of bounded terms: the cases in which they are known, and the quantiles they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import ndtri
from scipy.stats import beta, multinomial

from calibrant.distributions.binomial import clopper_pearson
from calibrant.distributions.bounded_mean import (
    Draws,
    bounded_mean_limit,
    bounded_mean_limits,
    limit_excess,
    tail_deviate,
)
from support.counting import assert_probability_within


def limits(terms, low, high, level=0.95):
    terms = np.asarray(terms, dtype=float)
    return tuple(float(v) for v in bounded_mean_limits(Draws(terms, np.ones(len(terms))), low, high, level))


@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000, 10**9])
@pytest.mark.parametrize("level", [0.9, 0.9998, 1 - 2e-8])
def test_two_values_are_those_of_clopper_and_pearson(n, level):
    k = np.unique(np.concatenate([[1, n - 1], np.linspace(0, n, 8).astype(int)]))
    counts, values = np.stack([n - k, k], axis=-1), np.array([0.0, 1.0])
    found = bounded_mean_limits(Draws(np.broadcast_to(values, counts.shape), counts), 0 * k, 0 * k + 1, level)
    expected = np.array(clopper_pearson(np.full(len(k), n), k, level))
    # SciPy's upper quantiles are 1 less a tiny number where all but one are 1
    assert np.array(found) == pytest.approx(expected, rel=1e-5, abs=1e-13)
    # on any other scale too: -3 and 2
    values = np.broadcast_to([-3.0, 2.0], counts.shape)
    other = bounded_mean_limits(Draws(values, counts), 0 * k - 3, 0 * k + 2, level)
    assert np.array(other) == pytest.approx(-3.0 + 5.0 * expected, rel=1e-5, abs=1e-6)


def tail(values, t):
    """Probability that a mean weighted at random is at least t, by partial fractions, exactly; values differ."""
    values = [Fraction(float(value)) - Fraction(float(t)) for value in values]
    return sum(
        math.prod((one / (one - other) for other in values if other != one), start=Fraction(1))
        for one in values
        if one > 0
    )


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["even", "few large", "few small", "narrow", "three"])
@pytest.mark.parametrize("n", [1, 4, 40])
@pytest.mark.parametrize("end", [1.0, 30.0])
def test_tails_are_exact_at_every_level(kind, n, end):
    """Partial fractions in rational numbers, which is slow, against a sum over 41 nodes."""
    rng = np.random.default_rng(n)
    even = rng.random(n)
    values = {
        "even": even,
        "few large": even**8,
        "few small": 1 - even**8,
        "narrow": 0.5 + 0.001 * even,
        "three": rng.choice([0.0, 0.5, 0.9], n) + 0.001 * even,
    }[kind]
    draws = Draws(values, np.ones(n))
    for level in (0.5, 0.95, 0.998, 0.9998, 1 - 2e-8):
        low, high = bounded_mean_limits(draws, -end, end, level)
        for t, terms in ((high, np.append(values, end)), (-low, np.append(-values, end))):
            assert float(tail(terms, t)) == pytest.approx(0.5 - 0.5 * level, rel=1e-5)


def test_other_paths_and_finer_rules_give_the_same(monkeypatch):
    """Values of several sizes, and many rows of each: where a path leans the wrong way, the integrand may explode."""
    rng, cases = np.random.default_rng(5), []
    for _ in range(60):
        values = rng.random(4) ** rng.choice([1, 6]) if rng.random() < 0.5 else np.exp(-12 * rng.random(4))
        counts = np.floor(10 ** (rng.choice([1.5, 3, 6]) * rng.random(4)))
        level = rng.choice([0.5, 0.95, 0.9998])
        limit = float(bounded_mean_limit(1, Draws(values, counts), 1.0, level))
        cases.append((np.append(values, 1.0) - limit, np.append(counts, 1.0), ndtri(0.5 - 0.5 * level)))
    # 22 units of drift from many small values, against 30 of few large ones: an integral that leans explodes
    y = np.array([2.6033066e-04, 1.79563468e-04, -0.628605085, 1.0])
    cases.append((y, np.array([59352.0, 33474.0, 48.0, 1.0]), -1.82401))
    found = [float(tail_deviate(values, counts)) for values, counts, _ in cases]
    assert found == pytest.approx([deviate for _, _, deviate in cases], abs=3e-5)
    fine = np.arange(0.0, 14.0, 0.02)
    monkeypatch.setattr("calibrant.distributions.bounded_mean._LEAN", 0.02)
    monkeypatch.setattr("calibrant.distributions.bounded_mean._NODES", np.sinh(fine))
    monkeypatch.setattr(
        "calibrant.distributions.bounded_mean._WEIGHTS", 0.02 * np.cosh(fine) * np.where(fine > 0.0, 1.0, 0.5) / np.pi
    )
    assert [float(tail_deviate(values, counts)) for values, counts, _ in cases] == pytest.approx(found, abs=1e-4)


def test_large_probabilities_are_exact_too():
    values = np.append(np.random.default_rng(0).random(20), 1.0)
    for t in np.linspace(0.2, 0.8, 9):
        exact = tail(values, t)
        expected = ndtri(float(exact)) if exact < 0.5 else -ndtri(float(1 - exact))
        assert float(tail_deviate(values - t, np.ones(21))) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("level", [0.95, 0.9998, 1 - 2e-8])
def test_many_values_are_pooled_without_a_trace(level, monkeypatch):
    rng = np.random.default_rng(0)
    even, rare = rng.random(800), rng.random(800) < 0.01
    for values, low, high in (
        (even, 0.0, 1.0),
        (1 - even**8, 0.0, 1.0),
        (0.5 + 0.001 * rng.normal(size=800), 0.0, 1.0),
        (np.where(rare, even, 0.001 * even), 0.0, 1.0),
        (-np.log(even), 0.0, 20.0),
    ):
        draws = Draws(values, np.ones(800))
        pooled = bounded_mean_limits(draws, low, high, level)
        with monkeypatch.context() as single:
            single.setattr("calibrant.distributions.bounded_mean._MANY", 1000)
            exact = bounded_mean_limits(draws, low, high, level)
        for one, other in zip(pooled, exact, strict=True):
            assert one - other == pytest.approx(0.0, abs=3e-4 * abs(other - values.mean()))


def test_equal_terms_leave_the_row_that_is_added():
    """Arithmetic: (1 - W) x + W high with W of the distribution Beta(1, n), whose quantile is 1 - tail ** (1 / n)."""
    weight = 1 - 0.025 ** (1 / 20)
    assert limits([0.3] * 20, -1.0, 1.0) == pytest.approx((0.3 - 1.3 * weight, 0.3 + 0.7 * weight))
    assert limits([0.0] * 20, -19.0, 1.0) == pytest.approx((-19 * weight, weight))


def test_one_row_of_three_quarters():
    """Arithmetic: from the row to the end of the range, evenly."""
    assert limits([0.75], 0.0, 1.0) == pytest.approx((0.75 * 0.025, 1 - 0.25 * 0.025))


def test_quantiles_of_means_weighted_at_random():
    """The definition, with 100,000 draws of the weights."""
    rng = np.random.default_rng(0)
    terms = np.repeat([0.0, 1.0, -4.0], [80, 2, 1])
    for side, end, found in zip((-1, 1), (-4.0, 1.0), limits(terms, -4.0, 1.0), strict=True):
        means = rng.dirichlet(np.ones(len(terms) + 1), 100_000) @ np.append(terms, end)
        assert_probability_within((side * (means - found) > 0).mean(), 0.026)
        assert (side * (means - found) > 0).mean() > 0.024


def test_fewer_terms_and_smaller_ones_never_raise_a_limit():
    """A fit by moments gave (0, 98, 2) of the values 0, 1/2 and 1 a lower limit below that of (0, 99, 1)."""
    values, counts = np.array([0.0, 0.5, 1.0]), np.array([[0, 98, 2], [0, 99, 1], [1, 98, 1]])
    for level in (0.95, 0.9998, 1 - 2e-8):
        draws = Draws(np.broadcast_to(values, counts.shape), counts)
        for found in bounded_mean_limits(draws, np.zeros(3), np.ones(3), level):
            assert (np.diff(found) < 0.0).all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    st.lists(st.floats(0.0, 1.0), min_size=30, max_size=30),
    st.sampled_from([0.5, 0.95, 0.9998, 1 - 2e-8]),
)
def test_limits_never_fall_as_terms_rise(terms, more, level):
    terms = np.array(terms)
    raised = terms + (1.0 - terms) * np.array(more)[: len(terms)]
    for one, other in zip(limits(terms, 0.0, 1.0, level), limits(raised, 0.0, 1.0, level), strict=True):
        assert other >= one - 1e-6 * max(terms.std(), 1e-3)


@pytest.mark.parametrize("side", [-1, 1])
def test_the_excess_has_the_sign_of_the_limit(side):
    draws = Draws(np.random.default_rng(1).random(30), np.ones(30))
    limit = float(bounded_mean_limit(side, draws, 0.5 + 0.5 * side, 0.95))
    for shift in (-0.3, -0.01, -1e-6, 1e-6, 0.01, 0.3):
        moved = Draws(draws.values - limit + shift, draws.counts)
        excess = limit_excess(side, moved, 0.5 + 0.5 * side - limit + shift, 0.95)
        assert np.sign(excess) == np.sign(shift)
        assert 0.2 < excess / shift < 5.0


def test_ends_of_the_range_may_be_infinite():
    terms = np.repeat([0.1, 2.0], [30, 5])
    lower, upper = limits(terms, 0.0, math.inf)
    assert upper == math.inf
    assert lower == limits(terms, 0.0, 50.0)[0]


def test_no_rows_set_no_limit():
    assert [float(v) for v in bounded_mean_limits(Draws(np.array([0.3]), np.zeros(1)), -1.0, 2.0, 0.95)] == [-1.0, 2.0]
    assert limits([1.0] * 5, 0.0, 1.0)[1] == 1.0
    assert limits([1.0] * 500, 0.0, 1.0)[1] == 1.0


def test_many_rows_are_normal():
    terms = np.random.default_rng(3).normal(0.4, 0.05, 100_000)
    half = 1.959964 * terms.std() / math.sqrt(len(terms))
    assert limits(terms, -1.0, 1.0) == pytest.approx((terms.mean() - half, terms.mean() + half), abs=0.06 * half)


def worst_of_three_values(n, middle, level, worlds):
    """Largest probability, over worlds, that one of the limits is missed, with all samples listed."""
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    values = np.array([0.0, middle, 1.0])
    likelihoods = np.array([multinomial.pmf(counts, n, chances) for chances in worlds])
    possible = likelihoods.max(axis=0) > 1e-12  # what is left out decides nothing: there are fewer than 10^5 samples
    counts, likelihoods = counts[possible], likelihoods[:, possible]
    ends = np.full(len(counts), values.min()), np.ones(len(counts))
    lower, upper = bounded_mean_limits(Draws(np.broadcast_to(values, counts.shape), counts), *ends, level)
    worst = 0.0
    for chances, likelihood in zip(worlds, likelihoods, strict=True):
        truth = chances @ values
        worst = max(worst, likelihood[lower > truth + 1e-9].sum(), likelihood[upper < truth - 1e-9].sum())
    return worst


@pytest.mark.parametrize("n", [3, 10, 25])
@pytest.mark.parametrize("middle", [0.1, 0.5, -2.0])
def test_no_mixture_of_three_values_is_missed_too_often(n, middle):
    """All samples are listed. Gaffke's limits are thought to hold for all distributions; no proof is known."""
    worst = worst_of_three_values(n, middle, 0.9, np.random.default_rng(n).dirichlet([0.4, 0.4, 0.4], 400))
    assert_probability_within(worst, 0.05)
    assert worst > 0.03  # and they are no wider than they have to be


# Worlds in which limits from three moments failed up to 20 times as often as they may: n, level, chances of 0, 1/2, 1.
FAR_TAILS = [
    (200, 0.95, (0.0242, 0.9733, 0.0025)),
    (50, 0.998, (0.0134, 0.8876, 0.099)),
    (100, 0.9998, (0.058, 0.9364, 0.0056)),
    pytest.param(100, 0.99998, (0.069, 0.9242, 0.0068), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("n", "level", "chances"), FAR_TAILS)
def test_far_tails_of_three_values_are_as_stated(n, level, chances):
    worlds = np.array([chances, chances[::-1]])
    assert worst_of_three_values(n, 0.5, level, worlds) <= 1.0001 * (0.5 - 0.5 * level)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.95, 0.99, 0.998, 0.9998, 0.99998])
@pytest.mark.parametrize("n", [10, 20, 50, 100])
def test_no_search_finds_three_values_that_are_missed_too_often(n, level):
    rng = np.random.default_rng(n)
    worlds = np.concatenate([rng.dirichlet(weight * np.array([0.5, 2.0, 0.5]), 60) for weight in (0.5, 1.0, 3.0)])
    for middle in (0.3, 0.5, 0.7):
        assert worst_of_three_values(n, middle, level, worlds) <= 1.0001 * (0.5 - 0.5 * level)


def test_by_hand_for_one_event():
    """Garwood for one event: (0.0253, 5.5716), about those of Clopper and Pearson for one of 100,000."""
    found = bounded_mean_limits(Draws(np.array([0.0, 1.0]), np.array([99_999, 1])), 0.0, 1.0, 0.95)
    assert np.array(found) * 1e5 == pytest.approx((0.0253178, 5.5716434), rel=1e-4)
    assert float(found[1]) == pytest.approx(beta.ppf(0.975, 2, 99_999), rel=1e-5)
