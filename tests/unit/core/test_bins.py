"""Bins of a table: equal scores share one, and edges are where they are said to be."""

from __future__ import annotations

import numpy as np

from calibrant import ScoreTable
from calibrant.core.bins import equal_mass_bins, equal_width_bins


def test_equal_width_by_hand():
    table = ScoreTable.from_scores([0] * 7, [0.0, 0.0999, 0.1, 0.35, 0.5, 0.99, 1.0])
    assert equal_width_bins(table, 10).tolist() == [0, 0, 1, 3, 5, 9, 9]


def test_equal_mass_by_hand():
    """Arithmetic: eight distinct scores in four bins of two."""
    table = ScoreTable.from_scores([0] * 8, np.arange(8) / 8)
    assert equal_mass_bins(table, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_equal_scores_share_a_bin_and_numbers_have_no_gaps():
    """Arithmetic: 98 of 100 rows tie, so ten bins cannot be filled."""
    table = ScoreTable.from_counts([0.1, 0.5, 0.9], [1, 98, 1], [0, 50, 1])
    assert equal_mass_bins(table, 10).tolist() == [0, 1, 2]


def test_bins_hold_about_equally_many_rows():
    """No distinct score holds more than 1/50 of a bin, so no bin is off by more than that at either end."""
    rng = np.random.default_rng(0)
    table = ScoreTable.from_scores(np.zeros(10_000), rng.beta(0.5, 2.0, 10_000))
    rows = np.bincount(equal_mass_bins(table, 20), weights=table.n)
    assert len(rows) == 20
    assert np.abs(rows - 500).max() <= 2
