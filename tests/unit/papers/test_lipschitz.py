"""The fit with a limited slope is the least-squares solution that a general optimiser finds, and satisfies the KKT
conditions, which no other map does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from calibrant import DataError, ScoreTable
from calibrant.fits.isotonic import isotonic_fit
from calibrant.papers import lipschitz as module
from calibrant.papers.lipschitz import limited_rise, lipschitz_fit
from support.strategies import Rows, scores, small_rows

LIMITS = [0.0, 0.1, 0.5, 1.0, 2.5, 40.0, 1e6, np.inf]


def table_of(rows: Rows) -> ScoreTable:
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


def steps(table: ScoreTable, limit: float):
    return np.minimum(limit * np.diff(table.score), 1.0)


@st.composite
def uneven_tables(draw):
    """Scores that repeat, are next to each other or far apart; weights that differ by six orders of magnitude."""
    n = draw(st.integers(1, 12))
    s = draw(scores(n, np.float64))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    w = draw(st.lists(st.sampled_from([1e-3, 0.03, 1.0, 7.0, 1e3]), min_size=n, max_size=n))
    return ScoreTable.from_scores(y, s, sample_weight=w)


def loss(table: ScoreTable, value) -> float:
    n, k = table.n.astype(float), table.k.astype(float)
    return float((n * (k / n - value) ** 2).sum() / n.sum())


def by_bounded_least_squares(table: ScoreTable, limit: float):
    """First value and steps as unknowns, each step between 0 and its limit."""
    n, k = table.n.astype(float), table.k.astype(float)
    high = np.append(2.0, steps(table, limit))
    unknown = high > 1e-9  # a step so small does not move the loss
    design = np.tril(np.ones((len(n), len(n))))[:, unknown]
    root = np.sqrt(n / n.max())
    if unknown.sum() == 1:
        return np.full(len(n), k.sum() / n.sum())
    low = np.append(-1.0, np.zeros(len(n) - 1))[unknown]
    found = lsq_linear(design * root[:, None], k / n * root, (low, high[unknown]), method="bvls", tol=1e-15)
    return design @ found.x


@given(uneven_tables(), st.sampled_from(LIMITS))
def test_equals_bounded_least_squares(table, limit):
    value = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    other = by_bounded_least_squares(table, limit)
    assert loss(table, value) <= loss(table, other) + 1e-14
    np.testing.assert_allclose(value, other, rtol=0, atol=1e-6)  # a weight of 1e-3 beside 1e3 leaves the optimiser this


@given(uneven_tables(), st.sampled_from(LIMITS), st.booleans())
def test_values_rise_within_the_limit_and_are_probabilities(table, limit, log_safe):
    fit = lipschitz_fit(table, lipschitz=limit, log_safe=log_safe)
    value = fit.linear(table.score)
    assert (np.diff(value) >= 0).all()
    assert (np.diff(value) <= steps(table, limit) + 2.0**-52).all()
    assert value.min() >= 0
    assert value.max() <= 1
    if log_safe:
        assert value.min() > 0
        assert value.max() < 1
    at = np.sort(np.random.default_rng(0).random(40))
    assert (np.diff(fit.linear(at)) >= -1e-16).all()


@given(uneven_tables(), st.sampled_from(LIMITS), st.sampled_from([(2, 2), (3, 3), (4, 2)]))
def test_fitting_with_a_guess_changes_nothing(table, limit, sizes):
    direct = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", sizes[0])
        patch.setattr(module, "_GROUP", sizes[1])
        patch.setattr(module, "_FIRST_REACH", 0)
        value = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    assert abs(loss(table, value) - loss(table, direct)) <= 1e-15
    np.testing.assert_allclose(value, direct, rtol=0, atol=1e-10)


@pytest.mark.parametrize("limit", [0.0, 1.0, 5.0, np.inf])
def test_a_guess_saves_nearly_all_the_work(limit, monkeypatch):
    table, lengths = drawn(20_000, 1), []

    def counted(mean, weight, step):
        lengths.append(len(mean))
        return limited_rise(mean, weight, step)

    monkeypatch.setattr(module, "limited_rise", counted)
    value = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    assert largest_violation(table, value, limit) < 1e-13
    assert max(lengths) < len(table) / 2
    assert len(lengths) < 20


def largest_violation(table: ScoreTable, value, limit: float) -> float:
    """How far the KKT conditions fail: residuals up to a score sum to >= 0 before a flat step, to <= 0 before one at
    the limit, and to 0 before any other and at the end. Divided by the number of rows.
    """
    n, k = table.n.astype(float), table.k.astype(float)
    up_to = np.cumsum(k - n * value) / n.sum()
    rise, most = np.diff(value), steps(table, limit)
    may_be_negative, may_be_positive = rise >= most - 1e-15, rise <= 1e-15
    wrong = np.where(
        up_to[:-1] < 0, np.where(may_be_negative, 0, -up_to[:-1]), np.where(may_be_positive, 0, up_to[:-1])
    )
    return max(wrong.max(initial=0.0), abs(up_to[-1]))


def drawn(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.7, 1.6, n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return ScoreTable.from_scores((rng.random(n) < score**1.2).astype(int), score)


@pytest.mark.parametrize("limit", [0.5, 1.0, 3.0, 20.0, 1e4, np.inf])
@pytest.mark.parametrize("levels", [None, 500])
def test_satisfies_the_conditions_of_the_optimum_on_many_rows(limit, levels):
    table = drawn(5000, 0, levels)
    value = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    assert largest_violation(table, value, limit) < 1e-13
    assert largest_violation(table, 0.999 * value + 0.0005, limit) > 1e-5  # any other map fails


@given(small_rows())
def test_without_a_limit_it_is_the_isotonic_fit(rows: Rows):
    table = table_of(rows)
    for log_safe in (False, True):
        value = lipschitz_fit(table, lipschitz=np.inf, log_safe=log_safe).linear(table.score)
        expected = isotonic_fit(table, log_safe=log_safe).linear(table.score)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)


@given(small_rows())
def test_without_any_slope_it_is_the_share_of_positives(rows: Rows):
    table = table_of(rows)
    fit = lipschitz_fit(table, lipschitz=0.0)
    np.testing.assert_allclose(fit.value, table.base_rate, rtol=0, atol=1e-14)
    assert len(fit.score) == min(len(table), 2)


def test_arithmetic():
    # Two blocks of means 0 and 1 at distance .2 with slope 2: the middle is pulled to .3 and .7, the ends are free.
    table = ScoreTable.from_scores([0, 0, 1, 1], [0.2, 0.4, 0.6, 0.8])
    assert lipschitz_fit(table, lipschitz=2.0).value == pytest.approx([0.0, 0.3, 0.7, 1.0])
    # Slope 1 leaves the line of slope 1 through the mean .5.
    assert lipschitz_fit(table, lipschitz=1.0).value == pytest.approx([0.2, 0.4, 0.6, 0.8])
    # One positive and one negative of weight 3, .1 apart: values u and u + .1 with 3 u + (u + .1 - 1) = 0.
    uneven = ScoreTable(np.array([0.5, 0.6]), np.array([3, 1]), np.array([0, 1]))
    assert lipschitz_fit(uneven, lipschitz=1.0).value == pytest.approx([0.225, 0.325])
    # Half a positive below and half a negative above: means (.5 + 0) / 1.5 and 1 / 1.5, free to be so.
    two = ScoreTable.from_scores([0, 1], [0.2, 0.8])
    assert lipschitz_fit(two, lipschitz=5.0, log_safe=True).value == pytest.approx([1 / 3, 2 / 3])
    one = ScoreTable.from_scores([1], [0.2])
    assert lipschitz_fit(one, lipschitz=5.0, log_safe=True).value.tolist() == [0.75]


def test_flat_pieces_keep_two_knots():
    table = ScoreTable.from_scores([1, 0, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    fit = lipschitz_fit(table, lipschitz=1.0)
    assert fit.score.tolist() == [0.1, 0.6]
    assert fit.value == pytest.approx([0.5, 0.5])


def test_many_large_steps_before_small_ones_lose_no_digits():
    """Negatives with steps of 1 behind them decide nothing about the rest, which has to come out as it does alone."""
    rng = np.random.default_rng(0)
    mean, step = (rng.random(2000) < np.linspace(0.2, 0.8, 2000)).astype(float), np.full(1999, 3e-4)
    alone = limited_rise(mean, np.ones(2000), step)
    after = limited_rise(np.append(np.zeros(5000), mean), np.ones(7000), np.append(np.ones(5000), step))
    np.testing.assert_allclose(after[5000:], alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("limit", [1.0, 5.0])
@pytest.mark.parametrize("guess", ["open", "flat", "steep", "random"])
def test_any_guess_leads_to_the_optimum(limit, guess, monkeypatch):
    table = drawn(5000, 2)
    kinds = {"open": [0], "flat": [1], "steep": [2], "random": [0, 1, 2]}[guess]
    rng = np.random.default_rng(0)
    monkeypatch.setattr(module, "_guess", lambda mean, weight, step: rng.choice(kinds, len(step)))
    value = lipschitz_fit(table, lipschitz=limit).linear(table.score)
    assert largest_violation(table, value, limit) < 1e-13


def test_between_scores_it_is_linear_and_outside_constant():
    fit = lipschitz_fit(ScoreTable.from_scores([0, 1], [0.2, 0.8]), lipschitz=1.5)
    assert fit.linear(np.array([0.0, 0.2, 0.5, 0.8, 1.0])) == pytest.approx([0.05, 0.05, 0.5, 0.95, 0.95])


def test_no_rows():
    empty = np.zeros(0)
    with pytest.raises(DataError, match="at least one row"):
        lipschitz_fit(ScoreTable(empty, empty, empty), lipschitz=1.0)
