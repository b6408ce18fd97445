"""Rademacher complexity with ties against enumeration of all signs, simulation, and the value without ties."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.papers import rademacher_of_intervals, rademacher_simulated, rademacher_with_ties
from support.oracles import cell_table


def enumerated(rows) -> float:
    """Mean, over all sign vectors, of the largest sum of signs over a run of scores, the empty one included."""
    n, ends = sum(rows), list(itertools.accumulate(rows))
    total = 0
    for signs in itertools.product([-1, 1], repeat=n):
        prefix = [0, *itertools.accumulate(signs)]
        walk = [0, *(prefix[end] for end in ends)]
        total += max(walk[j] - walk[i] for i in range(len(walk)) for j in range(i, len(walk)))
    return total / (n * 2**n)


def compositions(n: int):
    """All ways to put n rows on scores: a cut or none between neighbours."""
    for cuts in itertools.product([False, True], repeat=n - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [n]
        yield list(np.diff([0, *ends]))


@pytest.mark.parametrize("n", range(1, 8))
def test_all_patterns_of_ties_agree_with_enumeration(n):
    for rows in compositions(n):
        assert rademacher_with_ties(rows) == pytest.approx(enumerated(rows), abs=1e-14)


def enumerated_fast(patterns, n: int):
    """As `enumerated`, all sign vectors of n at once, for many patterns."""
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    prefix = np.concatenate([np.zeros((2**n, 1), dtype=int), signs.cumsum(axis=1)], axis=1)
    for rows in patterns:
        walk = prefix[:, [0, *itertools.accumulate(rows)]]
        climbs = (walk - np.minimum.accumulate(walk, axis=1)).max(axis=1)
        yield climbs.mean() / n


def test_all_patterns_of_ten_rows_agree_with_enumeration():
    patterns = list(compositions(10))
    found = [rademacher_with_ties(rows) for rows in patterns]
    assert found == pytest.approx(list(enumerated_fast(patterns, 10)), abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("n", [11, 12])
def test_all_patterns_of_more_rows_agree_with_enumeration(n):
    patterns = list(compositions(n))
    found = [rademacher_with_ties(rows) for rows in patterns]
    assert found == pytest.approx(list(enumerated_fast(patterns, n)), abs=1e-14)


@pytest.mark.parametrize("n", [1, 2, 12, 100, 500])
def test_without_ties_it_is_the_closed_form(n):
    """Two derivations: the distribution step by step here, a sum of cosines there."""
    assert rademacher_with_ties([1] * n) == pytest.approx(rademacher_of_intervals(n), abs=1e-14)


@pytest.mark.parametrize("n", [3, 40, 1001])
def test_one_score_has_a_closed_form(n):
    """Arithmetic: E max(0, S_n) is half the mean absolute sum of n signs."""
    mean_absolute = math.fsum(abs(n - 2 * k) * math.comb(n, k) / 2**n for k in range(n + 1))
    assert rademacher_with_ties([n]) == pytest.approx(0.5 * mean_absolute / n, rel=1e-12)


PATTERNS = {
    "no ties": [1] * 200,
    "pairs": [2] * 100,
    "a few": [3, 50, 1, 1, 1, 40, 104],
    "half at one score": [1] * 50 + [100] + [1] * 50,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_exact_value_agrees_with_simulation_of_single_signs(name):
    """40,000 sign vectors of 200 rows, signs drawn row by row: within 5 standard errors."""
    ends = np.cumsum(PATTERNS[name]) - 1
    climbs = []
    for seed in range(4):
        signs = np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), size=(10_000, 200))
        walk = signs.cumsum(axis=1, dtype=np.int64)[:, ends]
        lowest = np.minimum.accumulate(np.minimum(walk, 0), axis=1)
        climbs.append((walk - lowest).max(axis=1) / 200)
    climbs = np.concatenate(climbs)
    exact = rademacher_with_ties(PATTERNS[name])
    assert exact == pytest.approx(climbs.mean(), abs=5 * climbs.std() / math.sqrt(40_000))
    found = rademacher_simulated(PATTERNS[name], n_simulations=20_000)
    assert found.value == pytest.approx(exact, abs=5 * found.standard_error)
    assert found.standard_error == pytest.approx(climbs.std() / math.sqrt(20_000), rel=0.05)


def test_ties_only_lower_it():
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.integers(1, 12, size=int(rng.integers(1, 20)))
        first = int(rng.integers(0, len(rows)))
        joined = [*rows[:first], int(rows[first : first + 2].sum()), *rows[first + 2 :]]
        one, other = rademacher_with_ties(rows), rademacher_with_ties(joined)
        assert other <= one + 1e-15
        assert one <= rademacher_of_intervals(int(rows.sum())) + 1e-15


def test_tables_are_read_by_their_rows():
    table = ScoreTable.from_scores([0, 1, 1, 0, 1], [0.3, 0.3, 0.1, 0.9, 0.3])
    assert rademacher_with_ties(table) == rademacher_with_ties([1, 3, 1])
    assert rademacher_simulated(table) == rademacher_simulated([1, 3, 1])


def test_simulation_in_chunks_is_reproducible_and_keeps_its_count(monkeypatch):
    whole = rademacher_simulated([2] * 50, n_simulations=101)
    monkeypatch.setitem(rademacher_simulated.__globals__, "_CHUNK", 500)
    parts = rademacher_simulated([2] * 50, n_simulations=101)
    assert whole == parts
    assert (whole.n, whole.n_simulations) == (100, 101)


@pytest.mark.parametrize("rows", [[], [[1]], [1.5], [0, 1], [-1], ["a"], [True]])
@pytest.mark.parametrize("function", [rademacher_with_ties, rademacher_simulated])
def test_rows_that_are_none_are_refused(function, rows):
    with pytest.raises(DataError, match="number of rows at each score"):
        function(rows)


@pytest.mark.parametrize("function", [rademacher_with_ties, rademacher_simulated])
def test_weights_and_cells_are_refused(function):
    with pytest.raises(DataError, match="weights that count no rows"):
        function(ScoreTable.from_counts([0.5], [1.5], [0.5]))
    with pytest.raises(DataError, match="distinct scores"):
        function(cell_table([0, 1, 0], [0.1, 0.2, 0.9], None, [0.5]))


def test_too_many_rows_are_refused_with_the_way_out():
    with pytest.raises(ArgumentError, match="rademacher_of_intervals"):
        rademacher_with_ties([2_001])
    with pytest.raises(ArgumentError, match="n_simulations"):
        rademacher_simulated([5], n_simulations=1)
