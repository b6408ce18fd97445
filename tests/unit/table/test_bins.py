"""Bins of a table: equal scores share one, and edges are where they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.errors import ArgumentError, DataError
from calibrant.table.bins import bin_starts, equal_mass_bins, equal_width_bins, type7_bins


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


def test_a_block_whose_middle_is_on_a_border_belongs_to_the_upper_bin():
    """Arithmetic: the middle of the third block is row 58 of 200; 58 / 200 * 100 would be rounded to below 29."""
    table = ScoreTable.from_counts([0.1, 0.2, 0.3, 0.4], [56, 1, 2, 141], [0] * 4)
    assert equal_mass_bins(table, 100).tolist() == [0, 1, 2, 3]


def test_type7_by_hand():
    """Arithmetic: the median of 1, 2, 3, 4 tenths is .25, that of five scores is the third, which goes below."""
    four = ScoreTable.from_scores([0] * 4, [0.1, 0.2, 0.3, 0.4])
    assert type7_bins(four, 2).tolist() == [0, 0, 1, 1]
    five = ScoreTable.from_scores([0] * 5, [0.1, 0.2, 0.3, 0.4, 0.5])
    assert type7_bins(five, 2).tolist() == [0, 0, 0, 1, 1]


def test_type7_drops_repeated_quantiles():
    """Arithmetic: 98 of 100 rows tie at .5, so eight of nine deciles are .5 and the first is .5 as well."""
    table = ScoreTable.from_counts([0.1, 0.5, 0.9], [1, 98, 1], [0, 50, 1])
    assert type7_bins(table, 10).tolist() == [0, 0, 1]


def test_type7_of_more_bins_than_rows_leaves_no_empty_ones():
    table = ScoreTable.from_scores([0, 1], [0.2, 0.8])
    assert type7_bins(table, 10).tolist() == [0, 1]


def test_type7_of_very_many_rows():
    """Arithmetic: of 4q - 1 rows, counted from 0, the third quartile stands at 3q - 1.5, above row 3q - 2."""
    q = 10**15
    for first, bins in ((3 * q - 2, [0, 1, 2]), (3 * q - 1, [0, 1, 1])):
        table = ScoreTable.from_counts([0.1, 0.2, 0.3], [first, 1, 4 * q - 2 - first], [0, 0, 0])
        assert type7_bins(table, 4).tolist() == bins


def test_type7_agrees_with_numpy():
    """numpy.quantile, method "linear", which is definition 7."""
    rng = np.random.default_rng(3)
    score = rng.integers(0, 40, 500) / 40 + 0.0125
    table = ScoreTable.from_scores(np.zeros(500), score)
    edges = np.unique(np.quantile(score, np.arange(1, 10) / 10))
    assert type7_bins(table, 10).tolist() == np.searchsorted(edges, table.score - 1e-9).tolist()


def test_type7_needs_rows():
    with pytest.raises(DataError, match="definition 7"):
        type7_bins(ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[0.5, 1]), 2)


def test_starts_leave_out_empty_bins():
    table = ScoreTable.from_scores([0] * 4, [0.05, 0.07, 0.55, 0.95])
    assert bin_starts(table, 10, "uniform").tolist() == [0, 2, 3]
    assert bin_starts(table, 2, "quantile").tolist() == [0, 2]
    assert bin_starts(table, 1, "type7").tolist() == [0]


@pytest.mark.parametrize(("n_bins", "strategy", "name"), [(0, "uniform", "n_bins"), (3, "equal", "strategy")])
def test_bad_parameters(n_bins, strategy, name):
    with pytest.raises(ArgumentError, match=name):
        bin_starts(ScoreTable.from_scores([0, 1], [0.2, 0.7]), n_bins, strategy)
