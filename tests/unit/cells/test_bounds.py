"""What is flagged inside buckets against brute force over every row: nothing that matters is missed."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cells.bucket_sums import BucketSums, Grid
from calibrant.cells.refinement import beside_turn, can_hold_extreme, can_hold_turn, find_corners
from calibrant.cells.slices import Accumulator
from calibrant.table.pooling import pool_rows, pool_weighted
from support import oracles, score_distributions

SLACK = 1e-9


@st.composite
def bucketed(draw):
    """Rows at multiples of 1/64, exact in binary, in 1, 4 or 8 buckets of [0, 1)."""
    size = draw(st.integers(1, 16))
    s = np.array(draw(st.lists(st.integers(0, 64), min_size=size, max_size=size))) / 64
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), dtype=np.int8)
    w = np.array(draw(st.lists(st.integers(1, 3), min_size=size, max_size=size)))
    score, n, k = pool_weighted(y, s, w)
    sums = BucketSums.of_scores(score, n, k, Grid(draw(st.sampled_from([42, 40, 39]))))
    owner = np.searchsorted(sums.high, score)
    return score, n, k, sums, owner


def inside(ends: list[int], owner: np.ndarray) -> set[int]:
    """Buckets in which one of these places lies: after row i, with row i + 1 in the same bucket."""
    return {int(owner[i]) for i in ends if 0 <= i < len(owner) - 1 and owner[i] == owner[i + 1]}


def walk(score, n, k) -> list[Fraction]:
    steps = [int(hits) - int(rows) * Fraction(s) for s, rows, hits in zip(score.tolist(), n, k, strict=True)]
    return [Fraction(0), *accumulate(steps)]


def flagged(which: np.ndarray) -> set[int]:
    return set(np.flatnonzero(which).tolist())


@given(bucketed())
def test_every_highest_and_lowest_point_is_flagged(data):
    score, n, k, sums, owner = data
    path = walk(score, n, k)
    ends = [i - 1 for i, value in enumerate(path) if value in (max(path), min(path))]
    rise, fall, *_ = sums.sums()
    assert inside(ends, owner) <= flagged(can_hold_extreme(rise, fall, SLACK))


@given(bucketed())
def test_every_end_of_a_largest_climb_or_drop_is_flagged(data):
    score, n, k, sums, owner = data
    rise, fall, *_ = sums.sums()
    found = flagged(can_hold_turn(rise, fall, sums.low == sums.high, SLACK))
    for sign in (1, -1):
        path = [sign * value for value in walk(score, n, k)]
        pairs = [(i, j) for j in range(len(path)) for i in range(j)]
        largest = max(path[j] - path[i] for i, j in pairs)
        if largest > 0:
            ends = [end - 1 for i, j in pairs if path[j] - path[i] == largest for end in (i, j)]
            assert inside(ends, owner) <= found


def test_a_climb_can_begin_in_one_bucket_and_end_in_another():
    """Arithmetic: at the edges 0, 7, -20, -20, -20, -60 the largest climb is 7; inside, from -25 to -15, it is 10."""
    rise, fall = np.array([7.0, 0.0, 5.0, 5.0, 0.0]), np.array([0.0, 27.0, 5.0, 5.0, 40.0])
    single = np.array([True, True, False, False, True])
    assert (can_hold_turn(rise, fall, single, SLACK) & ~single).tolist() == [False, False, True, True, False]
    back = can_hold_turn(fall[::-1], rise[::-1], single[::-1], SLACK) & ~single[::-1]
    assert back.tolist() == [False, True, True, False, False]


@given(bucketed())
def test_every_end_of_an_isotonic_block_is_flagged(data):
    _, n, k, sums, owner = data
    found = flagged(find_corners(sums.n, sums.k)[0])
    plain = oracles.min_max_isotonic(n, k)
    # half a positive before and half a negative after, everything twice
    safe = oracles.min_max_isotonic([1, *(2 * n), 1], [1, *(2 * k), 0])
    assert inside(jumps(plain), owner) <= found
    assert inside([i - 1 for i in jumps(safe)], owner) <= found


def test_the_plain_fit_can_have_a_corner_that_the_log_safe_one_has_not():
    """Of 9 positives, then 1 of 2, then 2 of 2, the plain fit is 10/11 and 1; the last four rows are a bucket."""
    assert oracles.min_max_isotonic([9, 2, 2], [9, 1, 2])[1:] == [Fraction(10, 11), 1]
    assert find_corners(np.array([9, 4]), np.array([9, 3]))[0].tolist() == [False, True]


def jumps(fit: list[Fraction]) -> list[int]:
    return [i for i in range(len(fit) - 1) if fit[i] != fit[i + 1]]


def beside(ends: list[int], size: int) -> set[int]:
    """Neighbours of places, of which place i is between row i - 1 and row i."""
    return {row for end in ends for row in (end - 1, end) if 0 <= row < size}


@given(bucketed())
def test_both_sides_of_every_end_of_an_isotonic_block_are_flagged(data):
    _, _, _, sums, _ = data
    found, size = flagged(find_corners(sums.n, sums.k)[1]), len(sums.n)
    plain = oracles.min_max_isotonic(sums.n, sums.k)
    safe = oracles.min_max_isotonic([1, *(2 * sums.n), 1], [1, *(2 * sums.k), 0])
    corners = [0, *(i + 1 for i in jumps(plain)), size]
    assert beside(corners, size) <= found
    assert beside(jumps(safe), size) <= found  # the first half row moves all places by one
    # Where neighbours of equal share are not put together by the fit, the edge between them is no corner but on a line.
    path = [Fraction(0), *accumulate(Fraction(int(hits)) for hits in sums.k)]
    line = [Fraction(0), *accumulate(level * int(rows) for level, rows in zip(plain, sums.n, strict=True))]
    assert found <= beside([i for i in range(size + 1) if path[i] == line[i]], size)


def test_blocks_of_the_fit_begin_and_end():
    """Arithmetic: shares 1/2, 0, 1/2 make blocks of 1/4 and 1/2; 1, 0, 1, 0 one of 1/2; 1, 0, 0 one of their mean."""
    assert find_corners(np.array([2, 2, 4]), np.array([1, 0, 2]))[1].tolist() == [True, True, True]
    assert find_corners(np.array([1, 1, 1, 1]), np.array([1, 0, 1, 0]))[1].tolist() == [True, False, False, True]
    assert find_corners(np.array([3]), np.array([1]))[1].tolist() == [True]
    assert find_corners(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.0, 0.0]))[1].tolist() == [True, False, True]


def ends_of_climbs(path: list[Fraction], slack: Fraction) -> list[int]:
    """Places at which a climb begins or ends that is the largest, or less by no more than the slack."""
    pairs = [(i, j) for j in range(len(path)) for i in range(j + 1)]
    largest = max(path[j] - path[i] for i, j in pairs)
    return [end for i, j in pairs if path[j] - path[i] >= largest - slack for end in (i, j)]


@given(bucketed(), st.sampled_from([0.0, 1 / 64, 0.5]))
def test_both_sides_of_every_end_of_a_largest_climb_or_drop_are_flagged(data, slack):
    """And no others: at multiples of 1/64 all sums are exact."""
    _, _, _, sums, _ = data
    rise, fall, *_ = sums.sums()
    path = [Fraction(0), *accumulate(Fraction(up) - Fraction(down) for up, down in zip(rise, fall, strict=True))]
    ways = path, [-value for value in path]
    ends = [ends_of_climbs(way, Fraction(slack)) for way in ways]
    found, size = flagged(beside_turn(rise, fall, slack)), len(rise)
    assert found <= beside(ends[0], size) | beside(ends[1], size)
    for way, needed in zip(ways, ends, strict=True):
        climbs = any(way[i + 1] > way[i] for i in range(size))  # if it never does, no place matters
        assert not climbs or beside(needed, size) <= found


@pytest.mark.parametrize("distribution", ["beta", "small", "tiny", "ends", "narrow", "float32"])
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_most_rows_are_not_flagged(distribution, labels):
    """Equal buckets without zooming flag 92% to 99.9% of "tiny" and "narrow" (performance measurements, 1.4)."""
    s = score_distributions.scores(distribution, 100_000)
    found = Accumulator(most_distinct=0, most_buckets=1 << 14)
    found.add(pool_rows(score_distributions.outcomes(s, labels), s))
    sums = found.sums
    several = sums.low < sums.high
    rise, fall, *_ = sums.sums()
    flags = (
        can_hold_extreme(rise, fall, SLACK),
        can_hold_turn(rise, fall, ~several, SLACK),
        find_corners(sums.n, sums.k)[0],
    )
    assert max(sums.n[which & several].sum() for which in flags) < 0.12 * len(s)
