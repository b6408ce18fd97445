"""Rows added up in narrow buckets, against the sums of sorted scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import DataError
from calibrant.ingest import fine_sums
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.fine_sums import FineSums, packed
from calibrant.ingest.grid import Grid
from calibrant.table.pooling import pool_rows, pool_weighted
from calibrant.table.validation import CleanRows
from support.strategies import Rows, small_rows

bits = st.sampled_from([0, 1, 3, 9])


def expected(rows: Rows, grid: Grid) -> BucketSums:
    pooled = pool_rows(rows.y, rows.s) if rows.w is None else pool_weighted(rows.y, rows.s, rows.w)
    return BucketSums.of_scores(*pooled, grid)


def found(rows: Rows, grid: Grid, size: int = 3) -> BucketSums:
    sums = FineSums(grid, float(rows.s.min()), float(rows.s.max()))
    for start in range(0, len(rows.y), size):
        part = slice(start, start + size)
        weight = None if rows.w is None else rows.w[part]
        sums.add([packed(CleanRows(rows.y[part].astype(np.int8), rows.s[part], weight))])
    return sums.sums()


def assert_same(ours: BucketSums, theirs: BucketSums) -> None:
    assert ours.bucket.tolist() == theirs.bucket.tolist()
    # The limits are those of the bucket.
    assert (ours.low <= theirs.low).all()
    assert (ours.high >= theirs.high).all()
    assert (ours.low[1:] > ours.high[:-1]).all()
    for name in ("counts", "upper", "lower"):
        one, two = getattr(ours, name), getattr(theirs, name)
        if one.dtype.kind == "i":
            assert one.tolist() == two.tolist(), name
        else:
            assert one == pytest.approx(two, rel=1e-12, abs=1e-12), name


@given(small_rows(), bits)
def test_sums_are_those_of_sorted_scores(rows, bits):
    grid = Grid.over(float(rows.s.min()), float(rows.s.max()), bits=bits)
    assert_same(found(rows, grid), expected(rows, grid))


@given(small_rows(most=12, weighted=("none",)), st.sampled_from([3, 4]))
def test_full_buckets_are_emptied_in_time(rows, count):
    """With few bits for rows, so that both sums of a bucket fill their number often."""
    grid = Grid(38)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fine_sums, "_COUNT", 63 - count)
        assert_same(found(rows, grid, size=2), expected(rows, grid))


def test_very_many_rows_at_one_score():
    """More than fit into the upper bits at once: 2**21 rows, and a third as many again."""
    score, label = np.full(1 << 19, 0.7), np.tile(np.array([0, 1, 1, 0], dtype=np.int8), 1 << 17)
    grid = Grid.over(0.0, 1.0, bits=21)
    sums = FineSums(grid, 0.0, 1.0)
    for _ in range(6):
        sums.add([packed(CleanRows(label, score, None))])
    ours = sums.sums()
    theirs = BucketSums.of_scores(np.array([0.7]), np.array([6 << 19]), np.array([3 << 19]), grid)
    assert_same(ours, theirs)
    assert sums.rows == 6 << 19


def test_rows_with_weights_after_rows_without():
    grid = Grid.over(0.0, 1.0, bits=4)
    sums = FineSums(grid, 0.0, 1.0)
    label, score = np.array([0, 1], dtype=np.int8), np.array([0.25, 0.75])
    sums.add([packed(CleanRows(label, score, None)), packed(CleanRows(label, score, np.array([2, 0])))])
    sums.add([packed(CleanRows(label, score, None)), packed(CleanRows(label, score, np.array([0.5, 1.5])))])
    ours = sums.sums()
    assert ours.n.tolist() == [4.5, 3.5]
    assert ours.sums().tolist() == [[0.0, 0.875], [1.125, 0.0]]
    assert sums.rows == 7  # one has no weight


def test_scores_beyond_the_limits():
    sums = FineSums(Grid.over(0.25, 0.5, bits=4), 0.25, 0.5)
    for score in (0.1, 0.9):
        with pytest.raises(DataError, match="scores beyond the smallest or largest of an earlier one"):
            sums.add([packed(CleanRows(np.array([1], dtype=np.int8), np.array([score]), None))])
