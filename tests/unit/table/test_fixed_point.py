"""Whole numbers in two words against Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.table.table_sums import BITS, MOST_ROWS, UNIT, FixedPoint, score_units

words = st.lists(st.tuples(st.integers(-(2**61), 2**61), st.integers(-(2**61), 2**61)), min_size=1, max_size=6)
numbers = st.lists(st.integers(-(2**84), 2**84), min_size=1, max_size=8)


def whole(values: list[int]) -> FixedPoint:
    return FixedPoint(
        *(np.array(part, dtype=np.int64) for part in zip(*((v >> 32, v & 0xFFFFFFFF) for v in values), strict=True))
    )


def integers(found: FixedPoint) -> list[int]:
    assert ((found.lower >= 0) & (found.lower < 2**32)).all()
    return [int(u) * 2**32 + int(v) for u, v in zip(found.upper, found.lower, strict=True)]


@given(words, st.integers(0, 32))
def test_words_are_carried(pairs, word):
    upper, lower = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    assert integers(FixedPoint.of(upper, lower, word=word)) == [u * 2**word + v for u, v in pairs]


@given(st.lists(st.tuples(st.integers(0, 2**42 - 1), st.integers(0, 2**BITS)), min_size=1, max_size=6))
def test_products(pairs):
    count, units = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    assert integers(FixedPoint.product(count, units)) == [c * u for c, u in pairs]


@given(numbers, numbers)
def test_sums_and_differences(one, two):
    size = min(len(one), len(two))
    a, b = whole(one[:size]), whole(two[:size])
    assert integers(a + b) == [x + y for x, y in zip(one[:size], two[:size], strict=True)]
    assert integers(a - b) == [x - y for x, y in zip(one[:size], two[:size], strict=True)]


@given(numbers)
def test_running_totals_runs_and_picks(values):
    held = whole(values)
    assert integers(held.cumsum()) == [sum(values[: i + 1]) for i in range(len(values))]
    starts = sorted({0, len(values) // 2})
    runs = [sum(values[i:j]) for i, j in zip(starts, [*starts[1:], len(values)], strict=True)]
    assert integers(held.add_runs(np.array(starts))) == runs
    assert integers(FixedPoint.joined([held, held])[np.arange(len(values))]) == values
    assert len(held) == len(values)


@given(numbers)
def test_floats_are_rounded_once(values):
    """Python rounds a quotient of integers correctly."""
    assert whole(values).to_float().tolist() == [float(Fraction(v, 2**BITS)) for v in values]


@given(st.lists(st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, -0.0, 1.0, 0.5, UNIT])), min_size=1, max_size=9))
def test_scores_are_rounded_to_the_nearest_unit(score):
    for dtype in (np.float64, np.float32):
        held = np.array(score, dtype=dtype)
        found = score_units(held)
        for unit, s in zip(found.tolist(), held.tolist(), strict=True):
            assert abs(Fraction(unit) - Fraction(s) * 2**BITS) <= Fraction(1, 2) + Fraction(1, 2**11)
        order = np.argsort(held, kind="stable")
        assert (np.diff(found[order]) >= 0).all()


@pytest.mark.parametrize("size", [1, 1000])
def test_largest_sums_fit(size):
    """Arithmetic: the most rows, all at score 1 or 0.5, in one number and added up from many."""
    count = np.full(size, int(MOST_ROWS) // size)
    for units in (2**BITS, 2**BITS - 1, 2 ** (BITS - 1) + 1):
        total = FixedPoint.product(count, np.full(size, units)).cumsum()
        assert integers(total)[-1] == int(count.sum()) * units
