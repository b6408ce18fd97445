"""Cells that were settled too early: heavy buckets taken to be single scores that are not, and what is done then."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.ingest import gathering, refinement, two_scans
from calibrant.ingest import partition as cutting
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.grid import Grid
from calibrant.ingest.refinement import Resolved
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.fixed_point import BITS, UNIT
from support import score_distributions
from support.answers import answers

FINE = 14
WIDTH = 2.0**-FINE  # of a narrow bucket


@pytest.fixture
def looks(monkeypatch):
    """Small limits; how many settled cells were looked at again, each time that this happened."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 50)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 64)
    monkeypatch.setattr(gathering, "CELL_BITS", 9)
    monkeypatch.setattr(refinement, "LATER_BITS", 4)
    monkeypatch.setattr(two_scans, "FINE_BITS", FINE)
    monkeypatch.setattr(cutting, "_HEAVY", 0.3)
    found = []
    zone = Resolved.buckets

    def watched(self, which):
        found.append(int(which.sum()))
        return zone(self, which)

    monkeypatch.setattr(Resolved, "buckets", watched)
    return found


def inside(low: float, count: int) -> np.ndarray:
    """Return different scores in the narrow bucket that begins at `low`, away from its ends."""
    return low + WIDTH * (np.arange(count) + 0.5) / count


def a_dip_that_is_not_seen() -> tuple[np.ndarray, np.ndarray]:
    """Rows of which the largest climb begins in a heavy bucket and ends in one that no climb seemed to end in.

    By arithmetic: the walk climbs by 30 * 0.9 = 27 at 0.1 and falls by 300 * 0.2 = 60 at 0.2, to -33. In the bucket at
    0.5 it falls by 100 and climbs back; seen from outside, nothing happens. It climbs by 30 * 0.4 = 12 at 0.6 and by
    20 * 3/16 = 3.75 at 13/16, where it then falls by 10 * 13/16, and by 10 * 0.9 at 0.9. So the largest climb is 27 by
    the edges of buckets, and 100 + 12 + 3.75 = 115.75 if one looks inside. The fit has no corner after 0.6.
    """
    runs = [
        (1, 0.1 + WIDTH * np.arange(30)),
        (0, 0.2 + WIDTH * np.arange(300)),
        (0, inside(0.5, 400)[:200]),
        (1, inside(0.5, 400)[200:]),
        (1, 0.6 + WIDTH * np.arange(30)),
        (1, inside(13 / 16, 30)[:20]),
        (0, inside(13 / 16, 30)[20:]),
        (0, 0.9 + WIDTH * np.arange(10)),
    ]
    return np.concatenate([np.full(len(s), y) for y, s in runs]), np.concatenate([s for _, s in runs])


@pytest.mark.parametrize("weight", [None, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_settled_cells_are_looked_at_again(looks, mirrored, weight):
    """Mirrored, with 1 - s for s and 1 - y for y, the climb becomes a drop."""
    y, s = a_dip_that_is_not_seen()
    if mirrored:
        y, s = 1 - y[::-1], 1.0 - s[::-1]
    w = None if weight is None else np.full(len(s), weight)
    columns = (y, s) if w is None else (y, s, w)
    exact = ScoreTable.from_scores(y, s, sample_weight=w)
    walk = extremes(cumulative_residuals(exact))
    assert (walk.over if mirrored else walk.under) * len(s) == pytest.approx(115.75, abs=0.1)
    table = ScoreTable.from_chunks([columns])
    assert len(looks) == 1
    assert answers(table) == answers(exact)
    assert not table.exact


def test_weights_of_thirds(looks):
    y, s = a_dip_that_is_not_seen()
    w = np.full(len(s), 1 / 3)
    ours, theirs = (
        extremes(cumulative_residuals(table))
        for table in (ScoreTable.from_chunks([(y, s, w)]), ScoreTable.from_scores(y, s, sample_weight=w))
    )
    assert len(looks) == 1
    assert (ours.low, ours.high, ours.sign) == (theirs.low, theirs.high, theirs.sign)
    for name in ("value", "at_most", "under", "over", "ks", "mean_residual"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=UNIT)


def test_if_the_bucket_is_one_score_there_is_no_reason_to(looks):
    y, s = a_dip_that_is_not_seen()
    s[(s > 0.5) & (s < 0.5 + WIDTH)] = 0.5 + WIDTH / 2
    table = ScoreTable.from_chunks([(y, s)])
    assert looks == []
    assert answers(table) == answers(ScoreTable.from_scores(y, s))


@pytest.mark.parametrize("distribution", ["beta", "tiny", "ends", "atom", "coarse", "float32"])
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_two_scans_are_enough_where_heavy_buckets_are_single_scores(looks, monkeypatch, distribution, labels):
    """Then nothing that was settled is in doubt; if it were, all answers would be right and a reading wasted."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 5_000)
    s = score_distributions.scores(distribution, 20_000)
    y = score_distributions.outcomes(s, labels)
    assert answers(ScoreTable.from_chunks([(y, s)])) == answers(ScoreTable.from_scores(y, s))
    assert looks == []


@pytest.mark.slow
def test_random_rows_with_a_heavy_bucket(looks):
    """Outcomes sorted one way or the other inside the bucket, drawn from the scores elsewhere."""
    rng, taken = np.random.default_rng(0), 0
    for _ in range(150):
        size = int(rng.choice([200, 600]))
        several = int(size * rng.choice([0.4, 0.5, 0.7]))
        first = rng.integers(0, 2**FINE) * WIDTH + rng.random(several) * WIDTH
        s = np.concatenate([first, rng.random(size - several)])
        y = (rng.random(size) < s).astype(int)
        y[:several] = (first > np.median(first)) == rng.integers(0, 2)
        w = rng.integers(0, 4, size) if rng.random() < 0.5 else None
        columns = (y, s) if w is None else (y, s, w)
        table = ScoreTable.from_chunks([tuple(c[i::3] for c in columns) for i in range(3)])
        assert answers(table) == answers(ScoreTable.from_scores(y, s, sample_weight=w))
        assert len(looks) <= 1, "limits are narrower after a look, so what was not in doubt stays so"
        taken += len(looks)
        looks.clear()
    assert taken >= 15, "a tenth of them"


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12, unique=True), st.integers(20, 33), st.data())
def test_the_zone_of_cells_is_all_their_buckets(edges, shift, data):
    """Cells as two scans leave them: limits in place of scores, half a unit below the first unit of a bucket."""
    edges = [0, *sorted(edges)]
    low = np.maximum(0.0, (np.array(edges[:-1]) * 2.0**shift - 0.5) * UNIT)
    high = np.nextafter((np.array(edges[1:]) * 2.0**shift - 0.5) * UNIT, 0.0)
    size = len(low)
    none = np.zeros((4, size), dtype=np.int64)
    sums = BucketSums(np.array(edges[:-1]), low, high, none[:3], none, none)
    which = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any)))
    zone = Resolved(sums, Grid(shift)).buckets(which)
    cells = [range(*pair) for pair, kept in zip(pairwise(edges), which, strict=True) if kept]
    assert zone.numbers.tolist() == [number for cell in cells for number in cell]
    assert zone.grid == Grid(shift)


def test_the_zone_of_a_cell_that_ends_at_one():
    sums = BucketSums.of_scores(np.array([0.9, 1.0]), np.array([1, 1]), np.array([1, 1]), Grid(BITS - 1)).in_runs(
        np.array([0])
    )
    assert Resolved(sums, Grid(BITS - 3)).buckets(np.array([True])).numbers.tolist() == [7, 8]
