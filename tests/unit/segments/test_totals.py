"""Totals of cells, against the measures of their rows taken by themselves."""

import numpy as np
import pytest

from calibrant.metrics import brier_score, cutoff_calibration
from calibrant.segments.totals import RowTotals, SortedRows, bucket_totals
from calibrant.table.cumulative_residuals import largest_move
from calibrant.table.score_table import as_table

CELLS = 6  # the last of them without rows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    score = np.sort(np.round(rng.beta(1.0, 2.0, 20_000), 3))
    return score, rng.random(20_000) < score**1.2, rng.integers(0, CELLS - 1, 20_000)


def test_sorted_rows(rows):
    score, label, cell = rows
    everything = SortedRows(score, label).totals(cell, CELLS)
    assert (everything.n[-1], everything.value[-1], everything.sign[-1]) == (0, 0.0, 0)
    found = everything.pick(everything.n > 0)
    for i in range(CELLS - 1):
        y, p = label[cell == i], score[cell == i]
        alone = cutoff_calibration(y, p)
        assert found.value[i] == pytest.approx(alone.value, abs=1e-12)
        assert (found.low[i], found.high[i]) == alone.interval
        assert found.sign[i] == (1 if alone.direction == "too low" else -1)
        assert (found.n[i], found.k[i]) == (len(y), y.sum())
        assert found.brier[i] == pytest.approx(brier_score(y, p))
        assert found.fourths[i] == pytest.approx(((y - p) ** 4).sum())
        assert found.predicted[i] == pytest.approx(p.mean())
        assert found.null_variance[i] == pytest.approx((p * (1.0 - p)).mean())


@pytest.mark.parametrize("side", [1, -1])
def test_errors_on_one_side_are_those_of_a_certificate_in_that_direction(rows, side):
    score, label, cell = rows
    label = label ^ (cell == 1) & (score > 0.4)  # in one cell most of the error is on the other side
    everything = SortedRows(score, label).totals(cell, CELLS, side)
    assert (everything.value[-1], everything.sign[-1]) == (0.0, 0)
    for i in range(CELLS - 1):
        y, p = label[cell == i], score[cell == i]
        alone = largest_move(as_table(y, p), side)
        assert everything.value[i] == pytest.approx(alone.value, abs=1e-12)
        assert (everything.low[i], everything.high[i], everything.sign[i]) == (alone.low, alone.high, side)
    falls = SortedRows(np.array([0.2, 0.2, 0.9]), np.array([False, False, False])).totals(np.array([0, 1, 1]), 2, 1)
    assert (falls.value.tolist(), falls.sign.tolist()) == ([0.0, 0.0], [0, 0])
    assert np.isnan(falls.low).all()


@pytest.mark.parametrize("side", [0, 1, -1])
def test_buckets_hold_the_error_within_limits(rows, side):
    score, label, cell = rows
    exact = SortedRows(score, label).totals(cell, CELLS, side)
    for width in (1.0 / 4096, 1.0 / 16):
        bucket = np.minimum(np.floor(score / width), 1.0 / width - 1).astype(int)
        keys, place = np.unique(cell * 10_000 + bucket, return_inverse=True)
        away = np.abs(label - score)
        parts = [np.bincount(place, values) for values in (away * label, away * ~label, away**2, away**4)]
        n, k = np.bincount(place), np.bincount(place, label).astype(int)
        mixed = np.random.default_rng(1).permutation(len(keys))
        sums = RowTotals(*(each[mixed] for each in (n, k, *parts)))
        found = bucket_totals((keys // 10_000)[mixed], CELLS, (keys % 10_000)[mixed], sums, width, side)
        assert (found.n == exact.n).all()
        assert (found.k == exact.k).all()
        assert found.squares == pytest.approx(exact.squares)
        assert (found.value <= exact.value + 1e-12).all()
        assert (found.at_most >= exact.value - 1e-12).all()
        assert (found.at_most - found.value).max() < (4.0 if side else 1.5) * width


def test_order_of_equal_scores_does_not_show():
    score, cell = np.full(1000, 0.3), np.zeros(1000, dtype=int)
    label = np.arange(1000) < 400
    one, two = (SortedRows(score, each).totals(cell, 1) for each in (label, label[::-1]))
    assert one.value[0] == two.value[0] == pytest.approx(0.1)


def test_one_class_in_a_cell():
    score, cell = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 1])
    found = SortedRows(score, np.array([False, False, True, True])).totals(cell, 2)
    assert found.value == pytest.approx([0.15, 0.65])
    assert found.sign.tolist() == [-1, 1]
