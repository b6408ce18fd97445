"""Certificates of predicted means: what they say, refuse and agree with."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import pytest

from calibrant import ArgumentError, DataError, OutcomeTable, certify, cutoff_calibration_error


def book(n, seed=0, mean=0.2):
    rng = np.random.default_rng(seed)
    prediction = mean * np.exp(rng.normal(0.0, 0.5, n))
    exposure = rng.uniform(0.1, 1.0, n)
    return rng.poisson(prediction * exposure).astype(float), prediction, exposure


def test_both_sides_and_the_worse_of_them():
    outcome, prediction, exposure = book(4_000)
    certificate = certify(outcome, prediction, exposure=exposure, limits=(0, 20), tolerance=0.5, kind="amount")
    low, high = certificate.too_low, certificate.too_high
    assert certificate.bound == max(low.upper, high.upper)
    assert certificate.estimate == max(low.estimate, high.estimate)
    for side in (low, high):
        assert side.lower <= side.estimate <= side.upper
        assert side.proved
        assert side.verdict == "certified"
    assert (low.cap, high.cap) == (20.0, None)
    assert "of at most 20" in low.sentence
    assert "whatever the size" in high.sentence
    assert certificate.to_dict()["too_low"]["method"] == "betting"
    assert str(certificate).count("\n") == 3


def test_no_order_of_rows_shows():
    outcome, prediction, exposure = book(500)
    cluster = np.arange(500) // 3
    order = np.random.default_rng(1).permutation(500)
    for clusters in ((None, None), (cluster, 1_000 - cluster[order])):
        one = certify(outcome, prediction, exposure=exposure, limits=(0, 9), cluster=clusters[0], kind="amount")
        two = certify(
            outcome[order],
            prediction[order],
            exposure=exposure[order],
            limits=(0, 9),
            cluster=clusters[1],
            kind="amount",
        )
        assert one.to_dict() == two.to_dict()


def test_clusters_of_one_row_are_rows():
    outcome, prediction, _ = book(600)
    rows = certify(outcome, prediction, limits=(0, 9), random_state=np.random.default_rng(3), kind="amount")
    single = certify(
        outcome,
        prediction,
        limits=(0, 9),
        cluster=np.arange(600),
        random_state=np.random.default_rng(3),
        kind="amount",
    )
    assert single.n_clusters == 600
    # The draws are numbered in another order, so that other ones bet first.
    assert single.bound == pytest.approx(rows.bound, rel=0.1)
    assert single.estimate == pytest.approx(rows.estimate, rel=1e-12)


def test_a_limit_of_clusters_serves_in_place_of_a_cap():
    outcome, prediction, _ = book(4_000)
    bounds = partial(certify, outcome, prediction, kind="amount", cluster=np.arange(4_000) // 4)
    by_rows = bounds(limits=(0, 50)).too_low
    limited = bounds(limits=(0, 50), cluster_limit=60).too_low
    alone = bounds(cluster_limit=60).too_low
    assert alone.upper == limited.upper < by_rows.upper
    assert alone.proved
    assert "at most 50 and 60 in a cluster" in limited.sentence
    assert "at most 60 in a cluster" in alone.sentence
    with pytest.raises(DataError, match="together"):
        bounds(cluster_limit=1)
    with pytest.raises(ArgumentError, match="cluster_limit"):
        bounds(cluster_limit=1e155)
    with pytest.raises(ArgumentError, match="no clusters"):
        certify(outcome, prediction, cluster_limit=60, kind="amount")


@pytest.mark.parametrize("scale", [1e-9, 7.0, 1e9])
def test_a_cluster_limit_is_in_the_unit_of_the_weights(scale):
    rng = np.random.default_rng(5)
    f, w = rng.uniform(0.1, 0.9, 600), rng.integers(1, 9, 600)
    z, most = (rng.random(600) < f).astype(float), 40.0
    limits = {"limits": (0, 1), "cluster": np.arange(600) // 4}
    one, other = (
        certify(z, f, weight=unit * w, cluster_limit=unit * most, **limits, kind="amount") for unit in (1.0, scale)
    )
    for side in ("too_low", "too_high"):
        low, high = (getattr(certificate, side) for certificate in (one, other))
        assert (high.upper, high.lower) == pytest.approx((low.upper, low.lower), rel=1e-9)


def test_without_a_cap_one_side_is_asymptotic_or_refused():
    rng = np.random.default_rng(2)
    amounts = np.where(rng.random(3_000) < 0.1, 1.0 + rng.pareto(1.1, 3_000), 0.0)
    certificate = certify(amounts, np.full(3_000, 0.5), kind="amount")
    assert (certificate.too_low.method, certificate.too_low.proved) == ("extrapolated", False)
    assert "give a cap" in certificate.too_low.sentence
    assert certificate.too_high.proved
    few = certify(amounts[:300], np.full(300, 0.5), tolerance=0.9, kind="amount")
    assert (few.too_low.method, few.too_low.upper) == ("none", math.inf)
    assert "limits=(0, M)" in few.too_low.sentence
    assert few.too_high.upper <= 1.0
    assert few.bound == math.inf
    assert few.verdict == "undecided"
    assert "No limit" in few.claim


@pytest.mark.parametrize(
    ("outcome", "predicted"),
    [
        (np.full(1_000, 0.3), 0.3),
        (np.random.default_rng(1).uniform(0.9, 1.1, 1_000), 1.2),
        (np.zeros(1_000), -1.0),
        (np.append(np.full(960, 0.5), np.full(40, 9.0)), 1.0),
    ],
    ids=["exact", "all below", "nothing seen", "few above"],
)
def test_without_a_cap_no_limit_is_stated_where_few_outcomes_are_above_the_predictions(outcome, predicted):
    certificate = certify(outcome, np.full(1_000, predicted), relative_to="rows", tolerance=100.0, kind="amount")
    assert (certificate.too_low.method, certificate.too_low.upper) == ("none", math.inf)
    assert (certificate.verdict, certificate.too_high.verdict) == ("undecided", "certified")


def test_without_a_cap_nothing_certifies_that_predictions_are_not_too_low():
    """One row in 4,000,000 with an outcome as large would double the mean, and be in one of 1,000 such samples."""
    rng = np.random.default_rng(3)
    outcome, prediction = rng.exponential(size=4_000), np.ones(4_000)
    free = certify(outcome, prediction, tolerance=0.9, kind="amount")
    assert free.bound < 0.9
    assert (free.verdict, free.too_low.verdict, free.too_high.verdict) == ("undecided", "undecided", "certified")
    assert free.rows_needed is None
    assert "(asymptotic)" in free.claim
    assert "largest" in free.claim
    assert "largest" in free.assumptions[-1]
    narrow = certify(outcome, prediction, tolerance=0.9, method="asymptotic", kind="amount")
    assert narrow.verdict == "undecided"
    sides = [
        certify(outcome, prediction, tolerance=0.9, direction=way, kind="amount") for way in ("too high", "too low")
    ]
    assert [side.verdict for side in sides] == ["certified", "undecided"]
    assert "asymptotic" not in sides[0].claim
    capped = certify(outcome, prediction, tolerance=0.9, limits=(0, 50), kind="amount")
    assert (capped.verdict, len(capped.assumptions)) == ("certified", 4)
    assert (
        certify(outcome, prediction, limits=(0, 50), method="asymptotic", kind="amount").claim.count("asymptotic") == 1
    )
    low = certify(outcome, 0.3 * prediction, tolerance=0.5, kind="amount")
    assert (low.verdict, low.too_low.verdict) == ("refuted", "refuted")


@pytest.mark.parametrize("amount", [1.1, 30.0])
def test_without_a_cap_an_outcome_three_times_the_largest_is_allowed_for(amount):
    outcome = np.tile([0.9, 0.9, 0.9, amount], 100)
    without = certify(outcome, np.ones(400), kind="amount").too_low
    at_three = certify(outcome, np.ones(400), limits=(0, 3 * amount), method="asymptotic", kind="amount").too_low
    assert without.upper == pytest.approx(at_three.upper, rel=1e-12)
    assert "relies on the largest outcomes having been seen" in without.sentence


def test_a_lower_bound_says_that_it_relies_on_the_cap():
    outcome = np.tile([0.0, 0.0, 0.0, 1.0], 50)
    high = certify(outcome, np.ones(200), limits=(0, 2), kind="amount").too_high
    assert "whatever the size of outcomes). They are too high by at least" in high.sentence
    assert high.sentence.endswith(", for outcomes of at most 2).")
    low = certify(outcome, np.full(200, 0.05), limits=(0, 2), kind="amount").too_low
    assert low.lower > 0.0
    assert low.sentence.count("at most 2") == 1


@pytest.mark.parametrize(("clusters", "words"), [(None, "too few rows"), ("one", "too few clusters")])
def test_no_limit_of_too_few_rows(clusters, words):
    clusters = clusters and np.zeros(1)
    certificate = certify([1.0], [0.5], limits=(0, 1), relative_to="rows", cluster=clusters, kind="amount")
    for side in (certificate.too_low, certificate.too_high):
        assert (side.method, side.proved, side.cap, side.upper) == ("none", False, None, math.inf)
        assert words in side.sentence
    share = certify([1.0], [0.5], limits=(0, 1), kind="amount")
    assert (share.too_high.upper, share.too_high.proved) == (1.0, True)


@pytest.mark.parametrize("method", ["default", "asymptotic"])
@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_predictions_at_the_cap_give_no_warning(outcome, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certificate = certify(np.full(2_000, outcome), np.ones(2_000), limits=(0, 1), method=method, kind="amount")
    assert certificate.too_low.upper == 0.0
    assert 1.0 - outcome <= certificate.bound <= 1.0 - 0.9 * outcome


@pytest.mark.parametrize("scale", [2.0**-460, 2.0**460])
def test_numbers_near_the_ends_of_the_range_have_the_same_bounds(scale):
    outcome = np.tile([0.0, 0.0, 0.0, 1.0], 500)
    one, other = (
        certify(
            by * outcome,
            np.full(2_000, 0.25 * by),
            limits=(0, 2 * by),
            random_state=np.random.default_rng(0),
            kind="amount",
        )
        for by in (1.0, scale)
    )
    for side in ("too_low", "too_high"):
        assert getattr(other, side).upper == pytest.approx(getattr(one, side).upper, rel=1e-6)


def test_generous_caps_cost_little_on_the_side_that_needs_none():
    outcome, prediction, exposure = book(5_000)
    bounds = [
        certify(outcome, prediction, exposure=exposure, limits=(0, cap), kind="amount").too_high.upper
        for cap in (50, 500, None)
    ]
    assert max(bounds) < 1.15 * min(bounds)


def test_units_scale():
    outcome, prediction, _ = book(800)
    share = certify(outcome, prediction, limits=(0, 9), kind="amount")
    scaled = certify(1_000 * outcome, 1_000 * prediction, limits=(0, 9_000), kind="amount")
    assert scaled.bound == pytest.approx(share.bound, rel=0.1)  # another digest, so another order
    per_row = certify(outcome, prediction, limits=(0, 9), relative_to="rows", kind="amount")
    assert per_row.estimate == pytest.approx(share.estimate * prediction.mean(), rel=1e-9)
    assert "per row" in per_row.claim


def test_refuted_and_rows_needed():
    outcome, prediction, exposure = book(4_000)
    bounds = partial(certify, outcome, kind="amount", exposure=exposure, limits=(0, 9))
    refuted = bounds(3.0 * prediction, tolerance=0.1)
    assert (refuted.verdict, refuted.too_high.verdict, refuted.too_low.verdict) == ("refuted", "refuted", "certified")
    assert "too high by at least" in refuted.too_high.sentence
    undecided = bounds(prediction, tolerance=0.05)
    assert undecided.verdict == "undecided"
    assert undecided.rows_needed > 4_000


def test_predictions_at_the_cap_cannot_be_too_low():
    certificate = certify(np.ones(50), np.ones(50), limits=(0, 1), kind="amount")
    assert certificate.too_low.upper == 0.0
    assert certificate.too_high.upper < 0.2


@pytest.mark.parametrize(
    "bad", [{"method": "betting"}, {"tolerance": -1.0}, {"confidence_level": 1.0}, {"relative_to": "premium"}]
)
def test_parameters_out_of_range(bad):
    with pytest.raises(ArgumentError):
        certify([0.0, 1.0], [0.5, 0.5], **bad, kind="amount")


def test_labels_have_the_error_of_the_binary_certificate():
    rng = np.random.default_rng(4)
    score = rng.integers(1, 100, 2_000) / 100
    label = (rng.random(2_000) < score**1.2).astype(int)
    certificate = certify(label, score, limits=(0, 1), relative_to="rows", kind="amount")
    assert certificate.estimate == pytest.approx(cutoff_calibration_error(label, score), abs=1e-12)
    assert certificate.bound < 1.25 * certify(label, score).bound


def test_a_table_in_place_of_rows():
    outcome, prediction, exposure = book(300)
    table = OutcomeTable.from_outcomes(outcome, prediction, exposure=exposure, limits=(0, 20))
    one = certify(table, kind="amount")
    assert one.to_dict() == certify(outcome, prediction, exposure=exposure, limits=(0, 20), kind="amount").to_dict()


def test_negative_predictions_can_be_off_by_more_than_all_that_is_observed():
    certificate = certify(np.ones(100), np.full(100, -1.0), limits=(0, 2), relative_to="observed", kind="amount")
    assert certificate.too_low.upper > certificate.too_low.estimate == 2.0


def test_no_number_of_rows_where_nothing_tells_it():
    """12 clusters say nothing of how their lower bound closes in; and .25 is .2 but for what chance adds."""
    y, cluster = np.repeat([1.0, 0.0], [1, 1439]), np.arange(1440) % 12
    found = certify(y, np.full(1440, 0.1), cluster=cluster, tolerance=0.05, kind="amount")
    assert (found.verdict, found.lower_bound, found.rows_needed) == ("undecided", 0.0, None)
    y = np.repeat([1.0, 0.0], [1500, 10_500])
    found = certify(y, np.full(12_000, 0.1), limits=(0, 1), tolerance=0.2, kind="amount")
    assert (found.verdict, found.rows_needed) == ("undecided", None)
