"""Totals of cells, against the measures of their rows taken by themselves."""

import numpy as np
import pytest

from calibrant.metrics import brier_score, cutoff_calibration
from calibrant.segments.totals import RowTotals, SortedRows, bucket_totals

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
        assert found.mean_predicted[i] == pytest.approx(p.mean())
        assert found.null_variance[i] == pytest.approx((p * (1.0 - p)).mean())


def test_buckets_hold_the_error_within_limits(rows):
    score, label, cell = rows
    exact = SortedRows(score, label).totals(cell, CELLS)
    for width in (1.0 / 4096, 1.0 / 16):
        bucket = np.minimum(np.floor(score / width), 1.0 / width - 1).astype(int)
        keys, place = np.unique(cell * 10_000 + bucket, return_inverse=True)
        away = np.abs(label - score)
        parts = [np.bincount(place, values) for values in (away * label, away * ~label, away**2, away**4)]
        n, k = np.bincount(place), np.bincount(place, label).astype(int)
        mixed = np.random.default_rng(1).permutation(len(keys))
        sums = RowTotals(*(each[mixed] for each in (n, k, *parts)))
        found = bucket_totals((keys // 10_000)[mixed], CELLS, (keys % 10_000)[mixed], sums, width)
        assert (found.n == exact.n).all()
        assert (found.k == exact.k).all()
        assert found.squares == pytest.approx(exact.squares)
        assert (found.value <= exact.value + 1e-12).all()
        assert (found.at_most >= exact.value - 1e-12).all()
        assert (found.at_most - found.value).max() < 1.5 * width


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
