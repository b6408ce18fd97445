"""The cumulative residuals by hand, and what its extremes say."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.table import table_sums as module
from calibrant.table.cumulative_residuals import ResidualPath, _range_at_most, cumulative_residuals, extremes
from calibrant.table.table_sums import UNIT, score_units


def test_walk_by_hand():
    """Arithmetic: residuals -1/4; then +1/2 and -1/2 at one score; then +1/4; four rows."""
    walk = cumulative_residuals(ScoreTable.from_scores([0, 1, 0, 1], [0.25, 0.5, 0.5, 0.75]))
    assert walk.score.tolist() == [0.25, 0.5, 0.75]
    assert walk.value.tolist() == [-0.25 / 4, -0.25 / 4, 0.0]


def test_extremes_by_hand():
    """Arithmetic: the walk is 0, -1/16, -1/16, 0: it drops over (-inf, .25] and climbs back over (.25, .75]."""
    found = extremes(cumulative_residuals(ScoreTable.from_scores([0, 1, 0, 1], [0.25, 0.5, 0.5, 0.75])))
    assert (found.value, found.under, found.over) == (1 / 16, 1 / 16, 1 / 16)
    assert (found.low, found.high, found.sign) == (-np.inf, 0.25, -1)
    assert (found.ks, found.mean_residual) == (1 / 16, 0.0)


def test_one_cell_reaches_only_one_of_its_limits():
    """Arithmetic: it has .5 and -.4; the other reaches .1 and -.05, so the range is .5 + .05 or .1 + .4 at most."""
    above, below = np.array([0.5, 0.1]), np.array([-0.4, -0.05])
    walk = ResidualPath(np.array([0.3, 0.7]), np.zeros(2), above, below)
    assert _range_at_most(0.0, 0.0, walk) == pytest.approx(0.55)
    assert _range_at_most(0.0, 0.0, ResidualPath(walk.score, walk.value, above, below[::-1])) == pytest.approx(0.9)


def test_a_walk_that_never_moves_has_no_interval():
    found = extremes(cumulative_residuals(ScoreTable.from_scores([0, 1], [0.0, 1.0])))
    assert (found.value, found.sign, found.ks, found.mean_residual) == (0.0, 0, 0.0, 0.0)
    assert np.isnan([found.low, found.high]).all()


def test_ends_count_as_part_of_the_walk():
    """All residuals of one sign: the extreme is between the start, 0, and the end."""
    found = extremes(cumulative_residuals(ScoreTable.from_scores([1, 1, 1], [0.5, 0.25, 0.75])))
    assert (found.value, found.low, found.high, found.sign) == (0.5, -np.inf, 0.75, 1)


def test_units_are_nearest_multiples():
    assert score_units(np.array([0.0, 1.0, 0.5, UNIT, 0.4 * UNIT, 0.6 * UNIT])).tolist() == [0, 2**42, 2**41, 1, 0, 1]


@pytest.mark.parametrize("n", [1, 1_000, 10**9])
def test_sums_are_exact_up_to_a_thousand_million_rows_per_score(n):
    """Arithmetic: n rows at each of ten scores; the residuals are multiples of 1/1024, so that floats hold them."""
    score = np.arange(1, 11) * (93 / 1024)
    k = (np.arange(1, 11) * n) // 11
    walk = cumulative_residuals(ScoreTable.from_counts(score, np.full(10, n), k))
    exact = np.cumsum([int(ki) * 1024 - n * 93 * (i + 1) for i, ki in enumerate(k)]) / 1024
    assert (walk.value * (10 * n)) == pytest.approx(exact, rel=1e-15)


@pytest.mark.parametrize("most", [1, 2**10, 2**20])
def test_one_word_gives_the_bits_of_two(most, monkeypatch):
    """Just below 2**21 rows the sums of all residuals of one sign nearly fill 63 bits."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, most + 1, 1_000)
    n = n * (2**21 - 1) // n.sum() if most > 1 else n
    for k in (np.zeros_like(n), n, rng.integers(0, n + 1)):
        table = ScoreTable.from_counts(rng.random(1_000) ** 3, n, k)
        one_word = table.cumulative_residual_sums()
        with monkeypatch.context() as patched:
            patched.setattr(module, "_ONE_WORD", 0.0)
            assert (one_word == table.cumulative_residual_sums()).all()


def test_order_of_many_tiny_residuals_does_not_show():
    """A float sum of these would differ between orders."""
    rng = np.random.default_rng(1)
    s = rng.random(10_000)
    y = rng.random(10_000) < s
    orders = [rng.permutation(len(s)) for _ in range(5)]
    values = {extremes(cumulative_residuals(ScoreTable.from_scores(y[order], s[order]))).value for order in orders}
    assert len(values) == 1
