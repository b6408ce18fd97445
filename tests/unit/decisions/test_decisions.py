"""Costs, thresholds and savings by hand, and the sharp cases of Claim 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.auditing.wording import saving_caveat
from calibrant.decisions import decide, expected_cost, max_regret
from calibrant.decisions.clusters import cluster_saving
from calibrant.distributions.mean_limits import mean_width
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.clusters import cluster_rows
from calibrant.table.numbers import claim_upper
from support.oracles import cell_table
from support.strategies import small_rows


def costs(a, b):
    return {"false_positive_cost": a, "false_negative_cost": b}


@pytest.mark.parametrize(("a", "b", "tau"), [(1, 1, 0.5), (1, 4, 0.2), (3, 1, 0.75), (0, 2, 0.0), (2, 0, 1.0)])
def test_threshold_is_a_over_a_plus_b(a, b, tau):
    assert expected_cost([0, 1], [0.5, 0.5], **costs(a, b)).threshold == tau


def test_cells_widen_the_saving_bound_by_the_rows_that_they_hide():
    """Arithmetic: twice the larger cost for each of the 100 rows of the largest of 200 cells, in 20,000 rows."""
    rng = np.random.default_rng(6)
    s = np.sort(rng.uniform(0.1, 0.9, 20_000))
    y = (rng.uniform(size=20_000) < s).astype(int)
    cells = cell_table(y, s, None, s[99::100])
    assert cells.n.max() == 100
    positives = np.arange(100) < cells.k[:, None]
    exact = ScoreTable.from_scores(positives.ravel(), np.repeat(cells.score, 100))
    for a, b in ((1, 4), (4, 1)):
        wider = expected_cost(cells, **costs(a, b))
        assert wider.saving_bound < wider.cost_upper
        of_means = expected_cost(exact, **costs(a, b)).saving_bound
        assert wider.saving_bound == pytest.approx(of_means + 2 * 4 * 100 / 20_000, abs=2e-3)


@pytest.mark.parametrize("unseen", [False, True])
def test_limits_of_clusters_are_those_of_acting_at_the_threshold(unseen):
    rng = np.random.default_rng(0)
    g, s = rng.integers(0, 40, 400), rng.choice([0.1, 0.5, 0.8], 400)
    y = (rng.uniform(size=400) < s).astype(int)
    at, above = (
        cluster_saving(cluster_rows(y, scores, g), **costs(1, 1), unseen=unseen)
        for scores in (s, np.where(s == 0.5, 0.5 + 1e-9, s))
    )
    assert at.cost == pytest.approx(expected_cost(y, s, **costs(1, 1)).cost)
    for name in ("cost", "cost_lower", "cost_upper", "forecast_error_lower", "forecast_error_upper", "saving_bound"):
        assert getattr(at, name) == pytest.approx(getattr(above, name), abs=1e-5)


def test_a_score_at_the_threshold_acts():
    assert decide([0.0, 0.5, 1.0], **costs(1, 1)).tolist() == [False, True, True]
    assert decide([0.0, 1.0], **costs(0, 1)).tolist() == [True, True]
    assert decide([0.9, 1.0], **costs(1, 0)).tolist() == [False, True]


def test_costs_by_hand():
    """Arithmetic: positive from .5 on, one false positive (cost 2) and one missed positive (cost 3) in 5 rows."""
    y, s = [0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.6, 0.9]
    assert expected_cost(y, s, **costs(2, 3), threshold=0.5).cost == (2 + 3) / 5
    assert expected_cost(y, s, **costs(2, 3), threshold=0.0).cost == 2 * 2 / 5
    assert expected_cost(y, s, **costs(2, 3)).cost == 2 / 5  # tau = .4
    found = expected_cost(y, s, **costs(2, 3))
    assert (found.threshold, found.cost, found.best_cost) == (0.4, 2 / 5, 2 / 5)
    assert (found.cost_treat_all, found.cost_treat_none) == (2 * 2 / 5, 3 * 3 / 5)
    assert found.cost_forecast == pytest.approx((3 * 0.1 + 2 * (0.6 + 0.5 + 0.4 + 0.1)) / 5)


def test_forecast_of_calibrated_scores_is_the_cost():
    table = ScoreTable.from_counts([0.25, 0.75], [4, 4], [1, 3])
    found = expected_cost(table, **costs(1, 1))
    assert found.cost == found.cost_forecast == 0.25
    assert found.saving == 0.0


def test_claim_1_is_sharp():
    """Scores just at the threshold and no positives; the regret is (a + b) times the error."""
    found = expected_cost([0] * 10, [0.25] * 10, **costs(1, 3))
    assert found.saving == 1.0
    error = cutoff_calibration_error([0] * 10, [0.25] * 10)
    assert (1 + 3) * error == found.saving


def test_decreasing_maps_are_not_covered():
    """Scores .1 and .9 the wrong way round; thresholds save .25, a decreasing map would save .5."""
    y, s = [1, 1, 0, 0], [0.1, 0.1, 0.9, 0.9]
    found = expected_cost(y, s, **costs(0.5, 0.5))
    assert (found.cost, found.best_cost, found.saving) == (0.5, 0.25, 0.25)
    assert cutoff_calibration_error(y, s) == pytest.approx(0.45)


def test_bound_is_saving_plus_width():
    y, s = [0, 1] * 50, [0.3, 0.6] * 50
    y, s = [0, 1] * 5000, [0.3, 0.6] * 5000  # from 1/4 on all act; from .6 on no one does wrong, and .5 is saved
    found = expected_cost(y, s, **costs(1, 3), confidence_level=0.9)
    assert found.saving == found.cost == 0.5
    assert found.saving_bound == found.cost_upper < 0.5 + 4 * math.sqrt(math.log(20) / 20_000)  # Hoeffding's
    y = [0, 1, 1, 1] * 2500  # no row is positive at 3/4; a threshold of .6, positives alone, saves half of all cases
    found = expected_cost(y, s, **costs(3, 1), confidence_level=0.9, method="asymptotic")
    assert (found.cost, found.saving) == (0.75, 0.5)
    width = 1.6448536269514722 * math.sqrt(0.5 * 0.25**2 / 10_000) + math.log(20) / 10_000
    assert found.saving_bound == pytest.approx(0.5 + 4 * width)
    found = expected_cost(y, s, **costs(3, 1), confidence_level=0.9)
    width = mean_width(10_000, 0.5 * 0.25**2, 0.05, top=0.75, largest=0.75, reach=1.0)
    assert found.saving_bound == pytest.approx(0.5 + 4 * float(width))


@given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.sampled_from([(1, 1), (1, 99), (5, 0.1), (0, 1)]))
def test_no_saving_is_larger_than_what_the_cost_can_be(n, seed, prices):
    rng = np.random.default_rng(seed)
    s = rng.random(n).round(rng.integers(1, 4))
    y = rng.random(n) < s ** rng.choice([0.3, 1, 3])
    for method in ("default", "asymptotic"):
        found = expected_cost(y, s, **costs(*prices), method=method)
        assert found.saving <= found.saving_bound <= found.cost_upper


def test_claim_names_bound_and_costs():
    found = expected_cost([0, 1] * 500, [0.3, 0.6] * 500, **costs(1, 2))
    assert (
        f"{claim_upper(found.saving_bound)} per case at costs 1 (false positive) and 2 (false negative)" in found.claim
    )


def test_costs_scale_with_the_currency():
    rng = np.random.default_rng(0)
    s = rng.random(200)
    y = rng.random(200) < s
    one, hundred = expected_cost(y, s, **costs(1, 3)), expected_cost(y, s, **costs(100, 300))
    for name in ("cost", "cost_forecast", "best_cost", "saving", "saving_bound", "cost_treat_all", "cost_treat_none"):
        assert getattr(hundred, name) == pytest.approx(100 * getattr(one, name))


@given(
    rows=small_rows(weighted=("none", "whole"), both_classes=True),
    prices=st.sampled_from([(1, 1), (1, 4), (5, 2), (0, 1), (1, 0), (1e-3, 1e3)]),
    clustered=st.booleans(),
)
def test_no_saving_exceeds_the_cost(rows, prices, clustered):
    """What recalibration saves is part of what deciding by the scores costs."""
    if clustered:
        grouped = cluster_rows(rows.y, rows.s, np.arange(len(rows.y)) % 4)
        found = cluster_saving(grouped, unseen=True, **costs(*prices))
    else:
        found = expected_cost(rows.y, rows.s, **rows.keywords, **costs(*prices))
    assert 0.0 <= found.saving <= found.cost
    assert found.cost_lower <= found.cost <= found.cost_upper * (1.0 + 1e-12)
    assert 0.0 <= found.saving_bound <= found.cost_upper
    assert ("present cost" in saving_caveat(found)) == (found.saving_bound > found.cost)
    worst = max_regret(rows.y, rows.s, **rows.keywords)
    assert worst.value <= worst.bound <= 1.0
    if worst.value > 0.0:
        at = costs(worst.false_positive_cost, worst.false_negative_cost)
        above = np.nextafter(worst.threshold, 2.0) if worst.rule == ">" else worst.threshold
        assert worst.value <= expected_cost(rows.y, rows.s, **rows.keywords, **at, threshold=above).cost + 1e-12
