"""Tables whose rows are runs of neighbouring scores: what stays exact, and limits for what does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant import ScoreTable
from calibrant.cells import gathering
from calibrant.cells.bucket_sums import Grid
from calibrant.cells.gathering import FIRST_BITS, MOST_BUCKETS
from calibrant.cells.slices import Accumulator
from calibrant.curves import isotonic_curve, score_histogram
from calibrant.decisions import expected_cost
from calibrant.metrics import (
    brier_decomposition,
    brier_score,
    cutoff_calibration_error,
    expected_calibration_error,
    local_calibration_score,
    log_loss,
    roc_auc,
    smooth_calibration_error,
)
from calibrant.metrics.ranking import auc_limits
from calibrant.table.cumulative_residuals import cumulative_residuals
from calibrant.table.pooling import pool_rows
from support import oracles, score_distributions
from support.strategies import Rows, small_rows

breaks = st.lists(st.sampled_from([0.05, 0.25, 0.4, 0.5, 0.6, 0.9, 1.0]), max_size=4)


def cells_of(rows: Rows, at) -> ScoreTable:
    return oracles.cell_table(*rows, at)


def joined(one: Rows, two: Rows) -> Rows:
    w = [np.array(oracles.weights_or_ones(r.y, r.w)) for r in (one, two)]
    return Rows(np.concatenate([one.y, two.y]), np.concatenate([one.s, two.s]).astype(float), np.concatenate(w))


def assert_walk_is_exact_at_row_ends(cells: ScoreTable, rows: Rows) -> None:
    walk = cumulative_residuals(cells)
    expected = [oracles.interval_residual(*rows, -np.inf, end) for end in walk.score]
    assert walk.value == pytest.approx(expected, abs=1e-12)


@given(small_rows(), breaks)
def test_sums_of_cells_are_those_of_the_rows(rows: Rows, at):
    cells, exact = cells_of(rows, at), ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords)
    for name in ("total", "positives", "mean_score", "mean_variance"):
        assert getattr(cells, name) == pytest.approx(getattr(exact, name), abs=1e-12)
    assert brier_score(cells) == pytest.approx(oracles.brier(*rows), abs=1e-12)
    exact_loss = oracles.log_loss(rows.y, rows.s.astype(float), rows.w)
    assert log_loss(cells) == pytest.approx(exact_loss, rel=1e-10, abs=1e-10)
    assert cells.exact == all(low == high for low, high in zip(cells.low, cells.high, strict=True))


@given(small_rows(), breaks)
def test_squares_and_variances_of_cells_are_limits(rows: Rows, at):
    """From above, by at most a quarter of the squared width of a cell for each row."""
    cells, exact = cells_of(rows, at), ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords)
    starts = np.searchsorted(exact.score, cells.low)
    for name in ("squared", "variance"):
        found, truth = getattr(cells, name), np.add.reduceat(getattr(exact, name), starts)
        assert (found >= truth - 1e-12 * cells.n).all(), name
        assert (found <= truth + cells.n * ((cells.high - cells.low) ** 2 / 4 + 1e-12)).all(), name


@given(small_rows(), breaks)
def test_walk_is_exact_at_row_ends(rows: Rows, at):
    cells = cells_of(rows, at)
    assert_walk_is_exact_at_row_ends(cells, rows)
    assert cutoff_calibration_error(cells) <= oracles.cutoff_error(*rows) + 2.0**-41


@given(small_rows(both_classes=True), breaks)
def test_auc_limits_contain_the_truth(rows: Rows, at):
    cells = cells_of(rows, at)
    low, high = auc_limits(cells)
    truth = oracles.roc_auc(*rows)
    assert low - 1e-12 <= truth <= high + 1e-12
    assert roc_auc(cells) == pytest.approx(0.5 * (low + high))
    if cells.exact:
        assert low == high


def test_auc_limits_are_attained():
    """Arithmetic: one cell with one positive and one negative allows 0 and 1."""
    assert auc_limits(oracles.cell_table([0, 1], [0.2, 0.3], None, [0.9])) == (0.0, 1.0)


@given(small_rows(), breaks, small_rows(), breaks)
def test_merged_cells_hold_the_rows_of_both(one: Rows, at_one, two: Rows, at_two):
    rows = joined(one, two)
    merged = cells_of(one, at_one).merge(cells_of(two, at_two))
    assert (merged.high[:-1] < merged.low[1:]).all()
    assert merged.total * merged.sampling.unit_weight == pytest.approx(sum(rows.w))
    assert brier_score(merged) == pytest.approx(oracles.brier(*rows), abs=1e-12)
    assert ((merged.low <= merged.score) & (merged.score <= merged.high)).all()
    assert_walk_is_exact_at_row_ends(merged, rows)


@given(small_rows(), small_rows(), breaks)
def test_exact_rows_join_the_cells_they_fall_into(one: Rows, two: Rows, at):
    exact = ScoreTable.from_scores(one.y, one.s.astype(float), **one.keywords)
    merged = exact.merge(cells_of(two, at))
    assert (merged.high[:-1] < merged.low[1:]).all()
    assert_walk_is_exact_at_row_ends(merged, joined(one, two))


@given(small_rows(weighted=("none", "whole")), breaks, small_rows(weighted=("none", "whole")), breaks)
def test_merging_cells_does_not_care_which_table_is_asked(one: Rows, at_one, two: Rows, at_two):
    a, b = cells_of(one, at_one), cells_of(two, at_two)
    ab, ba = a.merge(b), b.merge(a)
    for name in ("score", "n", "k", "low", "high", "rise", "fall", "squared"):
        assert np.array_equal(getattr(ab, name), getattr(ba, name)), name
    assert (ab.squared_total, ab.log_loss_total) == (ba.squared_total, ba.log_loss_total)


@given(small_rows(weighted=("none", "whole")), breaks, st.sampled_from([(1, 1), (1, 4), (3, 1)]))
def test_saving_bound_of_cells_is_not_below_the_exact_one(rows: Rows, at, costs):
    keywords = dict(zip(("false_positive_cost", "false_negative_cost"), costs, strict=True))
    exact = expected_cost(ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords), **keywords)
    assert expected_cost(cells_of(rows, at), **keywords).saving_bound >= exact.saving_bound - 1e-12


def divided_by(edges, cells: ScoreTable) -> np.ndarray:
    """Whether the border of two bins runs through a cell."""
    return np.searchsorted(edges, cells.low, side="right") != np.searchsorted(edges, cells.high, side="right")


def most_moved(cells: ScoreTable, divided: np.ndarray) -> float:
    return 2.0 * float(np.maximum(cells.rise, cells.fall)[divided].sum()) / cells.total


@given(small_rows(), breaks, st.sampled_from([2, 3, 5]))
def test_binned_error_is_off_by_what_divided_cells_can_move(rows: Rows, at, n_bins):
    cells, exact = cells_of(rows, at), ScoreTable.from_scores(rows.y, rows.s.astype(float), **rows.keywords)
    off = [
        abs(
            expected_calibration_error(cells, n_bins=n_bins, strategy=strategy)
            - expected_calibration_error(exact, n_bins=n_bins, strategy=strategy)
        )
        for strategy in ("uniform", "quantile")
    ]
    assert off[0] <= most_moved(cells, divided_by(np.arange(1, n_bins) / n_bins, cells)) + 1e-12
    ends = np.cumsum(cells.n) * n_bins / cells.total
    borders = np.ceil(ends) - np.floor(np.append(0.0, ends[:-1])) > 1
    assert off[1] <= most_moved(cells, borders) + 1e-12


@pytest.fixture(params=["beta", "small", "tiny", "ends", "narrow", "atom", "coarse", "float32"])
def pair(request, monkeypatch):
    """A table with cells, of rows that could be read again, and the exact one."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 500)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 10)
    s = score_distributions.scores(request.param, 20_000)
    y = score_distributions.outcomes(s, "shifted")
    cells = ScoreTable.from_chunks([(y, s)])
    assert not cells.exact
    return cells, ScoreTable.from_scores(y, s)


