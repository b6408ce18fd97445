"""Rows of each class in bins of the score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.curves import score_histogram
from calibrant.errors import ArgumentError
from support.strategies import small_rows


def count(rows, edges):
    """Count the weight of each class bin by bin; the last bin has both its ends."""
    w = rows.as_they_count()
    found = []
    for j in range(len(edges) - 1):
        last = j == len(edges) - 2
        inside = [edges[j] <= s and (s < edges[j + 1] or (last and s == edges[j + 1])) for s in rows.s.tolist()]
        found.append([sum(w[np.array(inside) & (rows.y == label)]) for label in (1, 0)])
    return np.array(found)


@given(rows=small_rows(), n_bins=st.integers(1, 7), ends=st.sampled_from([(0, 1), (0.25, 0.5), (0, 0.3), (0.5, 1)]))
def test_matches_counting(rows, n_bins, ends):
    histogram = score_histogram(rows.y, rows.s, n_bins=n_bins, within=ends, **rows.keywords)
    low, high = ends
    edges = [low + (high - low) * (j / n_bins) for j in range(n_bins + 1)]
    found = np.array([histogram.positives, histogram.negatives]).T
    assert found == pytest.approx(count(rows, edges))
    assert histogram.edges == pytest.approx(edges)


def test_table_has_the_ends_of_the_bins():
    frame = score_histogram([0, 1, 1], [0.1, 0.6, 1.0], n_bins=2).to_frame("polars")
    assert frame.rows() == [(0.0, 0.5, 0.0, 1.0), (0.5, 1.0, 2.0, 0.0)]
    assert frame.columns == ["low", "high", "positives", "negatives"]


def test_rows_outside_are_not_counted():
    histogram = score_histogram([0, 1, 1, 0], [0.0, 0.2, 0.3, 0.31], n_bins=1, within=(0.1, 0.3))
    assert (histogram.positives.tolist(), histogram.negatives.tolist()) == ([2.0], [0.0])


@pytest.mark.parametrize("within", [(0.5, 0.5), (0.5, 0.2), (-0.1, 0.5), (0.5, 1.1), (0.0, float("nan"))])
def test_bad_stretch(within):
    with pytest.raises(ArgumentError, match="end of within"):
        score_histogram([0, 1], [0.1, 0.9], within=within)


@pytest.mark.parametrize("within", [3, None, "01", (0.1,), (0.1, 0.2, 0.3), [[0.1, 0.2]]])
def test_ends_that_are_no_pair(within):
    with pytest.raises(ArgumentError, match="within to be a pair of scores"):
        score_histogram([0, 1], [0.2, 0.7], within=within)
