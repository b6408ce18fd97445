"""Area and slope of clustered rows against pairs one by one, and against those of independent rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtrit

from calibrant.auditing.performance import performance_of
from calibrant.metrics import calibration_slope, observed_expected_ratio, roc_auc, roc_auc_interval
from calibrant.metrics.estimates import _root
from calibrant.metrics.ranking import areas_without
from calibrant.table.clusters import cluster_rows


def clustered_rows():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    s = np.round(rng.uniform(0.05, 0.95, len(cluster)), 2)
    return (rng.random(len(s)) < s).astype(int), s, cluster


def test_the_area_without_each_cluster_is_that_of_the_other_rows():
    """Also where scores are tied, inside a cluster and between clusters; NaN if the others are of one class."""
    y, s, cluster = clustered_rows()
    rows = cluster_rows(y, np.round(s, 1), cluster)
    found = areas_without(rows.score, rows.n, rows.k, rows.cluster, 60)
    expected = [roc_auc(y[cluster != g], np.round(s, 1)[cluster != g]) for g in range(60)]
    assert sorted(found) == pytest.approx(sorted(expected), abs=1e-14)
    y = (cluster == 7).astype(int)
    assert math.isnan(roc_auc_interval(y, s, cluster=cluster).lower)


@pytest.mark.slow
def test_coefficients_without_each_cluster_are_about_those_of_the_other_rows():
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(12), 80)
    s = rng.uniform(0.05, 0.95, 960)
    y = (rng.random(960) < s).astype(int)
    found = calibration_slope(y, s, cluster=cluster)
    without = [calibration_slope(y[cluster != g], s[cluster != g]).slope for g in range(12)]
    half = stdtrit(11, 0.975) * math.sqrt(11 / 12 * ((np.array(without) - found.slope) ** 2).sum())
    assert found.slope_interval == pytest.approx((found.slope - half, found.slope + half), rel=0.01)
    without = [calibration_slope(y[cluster != g], s[cluster != g]).calibration_intercept for g in range(12)]
    value = found.calibration_intercept
    half = stdtrit(11, 0.975) * math.sqrt(11 / 12 * ((np.array(without) - value) ** 2).sum())
    assert found.calibration_intercept_interval == pytest.approx((value - half, value + half), abs=0.003)


@pytest.mark.slow
def test_both_coefficients_of_low_scores_without_each_cluster_are_about_those_of_the_other_rows():
    """Far from a score of 1/2 either moves with the other."""
    rng = np.random.default_rng(5)
    cluster, s = np.repeat(np.arange(12), 200), rng.uniform(0.02, 0.3, 2400)
    y = (rng.random(2400) < s).astype(int)
    found = calibration_slope(y, s, cluster=cluster)
    others = [calibration_slope(y[cluster != g], s[cluster != g]) for g in range(12)]
    for name in ("intercept", "slope"):
        value, without = getattr(found, name), np.array([getattr(other, name) for other in others])
        half = stdtrit(11, 0.975) * math.sqrt(11 / 12 * ((without - value) ** 2).sum())
        assert getattr(found, f"{name}_interval") == pytest.approx((value - half, value + half), abs=0.03 * half)


def test_the_ratio_is_left_out_on_the_log_scale():
    """By hand: without each of three clusters, of one, two and three rows."""
    y, s, cluster = [1, 0, 1, 1, 0, 1], [0.5, 0.5, 0.5, 0.25, 0.5, 0.25], [0, 1, 1, 2, 2, 2]
    found = observed_expected_ratio(y, s, cluster=cluster)
    logs = np.log([3 / 2.0, 3 / 1.5, 2 / 1.5]) - np.log(4 / 2.5)
    half = stdtrit(36 / 14 - 1, 0.975) * math.sqrt(2 / 3 * (logs @ logs))
    assert (found.lower, found.upper) == pytest.approx((1.6 * math.exp(-half), 1.6 * math.exp(half)))
    assert (found.method, found.note) == ("cluster jackknife", "")


@pytest.mark.parametrize(
    ("cluster", "note"),
    [
        ([0, 0, 0, 1, 1, 1], "no interval: 2 clusters, and at least 3 are needed"),
        ([0, 0, 0, 0, 0, 0], "no interval: one cluster, and at least 3 are needed"),
        (
            np.append(np.zeros(94), [1, 1, 1, 2, 2, 2]),
            "no interval: one cluster has 94% of the rows, and they alone decide",
        ),
        ([0, 0, 1, 1, 2, 2], "no interval: all positives are in one cluster"),
    ],
)
def test_where_there_is_no_interval_the_reason_is_named(cluster, note):
    y = np.append(np.zeros(len(cluster) - 2), [1, 1])
    y[-3] = len(cluster) > 6
    found = roc_auc_interval(y, np.linspace(0.1, 0.9, len(y)) % 0.7, cluster=cluster)
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert found.note == note


def test_clusters_of_one_row_say_about_what_independent_rows_say():
    rng = np.random.default_rng(1)
    s = rng.uniform(0.05, 0.95, 4000)
    y = rng.random(4000) < s
    rows, clusters = (
        (roc_auc_interval(y, s, **of), calibration_slope(y, s, **of)) for of in ({}, {"cluster": np.arange(4000)})
    )
    for end in ("lower", "upper"):
        assert getattr(clusters[0], end) == pytest.approx(getattr(rows[0], end), abs=0.002)
    for name in ("slope_interval", "intercept_interval"):
        assert getattr(clusters[1], name) == pytest.approx(getattr(rows[1], name), abs=0.01)


@pytest.mark.parametrize("function", [roc_auc_interval, calibration_slope])
def test_clusters_written_in_any_order_and_rows_repeated_in_them_change_little(function):
    y, s, cluster = clustered_rows()
    one = function(y, s, cluster=cluster)
    other = function(y[::-1], s[::-1], cluster=[f"c{g}" for g in cluster[::-1]])
    twice = function(np.tile(y, 2), np.tile(s, 2), cluster=np.tile(cluster, 2))
    assert one.to_json() == other.to_json()
    ends = ("lower", "upper") if function is roc_auc_interval else ("slope_interval",)
    for name in ends:
        assert getattr(twice, name) == pytest.approx(getattr(one, name), rel=0.06)  # rows limit the variance from below


def test_coefficients_have_no_limits_if_all_events_are_in_one_cluster():
    """Without that cluster none fit best; one step of Newton went to finite ones, and slopes to 0.65 to 0.82."""
    rng = np.random.default_rng(1)
    cluster, s = np.repeat(np.arange(20), 50), rng.uniform(0.02, 0.5, 1000)
    y = ((rng.random(1000) < s) & (cluster == 3)).astype(int)
    for label, score, rarer in ((y, s, "positives"), (1 - y, 1.0 - s, "negatives")):
        found = performance_of(cluster_rows(label, score, cluster), confidence_level=0.95)
        for name in ("calibration_slope", "calibration_intercept", "observed_expected", "roc_auc"):
            one = getattr(found, name)
            if name == "observed_expected" and rarer == "negatives":
                continue  # that of the other class is defined
            assert math.isnan(one.lower), name
            assert one.note == f"no interval: all {rarer} are in one cluster"
        assert math.isfinite(found.brier.lower)


def test_the_intercept_has_limits_and_standard_error_of_refits_without_each_cluster():
    y, s, cluster = clustered_rows()
    found = calibration_slope(y, s, cluster=cluster)
    others = (cluster != g for g in range(60))
    without = np.array([brentq(lambda a, r=r: (y - expit(logit(s) + a))[r].sum(), -5.0, 5.0) for r in others])
    error = math.sqrt(59 / 60 * ((without - found.calibration_intercept) ** 2).sum())
    assert found.calibration_intercept_standard_error == pytest.approx(error, rel=0.02)
    size = np.bincount(cluster)
    half = stdtrit(size.sum() ** 2 / (size**2).sum() - 1.0, 0.975) * found.calibration_intercept_standard_error
    middle = found.calibration_intercept
    assert found.calibration_intercept_interval == pytest.approx((middle - half, middle + half), rel=1e-9)


def test_the_error_of_the_area_adds_up_both_classes_of_a_cluster():
    """Of each positive its share of negatives below, of each negative its share of positives above, less the area."""
    y, s, cluster = clustered_rows()
    above = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    area, terms = above.mean(), np.zeros(len(y))
    terms[y == 1] = (above.mean(axis=1) - area) / above.shape[0]
    terms[y == 0] = (above.mean(axis=0) - area) / above.shape[1]
    of_cluster = np.bincount(cluster, terms)
    found = roc_auc_interval(y, s, cluster=cluster, unseen_clusters=True)
    assert found.standard_error == pytest.approx(math.sqrt(60 / 59 * (of_cluster**2).sum()), rel=1e-9)


def test_a_root_a_thousand_times_as_far_is_found_and_one_a_million_times_is_infinite():
    assert _root(lambda x: 1000.0 - x, 0.0, 1e-3, -math.inf) == pytest.approx(1000.0)
    assert _root(lambda x: 1.0 - x / 1e6, 0.0, 1.0, -math.inf) == math.inf
    assert _root(lambda x: -1.0 - x / 1e6, 0.0, 1.0, -3.0) == -3.0


@pytest.mark.parametrize(
    ("function", "at", "most"),
    [
        (lambda x: math.exp(-x) - 0.1, math.log(10.0), 12),
        (lambda x: -((x - 0.3) ** 3), 0.3, 50),
        (lambda x: 1.0 if x < 0.7 else -2.0, 0.7, 50),  # a jump
        (lambda x: 1e-170 * (1.0 - x), 0.0, 2),  # products of such numbers are 0
        (lambda x: 1.0 if x < 0.7 else -1e200 * x, 0.7, 50),  # squares of such numbers are out of range
        (lambda x: 1.0 if x < 0.7 else -math.inf, 0.7, 50),
    ],
)
def test_roots_are_found_in_few_steps(function, at, most):
    places = []

    def counted(x):
        places.append(x)
        return function(x)

    assert _root(counted, 0.0, 1.0, -math.inf) == pytest.approx(at, abs=2e-11)
    assert len(places) <= most


def test_of_clusters_an_infinite_slope_has_no_limit_on_either_side():
    """Coefficients without each cluster are infinite too; the likelihood of single rows gives one limit."""
    s = (np.arange(60) + 0.5) / 60
    y = (s > 0.5).astype(int)
    alone, clustered = calibration_slope(y, s), calibration_slope(y, s, cluster=np.arange(60) % 12)
    assert alone.slope == clustered.slope == math.inf
    assert alone.slope_interval[0] > 0.5
    assert clustered.slope_interval == (-math.inf, math.inf)
