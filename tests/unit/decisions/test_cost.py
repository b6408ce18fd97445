"""Costs, forecasts and their limits against their definitions."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from calibrant import ScoreTable
from calibrant.decisions import expected_cost
from calibrant.distributions.mean_limits import mean_width
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import cutoff_calibration_error
from calibrant.references import cite
from calibrant.table.numbers import claim_upper
from support import oracles, strategies

ROWS = strategies.small_rows(weighted=("none", "whole"))
COSTS = st.sampled_from([(0, 1), (1, 0), (1, 1), (1, 3), (3, 1), (7, 3), (1, 99), (0.3, 0.7), (1e299, 1e250)])
THRESHOLD = st.one_of(st.none(), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def costs(a, b):
    return {"false_positive_cost": a, "false_negative_cost": b}


def repeated(rows):
    """One row per row, without weights."""
    w = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w
    return np.repeat(rows.y, w), np.repeat(rows.s.astype(float), w)


def cost_and_forecast(y, s, tau, a, b):
    """Row by row: what each decision costs, and what it would on average if its score were the probability."""
    acted = s >= tau
    return np.where(acted, a * (1 - y), b * y), np.where(acted, a * (1.0 - s), b * s)


@given(ROWS, COSTS, THRESHOLD)
def test_is_its_definition(rows, prices, threshold):
    a, b = prices
    found = expected_cost(rows.y, rows.s, **costs(a, b), threshold=threshold, **rows.keywords)
    tau = a / (a + b) if threshold is None else threshold
    actual, mean_predicted = cost_and_forecast(*repeated(rows), tau, a, b)
    scale = max(a, b)
    assert found.threshold == tau
    assert found.cost == pytest.approx(actual.mean(), abs=1e-14 * scale)
    assert found.cost_forecast == pytest.approx(mean_predicted.mean(), abs=1e-14 * scale)
    assert found.cost - found.cost_forecast == pytest.approx((actual - mean_predicted).mean(), abs=1e-14 * scale)
    assert found.cost == expected_cost(rows.y, rows.s, **costs(a, b), threshold=threshold, **rows.keywords).cost


@given(ROWS, COSTS, THRESHOLD)
def test_error_is_made_of_the_residuals_on_either_side_of_the_threshold(rows, prices, threshold):
    """B C(s < t) - a C(s >= t); so at most (a + b) times the error, at every threshold."""
    a, b = prices
    found = expected_cost(rows.y, rows.s, **costs(a, b), threshold=threshold, **rows.keywords)
    top = math.nextafter(found.threshold, -1.0)
    below = oracles.interval_residual(*rows, -math.inf, top)
    above = oracles.interval_residual(*rows, top, math.inf)
    assert found.cost - found.cost_forecast == pytest.approx(b * below - a * above, abs=1e-12 * (a + b))
    error = cutoff_calibration_error(rows.y, rows.s, **rows.keywords)
    assert abs(found.cost - found.cost_forecast) <= (a + b) * (error + 1e-11)


@given(ROWS, COSTS, THRESHOLD, st.sampled_from([0.2, 0.05, 1e-6]))
def test_limits_enclose_what_is_seen_and_what_is_possible(rows, prices, threshold, delta):
    a, b = prices
    found = expected_cost(
        rows.y, rows.s, **costs(a, b), threshold=threshold, confidence_level=1 - delta, **rows.keywords
    )
    dearest = max(a, b)
    rounding = 1e-9 * dearest
    assert 0.0 <= found.cost_lower <= found.cost + rounding
    assert found.cost - rounding <= found.cost_upper <= dearest * (1.0 + 1e-15)
    error = found.cost - found.cost_forecast
    assert -dearest <= found.forecast_error_lower <= error <= found.forecast_error_upper <= dearest


@given(ROWS, st.sampled_from([(1, 1), (1, 3), (3, 1), (0, 2), (2, 0)]))
def test_cost_limits_are_exact_limits_of_two_shares(rows, prices):
    """The definition with scipy.stats.binomtest; where one share has no price the other gets all of delta."""
    a, b = prices
    y, s = repeated(rows)
    acted = s >= a / (a + b)
    false_positives, missed = int((acted & (y == 0)).sum()), int((~acted & (y == 1)).sum())
    parts = [(min(a, b), false_positives + missed), (abs(a - b), false_positives if a > b else missed)]
    parts = [(price, count) for price, count in parts if price]
    level = 1.0 - 0.1 / len(parts)
    limits = [(price, binomtest(k, len(y)).proportion_ci(level, method="exact")) for price, k in parts]
    found = expected_cost(rows.y, rows.s, **costs(a, b), confidence_level=0.9, **rows.keywords)
    assert found.cost_lower == pytest.approx(sum(price * limit.low for price, limit in limits), abs=1e-9)
    assert found.cost_upper == pytest.approx(sum(price * limit.high for price, limit in limits), abs=1e-9)


@given(ROWS, COSTS, THRESHOLD)
def test_error_limits_are_bernstein_limits_of_the_rows(rows, prices, threshold):
    """On either side at half of delta, from the squares of the terms and the dearer price, which none exceeds."""
    a, b = prices
    found = expected_cost(rows.y, rows.s, **costs(a, b), threshold=threshold, confidence_level=0.9, **rows.keywords)
    actual, mean_predicted = cost_and_forecast(*repeated(rows), found.threshold, a, b)
    terms = (actual - mean_predicted) / max(a, b)
    half = float(mean_width(len(terms), (terms**2).mean(), 0.05))
    assert found.forecast_error_upper == pytest.approx(max(a, b) * min(1.0, terms.mean() + half), rel=1e-9)
    assert found.forecast_error_lower == pytest.approx(max(a, b) * max(-1.0, terms.mean() - half), rel=1e-9)


def test_by_hand():
    """Arithmetic: predicting positive from .4 on; one false positive (2) and one missed positive (3) in 5 rows."""
    found = expected_cost([0, 1, 0, 1, 1], [0.1, 0.3, 0.5, 0.6, 0.9], **costs(2, 3))
    assert found.threshold == 0.4
    assert found.cost == (2 + 3) / 5
    assert found.cost_forecast == pytest.approx((3 * (0.1 + 0.3) + 2 * (0.5 + 0.4 + 0.1)) / 5)


@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(rows, random):
    order = list(range(len(rows.y)))
    random.shuffle(order)
    other = rows.reordered(order)
    text = expected_cost(rows.y, rows.s, **costs(1, 3), **rows.keywords).to_json()
    assert expected_cost(other.y, other.s, **costs(1, 3), **other.keywords).to_json() == text
    assert expected_cost(*repeated(rows), **costs(1, 3)).to_json() == text


def test_weights_have_costs_without_limits():
    y, s, w = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9], [1.0, 2.0, 1.0, 0.5]
    found, counted = (
        expected_cost(y, s, **costs(1, 2), **given) for given in ({"sample_weight": w}, {"count": [2, 4, 2, 1]})
    )
    for name in ("cost", "cost_forecast", "saving", "cost_treat_all", "cost_treat_none", "best_cost"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name))
    for name in ("cost_lower", "cost_upper", "forecast_error_lower", "forecast_error_upper", "saving_bound"):
        assert math.isnan(getattr(found, name))
    assert found.claim.startswith("Nothing is claimed")


@given(ROWS, COSTS, THRESHOLD)
def test_what_a_threshold_loses_is_bounded_by_what_all_can_cost(rows, prices, threshold):
    found = expected_cost(rows.y, rows.s, **costs(*prices), threshold=threshold, **rows.keywords)
    assert found.saving <= found.saving_bound + 1e-12 * max(prices)
    assert found.saving_bound <= found.cost_upper


def test_costs_scale_with_the_currency():
    rng = np.random.default_rng(1)
    s = rng.random(200)
    y = rng.random(200) < s
    one, large = expected_cost(y, s, **costs(1, 3)), expected_cost(y, s, **costs(1e200, 3e200))
    for name in ("cost", "cost_lower", "cost_upper", "cost_forecast", "forecast_error_lower", "forecast_error_upper"):
        assert getattr(large, name) == pytest.approx(1e200 * getattr(one, name), rel=1e-9)


@given(strategies.small_rows(most=30, weighted=("none", "whole")), st.lists(st.floats(0, 1), max_size=3), THRESHOLD)
def test_cells_only_loosen_the_limits(rows, breaks, threshold):
    exact = expected_cost(rows.y, rows.s, **costs(1, 3), threshold=threshold, **rows.keywords)
    cells = expected_cost(oracles.cell_table(rows.y, rows.s, rows.w, breaks), **costs(1, 3), threshold=threshold)
    assert cells.cost_lower <= exact.cost_lower + 1e-12
    assert cells.cost_upper >= exact.cost_upper - 1e-12
    assert cells.forecast_error_lower <= exact.forecast_error_lower + 1e-9
    assert cells.forecast_error_upper >= exact.forecast_error_upper - 1e-9


def test_claim_and_plain_data():
    found = expected_cost([0, 1] * 500, [0.3, 0.6] * 500, **costs(1, 2))
    assert f"saves more than {claim_upper(found.saving_bound)} per case at costs 1 (false positive)" in found.claim
    assert json.loads(found.to_json())["threshold"] == 1 / 3
    # Gao et al. for the error, the two sources of the concentration bounds, and the one of the interval for few rows.
    assert found.references == ("gao2017", "shevtsova2013", "fan2015", "clopper1934")
    assert len(cite(found.references)) == len(found.references)
    assert "The costs were fixed" in found.assumptions[-1]
    other = expected_cost([0, 1], [0.3, 0.6], **costs(1, 2), threshold=0.5)
    assert "The costs and the threshold were fixed" in other.assumptions[-1]
    assert other.claim.endswith("than predicting positive from 0.5.")


def test_refusals():
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7])
    with pytest.raises(DataError, match="whole number of equal rows"):
        expected_cost([0, 1], [0.3, 0.6], **costs(1, 1), count=[0.5, 1.0])
    with pytest.raises(DataError):
        expected_cost([0, 1], [0.3, np.nan], **costs(1, 1))
    with pytest.raises(DataError, match="as many labels"):
        expected_cost([0, 1], [0.3], **costs(1, 1))
    for keywords in ({"confidence_level": 0.0}, {"confidence_level": 1.0}, {"threshold": 1.5}, {"threshold": "x"}):
        with pytest.raises(ArgumentError, match=next(iter(keywords))):
            expected_cost(table, **costs(1, 1), **keywords)
    for prices in ((0, 0), (-1, 1), (1, math.inf)):
        with pytest.raises(ArgumentError):
            expected_cost(table, **costs(*prices))
