"""Options that go together, in worlds drawn at random: the ones in which bounds fail most are counted again."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.worst_worlds import CELLS, DELTA, NAMES, World, count, near, random_world, search
from support.counting import assert_failures_within

SEARCHED = {
    "grades, clusters": 8,
    "test of events, chances": 12,
    "test of events, clusters": 8,
    "amounts, clusters": 4,
    "events, chances of the design": 4,
    "events, segments, clusters": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_no_world_was_found_by_search(name):
    for _, shares in search(CELLS[name], seed=3, worlds=SEARCHED[name], first=20, kept=1, fresh=100):
        print((shares > 1.0).sum(axis=0), len(shares))
        for failures in (shares > 1.0).sum(axis=0).tolist():
            assert_failures_within(failures, len(shares), DELTA)


# Obligors of one row, and a few of 19 rows that default together.
FEW_LARGE = World(
    share=(0.8, 0.2),
    predicted=(0.03, 0.03),
    true=(0.03, 0.03),
    size=(1, 19),
    segment=(0, 0),
    chance=(1.0, 1.0),
    largest=(1.0, 1.0),
    together=1.0,
    draws=150,
    direction="too high",
)


@pytest.mark.slow
def test_a_quarter_of_the_width_is_caught():
    shares = count(FEW_LARGE, CELLS["grades, clusters"], 120, 5)
    assert_failures_within(int((shares[:, 0] > 1.0).sum()), len(shares), DELTA)
    assert (shares[:, 0] > 0.25).mean() > 2.0 * DELTA


@pytest.mark.slow
def test_clusters_of_one_outcome_without_an_event_reject_unless_unseen_ones_are_allowed_for():
    """Of 60 clusters one is expected to have events, in all of its rows: a third of samples has none."""
    world = replace(
        FEW_LARGE, share=(0.27, 0.73), predicted=(0.012, 0.018), true=(0.012, 0.018), size=(12, 25), draws=60
    )
    cell = CELLS["test of events, clusters"]
    shares = count(world, cell, 120, 5)
    assert_failures_within(int((shares[:, 0] > 1.0).sum()), len(shares), DELTA)
    ordinary = count(world, cell._replace(options={}), 120, 5)
    assert (ordinary[:, 0] > 1.0).mean() > 0.2


# In nearly all samples every cluster has the outcome that is predicted least; of one in a hundred it is another.
ALIKE = World(
    share=(0.9, 0.1),
    predicted=((0.01, 0.495, 0.495), (0.2, 0.4, 0.4)),
    true=((0.98, 0.01, 0.01), (0.2, 0.4, 0.4)),
    size=(10, 3),
    segment=(0, 1),
    chance=(1.0, 1.0),
    largest=(1.0, 1.0),
    together=1.0,
    draws=35,
)


def test_clusters_that_are_all_alike_do_not_prove_what_they_show(monkeypatch):
    shares = count(ALIKE, CELLS["classes, segments, clusters"], 60, 5)
    for failures in (shares > 1.0).sum(axis=0).tolist():
        assert_failures_within(failures, len(shares), DELTA)
    monkeypatch.setattr("calibrant.certificates.clusters.Clustered.hidden_beside", lambda *_: 0.0)
    before = count(ALIKE, CELLS["classes, segments, clusters"], 30, 5)
    assert (before[:, 3] > 1.0).mean() > 0.3


# Two classes that are predicted about rightly, and seldom are there: all rows of a cluster are of one class.
SELDOM = World(
    share=(0.1, 0.5, 0.4),
    predicted=((0.33, 0.12, 0.55), (0.28, 0.32, 0.4), (0.01, 0.5, 0.49)),
    true=((0.33, 0.12, 0.55), (0.27, 0.33, 0.4), (0.01, 0.48, 0.51)),
    size=(2, 4, 12),
    segment=(1, 0, 1),
    chance=(1.0, 1.0, 1.0),
    largest=(1.0, 1.0, 1.0),
    together=1.0,
    draws=30,
)


@pytest.mark.slow
def test_parts_see_from_others_that_clusters_move_as_one():
    shares = count(SELDOM, CELLS["classes, segments, clusters"], 200, 5)
    for failures in (shares > 1.0).sum(axis=0).tolist():
        assert_failures_within(failures, len(shares), DELTA)


def test_each_sample_has_what_it_uses_of_each_distance():
    """And too few samples say nothing."""
    rng = np.random.default_rng(6)
    for name in ("events, chances of the design", "amounts, clusters"):
        world = random_world(CELLS[name], rng)
        assert count(world, CELLS[name], 2, 7).shape == (2, len(NAMES))
    assert near(np.zeros((3, len(NAMES)))) == 0.0