@pytest.mark.grid
def test_numbers_of_cells_are_within_the_limits_that_are_stated(pair):
    cells, exact = pair
    edges = np.arange(1, 10) / 10
    off = abs(
        expected_calibration_error(cells, strategy="uniform") - expected_calibration_error(exact, strategy="uniform")
    )
    assert off <= most_moved(cells, divided_by(edges, cells)) + 1e-12
    width, distance = float((cells.high - cells.low).max()), float((exact.rise + exact.fall).sum()) / exact.total
    for bandwidth in (0.02, 0.2):
        ours, theirs = (smooth_calibration_error(each, bandwidth=bandwidth) for each in pair)
        assert abs(ours - theirs) <= np.sqrt(2.0 / np.pi) / bandwidth * width * distance + 1e-6
    low, high = auc_limits(cells)
    assert low - 1e-12 <= roc_auc(exact) <= high + 1e-12
    counts = [score_histogram(each, n_bins=10) for each in pair]
    moved = abs(counts[0].positives - counts[1].positives).sum() + abs(counts[0].negatives - counts[1].negatives).sum()
    assert moved <= 2.0 * cells.n[divided_by(edges, cells)].sum()


@pytest.mark.grid
def test_isotonic_results_are_exact_if_rows_could_be_read_again(pair):
    ours, theirs = (isotonic_curve(each) for each in pair)
    assert ours.rate.tolist() == theirs.rate.tolist()
    assert ours.score.tolist() == theirs.score.tolist()
    ours, theirs = (brier_decomposition(each) for each in pair)
    assert ours.miscalibration == pytest.approx(theirs.miscalibration, abs=1e-12)
    assert ours.discrimination == pytest.approx(theirs.discrimination, abs=1e-12)


def test_local_error_with_cells_that_are_small_beside_its_windows(monkeypatch):
    """No limit is proven: a window has 15% of the rows, a cell less than 2%."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 500)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 10)
    s = score_distributions.scores("beta", 20_000)
    y = score_distributions.outcomes(s, "shifted")
    cells = ScoreTable.from_chunks(iter([(y, s)]))
    assert cells.n.max() < 0.02 * cells.total
    assert local_calibration_score(cells) == pytest.approx(local_calibration_score(y, s), rel=0.01)


def test_cells_are_narrow():
    assert Grid.over(0.0, 1.0, bits=FIRST_BITS).shift <= 42 - 17
    found = Accumulator(most_distinct=0, most_buckets=MOST_BUCKETS)
    s = np.linspace(0.0, 1.0, 4 * MOST_BUCKETS)
    found.add(pool_rows(np.ones(len(s), dtype=np.int8), s))
    assert found.grid.shift <= 42 - 17


@pytest.mark.parametrize("package", ["metrics", "curves"])
def test_every_function_of_a_table_says_what_it_does_with_cells(package):
    module = getattr(calibrant, package)
    functions = [getattr(module, name) for name in module.__all__]
    functions = [f for f in functions if not isinstance(f, type) and f.__annotations__.get("y_true") == "Labels"]
    assert len(functions) >= 5
    for function in functions:
        text = function.__doc__
        assert "cell" in text or "read only once" in text, function.__name__
