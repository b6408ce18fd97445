"""Claim 1 of the paper and its robust form: the regret of acting on scores is at most (a + b) times their error."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.decisions import expected_cost
from calibrant.decisions.regret import max_regret
from support import oracles, strategies

ROUNDING = 1e-12
ROWS = strategies.small_rows(weighted=("none", "whole"))
COSTS = st.sampled_from([(0, 1), (1, 0), (1, 1), (1, 3), (3, 1), (7, 3), (1, 99), (0.3, 0.7)])


def rules(s, tau):
    """Who acts: from tau on, and above tau."""
    return [float(v) >= tau for v in s], [float(v) > tau for v in s]


def forecast(s, w, acted, a, b) -> float:
    """Cost of decisions if every score were the chance of its row."""
    w = oracles.weights_or_ones(s, w)
    expected = [wi * (a * (1.0 - float(si)) if act else b * float(si)) for si, wi, act in zip(s, w, acted, strict=True)]
    return sum(expected) / sum(w)


def costs_at(rows, data):
    """Costs at a usual threshold, or at one of the scores."""
    atom = st.sampled_from([(float(v), 1.0 - float(v)) for v in rows.s])
    return data.draw(st.one_of(COSTS, atom))


@given(ROWS, st.data())
def test_regret_is_at_most_a_plus_b_times_the_error(rows, data):
    """For both rules; tau is 0, 1, a score, or between scores."""
    a, b = costs_at(rows, data)
    bound = (a + b) * oracles.cutoff_error(*rows)
    cheapest = oracles.cheapest_threshold_cost(*rows, a, b)
    for acted in rules(rows.s, a / (a + b)):
        assert -ROUNDING <= oracles.cost_of_acting(rows.y, rows.w, acted, a, b) - cheapest <= bound + (a + b) * ROUNDING


@given(ROWS, st.data())
def test_forecast_is_off_by_at_most_a_plus_b_times_the_error(rows, data):
    """The cost less the forecast is at most (a + b) times the error."""
    a, b = costs_at(rows, data)
    bound = (a + b) * oracles.cutoff_error(*rows)
    for acted in rules(rows.s, a / (a + b)):
        actual = oracles.cost_of_acting(rows.y, rows.w, acted, a, b)
        assert abs(actual - forecast(rows.s, rows.w, acted, a, b)) <= bound + (a + b) * ROUNDING


@given(ROWS, st.data())
def test_the_library_says_the_same(rows, data):
    a, b = costs_at(rows, data)
    costs = {"false_positive_cost": a, "false_negative_cost": b}
    found = expected_cost(rows.y, rows.s, **costs, **rows.keywords)
    by_rule, _ = rules(rows.s, found.threshold)
    assert found.cost_forecast == pytest.approx(forecast(rows.s, rows.w, by_rule, a, b), abs=1e-9)
    worst = max_regret(rows.y, rows.s, **rows.keywords)
    error = min(1.0, worst.cutoff_error + 2.0**-42)
    assert found.saving <= (a + b) * (worst.value + 2.0**-42) <= (a + b) * error + (a + b) * 2.0**-42
    assert abs(found.cost - found.cost_forecast) <= (a + b) * error + (a + b) * ROUNDING


@given(ROWS)
def test_error_and_largest_regret_bound_each_other(rows):
    """C^2 / (4 + 2 c) <= M <= c, with M and c by their definitions."""
    c = oracles.cutoff_error(*rows)
    regrets = [
        oracles.cost_of_acting(rows.y, rows.w, acted, tau, 1.0 - tau)
        - oracles.cheapest_threshold_cost(*rows, tau, 1.0 - tau)
        for tau in {0.0, 1.0, *(float(v) for v in rows.s)}
        for acted in rules(rows.s, tau)
    ]
    assert c**2 / (4 + 2 * c) - ROUNDING <= max(regrets) <= c + ROUNDING


@pytest.mark.parametrize("tau", [0.125, 0.5, 1.0])
def test_constant_1_is_attained(tau):
    """Scores at the threshold and no positives; every row is a false positive, and c is the score."""
    found = expected_cost([0] * 8, [tau] * 8, false_positive_cost=tau, false_negative_cost=1.0 - tau)
    assert found.saving == tau == oracles.cutoff_error([0] * 8, [tau] * 8) == max_regret([0] * 8, [tau] * 8).value


@pytest.mark.parametrize("tau", [0.0, 0.25, 0.875])
def test_constant_1_is_attained_on_the_other_side(tau):
    """Scores at the threshold and only positives: the rule `> tau` never acts."""
    y, s = [1] * 8, [tau] * 8
    _, above = rules(s, tau)
    regret = oracles.cost_of_acting(y, None, above, tau, 1.0 - tau)
    assert regret == 1.0 - tau == oracles.cutoff_error(y, s) == max_regret(y, s).value


def test_a_smaller_constant_is_caught():
    found = expected_cost([0] * 8, [0.5] * 8, false_positive_cost=1, false_negative_cost=1)
    assert found.saving > 0.99 * (1 + 1) * 0.5


calibrated_counts = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3)), min_size=1, max_size=4)


@given(calibrated_counts, COSTS)
def test_claim_1_of_the_paper(counts, costs):
    """Calibrated scores: no decision made from the score alone, monotone or not, is cheaper than the threshold."""
    a, b = costs
    positives = {Fraction(k, 8): 8 * times * Fraction(k, 8) for k, times in counts}
    rows = {Fraction(k, 8): 8 * times for k, times in counts}
    table = ScoreTable.from_counts(
        [float(s) for s in rows], [int(v) for v in rows.values()], [int(v) for v in positives.values()]
    )
    assert max_regret(table).value == max_regret(table).cutoff_error == 0.0
    all_decisions = itertools.product([False, True], repeat=len(rows))
    cheapest = min(
        sum(a * (rows[s] - positives[s]) if act else b * positives[s] for s, act in zip(rows, decisions, strict=True))
        for decisions in all_decisions
    ) / sum(rows.values())
    cost = expected_cost(table, false_positive_cost=a, false_negative_cost=b).cost
    assert cost == pytest.approx(float(cheapest), abs=(a + b) * ROUNDING)
