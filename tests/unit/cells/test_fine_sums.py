"""Rows added up in narrow buckets, against the sums of sorted scores."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cells import bucket_sums as grid_file
from calibrant.cells import slices
from calibrant.cells.bucket_sums import BucketSet, BucketSums, Grid
from calibrant.cells.slices import FineSums
from calibrant.table.pooling import pool_rows, pool_weighted
from calibrant.table.validation import CleanRows
from support.strategies import Rows, small_rows

bits = st.sampled_from([0, 1, 3, 9])


def expected(rows: Rows, grid: Grid) -> BucketSums:
    pooled = pool_rows(rows.y, rows.s) if rows.w is None else pool_weighted(rows.y, rows.s, rows.w)
    return BucketSums.of_scores(*pooled, grid)


def over(grid: Grid, low: float, high: float) -> BucketSet:
    first, last = grid.bucket_of(np.array([low, high])).tolist()
    return BucketSet(grid, np.arange(first, last + 1))


def found(rows: Rows, grid: Grid, inside: BucketSet | None = None, size: int = 3) -> BucketSums:
    sums = FineSums(grid, inside or over(grid, float(rows.s.min()), float(rows.s.max())))
    for start in range(0, len(rows.y), size):
        part = slice(start, start + size)
        weight = None if rows.w is None else rows.w[part]
        sums.add(CleanRows(rows.y[part].astype(np.int8), rows.s[part], weight))
    return sums.sums().of_each()


def assert_same(ours: BucketSums, theirs: BucketSums) -> None:
    assert ours.bucket.tolist() == theirs.bucket.tolist()
    # The limits are those of the bucket.
    assert (ours.low <= theirs.low).all()
    assert (ours.high >= theirs.high).all()
    assert (ours.low[1:] > ours.high[:-1]).all()
    for name in ("counts", "away.upper", "away.lower"):
        one, two = attrgetter(name)(ours), attrgetter(name)(theirs)
        if one.dtype.kind == "i":
            assert one.tolist() == two.tolist(), name
        else:
            assert one == pytest.approx(two, rel=1e-12, abs=1e-12), name


@given(small_rows(), bits)
def test_sums_are_those_of_sorted_scores(rows, bits):
    grid = Grid.over(float(rows.s.min()), float(rows.s.max()), bits=bits)
    assert_same(found(rows, grid), expected(rows, grid))


@given(small_rows(), st.integers(0, 9), bits, st.data())
def test_rows_in_some_buckets_of_a_coarser_grid(rows, wide, bits, data):
    coarse = Grid.over(0.0, 1.0, bits=wide)
    place = coarse.bucket_of(rows.s)
    weighty = np.ones(len(place), dtype=bool) if rows.w is None else rows.w > 0
    numbers = np.unique(place[weighty])
    chosen = numbers[data.draw(st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)).filter(any))]
    kept = np.isin(place, chosen)
    part = Rows(rows.y[kept], rows.s[kept], None if rows.w is None else rows.w[kept])
    for most in (-1, 1 << 23):  # numbers that are searched in, and listed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grid_file, "_MOST_LISTED", most)
            grid = coarse.finer(bits)
            assert_same(found(rows, grid, BucketSet(coarse, chosen)), expected(part, grid))


@given(small_rows(most=12, weighted=("none",)), st.sampled_from([3, 4]))
def test_full_buckets_are_emptied_in_time(rows, count):
    """With few bits for rows, so that both sums of a bucket fill their number often."""
    grid = Grid(38)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "_COUNT", 63 - count)
        assert_same(found(rows, grid, size=2), expected(rows, grid))


def test_very_many_rows_at_one_score():
    """More than fit into the upper bits at once: 2**21 rows, and a third as many again."""
    score, label = np.full(1 << 19, 0.7), np.tile(np.array([0, 1, 1, 0], dtype=np.int8), 1 << 17)
    grid = Grid.over(0.0, 1.0, bits=21)
    sums = FineSums(grid, over(grid, 0.0, 1.0))
    for _ in range(6):
        sums.add(CleanRows(label, score, None))
    ours = sums.sums().of_each()
    theirs = BucketSums.of_scores(np.array([0.7]), np.array([6 << 19]), np.array([3 << 19]), grid)
    assert_same(ours, theirs)
    assert sums.rows == 6 << 19


def test_rows_with_weights_after_rows_without():
    grid = Grid.over(0.0, 1.0, bits=4)
    sums = FineSums(grid, over(grid, 0.0, 1.0))
    label, score = np.array([0, 1], dtype=np.int8), np.array([0.25, 0.75])
    for weight in (None, np.array([2, 0]), None, np.array([0.5, 1.5])):
        sums.add(CleanRows(label, score, weight))
    ours = sums.sums().of_each()
    assert ours.n.tolist() == [4.5, 3.5]
    assert ours.sums().tolist() == [[0.0, 0.875], [1.125, 0.0]]
    assert sums.rows == 8
