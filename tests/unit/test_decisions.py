"""Costs, thresholds and savings by hand, and the sharp cases of Claim 1 (theory G)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.decisions import decide, expected_cost, regret_bound, saving_bound, threshold
from calibrant.metrics import cutoff_calibration_error


def costs(a, b):
    return {"false_positive_cost": a, "false_negative_cost": b}


@pytest.mark.parametrize(("a", "b", "tau"), [(1, 1, 0.5), (1, 4, 0.2), (3, 1, 0.75), (0, 2, 0.0), (2, 0, 1.0)])
def test_threshold_is_a_over_a_plus_b(a, b, tau):
    assert threshold(a, b) == tau


def test_a_score_at_the_threshold_acts():
    assert decide([0.0, 0.5, 1.0], **costs(1, 1)).tolist() == [False, True, True]
    assert decide([0.0, 1.0], **costs(0, 1)).tolist() == [True, True]
    assert decide([0.9, 1.0], **costs(1, 0)).tolist() == [False, True]


def test_costs_by_hand():
    """Arithmetic: acting from .5 on, with one false positive (cost 2) and one missed positive (cost 3) in 5 rows."""
    y, s = [0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.6, 0.9]
    assert expected_cost(y, s, **costs(2, 3), threshold=0.5) == (2 + 3) / 5
    assert expected_cost(y, s, **costs(2, 3), threshold=0.0) == 2 * 2 / 5
    assert expected_cost(y, s, **costs(2, 3)) == 2 / 5  # tau = .4
    found = saving_bound(y, s, **costs(2, 3))
    assert (found.threshold, found.cost, found.best_cost) == (0.4, 2 / 5, 2 / 5)
    assert (found.cost_act_always, found.cost_act_never) == (2 * 2 / 5, 3 * 3 / 5)
    assert found.cost_forecast == pytest.approx((3 * 0.1 + 2 * (0.6 + 0.5 + 0.4 + 0.1)) / 5)


def test_forecast_of_calibrated_scores_is_the_cost():
    table = ScoreTable.from_counts([0.25, 0.75], [4, 4], [1, 3])
    found = saving_bound(table, **costs(1, 1))
    assert found.cost == found.cost_forecast == 0.25
    assert found.saving == 0.0


def test_claim_1_is_sharp():
    """Theory G1: scores just at the threshold and no positives; the regret is (a + b) times the error."""
    found = saving_bound([0] * 10, [0.25] * 10, **costs(1, 3))
    assert found.saving == 1.0
    error = cutoff_calibration_error([0] * 10, [0.25] * 10)
    assert regret_bound(error, **costs(1, 3)) == found.saving


def test_decreasing_maps_are_not_covered():
    """Theory G2: scores .1 and .9 the wrong way round; thresholds save .25, a decreasing map would save .5."""
    y, s = [1, 1, 0, 0], [0.1, 0.1, 0.9, 0.9]
    found = saving_bound(y, s, **costs(0.5, 0.5))
    assert (found.cost, found.best_cost, found.saving) == (0.5, 0.25, 0.25)
    assert cutoff_calibration_error(y, s) == pytest.approx(0.45)


def test_bound_is_saving_plus_width():
    y, s = [0, 1] * 50, [0.3, 0.6] * 50
    found = saving_bound(y, s, **costs(1, 3), delta=0.1)
    assert found.saving_bound == pytest.approx(found.saving + 4 * math.sqrt(math.log(10) / 200))
    found = saving_bound(y, s, **costs(1, 3), delta=0.1, method="normal")
    variance = (50 * 0.75**2 + 50 * 0.25**2) / 100  # mean of (y - tau)^2 with tau = 1/4
    width = 1.2815515655446004 * math.sqrt(variance / 100) + math.log(10) / 100
    assert found.saving_bound == pytest.approx(found.saving + 4 * width)


def test_bound_never_exceeds_what_one_mistake_of_each_kind_costs():
    found = saving_bound([0, 1], [0.9, 0.1], **costs(1, 1))
    assert found.saving_bound == 2.0


def test_claim_names_bound_and_costs():
    found = saving_bound([0, 1] * 500, [0.3, 0.6] * 500, **costs(1, 2))
    assert f"{found.saving_bound:.4g} per case at costs 1 (false positive) and 2 (false negative)" in found.claim


def test_regret_bound():
    assert regret_bound(0.02, **costs(1, 4)) == pytest.approx(0.1)


def test_costs_scale_with_the_currency():
    rng = np.random.default_rng(0)
    s = rng.random(200)
    y = rng.random(200) < s
    one, hundred = saving_bound(y, s, **costs(1, 3)), saving_bound(y, s, **costs(100, 300))
    for name in ("cost", "cost_forecast", "best_cost", "saving", "saving_bound", "cost_act_always", "cost_act_never"):
        assert getattr(hundred, name) == pytest.approx(100 * getattr(one, name))
