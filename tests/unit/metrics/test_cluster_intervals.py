"""Area and slope of clustered rows against pairs one by one, and against those of independent rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.metrics import calibration_slope, roc_auc_interval


def clustered_rows():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    s = np.round(rng.uniform(0.05, 0.95, len(cluster)), 2)
    return (rng.random(len(s)) < s).astype(int), s, cluster


def test_the_standard_error_of_the_area_is_that_of_pairs_counted_one_by_one():
    y, s, cluster = clustered_rows()
    found = roc_auc_interval(y, s, clusters=cluster)
    order = (s[:, None] > s) + 0.5 * (s[:, None] == s)  # of a positive in a row and a negative in a column
    pairs = np.outer(y, 1 - y)
    assert found.value == pytest.approx((order * pairs).sum() / pairs.sum())
    per_row = ((order - found.value) * pairs).sum(axis=1) + ((order - found.value) * pairs).sum(axis=0)
    sums = np.bincount(cluster, per_row) / pairs.sum()
    assert found.standard_error == pytest.approx(math.sqrt((sums**2).sum() * 60 / 59))


def test_clusters_of_one_row_say_about_what_independent_rows_say():
    rng = np.random.default_rng(1)
    s = rng.uniform(0.05, 0.95, 4000)
    y = rng.random(4000) < s
    rows, clusters = (
        (roc_auc_interval(y, s, **of), calibration_slope(y, s, **of)) for of in ({}, {"clusters": np.arange(4000)})
    )
    for end in ("lower", "upper"):
        assert getattr(clusters[0], end) == pytest.approx(getattr(rows[0], end), abs=0.002)
    for name in ("slope_interval", "intercept_interval"):
        assert getattr(clusters[1], name) == pytest.approx(getattr(rows[1], name), abs=0.01)


@pytest.mark.parametrize("function", [roc_auc_interval, calibration_slope])
def test_clusters_written_in_any_order_and_rows_repeated_in_them_change_little(function):
    y, s, cluster = clustered_rows()
    one = function(y, s, clusters=cluster)
    other = function(y[::-1], s[::-1], clusters=[f"c{g}" for g in cluster[::-1]])
    twice = function(np.tile(y, 2), np.tile(s, 2), clusters=np.tile(cluster, 2))
    assert one.to_json() == other.to_json()
    ends = ("lower", "upper") if function is roc_auc_interval else ("slope_interval",)
    for name in ends:
        assert getattr(twice, name) == pytest.approx(getattr(one, name), rel=0.06)  # rows limit the variance from below
