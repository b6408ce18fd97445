"""Tables whose rows are runs of neighbouring scores: what stays exact, and limits for what does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from calibrant import ScoreTable
from calibrant.core.walk import residual_walk
from calibrant.decisions import saving_bound
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss, roc_auc, roc_auc_limits
from strategies import Rows, small_rows

many = settings(max_examples=500, deadline=None, derandomize=True)
breaks = st.lists(st.sampled_from([0.05, 0.25, 0.4, 0.5, 0.6, 0.9, 1.0]), max_size=4)


def cells_of(rows: Rows, at) -> ScoreTable:
    return oracles.cell_table(*rows, at)


def joined(one: Rows, two: Rows) -> Rows:
    w = [np.array(oracles.weights_or_ones(r.y, r.w)) for r in (one, two)]
    return Rows(np.concatenate([one.y, two.y]), np.concatenate([one.s, two.s]).astype(float), np.concatenate(w))


def assert_walk_is_exact_at_row_ends(cells: ScoreTable, rows: Rows) -> None:
    walk = residual_walk(cells)
    expected = [oracles.interval_residual(*rows, -np.inf, end) for end in walk.score]
    assert walk.value == pytest.approx(expected, abs=1e-12)


@many
@given(small_rows(), breaks)
def test_sums_of_cells_are_those_of_the_rows(rows: Rows, at):
    cells, exact = cells_of(rows, at), ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords)
    for name in ("total", "positives", "mean_score", "mean_variance"):
        assert getattr(cells, name) == pytest.approx(getattr(exact, name), abs=1e-12)
    assert brier_score(cells) == pytest.approx(oracles.brier(*rows), abs=1e-12)
    exact_loss = oracles.log_loss(rows.y, rows.s.astype(float), rows.w)
    assert log_loss(cells) == pytest.approx(exact_loss, rel=1e-10, abs=1e-10)
    assert cells.exact == all(low == high for low, high in zip(cells.low, cells.high, strict=True))


@many
@given(small_rows(), breaks)
def test_walk_is_exact_at_row_ends(rows: Rows, at):
    cells = cells_of(rows, at)
    assert_walk_is_exact_at_row_ends(cells, rows)
    assert cutoff_calibration_error(cells) <= oracles.cutoff_error(*rows) + 2.0**-41


@many
@given(small_rows(both_classes=True), breaks)
def test_auc_limits_contain_the_truth(rows: Rows, at):
    cells = cells_of(rows, at)
    low, high = roc_auc_limits(cells)
    truth = oracles.roc_auc(*rows)
    assert low - 1e-12 <= truth <= high + 1e-12
    assert roc_auc(cells) == pytest.approx(0.5 * (low + high))
    if cells.exact:
        assert low == high


def test_auc_limits_are_attained():
    """Arithmetic: one cell with one positive and one negative allows 0 and 1."""
    assert roc_auc_limits(oracles.cell_table([0, 1], [0.2, 0.3], None, [0.9])) == (0.0, 1.0)


@many
@given(small_rows(), breaks, small_rows(), breaks)
def test_merged_cells_hold_the_rows_of_both(one: Rows, at_one, two: Rows, at_two):
    rows = joined(one, two)
    merged = cells_of(one, at_one).merge(cells_of(two, at_two))
    assert (merged.high[:-1] < merged.low[1:]).all()
    assert merged.total == pytest.approx(sum(rows.w))
    assert brier_score(merged) == pytest.approx(oracles.brier(*rows), abs=1e-12)
    assert ((merged.low <= merged.score) & (merged.score <= merged.high)).all()
    assert_walk_is_exact_at_row_ends(merged, rows)


@many
@given(small_rows(), small_rows(), breaks)
def test_exact_rows_join_the_cells_they_fall_into(one: Rows, two: Rows, at):
    exact = ScoreTable.from_scores(one.y, one.s.astype(float), **one.keywords)
    merged = exact.merge(cells_of(two, at))
    assert (merged.high[:-1] < merged.low[1:]).all()
    assert_walk_is_exact_at_row_ends(merged, joined(one, two))


@many
@given(small_rows(weighted=("none", "whole")), breaks, small_rows(weighted=("none", "whole")), breaks)
def test_merging_cells_does_not_care_which_table_is_asked(one: Rows, at_one, two: Rows, at_two):
    a, b = cells_of(one, at_one), cells_of(two, at_two)
    ab, ba = a.merge(b), b.merge(a)
    for name in ("score", "n", "k", "low", "high", "rise", "fall", "squared", "surprise"):
        assert np.array_equal(getattr(ab, name), getattr(ba, name)), name


@many
@given(small_rows(weighted=("none", "whole")), breaks, st.sampled_from([(1, 1), (1, 4), (3, 1)]))
def test_saving_bound_of_cells_is_not_below_the_exact_one(rows: Rows, at, costs):
    keywords = dict(zip(("false_positive_cost", "false_negative_cost"), costs, strict=True))
    exact = saving_bound(ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords), **keywords)
    assert saving_bound(cells_of(rows, at), **keywords).saving_bound >= exact.saving_bound - 1e-12
