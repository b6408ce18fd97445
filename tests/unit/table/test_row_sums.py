"""Sums over rows in any order: rounded once, so equal to the last bit to the sum of the terms as fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import DataError, ScoreTable
from calibrant.metrics import (
    brier_score,
    expected_calibration_error,
    log_loss,
)
from calibrant.papers import l1_error, true_mse
from calibrant.table import bins
from calibrant.table.bins import Bins, add_rows, equal_width_bins, equal_width_numbers, rows_or_table
from tests.support.strategies import AWKWARD, small_rows

THIRDS = Bins(3, lambda score: np.minimum((3.0 * score).astype(np.intp), 2))


def terms(label, score):
    return [score * (1.0 - 2.0 * label), (label - score) ** 2]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(bins, "_BLOCK", 3)
    monkeypatch.setattr(bins, "_FEW", 0)


def exactly(values) -> float:
    return float(sum((Fraction(float(v)) for v in values), Fraction(0)))


def clean(y, s):
    found = rows_or_table(y, s)
    assert not isinstance(found, ScoreTable)
    return found


@given(small_rows(most=20, weighted=("none",)), st.randoms(use_true_random=False))
def test_sums_are_rounded_once(rows, random):
    expected = [exactly(values) for values in terms(rows.y.astype(float), rows.s.astype(np.float64))]
    order = np.array(random.sample(range(len(rows.y)), len(rows.y)))
    for each in (rows, rows.reordered(order)):
        found = add_rows(terms, clean(each.y, each.s))
        assert [values.tolist() for values in found.terms] == [[value] for value in expected]
        assert (found.n.tolist(), found.k.tolist()) == ([len(rows.y)], [rows.y.sum()])


@given(small_rows(most=20, weighted=("none",)))
def test_sums_by_bin_are_those_of_the_rows_in_each(rows):
    s = rows.s.astype(np.float64)
    bin_of = THIRDS.of(s)
    found = add_rows(terms, clean(rows.y, rows.s), THIRDS)
    for b in range(3):
        inside = bin_of == b
        assert (found.n[b], found.k[b]) == (inside.sum(), rows.y[inside].sum())
        expected = [exactly(values[inside]) for values in terms(rows.y.astype(float), s)]
        assert [values[b] for values in found.terms] == expected


@pytest.mark.parametrize("n", [1, 7, 8, 100])
@pytest.mark.parametrize("bins", [None, THIRDS])
def test_digits_that_wait_for_others_are_not_lost(n, bins):
    # In every block of three, two values are far smaller than the largest.
    s = np.tile([0.9, 1e-9 / 3.0, 1e-30 / 7.0], n)
    found = add_rows(lambda label, score: [score], clean(np.arange(len(s)) % 2, s), bins)
    kept = [np.ones(len(s), bool)] if bins is None else [bins.of(s) == b for b in range(3)]
    assert found.terms[0].tolist() == [exactly(s[inside]) for inside in kept]


def test_tables_weights_and_few_rows_are_pooled(monkeypatch):
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7])
    assert rows_or_table(table) is table
    assert isinstance(rows_or_table([0, 1], [0.2, 0.7], sample_weight=[1, 2]), ScoreTable)
    monkeypatch.setattr(bins, "_FEW", 2)
    assert isinstance(rows_or_table([0, 1], [0.2, 0.7]), ScoreTable)
    assert not isinstance(rows_or_table([0, 1, 1], [0.2, 0.7, 0.7]), ScoreTable)


def test_many_rows_of_every_size(monkeypatch):
    """Terms from 1 down to 1e-300, where plain sums depend on the order."""
    monkeypatch.setattr(bins, "_BLOCK", 1 << 10)
    rng = np.random.default_rng(0)
    s = np.concatenate([10.0 ** -rng.uniform(0, 300, 5000), rng.random(5000)])
    y = rng.integers(0, 2, 10_000)
    plain = set()
    for _ in range(4):
        order = rng.permutation(10_000)
        values = terms(y[order].astype(float), s[order])
        plain.add(float(values[0].sum()))
        found = add_rows(terms, clean(y[order], s[order]))
        assert [total[0] for total in found.terms] == [math.fsum(v.tolist()) for v in values]
    assert len(plain) > 1


def test_what_is_left_of_terms_that_cancel_is_exact():
    found = add_rows(terms, clean(np.array([0, 1, 0]), np.array([0.5, 0.5, 1e-40])))
    assert found.terms[0][0] == 1e-40


@given(st.integers(1, 100), st.data())
def test_bins_of_equal_width_are_those_of_the_sorted_scores(n_bins, data):
    edges = [j / n_bins for j in range(n_bins + 1)]
    near = [float(np.clip(np.nextafter(e, way), 0.0, 1.0)) for e in edges for way in (-1.0, 2.0)]
    one = st.one_of(st.floats(0.0, 1.0), st.sampled_from(edges), st.sampled_from(near), st.sampled_from(AWKWARD))
    score = np.abs(data.draw(st.lists(one, min_size=1, max_size=20)))
    table = ScoreTable.from_scores(np.zeros(len(score), dtype=int), score)
    assert equal_width_numbers(table.score, n_bins).tolist() == equal_width_bins(table, n_bins).tolist()


MEASURES = {
    "brier_score": brier_score,
    "log_loss": log_loss,
    "expected_calibration_error": lambda *data: expected_calibration_error(*data, strategy="uniform"),
    "l2": lambda *data: expected_calibration_error(*data, strategy="uniform", norm="l2"),
}


@pytest.mark.parametrize("name", MEASURES)
@given(rows=small_rows(most=20, weighted=("none",)), random=st.randoms(use_true_random=False))
def test_measures_of_rows_are_those_of_their_table_in_every_order(name, rows, random):
    found = MEASURES[name](rows.y, rows.s)
    table = ScoreTable.from_scores(rows.y, rows.s)
    np.testing.assert_allclose(found, MEASURES[name](table), rtol=1e-13, atol=1e-15)
    again = rows.reordered(np.array(random.sample(range(len(rows.y)), len(rows.y))))
    np.testing.assert_array_equal(MEASURES[name](again.y, again.s), found)


def test_one_wrong_certainty_makes_the_log_loss_infinite():
    assert log_loss([0, 1] * 20 + [1], [0.3, 0.6] * 20 + [0.0]) == math.inf
    assert math.copysign(1.0, log_loss([0, 1], [0.0, 1.0])) == 1.0


def test_a_bad_score_in_a_later_block_is_found():
    with pytest.raises(DataError, match="row 7"):
        brier_score([0, 1] * 5, [0.5] * 7 + [1.5] + [0.5] * 2)


def test_distances_from_the_truth_by_hand():
    """Arithmetic: distances .25, .5, 0 and .25."""
    truth, score = [0.25, 0.5, 0.75, 0.0], [0.5, 0.0, 0.75, 0.25]
    assert (l1_error(truth, score), true_mse(truth, score)) == (0.25, 0.09375)
