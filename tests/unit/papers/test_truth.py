"""Distances from known probabilities: by hand, against the definition, and against trees grown in R."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import DataError
from calibrant.metrics import brier_score
from calibrant.papers import l1_error, true_mse
from support import oracles
from support.strategies import Rows, scores, small_rows


def test_by_hand():
    p, s = [0.25, 0.5, 1.0], [0.5, 0.5, 0.0]
    assert true_mse(p, s) == (0.0625 + 0.0 + 1.0) / 3
    assert l1_error(p, s) == (0.25 + 0.0 + 1.0) / 3
    assert true_mse(p, s, sample_weight=[2, 1, 0]) == pytest.approx(2 * 0.0625 / 3, rel=1e-15)
    assert l1_error(p, s, sample_weight=[0.5, 0.5, 1.0]) == pytest.approx(0.125 / 2 + 0.5)


@given(st.data())
def test_distances_equal_their_definition(data):
    rows = data.draw(small_rows())
    p = data.draw(scores(len(rows.y), np.float64))
    w = oracles.weights_or_ones(rows.y, rows.w)
    gaps = [abs(float(a) - float(b)) for a, b in zip(p, rows.s, strict=True)]
    for function, power in ((l1_error, 1), (true_mse, 2)):
        wanted = math.fsum(wi * gap**power for wi, gap in zip(w, gaps, strict=True)) / math.fsum(w)
        assert function(p, rows.s, sample_weight=rows.w) == pytest.approx(wanted, rel=1e-12, abs=1e-300)


@given(st.data(), st.randoms(use_true_random=False))
def test_row_order_does_not_show_in_any_bit(data, random):
    rows = data.draw(small_rows())
    p = data.draw(scores(len(rows.y), np.float64))
    order = list(range(len(p)))
    random.shuffle(order)
    turned = rows.reordered(np.array(order))
    for function in (l1_error, true_mse):
        assert function(p[order], turned.s, sample_weight=turned.w) == function(p, rows.s, sample_weight=rows.w)


@given(small_rows())
def test_labels_as_probabilities_give_the_brier_score(rows: Rows):
    wanted = brier_score(rows.y, rows.s, sample_weight=rows.w)
    assert true_mse(rows.y.astype(float), rows.s, sample_weight=rows.w) == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_short_floats_are_judged_as_long_ones():
    """Arithmetic: in float32 the difference of 1 and 2**-30 would be 1."""
    p, s = np.array([1.0], dtype=np.float32), np.array([2.0**-30], dtype=np.float32)
    assert l1_error(p, s) == 1.0 - 2.0**-30


def test_expected_brier_score_is_the_distance_plus_the_variance():
    """Arithmetic: the mean over labels of (y - s)**2 is (p - s)**2 + p (1 - p)."""
    p, s = np.array([0.1, 0.6]), np.array([0.3, 0.35])
    expected = np.mean(p * (1 - s) ** 2 + (1 - p) * s**2)
    assert expected == pytest.approx(true_mse(p, s) + np.mean(p * (1 - p)))


@pytest.mark.parametrize("function", [true_mse, l1_error])
@pytest.mark.parametrize(
    ("p", "s", "words"),
    [
        ([0.2, 0.5], [0.1], "as many true probabilities as scores"),
        ([0.2, 1.5], [0.1, 0.2], "p_true"),
        ([0.2, math.nan], [0.1, 0.2], "p_true"),
        ([0.2, 0.5], [0.1, math.inf], "scores"),
        ([0.2, 0.5], [0.1, -0.2], "scores"),
        ([], [], "at least one row"),
        ([[[0.2]]], [0.1], "p_true"),
    ],
)
def test_bad_data(function, p, s, words):
    with pytest.raises(DataError, match=words):
        function(p, s)


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, math.nan]])
def test_bad_weights(weight):
    with pytest.raises(DataError, match="weight"):
        true_mse([0.2, 0.3], [0.1, 0.2], sample_weight=weight)
