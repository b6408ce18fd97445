"""Buckets against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cells import bucket_sums as grid_file
from calibrant.cells.bucket_sums import BucketSet, DoubleGrid, Grid, Intervals
from calibrant.table.table_sums import BITS, UNIT, score_units

score = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 0.5, 1e-5, 5e-324, 2.0**-43, np.nextafter(1.0, 0.0)]))
scores = st.lists(score, min_size=1, max_size=12)


@given(scores, st.integers(0, BITS))
def test_place_is_the_floor_of_an_exact_quotient(values, shift):
    expected = [floor(Fraction(u, 2**shift)) for u in score_units(np.array(values)).tolist()]
    assert Grid(shift).bucket_of(np.array(values)).tolist() == expected


@given(scores, st.integers(1, 20))
def test_grids_cover_the_range_in_few_buckets(values, bits):
    low, high = min(values), max(values)
    grid = Grid.over(low, high, bits=bits)
    place = grid.bucket_of(np.array([low, high]))
    assert place[1] - place[0] <= 2**bits
    # More than half as many as may be, unless there are no narrower ones.
    assert place[1] - place[0] >= 2 ** (bits - 1) or grid.shift == 0


@given(scores, st.integers(0, BITS), st.integers(0, 9))
def test_finer_and_coarser_grids_are_nested(values, shift, bits):
    s, grid = np.array(values), Grid(shift)
    finer = grid.finer(bits)
    assert (finer.bucket_of(s) >> (shift - finer.shift)).tolist() == grid.bucket_of(s).tolist()
    assert grid.coarser(bits).bucket_of(s).tolist() == (grid.bucket_of(s) >> bits).tolist()


@given(scores, scores, st.integers(0, BITS))
def test_a_zone_holds_the_scores_of_its_buckets(values, inside, shift):
    grid = Grid(shift)
    numbers = np.array(sorted(set(grid.bucket_of(np.array(inside)).tolist())))
    s = np.array(values)
    expected = [{n: i for i, n in enumerate(numbers.tolist())}.get(place, -1) for place in grid.bucket_of(s).tolist()]
    span = int(numbers[-1] - numbers[0])
    for most in (-1, min(span, 1 << 16), grid_file._MOST_LISTED):  # searched in, listed if it is just possible, as set
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grid_file, "_MOST_LISTED", most)
            zone, before = BucketSet(grid, numbers), s.copy()
            assert (zone._listed is None) == (span > most)
            assert zone.index(s).tolist() == expected
            assert np.array_equal(s, before)


def test_a_zone_is_asked_again_and_again():
    """Buckets before the first, after the last, between, and none at all."""
    zone = BucketSet(Grid(0), np.array([5, 7]))
    for _ in range(2):
        assert zone.index(np.arange(4, 10) * UNIT).tolist() == [-1, 0, -1, 1, -1, -1]
        assert zone.index(np.array([0.0, 1.0])).tolist() == [-1, -1]
        assert zone.index(np.zeros(0)).tolist() == []


@pytest.mark.parametrize("bits", [1, 5, 18])
@pytest.mark.parametrize("spare", [-1, 0, 1, 2])
def test_ranges_at_the_ends_of_a_power_of_two(bits, spare):
    """Arithmetic: 2**(bits + 3) + spare units from the first to the last; eight share a bucket up to spare = 0."""
    last = 2 ** (bits + 3) + spare
    for first in (0, 7, 2**30 - 3):
        grid = Grid.over(first * 2.0**-BITS, (first + last) * 2.0**-BITS, bits=bits)
        assert grid.shift == (3 if spare <= 0 else 4)
        low, high = grid.bucket_of(np.array([first, first + last]) * UNIT).tolist()
        assert 2 ** (bits - 1) <= high - low <= 2**bits


@given(scores, st.integers(2, 9))
def test_doubles_divide_buckets_of_one_unit_and_intervals(values, bits):
    """In the order of scores, of which none leaves its bucket; each part is narrower, until every double is alone."""
    s = np.array(sorted({value + 0.0 for value in values}))
    numbers = np.array(sorted(set(Grid(0).bucket_of(s).tolist())))
    low, high = (numbers - 0.5) * UNIT, (numbers + 0.5) * UNIT
    divided: BucketSet | Intervals = BucketSet(Grid(0), numbers)
    grid = DoubleGrid(divided, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), bits)
    for _ in range(64):
        number = grid.bucket_of(s)
        assert (np.diff(number) >= 0).all()
        assert (number >> bits).tolist() == grid.divided.index(s).tolist()
        starts = np.flatnonzero(np.append(True, np.diff(number) > 0))
        low, high = s[starts], s[np.append(starts[1:], len(s)) - 1]
        if len(starts) == len(s):
            break
        grid = DoubleGrid(Intervals(low, high), low, high, bits)
    assert len(starts) == len(s)
    assert grid.bucket_of(np.array([-0.0] if s[0] == 0.0 else s[:1])).tolist() == number[:1].tolist()


def test_scores_between_intervals_are_in_none():
    some = Intervals(np.array([0.25, 0.75]), np.array([0.5, 0.75]))
    assert some.index(np.array([0.0, 0.25, 0.5, np.nextafter(0.5, 1.0), 0.75, 1.0])).tolist() == [-1, 0, 0, -1, 1, -1]
