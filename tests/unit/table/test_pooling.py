"""Pooling of single rows, in blocks, against counting them one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.table import pooling
from tests.support.strategies import small_rows


@pytest.mark.parametrize("block", [1, 2, 5])
@given(rows=small_rows(most=20, weighted=("none",)))
def test_rows_are_counted_whatever_the_blocks(block, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_BLOCK", block)
        score, n, k = pooling.pool_rows(rows.y, rows.s)
    every, positive = Counter(rows.s.tolist()), Counter(rows.s[rows.y == 1].tolist())
    assert (score.dtype, n.dtype, k.dtype) == (np.float64, np.int64, np.int64)
    assert score.tolist() == sorted(every)
    assert n.tolist() == [every[s] for s in score.tolist()]
    assert k.tolist() == [positive[s] for s in score.tolist()]
    assert not np.signbit(score).any()


@given(st.integers(1, 60))
def test_one_score_that_fills_many_blocks(n):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_BLOCK", 4)
        score, total, k = pooling.pool_rows(np.ones(n, dtype=np.int8), np.full(n, 0.3, dtype=np.float32))
    assert (score.tolist(), total.tolist(), k.tolist()) == ([float(np.float32(0.3))], [n], [n])


@given(st.lists(st.lists(st.integers(-5, 5), max_size=8), min_size=1, max_size=3))
def test_distinct_numbers_are_those_of_a_set(numbers):
    found = pooling.distinct_numbers(*(np.array(part, dtype=np.int32) for part in numbers))
    assert found.tolist() == sorted(set().union(*numbers))
    assert found.dtype == np.int64


@pytest.mark.parametrize("sign", [1.0, -1.0])
@given(st.lists(st.tuples(st.sampled_from([0.0, -0.0, 0.2, np.nextafter(0.2, 1.0), 0.3, 1.0]), st.integers(0, 2))))
def test_order_by_scores_that_differ_in_the_last_bit_and_by_a_further_key(sign, rows):
    score, further = sign * np.array([s for s, _ in rows]), np.array([key for _, key in rows])
    assert pooling.score_order(score).tolist() == np.lexsort([score]).tolist()
    assert pooling.score_order(score, further).tolist() == np.lexsort([further, score]).tolist()


def test_places_of_whole_numbers():
    code = np.array([3, 0, 3, 1, 7, 0])
    assert [places.tolist() for places in pooling.places_of(code, 5)] == [[1, 5], [3], [], [0, 2], []]
    assert [places.tolist() for places in pooling.places_of(code[:0], 2)] == [[], []]
