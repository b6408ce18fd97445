"""Decision curves against their definition, their relation to costs, and how often their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from calibrant import ScoreTable
from calibrant.decisions import expected_cost
from calibrant.decisions.clusters import cluster_net_benefit
from calibrant.decisions.cost_curves import cost_curve
from calibrant.decisions.decision_curve import net_benefit
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.errors import ArgumentError
from calibrant.table.clusters import cluster_rows
from support import strategies
from support.worlds import WORLDS

THRESHOLDS = [0.01, 0.1, 0.25, 0.5, 0.7, 0.95]


def values_of_rows(y, s, tau):
    """Vickers & Elkin (2006), row by row: 1 for a true positive, minus the odds for a false one."""
    acted = s.astype(float) >= tau
    return np.where(acted, np.where(y == 1, 1.0, -tau / (1.0 - tau)), 0.0)


@given(strategies.small_rows())
def test_is_its_definition(rows):
    curve = net_benefit(rows.y, rows.s, at=THRESHOLDS, **rows.keywords)
    for i, tau in enumerate(THRESHOLDS):
        value = np.average(values_of_rows(rows.y, rows.s, tau), weights=rows.w)
        everyone = np.average(values_of_rows(rows.y, np.ones(len(rows.y)), tau), weights=rows.w)
        assert curve.net_benefit[i] == pytest.approx(value, abs=1e-12)
        assert curve.treat_all[i] == pytest.approx(everyone, abs=1e-12)
        assert curve.treat_none[i] == 0.0


@given(strategies.small_rows())
def test_cost_is_what_benefit_leaves_of_the_base_rate(rows):
    """cost = (1 - tau) (base rate - net benefit), at costs tau and 1 - tau, for the scores and for everyone."""
    rate = np.average(rows.y, weights=rows.w)
    curve = net_benefit(rows.y, rows.s, **rows.keywords)
    costs = cost_curve(rows.y, rows.s, **rows.keywords)
    assert (1 - curve.threshold) * (rate - curve.net_benefit) == pytest.approx(costs.cost_before, abs=1e-12)
    for tau, everyone in zip(curve.threshold.tolist(), curve.treat_all.tolist(), strict=True):
        cost = expected_cost(
            rows.y, rows.s, false_positive_cost=tau, false_negative_cost=1 - tau, threshold=0.0, **rows.keywords
        ).cost
        assert (1 - tau) * (rate - everyone) == pytest.approx(cost, abs=1e-12)


def test_by_hand():
    """Arithmetic: at .2 one false positive, at a quarter of a true one; at .5 one of each; above .9 nobody."""
    curve = net_benefit([0, 0, 1, 1, 1], [0.1, 0.6, 0.4, 0.5, 0.9], at=[0.2, 0.5, 0.95])
    assert curve.net_benefit.tolist() == pytest.approx([(3 - 1 / 4) / 5, (2 - 1) / 5, 0.0])
    assert curve.treat_all.tolist() == pytest.approx([(3 - 2 / 4) / 5, (3 - 2) / 5, (3 - 2 * 19) / 5])
    assert curve.threshold.tolist() == [0.2, 0.5, 0.95]
    assert (curve.n, curve.confidence_level) == (5, 0.95)


@given(strategies.small_rows(weighted=("none", "whole")))
def test_standard_error_is_that_of_a_mean(rows):
    w = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w
    curve = net_benefit(rows.y, rows.s, at=THRESHOLDS, **rows.keywords)
    for i, tau in enumerate(THRESHOLDS):
        values = np.repeat(values_of_rows(rows.y, rows.s, tau), w)
        assert curve.standard_error[i] ** 2 == pytest.approx(values.var() / len(values), rel=1e-9, abs=1e-12)
        assert curve.lower[i] <= curve.net_benefit[i] <= curve.upper[i]


def test_no_row_that_acts_is_no_proof():
    """Arithmetic: no row in 100 acts, so a share of 1 - .025 ** (1 / 100) may; each may be worth 1 or lose 19."""
    curve = net_benefit([0, 1] * 50, [0.3, 0.6] * 50, at=[0.95])
    share = 1 - 0.025 ** (1 / 100)
    assert (curve.net_benefit[0], curve.standard_error[0]) == (0.0, 0.0)
    assert (curve.lower[0], curve.upper[0]) == pytest.approx((-19 * share, share))


def test_no_interval_from_weights_that_count_no_rows():
    curve = net_benefit([0, 1], [0.3, 0.6], sample_weight=[0.5, 1.0])
    assert np.isnan(curve.standard_error).all()
    assert np.isfinite(curve.net_benefit).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calibrated", "overconfident", "several atoms", "rare, calibrated"])
def test_intervals_hold_at_least_as_often_as_they_say(name):
    """Truth from the atoms of the world; 400 samples of 2000 rows, allowed 4 standard errors and 1% for large n."""
    world = WORLDS[name]
    at = [0.005, 0.01] if name.startswith("rare") else [0.1, 0.3, 0.6]
    truth = []
    for tau in at:
        acted = world.score >= tau
        truth.append(float((world.mass * acted * (world.eta - (1 - world.eta) * tau / (1 - tau))).sum()))
    held = np.zeros(len(at))
    for table in world.samples(2000, 400, np.random.default_rng(1)):
        curve = net_benefit(table, at=at, confidence_level=0.9)
        held += (curve.lower <= truth) & (truth <= curve.upper)
    assert (held / 400 > 0.9 - 4 * np.sqrt(0.09 / 400) - 0.01).all()


def test_limits_of_clusters_are_those_of_curves_without_each_of_them():
    rng = np.random.default_rng(4)
    g = np.minimum(rng.integers(0, 12, 300), rng.integers(0, 12, 300))
    s = np.round(rng.uniform(size=300), 2)
    y = (rng.uniform(size=300) < 0.3 * rng.uniform(size=12)[g] + 0.6 * s).astype(int)
    thresholds = [0.1, 0.3, 0.6]
    curve = cluster_net_benefit(cluster_rows(y, s, g), net_benefit(y, s, at=thresholds))
    without = np.array([net_benefit(y[g != i], s[g != i], at=thresholds).net_benefit for i in range(12)])
    jackknife = Jackknife(np.bincount(g).astype(float))
    for i, tau in enumerate(thresholds):
        acts = s >= tau
        sums = np.array([np.bincount(g, acts * y), tau / (1.0 - tau) * np.bincount(g, acts * (1 - y))])
        limits = jackknife.limits(curve.net_benefit[i], without[:, i], 0.95, parts=jackknife.parts(sums))[:2]
        assert (curve.lower[i], curve.upper[i]) == pytest.approx(limits, rel=1e-9)
        spread = np.sqrt(11 / 12 * ((without[:, i] - curve.net_benefit[i]) ** 2).sum())
        assert curve.standard_error[i] == pytest.approx(spread, rel=1e-9)


def test_no_use_beats_perfect_scores():
    curve = net_benefit([0, 0, 1], [0.0, 0.0, 1.0])
    assert curve.net_benefit.tolist() == pytest.approx([1 / 3] * 99)
    assert (curve.treat_all <= curve.net_benefit).all()


def test_table_and_counts():
    y, s, w = [0, 1, 1], [0.3, 0.6, 0.1], [2, 3, 1]
    weighted = net_benefit(y, s, count=w)
    assert weighted.to_json() == net_benefit(np.repeat(y, w), np.repeat(s, w)).to_json()
    assert weighted.to_json() == net_benefit(ScoreTable.from_scores(y, s, count=w)).to_json()


def test_refusals():
    for keywords in ({"at": [0.0]}, {"at": 1.0}, {"confidence_level": 1.0}, {"n_points": 0}):
        with pytest.raises(ArgumentError):
            net_benefit([0, 1], [0.3, 0.6], **keywords)
