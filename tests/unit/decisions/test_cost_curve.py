"""Cost curves and the loss ratio of Section 4 of the paper, against their definitions."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.decisions import expected_cost
from calibrant.decisions.cost_curves import cost_curve
from calibrant.errors import ArgumentError
from calibrant.metrics import brier_score
from support import oracles, strategies
from support.parts import fit_rows

PARAMETERS = [0.01, 0.1, 0.25, 0.3, 0.5, 0.7, 0.99]


def of_definition(y, s, w, p) -> float:
    """Section 4: predict 1 iff the score is >= p; "each false negative incurs 1 - p cost and each false positive p"."""
    return oracles.cost_of_acting(y, w, [float(v) >= p for v in s], p, 1.0 - p)


@given(strategies.small_rows(), st.randoms(use_true_random=False))
def test_is_its_definition(rows, random):
    after = np.array([random.choice([0.0, 0.25, 0.5, 1.0, float(v)]) for v in rows.s])
    curve = cost_curve(rows.y, rows.s, after, at=PARAMETERS, **rows.keywords)
    for i, p in enumerate(PARAMETERS):
        before = of_definition(rows.y, rows.s, rows.w, p)
        cheapest = oracles.cheapest_threshold_cost(rows.y, rows.s, rows.w, p, 1.0 - p)
        assert curve.cost_before[i] == pytest.approx(before, abs=1e-14)
        assert curve.cost_after[i] == pytest.approx(of_definition(rows.y, after, rows.w, p), abs=1e-14)
        assert curve.cost_best[i] == pytest.approx(cheapest, abs=1e-14)
        if before > 1e-9:
            ratio = of_definition(rows.y, after, rows.w, p) / before
            assert curve.loss_ratio[i] == pytest.approx(ratio, rel=1e-9, abs=1e-12)
            assert curve.lowest_ratio[i] == pytest.approx(cheapest / before, rel=1e-9, abs=1e-12)
    assert (curve.cost_best <= curve.cost_before).all()


def test_by_hand():
    """Arithmetic: at p = .4 one negative acts (.4), at .7 two positives do not (.3 each); after, none errs at .7."""
    y, before, after = [0, 0, 1, 1, 1], [0.1, 0.5, 0.6, 0.6, 0.9], [0.0, 0.6, 0.8, 0.8, 1.0]
    curve = cost_curve(y, before, after, at=[0.4, 0.7, 0.55])
    assert curve.cost_before.tolist() == pytest.approx([0.4 / 5, 2 * 0.3 / 5, 0.0], abs=1e-15)
    assert curve.cost_after.tolist() == pytest.approx([0.4 / 5, 0.0, 0.55 / 5], abs=1e-15)
    assert curve.loss_ratio.tolist() == pytest.approx([1.0, 0.0, np.nan], nan_ok=True)
    assert curve.overall_ratio == pytest.approx((0.4 + 0.55) / (0.4 + 0.6))
    assert curve.cost_best.tolist() == [0.0, 0.0, 0.0]
    assert curve.n == 5


def test_agrees_with_expected_cost():
    rng = np.random.default_rng(3)
    s = rng.random(300)
    y = rng.random(300) < s**2
    curve = cost_curve(y, s)
    assert curve.cost_parameter.tolist() == [i / 100 for i in range(1, 100)]
    for p, cost in zip(curve.cost_parameter.tolist(), curve.cost_before, strict=True):
        own = expected_cost(y, s, false_positive_cost=p, false_negative_cost=1 - p, threshold=p)
        assert cost == pytest.approx(own.cost)
        twelve = {"false_positive_cost": 12 * p, "false_negative_cost": 12 * (1 - p), "threshold": p}
        assert expected_cost(y, s, **twelve).cost == pytest.approx(12 * cost)


def test_a_score_at_the_parameter_acts():
    grid = np.arange(1, 100) / 100
    curve = cost_curve(np.zeros(99), grid)
    assert curve.cost_before.tolist() == pytest.approx((grid * np.arange(99, 0, -1) / 99).tolist())


def test_mean_over_all_parameters_is_half_the_brier_score():
    """Hernández-Orallo, Flach & Ferri (2011), without their factor 2."""
    rng = np.random.default_rng(0)
    s = rng.random(500)
    y = rng.random(500) < 0.3 + 0.4 * s
    curve = cost_curve(y, s, n_points=20_000)
    assert curve.cost_before.mean() == pytest.approx(brier_score(y, s) / 2, abs=1e-4)


@given(strategies.small_rows(), st.floats(0.2, 3.0))
def test_no_monotone_map_is_below_the_lowest_ratio(rows, power):
    after = np.clip(rows.s.astype(float) ** power, 0.0, 1.0)
    curve = cost_curve(rows.y, rows.s, after, **rows.keywords)
    known = ~np.isnan(curve.loss_ratio)
    assert (curve.loss_ratio[known] >= curve.lowest_ratio[known] - 1e-9).all()


@given(strategies.small_rows(weighted=("none",), both_classes=True))
def test_isotonic_scores_fitted_on_the_same_rows_are_best(rows):
    """Claim 5: pooled isotonic regression reaches the smallest cost of any threshold, at all p at once."""
    fitted = fit_rows(IsotonicCalibrator(log_safe=False), rows.s, rows.y).predict(rows.s)
    # a fitted share that equals p up to rounding costs the same either way, up to the same rounding
    curve = cost_curve(rows.y, rows.s, fitted, n_points=40)
    assert curve.cost_after.tolist() == pytest.approx(curve.cost_best.tolist(), abs=1e-12)


def test_a_map_that_turns_the_order_round_may_be_below_the_lowest_ratio():
    curve = cost_curve([1, 1, 0, 0], [0.1, 0.1, 0.9, 0.9], [0.9, 0.9, 0.1, 0.1], at=[0.5])
    assert curve.lowest_ratio[0] == 0.5
    assert curve.loss_ratio[0] == 0.0


def test_perfect_scores_leave_the_ratio_undefined():
    curve = cost_curve([0, 1], [0.0, 1.0], [0.4, 0.6])
    assert np.isnan(curve.loss_ratio).all()
    assert np.isnan(curve.lowest_ratio).all()
    assert math.isnan(curve.overall_ratio)
    assert json.loads(curve.to_json())["loss_ratio"] == [None] * 99


def test_without_after():
    y, s = [0, 1, 1], [0.3, 0.1, 0.9]
    curve = cost_curve(ScoreTable.from_scores(y, s), at=0.2)
    assert curve.cost_after is None
    assert curve.loss_ratio is None
    assert math.isnan(curve.overall_ratio)
    assert curve.cost_before.tolist() == cost_curve(y, s, at=[0.2]).cost_before.tolist()


@given(strategies.small_rows(weighted=("whole",)))
def test_whole_weights_repeat_rows(rows):
    assume(rows.w.sum() > 0)
    weighted = cost_curve(rows.y, rows.s, rows.s, **rows.keywords)
    repeated = cost_curve(*(np.repeat(v, rows.w) for v in (rows.y, rows.s, rows.s)))
    assert weighted.to_json() == repeated.to_json()


def test_pos_label():
    curve = cost_curve(["no", "yes"], [0.3, 0.6], [0.2, 0.7], pos_label="yes", at=[0.25])
    assert curve.cost_before.tolist() == [0.125]
    assert curve.cost_after.tolist() == [0.0]


def test_refusals():
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7])
    with pytest.raises(ArgumentError, match="scores after"):
        cost_curve(table, after=[0.1, 0.9])
    with pytest.raises(ArgumentError, match="n_points"):
        cost_curve(table, n_points=0)
    for at in (0.0, 1.0, [0.5, np.nan], ["x"]):
        with pytest.raises(ArgumentError, match="at "):
            cost_curve(table, at=at)
    with pytest.raises(ArgumentError, match="at least one point"):
        cost_curve(table, at=[])
