"""Calibration in the large and O:E by hand, beside each other, and where there is little to go by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from calibrant import ScoreTable
from calibrant.distributions.binomial import clopper_pearson
from calibrant.errors import ArgumentError
from calibrant.metrics import calibration_in_the_large, calibration_slope, observed_expected_ratio
from support.strategies import small_rows


def test_values_by_hand():
    y, s = [0, 1, 0, 0], [0.1, 0.6, 0.3, 0.4]
    assert calibration_in_the_large(y, s).value == pytest.approx(-0.1)
    assert observed_expected_ratio(y, s).value == pytest.approx(1 / 1.4)


@pytest.mark.parametrize(("n", "k"), [(1000, 0), (1000, 1), (5000, 5), (40, 13)])
def test_one_score_is_clopper_and_pearson(n, k):
    table = ScoreTable.from_counts([0.02], [n], [k])
    (lower,), (upper,) = clopper_pearson(np.array([n]), np.array([k]), 0.95)
    found, ratio = calibration_in_the_large(table), observed_expected_ratio(table)
    assert (found.lower, found.upper) == pytest.approx((lower - 0.02, upper - 0.02), rel=1e-5)
    assert (ratio.lower, ratio.upper) == pytest.approx((lower / 0.02, upper / 0.02), rel=1e-5)
    intercept = calibration_slope(table).calibration_intercept_interval
    odds = [math.log(p / (1 - p)) - math.log(0.02 / 0.98) if p else -math.inf for p in (lower, upper)]
    assert intercept == pytest.approx(odds, rel=1e-5)


@pytest.mark.slow
@given(small_rows(weighted=("none", "whole")))
def test_all_three_agree_whether_predictions_are_right_on_the_whole(rows):
    """The same term decides: 0 in the one interval, 1 in the other, 0 for the intercept."""
    for level in (0.3, 0.8, 0.95):
        keywords = {"confidence_level": level, **rows.keywords}
        large = calibration_in_the_large(rows.y, rows.s, **keywords)
        ratio = observed_expected_ratio(rows.y, rows.s, **keywords)
        assert large.lower <= large.value <= large.upper
        if not math.isnan(ratio.value):
            assert ratio.lower <= ratio.value <= ratio.upper
        ends = (large.lower, large.upper)
        if min(map(abs, ends)) < 1e-9:
            continue
        if float(np.average(rows.s.astype(float), weights=rows.w)) > 0.0:
            assert (ratio.lower <= 1.0 <= ratio.upper) is (large.lower <= 0.0 <= large.upper)
        slope = calibration_slope(rows.y, rows.s, **keywords)
        if not slope.moved:
            lower, upper = slope.calibration_intercept_interval
            assert (lower > 0.0, upper < 0.0) == (large.lower > 0.0, large.upper < 0.0)


@given(small_rows(weighted=("none", "whole")))
def test_weights_are_rows_and_order_does_not_matter(rows):
    w = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w.astype(int)
    for function in (calibration_in_the_large, observed_expected_ratio):
        repeated = function(np.repeat(rows.y, w)[::-1], np.repeat(rows.s, w)[::-1])
        assert function(rows.y, rows.s, **rows.keywords).to_json() == repeated.to_json()


def test_clusters_of_one_row_widen_by_student_alone():
    rng = np.random.default_rng(0)
    s = rng.uniform(0.1, 0.5, 400)
    y = rng.random(400) < s
    for function in (calibration_in_the_large, observed_expected_ratio):
        alone, usual = function(y, s), function(y, s, cluster=np.arange(400))
        grouped = function(y, s, cluster=np.arange(400), unseen_clusters=True)
        assert (alone.method, usual.method, grouped.method) == ("asymptotic", "cluster jackknife", "unseen clusters")
        assert grouped.value == usual.value == alone.value
        assert 1.0 < (grouped.upper - grouped.lower) / (alone.upper - alone.lower) < 1.01
        assert (usual.upper - usual.lower) / (alone.upper - alone.lower) == pytest.approx(1.0, abs=0.05)


def test_rows_repeated_in_clusters_are_worth_one_each():
    rng = np.random.default_rng(1)
    s = rng.uniform(0.1, 0.5, 300)
    y = rng.random(300) < s
    once = observed_expected_ratio(y, s, cluster=np.arange(300))
    ten = observed_expected_ratio(np.tile(y, 10), np.tile(s, 10), cluster=np.tile(np.arange(300), 10))
    assert (ten.lower, ten.upper) == pytest.approx((once.lower, once.upper), rel=0.01)


def test_what_sets_no_limit():
    nothing = observed_expected_ratio([0, 0], [0.0, 0.0])
    assert math.isnan(nothing.value)
    assert observed_expected_ratio([0, 1], [0.0, 0.0]).value == math.inf
    weights = observed_expected_ratio([0, 1, 0], [0.2, 0.4, 0.5], sample_weight=[0.5, 1.5, 1.0])
    assert weights.method == "none"
    assert math.isnan(weights.lower)
    one = calibration_in_the_large([0, 1, 1], [0.3, 0.4, 0.6], cluster=["a", "a", "a"], unseen_clusters=True)
    assert (one.lower, one.upper) == (-0.6, 0.7)


@pytest.mark.parametrize("function", [calibration_in_the_large, observed_expected_ratio])
def test_bad_level(function):
    with pytest.raises(ArgumentError, match="confidence_level"):
        function([0, 1], [0.2, 0.4], confidence_level=1.0)


@pytest.mark.parametrize("score", [1e-300, 1e-150, 1e-3])
def test_the_unit_of_the_scores_only_scales_the_ratio(score):
    found = observed_expected_ratio([0] * 9 + [1], [score] * 10)
    usual = observed_expected_ratio([0] * 9 + [1], [0.1] * 10)
    for name in ("value", "lower", "upper"):
        assert getattr(found, name) * score == pytest.approx(getattr(usual, name) * 0.1)


def test_clusters_without_any_event_say_little():
    """A thousand rows of twenty clusters tell no more of a rate than twenty, as long as no outcome differs."""
    clusters = np.repeat(np.arange(20), 50)
    rows = np.zeros(1000), np.full(1000, 0.02)
    assert calibration_in_the_large(*rows, cluster=clusters).note == "no interval: no cluster changes it"
    found = calibration_in_the_large(*rows, cluster=clusters, unseen_clusters=True)
    alone = calibration_in_the_large(np.zeros(20), np.full(20, 0.02))
    assert found.upper >= alone.upper > 0.1
