"""Sums over rows in any order: rounded once, so equal to the last bit to the sum of the terms as fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import DataError, ScoreTable
from calibrant.metrics import brier_score, expected_calibration_error, log_loss, spiegelhalter
from calibrant.table import row_sums
from calibrant.table.bins import equal_width_bins, equal_width_numbers
from calibrant.table.row_sums import Bins, Terms, add_rows
from tests.support.strategies import AWKWARD, small_rows

SIGNED = Terms(lambda label, score: [score * (1.0 - 2.0 * label), (label - score) ** 2], of_cells=[None, None])
THIRDS = Bins(3, lambda score: np.minimum((3.0 * score).astype(np.intp), 2))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_sums, "_BLOCK", 3)


def exactly(values, times=None) -> float:
    times = np.ones(len(values), dtype=int) if times is None else times
    return float(sum((Fraction(float(v)) * int(t) for v, t in zip(values, times, strict=True)), Fraction(0)))


@given(small_rows(weighted=("none", "whole")), st.randoms(use_true_random=False))
def test_sums_are_rounded_once(rows, random):
    order = np.array(random.sample(range(len(rows.y)), len(rows.y)))
    s = rows.s.astype(np.float64)
    expected = [exactly(values, rows.w) for values in SIGNED.of_row(rows.y.astype(float), s)]
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    for given_rows, keywords in (((rows.y, rows.s), rows.keywords), ((table,), {})):
        found = add_rows(SIGNED, *given_rows, **keywords)
        assert [values.tolist() for values in found.terms] == [[value] for value in expected]
        assert (found.n.tolist(), found.k.tolist()) == ([table.total], [table.positives])
    again = rows.reordered(order)
    assert [v[0] for v in add_rows(SIGNED, again.y, again.s, **again.keywords).terms] == expected


@given(small_rows(weighted=("none", "whole")))
def test_sums_by_bin_are_those_of_the_rows_in_each(rows):
    s = rows.s.astype(np.float64)
    w = np.ones(len(s), dtype=int) if rows.w is None else rows.w
    bin_of = THIRDS.of(s)
    terms = SIGNED.of_row(rows.y.astype(float), s)
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    for found in (add_rows(SIGNED, rows.y, rows.s, bins=THIRDS, **rows.keywords), add_rows(SIGNED, table, bins=THIRDS)):
        for b in range(3):
            inside = bin_of == b
            assert (found.n[b], found.k[b]) == (w[inside].sum(), w[inside & (rows.y == 1)].sum())
            assert [v[b] for v in found.terms] == [exactly(v[inside], w[inside]) for v in terms]


@given(small_rows(weighted=("float",)))
def test_weights_are_added_as_a_table_adds_them(rows):
    found = add_rows(SIGNED, rows.y, rows.s, **rows.keywords)
    of_table = add_rows(SIGNED, ScoreTable.from_scores(rows.y, rows.s, **rows.keywords))
    assert found.counts == of_table.counts
    assert found.terms == of_table.terms
    expected = (rows.w * (rows.y - rows.s.astype(np.float64)) ** 2).sum()
    assert found.terms[1][0] == pytest.approx(expected, rel=1e-14)


def test_many_rows_of_every_size(monkeypatch):
    """Terms from 1 down to 1e-300, where plain sums depend on the order."""
    monkeypatch.setattr(row_sums, "_BLOCK", 1 << 10)
    rng = np.random.default_rng(0)
    s = np.concatenate([10.0 ** -rng.uniform(0, 300, 5000), rng.random(5000)])
    y = rng.integers(0, 2, 10_000)
    plain = set()
    for _ in range(4):
        order = rng.permutation(10_000)
        terms = SIGNED.of_row(y[order].astype(float), s[order])
        plain.add(float(terms[0].sum()))
        assert [v[0] for v in add_rows(SIGNED, y[order], s[order]).terms] == [math.fsum(v.tolist()) for v in terms]
    assert len(plain) > 1


@given(st.integers(1, 100), st.data())
def test_bins_of_equal_width_are_those_of_the_sorted_scores(n_bins, data):
    edges = [j / n_bins for j in range(n_bins + 1)]
    near = [float(np.clip(np.nextafter(e, way), 0.0, 1.0)) for e in edges for way in (-1.0, 2.0)]
    one = st.one_of(st.floats(0.0, 1.0), st.sampled_from(edges), st.sampled_from(near), st.sampled_from(AWKWARD))
    score = np.abs(data.draw(st.lists(one, min_size=1, max_size=20)))
    table = ScoreTable.from_scores(np.zeros(len(score), dtype=int), score)
    assert equal_width_numbers(table.score, n_bins).tolist() == equal_width_bins(table, n_bins).tolist()


@given(small_rows(), st.sampled_from(["frequency", "accuracy"]))
def test_measures_of_rows_and_of_their_table_are_equal(rows, compare):
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    for measure in (
        brier_score,
        log_loss,
        lambda *given_rows, **keywords: spiegelhalter(*given_rows, **keywords).statistic,
        lambda *given_rows, **keywords: expected_calibration_error(
            *given_rows, strategy="uniform", compare=compare, **keywords
        ),
    ):
        np.testing.assert_equal(measure(rows.y, rows.s, **rows.keywords), measure(table))


def test_one_wrong_certainty_makes_the_log_loss_infinite():
    assert log_loss([0, 1] * 20 + [1], [0.3, 0.6] * 20 + [0.0]) == math.inf
    assert math.copysign(1.0, log_loss([0, 1], [0.0, 1.0])) == 1.0


def test_a_bad_score_in_a_later_block_is_found():
    with pytest.raises(DataError, match="row 7"):
        brier_score([0, 1] * 5, [0.5] * 7 + [1.5] + [0.5] * 2)
