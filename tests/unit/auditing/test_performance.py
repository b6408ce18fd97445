"""The numbers of a validation report where there is little to go by: no error, and intervals that hold the estimate."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import numpy as np
import pytest

import calibrant as cal
from calibrant import ScoreTable
from calibrant.auditing.performance import Performance, performance_of
from calibrant.decisions import net_benefit
from calibrant.metrics import brier_score, log_loss, roc_auc_interval
from calibrant.table.clusters import cluster_rows

RNG = np.random.default_rng(4)
HARD = {
    "one event at one score": ([0] * 999 + [1], [0.001] * 1000),
    "one event at the top": ([0] * 999 + [1], np.linspace(1e-4, 0.02, 1000)),
    "one event at the bottom": ([1] + [0] * 999, np.linspace(1e-4, 0.02, 1000)),
    "one negative": ([0] + [1] * 999, np.linspace(0.9, 0.999, 1000)),
    "only 0 and 1": (RNG.random(200) < 0.3, RNG.random(200) < 0.5),
    "perfect": ([0, 1] * 50, [0.0, 1.0] * 50),
    "extreme": (RNG.random(500) < 0.5, 10.0 ** -RNG.uniform(0, 300, 500)),
    "close to 1": (RNG.random(300) < 0.9, 1 - 10.0 ** -RNG.uniform(1, 16, 300)),
    "two rows": ([0, 1], [0.3, 0.4]),
    "two rows reversed": ([1, 0], [0.3, 0.4]),
    "all 0": ([0] * 99 + [1], [0.0] * 100),
    "the smallest there are": ([0, 1, 0, 1], [5e-324, 1e-310, 0.5, 1 - 1e-16]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_cases_left_out_one_cluster_at_a_time(name):
    """Limits that hold the estimate, or the reason why there are none."""
    y, s = (np.asarray(column, dtype=float) for column in HARD[name])
    found = performance_of(cluster_rows(y, s, np.arange(len(y)) // 2), confidence_level=0.95, threshold=0.1)
    for field in fields(Performance):
        one = getattr(found, field.name)
        assert one.method == "cluster jackknife"
        if math.isnan(one.lower):
            assert one.note
        elif not math.isnan(one.value):
            assert one.lower <= one.value <= one.upper
    json.loads(found.to_json(), parse_constant=pytest.fail)


@pytest.mark.grid
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("name", HARD)
def test_hard_cases(name, clustered):
    y, s = (np.asarray(column, dtype=float) for column in HARD[name])
    rows = cluster_rows(y, s, np.arange(len(y)) // 2) if clustered else ScoreTable.from_scores(y, s)
    found = performance_of(rows, confidence_level=0.95, threshold=0.1, unseen_clusters=True)
    for field in fields(Performance):
        one = getattr(found, field.name)
        assert one.method == ("unseen clusters" if clustered else "asymptotic")
        assert not math.isnan(one.lower)
        assert not math.isnan(one.upper)
        if not math.isnan(one.value):
            assert one.lower <= one.value <= one.upper
    json.loads(found.to_json(), parse_constant=pytest.fail)


def test_values_are_those_of_the_functions_and_of_the_audit():
    s = RNG.random(3000)
    y = RNG.random(3000) < s**1.2
    audit = cal.audit(y, s, costs=(1, 4), confidence_level=0.9)
    found, area, benefit = audit.performance, roc_auc_interval(y, s, confidence_level=0.9), net_benefit(y, s, at=[0.2])
    assert (found.brier.value, found.log_loss.value) == (brier_score(y, s), log_loss(y, s))
    assert (found.roc_auc.value, found.roc_auc.lower, found.roc_auc.upper) == (area.value, area.lower, area.upper)
    assert found.net_benefit.value == benefit.net_benefit[0]
    assert found.scaled_brier.value == pytest.approx(audit.measures.brier_parts.skill)
    assert {getattr(found, field.name).confidence_level for field in fields(Performance)} == {0.9}
    assert 0.0 < audit.measures.miscalibration_null_mean < audit.measures.brier_parts.miscalibration


def test_net_benefit_is_that_of_the_decision_curve():
    s = RNG.random(500)
    table = ScoreTable.from_scores(RNG.random(500) < s, s)
    curve = net_benefit(table, at=[0.3])
    found = performance_of(table, confidence_level=0.95, threshold=0.3).net_benefit
    assert (found.value, found.lower, found.upper) == pytest.approx(
        (curve.net_benefit[0], curve.lower[0], curve.upper[0])
    )
    everyone = performance_of(table, confidence_level=0.95, threshold=0.0).net_benefit
    assert everyone.value == table.base_rate
    assert performance_of(table, confidence_level=0.95, threshold=1.0).net_benefit is None


def test_joining_neighbours_changes_no_limit_that_is_printed():
    """A long table, and the same rows in the groups that limits are found on, one by one."""
    n = 40_000
    s = RNG.random(n) ** 3
    y = RNG.random(n) < s
    found = performance_of(ScoreTable.from_scores(y, s), confidence_level=0.95, threshold=0.3)
    few = performance_of(ScoreTable.from_scores(y, np.round(s, 3)), confidence_level=0.95, threshold=0.3)
    for field in fields(Performance):
        one, two = getattr(found, field.name), getattr(few, field.name)
        if field.name == "log_loss":  # rounding moves scores to 0
            continue
        width = one.upper - one.lower
        assert two.upper - two.lower == pytest.approx(width, rel=0.02)
        assert (two.lower, two.upper) == pytest.approx((one.lower, one.upper), abs=0.1 * width)


def test_weights_that_are_no_rows_have_no_intervals():
    y, s = [0, 1, 0, 1, 1, 0], [0.1, 0.3, 0.4, 0.6, 0.8, 0.7]
    found = cal.audit(y, s, weight=[0.5, 1.5, 1.0, 2.0, 1.0, 0.25]).performance
    for field in fields(Performance):
        one = getattr(found, field.name)
        if one is not None:
            assert one.method == "none"
            assert math.isfinite(one.value)
            assert math.isnan(one.lower)
            assert math.isnan(one.upper)


@pytest.mark.slow
def test_that_few_rows_decide_the_area_is_said():
    """As where nearly all pairs are ordered rightly: the standard error would be too small."""
    s = np.append(np.linspace(0.01, 0.3, 60), np.linspace(0.7, 0.99, 60))
    y = (s > 0.5).astype(int)
    y[59], y[60] = 1, 0
    few, usual = cal.audit(y, s), cal.audit(RNG.random(500) < np.linspace(0.1, 0.9, 500), np.linspace(0.1, 0.9, 500))
    assert ["few rows decide" in " ".join(one.details().split()) for one in (few, usual)] == [True, False]
