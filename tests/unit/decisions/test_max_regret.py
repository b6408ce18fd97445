"""The largest regret over all costs against its definition, by hand, and on large tables."""

from __future__ import annotations

import json
import math
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.decisions.regret import max_regret, worst_costs
from calibrant.distributions.mean_limits import mean_width
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.numbers import claim_upper
from support import oracles, strategies

EXACT = 2.0**-42  # scores enter the calibration error as whole multiples of this


def by_definition(y, s, w=None) -> float:
    """Cost of `s >= tau` and `s > tau`, at costs tau and 1 - tau, less that of the cheapest threshold: the largest.

    For a fixed rule the regret is convex in tau, so its largest value is at an end of where the rule stays the same.
    """
    losses = [0.0]
    for tau in {0.0, 1.0, *(float(v) for v in s)}:
        cheapest = oracles.cheapest_threshold_cost(y, s, w, tau, 1.0 - tau)
        for acted in ([float(v) >= tau for v in s], [float(v) > tau for v in s]):
            regret = oracles.cost_of_acting(y, w, acted, tau, 1.0 - tau) - cheapest
            losses = [*losses, regret]
    return max(losses)


def by_bands(y, s, w=None) -> float:
    """Bands that start at the threshold and are not worth it, and bands that end there and are."""
    w = oracles.weights_or_ones(y, w)
    values = [0.0]
    for low in s:
        for high in s:
            inside = [(float(yi), wi) for yi, si, wi in zip(y, s, w, strict=True) if low <= si <= high]
            rows, positives = math.fsum(wi for _, wi in inside), math.fsum(yi * wi for yi, wi in inside)
            values += [float(low) * rows - positives, positives - float(high) * rows]
    return max(values) / math.fsum(w)


@given(strategies.small_rows(weighted=("none", "whole")))
def test_is_its_definition(rows):
    found = max_regret(rows.y, rows.s, **rows.keywords)
    assert found.value == pytest.approx(by_definition(*rows), abs=EXACT)
    assert found.value == pytest.approx(by_bands(*rows), abs=EXACT)


@given(strategies.small_rows(weighted=("float",)))
def test_worst_costs_of_weighted_rows(rows):
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    assert worst_costs(table).value == pytest.approx(by_definition(*rows), abs=EXACT)


@given(strategies.small_rows(weighted=("none", "whole")))
def test_reported_costs_attain_it(rows):
    found = max_regret(rows.y, rows.s, **rows.keywords)
    if not found.value:
        assert found.rule == found.direction == "none"
        assert found.interval is None
        assert math.isnan(found.threshold)
        assert math.isnan(found.best_threshold)
        return
    rows = rows if rows.w is None else rows.reordered(np.flatnonzero(rows.w))  # others are not in the table
    a, b, tau = found.false_positive_cost, found.false_negative_cost, found.threshold
    assert a == tau == pytest.approx(1.0 - b)
    by_rule = [v >= tau if found.rule == ">=" else v > tau for v in rows.s.astype(float)]
    best = [v >= found.best_threshold for v in rows.s.astype(float)]
    cost = oracles.cost_of_acting(rows.y, rows.w, by_rule, a, b)
    assert cost - oracles.cost_of_acting(rows.y, rows.w, best, a, b) == pytest.approx(found.value, abs=EXACT)
    assert cost - oracles.cheapest_threshold_cost(rows.y, rows.s, rows.w, a, b) == pytest.approx(found.value, abs=EXACT)
    low, high = found.interval
    assert [r != t for r, t in zip(by_rule, best, strict=True)] == [low < v <= high for v in rows.s.astype(float)]
    assert found.direction == ("too high" if sum(by_rule) > sum(best) else "too low")


@given(strategies.small_rows(weighted=("none", "whole")))
def test_lies_between_the_two_functions_of_the_cutoff_error(rows):
    found = max_regret(rows.y, rows.s, **rows.keywords)
    c = found.cutoff_error
    assert c == cutoff_calibration_error(rows.y, rows.s, **rows.keywords)
    assert c**2 / (4 + 2 * c) - EXACT <= found.value <= c + EXACT


