"""The first look at all rows: whatever their order, the buckets are those of the range of the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cells.bucket_sums import BucketSums, Grid
from calibrant.cells.slices import FineSums, FirstPass
from calibrant.errors import DataError
from calibrant.table.pooling import pool_rows, pool_weighted
from calibrant.table.validation import CleanRows
from support.strategies import Rows, small_rows

bits = st.integers(0, 9)


def passed(rows: Rows, bits: int, size: int) -> FirstPass:
    first = FirstPass(bits)
    for start in range(0, len(rows.y), size):
        part = slice(start, start + size)
        weight = None if rows.w is None else rows.w[part]
        first.add(CleanRows(rows.y[part].astype(np.int8), rows.s[part], weight))
    return first


def assert_sums_of(rows: Rows, bits: int, sums: BucketSums) -> None:
    pooled = pool_rows(rows.y, rows.s) if rows.w is None else pool_weighted(rows.y, rows.s, rows.w)
    grid = Grid.over(float(pooled[0].min()), float(pooled[0].max()), bits=bits)
    exact = BucketSums.of_scores(*pooled, grid)
    assert sums.bucket.tolist() == exact.bucket.tolist()
    for ours, theirs in ((sums.counts, exact.counts), (sums.sums(), exact.sums())):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@given(small_rows(), bits, st.integers(1, 4), st.sampled_from(["as they come", "up", "down", "outwards"]), st.data())
def test_buckets_do_not_depend_on_the_order(rows, bits, size, order, data):
    scores = rows.s.astype(np.float64)
    key = {"up": scores, "down": -scores, "outwards": np.abs(scores - np.median(scores))}.get(
        order, np.zeros(len(scores))
    )
    by = np.argsort(key, kind="stable")
    sorted_rows = Rows(rows.y[by], rows.s[by], None if rows.w is None else rows.w[by])
    asked = data.draw(st.integers(0, bits))  # fewer than were kept
    first = passed(sorted_rows, bits, size)
    assert_sums_of(rows, asked, first.sums(asked).of_each())
    assert first.rows == (len(rows.y) if rows.w is None else int(np.count_nonzero(rows.w)))


@pytest.fixture
def moves(monkeypatch):
    """How often sums were put into other buckets."""
    counted = []
    put = FineSums.put
    monkeypatch.setattr(FineSums, "put", lambda self, sums: counted.append(1) or put(self, sums))
    return counted


def test_sorted_rows_need_few_new_arrays(moves):
    """Spare buckets are where scores go, so that a sorted file does not have its sums moved at every batch."""
    score = np.linspace(0.1, 0.9, 10_000)
    for ordered in (score, score[::-1]):
        passed(Rows(np.zeros(len(score)), ordered, None), 8, 10)
    assert 0 < len(moves) < 60  # of 2,000 batches


def test_scores_that_grow_on_one_side_and_then_on_the_other_need_few_new_arrays(moves):
    score = np.linspace(0.1, 0.9, 10_000).reshape(-1, 10)
    outwards = np.stack([score[499::-1], score[500:]], axis=1).ravel()
    passed(Rows(np.zeros(len(outwards)), outwards, None), 8, 10)
    assert 0 < len(moves) < 120  # of 1,000 batches


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1])
def test_scores_that_were_checked_and_are_others_now(value):
    rows = CleanRows(np.zeros(2, dtype=np.int8), np.array([0.5, value]), None)
    with pytest.raises(DataError, match="the same rows at every reading, found a score that is no number from 0 to 1"):
        FirstPass(4).add(rows)


@pytest.mark.parametrize("different", [200_000, 3_000_000])
def test_how_many_scores_are_different(different):
    rng = np.random.default_rng(different)
    scores = rng.random(different)
    first = FirstPass(9)
    for _ in range(2):  # what is met again does not count
        first.add(CleanRows(np.zeros(different, dtype=np.int8), scores, None))
    assert first.different == pytest.approx(different, rel=0.2 if different < 1e6 else 0.08)


@pytest.mark.parametrize("weight", [[1.5, 1.0], [2.0**38, 1.0]])
def test_whether_weights_are_numbers_of_rows(weight):
    label, score = np.array([0, 1], dtype=np.int8), np.array([0.25, 0.75])
    first = FirstPass(4)
    first.add(CleanRows(label, score, np.array([1, 2])))
    assert first.whole
    weight = np.array(weight)
    first.add(CleanRows(label, score, weight.astype(np.int64) if weight[0] > 2 else weight))
    assert not first.whole


def test_no_rows():
    with pytest.raises(DataError, match="at least one row"):
        FirstPass(4).sums(4)
