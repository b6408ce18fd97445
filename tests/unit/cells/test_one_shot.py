"""Rows that can be read once: limits that hold the truth, and statements that allow for what is not seen."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.cells import gathering
from calibrant.certificates import calibration_test, certify
from calibrant.metrics import cutoff_calibration, cutoff_calibration_error
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support import oracles, score_distributions
from support.strategies import Rows, small_rows

ROUNDING = 2.0**-42
breaks = st.lists(st.sampled_from([0.05, 0.25, 0.4, 0.5, 0.6, 0.9, 1.0]), max_size=4)


def once(y, s, w=None, size=9_000) -> ScoreTable:
    columns = [y, s] if w is None else [y, s, w]
    return ScoreTable.from_chunks(tuple(c[i : i + size] for c in columns) for i in range(0, len(s), size))


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 1_000)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 10)


@given(small_rows(), breaks)
def test_the_error_of_the_rows_is_within_the_limits_of_their_cells(rows: Rows, at):
    found = extremes(cumulative_residuals(oracles.cell_table(*rows, at)))
    assert found.value - ROUNDING <= oracles.cutoff_error(*rows) <= found.at_most + ROUNDING


def test_limits_are_attained():
    """Arithmetic: the walk drops by 1/8 and climbs back inside the cell; two cells can go both ways."""
    one = extremes(cumulative_residuals(oracles.cell_table([0, 1], [0.25, 0.75], None, [])))
    assert (one.value, one.at_most) == (0.0, 1 / 8)
    assert extremes(cumulative_residuals(ScoreTable.from_scores([0, 1], [0.25, 0.75]))).value == 1 / 8
    rows = ([0, 1, 1, 0], [0.125, 0.25, 0.75, 0.875])  # -1/8, +3/4 in the first cell; +1/4, -7/8 in the second
    two = extremes(cumulative_residuals(oracles.cell_table(*rows, None, [0.5])))
    assert two.at_most == (7 / 8 + 1 / 8) / 4  # up to 5/8 + 1/4 in the second, down to -1/8 in the first
    rows = ([0, 1, 1, 0, 0, 1, 1, 1], [0.25, 0.5, 0.6875, 0.75, 0.75, 0.75, 0.75, 0.8125])
    three = extremes(cumulative_residuals(oracles.cell_table(*rows, None, [0.6])))
    assert three.at_most == (1 / 2 + 5 / 4) / 8  # up to 1/2 in the first, down to 1/4 - 3/2 in the second


@pytest.mark.grid
@pytest.mark.parametrize("distribution", ["beta", "small", "tiny", "ends", "narrow", "atom", "coarse", "float32"])
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_random_streams(small_limits, distribution, labels):
    s = score_distributions.scores(distribution, 20_000)
    y = score_distributions.outcomes(s, labels)
    table, exact = once(y, s), ScoreTable.from_scores(y, s)
    truth = cutoff_calibration_error(exact)
    found = cutoff_calibration(table)
    assert found.value <= truth <= found.value_upper
    assert not table.exact
    # The walk is seen at the ends of cells, and in each moves by no more than its rows let it.
    hidden = table.low < table.high
    assert found.value_upper - found.value <= 2.0 * float((table.rise + table.fall)[hidden].max()) / len(s)
    for method in ("default", "asymptotic", "anytime"):
        ours, theirs = certify(table, method=method), certify(exact, method=method)
        assert ours.bound >= theirs.bound - 1e-15
        assert ours.bound == pytest.approx(min(1.0, ours.estimate + ours.width))
        assert ours.lower_bound <= theirs.lower_bound + 1e-15 or method == "default"
    assert certify(table).lower_bound <= truth
    if distribution not in ("small", "tiny"):  # too few events for the asymptotic distribution
        p_values = [calibration_test(each, method="asymptotic").p_value for each in (table, exact)]
        assert p_values[0] >= p_values[1] - 1e-12


@pytest.mark.parametrize("distribution", ["percent", "equal", "denormal", "neighbours"])
def test_few_different_scores_are_exact(small_limits, distribution):
    s = score_distributions.scores(distribution, 20_000)
    y = score_distributions.outcomes(s, "calibrated")
    table, exact = once(y, s), ScoreTable.from_scores(y, s)
    assert table.cells is None
    found, expected = (asdict(extremes(cumulative_residuals(each))) for each in (table, exact))
    np.testing.assert_equal(found, expected)  # NaN where no interval attains the error


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("distribution", ["beta", "small", "tiny", "ends", "narrow", "float32"])
def test_limits_are_narrow_at_a_million_rows(monkeypatch, distribution):
    """Arithmetic: 2**18 buckets of a million rows hold about 4 each, so limits are some 1e-5 apart; c has a noise of
    MEAN_RANGE * sqrt(0.15 / 1e6) = 6e-4 where scores are calibrated."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 0)
    s = score_distributions.scores(distribution, 1_000_000)
    y = score_distributions.outcomes(s, "calibrated")
    found = cutoff_calibration(once(y, s, size=1 << 18))
    assert found.value <= cutoff_calibration_error(y, s) <= found.value_upper
    assert found.value_upper - found.value < 2e-5


def test_a_score_that_half_of_the_rows_have_widens_the_limits(small_limits):
    """Inside the bucket of such a score the order of outcomes is not known: sound, but wide; read the rows twice."""
    s = score_distributions.scores("atom", 20_000)
    y = score_distributions.outcomes(s, "calibrated")
    once_only, twice = cutoff_calibration(once(y, s)), cutoff_calibration(ScoreTable.from_chunks([(y, s)]))
    assert once_only.value <= twice.value == twice.value_upper <= once_only.value_upper
    assert 0.1 < once_only.value_upper < 0.3


def test_limits_do_not_depend_on_order_or_chunks(small_limits):
    s = score_distributions.scores("beta", 20_000)
    y = score_distributions.outcomes(s, "calibrated")
    first = cutoff_calibration(once(y, s))
    order = np.argsort(s)
    for size in (777, 20_000):
        assert cutoff_calibration(once(y[order], s[order], size=size)) == first


def test_other_weights(small_limits):
    s = score_distributions.scores("beta", 20_000)
    y, w = score_distributions.outcomes(s, "calibrated"), np.random.default_rng(1).choice([0.3, 1.0, 2.5], 20_000)
    found, truth = cutoff_calibration(once(y, s, w)), cutoff_calibration_error(y, s, sample_weight=w)
    assert found.value - ROUNDING <= truth <= found.value_upper + ROUNDING
    assert math.isnan(found.null_mean)