@given(strategies.small_rows(weighted=("none", "whole")), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows, random):
    order = list(range(len(rows.y)))
    random.shuffle(order)
    other = rows.reordered(order)
    found = max_regret(rows.y, rows.s, **rows.keywords)
    assert max_regret(other.y, other.s, **other.keywords).to_json() == found.to_json()


def test_by_hand():
    """Arithmetic: at .6 half the rows act and none is positive; a threshold of .9 saves .6 on half of the rows."""
    found = max_regret([0, 0, 0, 1], [0.3, 0.6, 0.6, 0.9], confidence_level=0.9)
    assert found.value == pytest.approx(2 * 0.6 / 4)
    assert (found.threshold, found.rule, found.best_threshold) == (0.6, ">=", 0.9)
    assert (found.interval, found.direction, found.n) == ((0.3, 0.6), "too high", 4)
    assert found.value < found.bound <= 1.0


def test_too_low_by_hand():
    """Arithmetic: all positives at .2; costs just above .2 do not act, and lose 1 - .2 on three of four rows."""
    found = max_regret([1, 1, 1, 1], [0.2, 0.2, 0.2, 0.9])
    assert found.value == pytest.approx(3 * 0.8 / 4)
    assert (found.threshold, found.rule, found.best_threshold) == (0.2, ">", 0.2)
    assert (found.interval, found.direction) == ((-math.inf, 0.2), "too low")


def test_zeros_and_ones():
    assert max_regret([1, 1], [0.0, 0.0]).value == 1.0
    assert max_regret([0, 0], [1.0, 1.0]).value == 1.0
    assert max_regret([0, 0], [1.0, 1.0]).best_threshold == math.inf
    assert max_regret([0, 1], [0.0, 1.0]).value == 0.0


def test_perfect_scores_have_none_to_the_last_bit():
    """n s differs from k by rounding for many of these scores."""
    rows = np.arange(2, 400)
    for k in (1, 2):
        table = ScoreTable.from_counts(k / rows, rows, np.full(len(rows), k))
        assert max_regret(table).value == 0.0


def test_is_small_where_scores_are_shifted_smoothly():
    """Scores too high by g everywhere have c = g and M = g^2 / 2 (g from the number of rows of a band)."""
    m, g = 1000, 0.1
    score = 0.2 + 0.6 * (np.arange(m) + 0.5) / m
    found = max_regret(ScoreTable.from_counts(score, np.full(m, 10_000), np.rint(10_000 * (score - g)).astype(int)))
    assert found.cutoff_error == pytest.approx(g, abs=1e-4)
    # false positives from tau to tau + g, where the density is 1 / .6
    assert found.value == pytest.approx(g**2 / 2 / 0.6, rel=0.02)


def test_bound_is_for_rows_and_at_most_1():
    found = max_regret([0, 1], [0.9, 0.1])
    assert found.bound == 1.0
    twice = max_regret([0, 1] * 50, [0.9, 0.1] * 50)
    assert twice.value == found.value
    # one interval of half the rows, whose squares are .9^2: its width, but for the line that takes the place of it
    assert twice.bound == pytest.approx(twice.value + float(mean_width(100, 0.81 / 2, 0.05, reach=1.0)), rel=0.02)
    weighted = max_regret([0, 1], [0.9, 0.1], count=[50, 50])
    assert weighted.to_json() == twice.to_json()


def test_claim_and_plain_data():
    found = max_regret([0, 1] * 500, [0.3, 0.6] * 500)
    assert f"more than {claim_upper(found.bound)} (a + b) per case" in found.claim
    assert json.loads(found.to_json())["references"] == ["gao2017", "shevtsova2013", "fan2015"]


def test_refuses_what_it_cannot_certify():
    with pytest.raises(DataError, match="whole number of equal rows"):
        max_regret([0, 1], [0.3, 0.6], count=[0.5, 1.0])
    for level in (0.0, 1.0, "x"):
        with pytest.raises(ArgumentError, match="confidence_level"):
            max_regret([0, 1], [0.3, 0.6], confidence_level=level)


