"""What an audit says of bins and of the possible saving, for clusters, misses about as often as it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from calibrant import ScoreTable
from calibrant.curves.reliability import cluster_bins
from calibrant.decisions.clusters import cluster_saving
from calibrant.decisions.cost import costs_by_cut
from calibrant.table.clusters import cluster_rows
from support.cluster_worlds import ClusterWorld, lognormal
from support.counting import assert_failures_within

THRESHOLD = 0.07
WORLDS = {
    "too low": ClusterWorld(lognormal(20, 108), 0.06, 0.4, over=-1.5),
    "too high": ClusterWorld(lognormal(20, 108), 0.06, 0.4, over=1.0),
}


def population(world: ClusterWorld) -> ScoreTable:
    """A million rows, each of a cluster of its own."""
    one = replace(world, size=np.ones(1_000_000, dtype=int))
    one.__dict__["_levels"] = world._levels
    y, z, _, _ = one.draw(np.random.default_rng(11), 1)
    return ScoreTable.from_scores(y[0].astype(int), np.round(expit(z[0]), 5))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_limits_for_savings_and_bins_hold(name):
    world = WORLDS[name]
    table, cluster = population(world), np.repeat(np.arange(len(world.size)), world.size)
    costs = costs_by_cut(table, THRESHOLD, 1.0 - THRESHOLD)
    cost = costs[np.searchsorted(table.score, THRESHOLD)]
    counted, positive = (np.append(0.0, np.cumsum(column)) for column in (table.n, table.k))
    rng, failures, bins, limits = np.random.default_rng(5), np.zeros(2, dtype=int), 0, 0
    for _ in range(200):
        y, z, _, _ = world.draw(rng, 1)
        rows = cluster_rows(y[0].astype(int), np.round(expit(z[0]), 5), cluster)
        found = cluster_saving(rows, false_positive_cost=THRESHOLD, false_negative_cost=1.0 - THRESHOLD)
        failures += [found.saving_bound < cost - costs.min(), not found.cost_lower <= cost <= found.cost_upper]
        curve = cluster_bins(rows, 0.95)
        ends = np.sort(np.round(expit(z[0]), 5))[np.cumsum(curve.n).astype(int) - 1]
        place = np.append(0, np.searchsorted(table.score, ends[:-1], side="right"))
        place = np.append(place, len(table))
        rate = np.diff(positive[place]) / np.diff(counted[place])
        known = ~np.isnan(curve.lower)
        bins += int(((rate < curve.lower) | (rate > curve.upper))[known].sum())
        limits += int(known.sum())
    assert_failures_within(int(failures[0]), 200, 0.05)
    assert_failures_within(int(failures[1]), 200, 0.08)
    assert bins < 0.07 * limits
