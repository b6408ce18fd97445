"""Buckets against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.core.grid import Grid, Zone
from calibrant.core.units import BITS, score_units

many = settings(max_examples=300, deadline=None, derandomize=True)
score = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 0.5, 1e-5, 5e-324, 2.0**-43, np.nextafter(1.0, 0.0)]))
scores = st.lists(score, min_size=1, max_size=12)


@many
@given(scores, st.integers(0, BITS))
def test_place_is_the_floor_of_an_exact_quotient(values, shift):
    units = score_units(np.array(values))
    expected = [floor(Fraction(u, 2**shift)) for u in units.tolist()]
    assert Grid(shift).place(units).tolist() == expected


@many
@given(scores, st.integers(1, 20))
def test_grids_cover_the_range_in_few_buckets(values, bits):
    low, high = min(values), max(values)
    grid = Grid.over(low, high, bits=bits)
    place = grid.place(score_units(np.array([low, high])))
    assert place[1] - place[0] <= 2**bits
    assert place[1] - place[0] >= 2 ** (bits - 1) - 1 or grid.shift == 0


@many
@given(scores, st.integers(0, BITS), st.integers(0, 9))
def test_finer_and_coarser_grids_are_nested(values, shift, bits):
    units = score_units(np.array(values))
    grid = Grid(shift)
    assert (grid.finer(bits).place(units) >> (shift - grid.finer(bits).shift)).tolist() == grid.place(units).tolist()
    assert grid.coarser(bits).place(units).tolist() == (grid.place(units) >> bits).tolist()


@many
@given(scores, scores, st.integers(0, BITS))
def test_a_zone_holds_the_scores_of_its_buckets(values, inside, shift):
    grid = Grid(shift)
    numbers = np.array(sorted(set(grid.place(score_units(np.array(inside))).tolist())))
    units = score_units(np.array(values))
    expected = [place in set(numbers.tolist()) for place in grid.place(units).tolist()]
    assert Zone(grid, numbers).holds(units).tolist() == expected
