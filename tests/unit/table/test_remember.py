"""What is remembered of a table lives as long as the table, and belongs to it alone."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes


@pytest.mark.parametrize("function", [cumulative_residuals, isotonic_fit, lambda t: extremes(cumulative_residuals(t))])
def test_the_same_table_is_not_computed_again_and_an_equal_one_is(function):
    one, two = (ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]) for _ in range(2))
    assert function(one) is function(one)
    assert function(one) is not function(two)


@pytest.mark.slow
def test_nothing_remembered_keeps_a_table_alive():
    table = ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    walk = weakref.ref(cumulative_residuals(table))
    isotonic_fit(table)
    extremes(walk())
    gone = weakref.ref(table)
    del table
    gc.collect()
    assert gone() is None
    assert walk() is None


def test_what_is_shared_cannot_be_changed():
    table = ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    for array in (cumulative_residuals(table).value, isotonic_fit(table).value, isotonic_fit(table).k):
        with pytest.raises(ValueError, match="read-only"):
            np.multiply(array, 2.0, out=array)