@given(strategies.small_rows(most=30, weighted=("none", "whole")), st.lists(st.floats(0, 1), max_size=3))
def test_cells_only_loosen_the_bound(rows, breaks):
    """The bound from cells is never below that from their rows."""
    exact = max_regret(rows.y, rows.s, **rows.keywords)
    cells = max_regret(oracles.cell_table(rows.y, rows.s, rows.w, breaks))
    assert cells.bound >= exact.bound - EXACT


@pytest.mark.slow
def test_many_distinct_scores():
    """Performance: 1e6 distinct scores take about a tenth of a second; anything quadratic takes hours."""
    rng = np.random.default_rng(0)
    s = rng.random(1_000_000)
    table = ScoreTable.from_scores(rng.random(len(s)) < s**1.2, s)
    max_regret([0, 1], [0.2, 0.7])  # first use imports the isotonic fit
    begun = time.process_time()  # of this process: others may be busy
    found = max_regret(table)
    assert time.process_time() - begun < 5.0
    assert 0.0 < found.value < found.cutoff_error


def right_side(table: ScoreTable, delta: float) -> float:
    """Theorem 5.2 without the line: over thresholds and cuts, the average plus the width at its squares."""
    n, k, edges = table.n, table.k, np.concatenate([[0.0], table.score, [1.0]])
    means, squares = [], []
    for cut in range(len(table) + 1):
        for tau in np.linspace(edges[cut], edges[cut + 1], 40):
            for other in range(len(table) + 1):
                between = slice(min(cut, other), max(cut, other))
                rows, hits = n[between].sum(), k[between].sum()
                means.append((tau * rows - hits) * (1 if other > cut else -1) / table.total)
                squares.append((hits * (1 - tau) ** 2 + (rows - hits) * tau**2) / table.total)
    return float((np.array(means) + mean_width(table.total, squares, delta, reach=1.0)).max())


@pytest.mark.parametrize(("n", "k"), [((500, 500), (20, 250)), ((1000, 2000), (50, 1000)), ((3000, 500), (200, 100))])
def test_the_line_above_the_width_costs_little_where_the_regret_is(n, k):
    table = ScoreTable.from_counts(np.array([0.1, 0.6]), n, k)
    assert 1.0 - 1e-9 < max_regret(table).bound / right_side(table, 0.05) < 1.01


@pytest.mark.slow
def test_bound_is_the_largest_over_thresholds_and_cuts_or_a_little_more():
    rng, excess = np.random.default_rng(5), []
    for _ in range(150):
        score = np.unique(rng.choice([0.0, 5e-4, 0.01, 0.1, 0.5, 0.9, 1.0, *rng.random(3)], 3))
        n = rng.integers(1, rng.choice([5, 15, 100, 1000]), len(score))
        table = ScoreTable.from_counts(score, n, rng.binomial(n, rng.choice([0.0, 0.02, 0.3, 1.0], len(score))))
        delta = float(rng.choice([0.01, 0.05, 0.5]))
        excess.append(max_regret(table, confidence_level=1 - delta).bound - min(1.0, right_side(table, delta)))
    assert min(excess) > -1e-9
    assert np.median(excess) < 0.005


@pytest.mark.grid
@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [30, 3_000, 60_000])
def test_runs_of_cuts_that_are_left_out_could_not_have_won(n, power, monkeypatch):
    """Bit by bit the bound from every cut: of runs of one cut, all that could matter are looked at."""
    rng = np.random.default_rng(n)
    for score in (rng.random(n), rng.beta(0.1, 20.0, n), rng.integers(0, 30, n) / 29, rng.random(n).round(3)):
        table = ScoreTable.from_scores(rng.random(n) < score**power, score)
        for confidence_level in (0.5, 0.95, 0.999999):
            by_runs = max_regret(table, confidence_level=confidence_level).bound
            with monkeypatch.context() as patched:
                patched.setattr(sys.modules[max_regret.__module__], "_ROUNDING", math.inf)
                assert by_runs == max_regret(table, confidence_level=confidence_level).bound
