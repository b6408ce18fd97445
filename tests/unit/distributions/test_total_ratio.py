"""Limits for ratios of totals of which a few draws may bring most."""

import numpy as np
import pytest

from calibrant.distributions.total_ratio import by_draw, ratio_limits


def limits(rows):
    """Limits of clusters that bring the same, of which the first has so many rows."""
    outcome = np.zeros(40)
    outcome[:24] = np.append(np.ones(23), 50.0)
    size = np.full(40, 10.0)
    return ratio_limits([outcome, size, size, np.full(40, np.inf), np.append(rows, size[1:])], 0.95)


def test_rows_of_a_large_cluster_may_bring_what_those_of_another_did():
    (_, small, _), (_, large, _) = limits(10.0), limits(1000.0)
    assert large > 2.0 * small


def test_draws_are_clusters_or_rows():
    column, cluster = np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1])
    assert [part.tolist() for part in by_draw(cluster, column)] == [[2.0, 5.0], [1.0, 2.0]]
    assert by_draw(None, column)[0] is column
    assert by_draw(None, column)[1] == pytest.approx(1.0)
