"""Limits of means of signed terms from what rows add and what they take off (docs/theory/12-cluster-intervals.md)."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions.cluster_jackknife import LOG, Jackknife


def both_limits(added, taken, rows=50.0):
    """Limits by parts and symmetric ones, as distances below and above, from sums by cluster."""
    jackknife, sums = Jackknife(np.full(len(added), rows)), np.array([added, taken], dtype=np.float64)
    value, without = (sums[0] - sums[1]).sum() / (rows * len(added)), jackknife.means_without(sums[0] - sums[1])
    found = [jackknife.limits(value, without, 0.95, parts=parts)[:2] for parts in (jackknife.parts(sums), None)]
    return [(value - lower, upper - value) for lower, upper in found]


@pytest.mark.parametrize("shared", [0.0, 0.9, -0.9])
def test_with_many_clusters_they_are_the_symmetric_ones(shared):
    one, other = np.random.default_rng(0).standard_normal((2, 4000))
    by_parts, symmetric = both_limits(20.0 + one, 15.0 + shared * one + np.sqrt(1.0 - shared**2) * other)
    assert by_parts == pytest.approx(symmetric, rel=0.01)


def test_they_reach_farther_to_the_side_of_a_rare_large_part():
    added = np.array([1.0, 2.0, 1.0, 0.0, 3.0, 1.0, 12.0, 2.0])
    for one, two, longer in ((added, np.full(8, 2.0), 1), (np.full(8, 2.0), added, 0)):
        by_parts, symmetric = both_limits(one, two)
        assert by_parts[longer] > 1.3 * symmetric[longer]
        assert by_parts[1 - longer] < symmetric[1 - longer]


def test_a_part_that_no_row_has_leaves_the_other_on_the_scale_of_logarithms():
    added = np.array([3.0, 5.0, 2.0, 8.0, 4.0])
    jackknife, sums = Jackknife(np.full(5, 10.0)), np.array([added, np.zeros(5)])
    value, without = added.sum() / 50.0, jackknife.means_without(added)
    by_parts = jackknife.limits(value, without, 0.95, parts=jackknife.parts(sums))
    assert by_parts[:2] == pytest.approx(jackknife.limits(value, without, 0.95, LOG)[:2])


def test_parts_that_are_proportional_move_together():
    """Taken apart, one would seem to be known exactly where the ends of unequal length agree."""
    taken = np.array([3.0, 5.0, 2.0, 8.0, 4.0])
    for times in (1.5, 2.0, 3.0, 5.0):
        by_parts, symmetric = both_limits(times * taken, taken)
        assert min(by_parts) > 0.5 * min(symmetric)


def test_a_part_in_one_cluster_alone_leaves_symmetric_limits():
    by_parts, symmetric = both_limits([0.0, 0.0, 7.0, 0.0], [2.0, 3.0, 1.0, 2.0])
    assert by_parts == symmetric


def test_without_any_change_there_are_none():
    jackknife, sums = Jackknife(np.full(4, 10.0)), np.array([np.full(4, 3.0), np.full(4, 1.0)])
    lower, upper, why = jackknife.limits(
        0.2, jackknife.means_without(sums[0] - sums[1]), 0.95, parts=jackknife.parts(sums)
    )
    assert np.isnan([lower, upper]).all()
    assert why == "no interval: no cluster changes it"
