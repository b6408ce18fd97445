"""Both probabilities equal the isotonic fit of the rows with one more, which is how they are defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from calibrant import DataError, ScoreTable
from calibrant.fits.isotonic import isotonic_fit, venn_abers_fit
from calibrant.table.pooling import pool_counts
from calibrant.table.table_sums import CellSums
from support import oracles
from support.strategies import Rows, small_rows

COUNTS = ("none", "whole")


def table_of(rows: Rows) -> ScoreTable:
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


def positions(score):
    """All scores, a place in every gap, and both ends."""
    score = np.asarray(score, dtype=np.float64)
    return np.concatenate([score, 0.5 * (score[1:] + score[:-1]), [0.0, 5e-324, 0.2, 1.0]])


def with_one_more(table: ScoreTable, score: float, label: int) -> ScoreTable:
    n, k = np.append(table.n, 1), np.append(table.k, label)
    return ScoreTable(*pool_counts(np.append(table.score, score), n, k))


def one_by_one(table: ScoreTable, at, label: int):
    """Add a row, fit again, look at the new row."""
    return [float(isotonic_fit(with_one_more(table, x, label)).step(np.array([x]))[0]) for x in at]


@given(small_rows(most=12))
def test_equals_fitting_again_with_each_label(rows: Rows):
    table = table_of(rows)
    fit, at = venn_abers_fit(table), positions(table.score)
    np.testing.assert_allclose(fit.lower(at), one_by_one(table, at, 0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(fit.upper(at), one_by_one(table, at, 1), rtol=0, atol=1e-12)


@given(small_rows(weighted=COUNTS))
def test_counts_give_the_rounded_fractions_of_the_min_max_formula(rows: Rows):
    table = table_of(rows)
    fit = venn_abers_fit(table)
    for x in positions(table.score):
        for label, found in ((0, fit.lower), (1, fit.upper)):
            more = with_one_more(table, x, label)
            exact = oracles.min_max_isotonic(more.n, more.k)[int(np.searchsorted(more.score, x))]
            assert found(np.array([x])).tolist() == [float(exact)]


@given(small_rows())
def test_both_never_fall_and_keep_their_order(rows: Rows):
    fit = venn_abers_fit(table_of(rows))
    at = np.concatenate([np.linspace(0, 1, 101), rows.s.astype(float)])
    at = np.sort(at)
    lower, upper = fit.lower(at), fit.upper(at)
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert ((lower >= 0) & (lower < upper) & (upper <= 1)).all()
    assert (np.diff(fit.lower_value) > 0).all() or not table_of(rows).whole
    assert (np.diff(fit.upper_value) > 0).all() or not table_of(rows).whole


def rough(n, seed, levels):
    rng = np.random.default_rng(seed)
    score = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    weight = rng.integers(1, 4, n) if seed % 2 else rng.choice([0.001, 0.3, 1.0, 2.5, 1000.0], n)
    return ScoreTable.from_scores(
        (rng.random(n) < score**2).astype(int), score, **{"count" if seed % 2 else "sample_weight": weight}
    )


@pytest.mark.grid
@pytest.mark.parametrize("levels", [None, 200, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_fitting_again_on_many_rows(seed, levels):
    table = rough(1500, seed, levels)
    fit = venn_abers_fit(table)
    at = np.random.default_rng(2).choice(positions(table.score), 60)
    np.testing.assert_allclose(fit.lower(at), one_by_one(table, at, 0), rtol=0, atol=1e-11)
    np.testing.assert_allclose(fit.upper(at), one_by_one(table, at, 1), rtol=0, atol=1e-11)


def test_every_score_a_block_of_its_own():
    m = 60
    table = ScoreTable(np.arange(m) / m, np.full(m, 1000), 10 * np.arange(m))
    fit, at = venn_abers_fit(table), positions(np.arange(m) / m)
    assert fit.lower(at).tolist() == one_by_one(table, at, 0)
    assert fit.upper(at).tolist() == one_by_one(table, at, 1)


def test_negatives_only():
    # A positive below all n negatives has the fit 1 / (n + 1), below n - 1 of them 1 / n, and so on.
    fit = venn_abers_fit(ScoreTable.from_scores([0, 0, 0], [0.2, 0.5, 0.8]))
    at = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9])
    assert fit.upper(at).tolist() == [1 / 4, 1 / 4, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1.0]
    assert fit.lower(at).tolist() == [0.0] * 7


@given(small_rows(weighted=COUNTS))
def test_turning_labels_and_scores_around_swaps_them(rows: Rows):
    table = table_of(rows)
    turned = ScoreTable(1.0 - np.arange(len(table))[::-1] / 16, table.n[::-1], (table.n - table.k)[::-1])
    straight = ScoreTable(np.arange(len(table)) / 16, table.n, table.k)
    at = np.arange(-1, 2 * len(table) + 1) / 32
    np.testing.assert_allclose(
        venn_abers_fit(turned).upper(1.0 - at), 1.0 - venn_abers_fit(straight).lower(at), rtol=0, atol=1e-15
    )


def test_weights_beyond_the_precision_of_one_row():
    table = ScoreTable(np.array([0.2, 0.5, 0.8]), np.array([1e17, 3e17, 1e17]), np.array([3e16, 1e17, 1e17]))
    fit = venn_abers_fit(table)
    assert fit.lower(table.score) == pytest.approx([0.3, 1 / 3, 1.0])
    assert fit.upper(table.score) == pytest.approx([0.3, 1 / 3, 1.0])


def test_cells_stand_at_their_mean_score():
    table = ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    low, high = np.array([0.1, 0.5]), np.array([0.3, 0.9])
    sums = [np.add.reduceat(part, [0, 2]) for part in (table.rise, table.fall)]
    totals = table.squared_total, table.log_loss_total
    cells = ScoreTable.from_cells(np.array([2, 2]), np.array([1, 1]), CellSums(low, high, *sums, *totals))
    fit, expected = venn_abers_fit(cells), venn_abers_fit(ScoreTable(cells.score, cells.n, cells.k))
    at = np.linspace(0, 1, 41)
    assert fit.lower(at).tolist() == expected.lower(at).tolist()
    assert fit.upper(at).tolist() == expected.upper(at).tolist()


def test_no_rows():
    empty = np.zeros(0)
    with pytest.raises(DataError, match="at least one row"):
        venn_abers_fit(ScoreTable(empty, empty.astype(int), empty.astype(int)))
