"""The isotonic fit is the min-max formula, and Claim 5 of Gao, Parameswaran & Peng (2017) holds in sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import isotonic_regression

from calibrant import DataError, ScoreTable
from calibrant.fits import isotonic
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import cutoff_calibration_error
from support import oracles
from support.strategies import Rows, small_rows

COUNTS = ("none", "whole")


def table_of(rows: Rows) -> ScoreTable:
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


@given(small_rows(weighted=COUNTS))
def test_values_are_those_of_the_min_max_formula(rows: Rows):
    table = table_of(rows)
    fit = isotonic_fit(table)
    expected = [float(value) for value in oracles.min_max_isotonic(table.n, table.k)]
    assert fit.linear(table.score).tolist() == expected
    assert fit.step(table.score).tolist() == expected


@pytest.mark.parametrize("whole", [True, False])
def test_slow_rounds_end_in_the_same_blocks(whole, monkeypatch):
    """A low end that undoes one block after the other, against SciPy."""
    rng = np.random.default_rng(0)
    for m in (3, 50, 1000):
        n = np.full(m, 1000) if whole else rng.uniform(500, 1500, m)
        k = n * np.sort(rng.integers(0, 1000, m)) / 1000
        k[-1] = 0
        table = ScoreTable.from_counts(np.arange(m) / m, n, k.astype(int) if whole else k)
        expected = isotonic_regression(table.k / table.n, weights=table.n).x
        for few in (0, 2000):
            monkeypatch.setattr(isotonic, "_FEW", few)
            assert isotonic_fit(table).step(table.score) == pytest.approx(expected, rel=1e-12)


@given(small_rows())
def test_blocks_are_in_order_and_hold_all_rows(rows: Rows):
    table = table_of(rows)
    for log_safe in (False, True):
        fit = isotonic_fit(table, log_safe=log_safe)
        assert (np.diff(fit.value) > 0).all()
        assert (fit.low <= fit.high).all()
        assert (fit.high[:-1] < fit.low[1:]).all()
        assert (fit.low[0], fit.high[-1]) == (table.score[0], table.score[-1])
        assert fit.n.sum() == pytest.approx(table.total + log_safe, rel=1e-12)
        assert fit.k.sum() == pytest.approx(table.positives + 0.5 * log_safe, rel=1e-12)
        between = np.sort(np.random.default_rng(0).random(50))
        assert (np.diff(fit.linear(between)) >= 0).all()
        assert (np.diff(fit.step(between)) >= 0).all()


@given(small_rows())
def test_claim_5_no_calibration_error_on_the_fitting_rows(rows: Rows):
    """Pooling equal scores first is what makes this exact."""
    fitted = isotonic_fit(table_of(rows)).linear(rows.s)
    assert oracles.cutoff_error(rows.y, fitted, rows.w) == pytest.approx(0.0, abs=4e-15)
    assert cutoff_calibration_error(rows.y, fitted, **rows.keywords) == pytest.approx(0.0, abs=2.0**-41)


@given(small_rows(most=7))
def test_claim_5_no_threshold_costs_more_than_before(rows: Rows):
    fitted = isotonic_fit(table_of(rows)).linear(rows.s)
    for p in {0.0, 1.0, *rows.s.astype(float), *fitted}:
        for decide in (np.greater_equal, np.greater):
            before = oracles.cost_of_acting(rows.y, rows.w, decide(rows.s.astype(float), p), p, 1.0 - p)
            after = oracles.cost_of_acting(rows.y, rows.w, decide(fitted, p), p, 1.0 - p)
            assert after <= before + 1e-15
            assert after <= oracles.cheapest_threshold_cost(rows.y, rows.s, rows.w, p, 1.0 - p) + 1e-15


@given(small_rows(most=7))
def test_log_safe_values_are_inside_and_nearly_calibrated(rows: Rows):
    """Total * error < 1/2 and a cost at most 1 / (2 total) above what it was."""
    table = table_of(rows)
    fitted = isotonic_fit(table, log_safe=True).linear(rows.s)
    assert ((fitted > 0.0) & (fitted < 1.0)).all()
    assert table.total * oracles.cutoff_error(rows.y, fitted, rows.w) < 0.5
    for p in {0.0, 1.0, *rows.s.astype(float), *fitted}:
        before = oracles.cost_of_acting(rows.y, rows.w, rows.s.astype(float) >= p, p, 1.0 - p)
        after = oracles.cost_of_acting(rows.y, rows.w, fitted >= p, p, 1.0 - p)
        assert after <= before + 0.5 / table.total + 1e-15


def test_log_safe_error_is_that_of_the_half_rows():
    """Arithmetic: one negative at .2, one positive at .8, half a positive before and half a negative after."""
    fit = isotonic_fit(ScoreTable.from_scores([0, 1], [0.2, 0.8]), log_safe=True)
    assert fit.value == pytest.approx([0.5 / 1.5, 1.0 / 1.5])
    assert (fit.low.tolist(), fit.high.tolist()) == ([0.2, 0.8], [0.2, 0.8])


def test_unpooled_ties_would_break_claim_5():
    """The reason for pooling: at one score, negatives first and positives last are not two blocks."""
    fit = isotonic_fit(ScoreTable.from_scores([0, 0, 1, 1], [0.5] * 4))
    assert fit.value.tolist() == [0.5]


def test_linear_fills_the_gaps_and_step_does_not():
    fit = isotonic_fit(ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7]))
    at = np.array([0.0, 0.2, 0.4, 0.6, 1.0])
    assert fit.linear(at) == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert fit.step(at).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]


@given(small_rows())
def test_agrees_with_scikit_learn(rows: Rows):
    from sklearn.isotonic import IsotonicRegression  # 1.9.1

    # scikit-learn pools scores closer than its resolution, so the scores are moved apart to a coarse grid.
    s = np.round(rows.s.astype(float), 3)
    table = ScoreTable.from_scores(rows.y, s, **rows.keywords)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(s, rows.y, sample_weight=rows.w)
    at = np.linspace(0.0, 1.0, 37)
    assert isotonic_fit(table).linear(at) == pytest.approx(theirs.predict(at), abs=1e-12)


def test_an_empty_table_is_refused():
    empty = ScoreTable.from_counts([0.5], [0], [0])
    with pytest.raises(DataError, match="expected at least one row to fit, found an empty table; fit on more data"):
        isotonic_fit(empty)
