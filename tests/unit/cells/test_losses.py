"""Squared residuals and log loss of all rows, against sums of exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from calibrant.cells.bucket_sums import LOG_LOSS_BITS, LossTotals
from calibrant.table.table_sums import BITS, MOST_ROWS
from calibrant.table.validation import CleanRows
from support import oracles
from support.strategies import Rows, small_rows


def losses_of(*parts) -> LossTotals:
    found = LossTotals()
    for y, s, w in parts:
        found.add(s, y * w, (1 - y) * w)
    return found


def columns(rows: Rows):
    return rows.y.astype(np.int64), rows.s, np.ones(len(rows.y), dtype=np.int64) if rows.w is None else rows.w


@given(small_rows())
def test_losses_of_rows(rows):
    found = losses_of(columns(rows))
    total = sum(oracles.weights_or_ones(rows.y, rows.w))
    assert found.squared == pytest.approx(oracles.brier(*rows) * total, rel=1e-14, abs=total * 2.0 ** -(BITS + 1))
    exact = oracles.log_loss(rows.y, rows.s.astype(float), rows.w) * total
    assert found.log_loss == pytest.approx(exact, rel=1e-12, abs=total * 2.0 ** -(LOG_LOSS_BITS + 1))


@given(small_rows())
def test_single_rows_are_like_counts(rows):
    y, s, w = columns(rows)
    found = LossTotals()
    found.add_rows(CleanRows(y.astype(np.int8), s, rows.w))
    expected = losses_of((y, s, w))
    assert found.squared == pytest.approx(expected.squared, rel=1e-14)
    assert found.log_loss == pytest.approx(expected.log_loss, rel=1e-14)


@given(small_rows(weighted=("none", "whole")))
def test_neither_order_nor_parts_show(rows):
    y, s, w = columns(rows)
    whole = losses_of((y, s, w))
    half = len(y) // 2
    parts = [(y[part], s[part], w[part]) for part in (slice(half), slice(half, None))]
    for order in itertools.permutations(parts):
        found = losses_of(*order)
        assert (found.squared, found.log_loss) == (whole.squared, whole.log_loss)


def test_as_many_rows_as_are_allowed():
    """Arithmetic with fractions: sums that do not fit 64 bits."""
    n = np.array([int(MOST_ROWS)])
    found = losses_of((np.array([1]), np.array([5e-324]), n))
    units = math.floor(-math.log(5e-324) * 2.0**LOG_LOSS_BITS + 0.5)
    assert Fraction(found.log_loss) == Fraction(units * int(MOST_ROWS), 2**LOG_LOSS_BITS)
    assert found.squared == MOST_ROWS


def test_an_outcome_that_was_given_probability_0():
    assert losses_of((np.array([1, 0]), np.array([0.0, 0.5]), np.array([1, 1]))).log_loss == math.inf
    assert losses_of((np.array([0, 0]), np.array([1.0, 0.5]), np.array([1, 1]))).log_loss == math.inf
    assert losses_of((np.array([1, 0]), np.array([0.0, 0.5]), np.array([0, 1]))).log_loss == pytest.approx(math.log(2))
    assert losses_of((np.array([1, 0]), np.array([1.0, 0.0]), np.array([1, 1]))).log_loss == 0.0
