"""Certificates about one direction of errors: what they say, and that they are about the other not at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant import ArgumentError, ScoreTable, certify
from calibrant.distributions.cluster_bound import ClusterSums, largest_error, largest_ratio
from calibrant.table import clusters as residuals
from calibrant.table.clusters import cap_clusters, cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, largest_move
from support.tables import segments_of

METHODS = ("default", "asymptotic", "anytime")
RNG = np.random.default_rng(3)
P = RNG.uniform(size=3_000).round(3)
TOO_HIGH = RNG.uniform(size=3_000) < P - 0.1 * (P > 0.5)  # by .1 in the upper half, an error of .05


TURNED = (((TOO_HIGH, P), "too high"), ((~TOO_HIGH, 1 - P), "too low"))  # the same errors of either class


def sums(table, side):
    """Sums of residuals over all intervals of scores, by brute force."""
    walk = side * np.append(0.0, cumulative_residuals(table).value)
    return [walk[last] - walk[first] for last in range(len(walk)) for first in range(last + 1)]


@pytest.mark.parametrize("side", [1, -1])
def test_largest_move_is_the_largest_sum_over_an_interval(side):
    for size in (1, 2, 5, 40):
        k = RNG.integers(0, 6, size)
        table = ScoreTable.from_counts(np.sort(RNG.uniform(size=size)), np.full(size, 5), k)
        move = largest_move(table, side)
        assert move.value == pytest.approx(max(sums(table, side)), abs=1e-15)
        inside = move.rows(table.score)
        residual = (table.k - table.n * table.score)[inside].sum() / table.total
        assert side * residual == pytest.approx(move.value, abs=1e-12)
        assert move.at_most == move.value


@pytest.mark.parametrize("method", METHODS)
def test_each_direction_has_its_own_bounds(method):
    asked = {way: certify(TOO_HIGH, P, method=method, direction=way) for way in ("either", "too low", "too high")}
    either, low, high = asked.values()
    assert either.direction == "either"
    assert high.estimate == either.estimate
    assert high.bound == pytest.approx(either.bound, rel=1e-12)
    assert high.lower_bound == either.lower_bound
    assert low.estimate < 0.02
    assert high.estimate > 0.04
    assert low.bound < high.bound
    assert low.lower_bound == 0.0
    assert low.trivial_bound == pytest.approx(1 - P.mean())
    assert high.trivial_bound == pytest.approx(P.mean())
    assert "as far as predictions are too low, the cutoff calibration error" in low.claim
    assert "too" not in either.claim


def test_verdicts_and_lower_bounds_follow_the_direction():
    assert certify(TOO_HIGH, P, tolerance=0.03, direction="too low").verdict == "certified"
    assert certify(TOO_HIGH, P, tolerance=0.02, direction="too high").verdict == "refuted"
    assert certify(TOO_HIGH, P, direction="too high").lower_bound > 0.02
    assert certify(TOO_HIGH, P, direction="too low").lower_bound == 0.0


def test_labels_turned_round_turn_the_direction():
    """Predictions of the other class are too low where those of this one are too high."""
    for method in METHODS:
        high = certify(TOO_HIGH, P, direction="too high", method=method)
        low = certify(~TOO_HIGH, 1 - P, direction="too low", method=method)
        assert low.bound == pytest.approx(high.bound, rel=1e-9)
        assert low.estimate == pytest.approx(high.estimate, rel=1e-9)


def test_rows_that_would_decide_are_fewer_where_one_direction_is_enough():
    """Of errors alike, chance shows a mean of pi / 4 as much in one direction."""
    table = ScoreTable.from_counts([0.5], [400], [215])
    low, either = (certify(table, tolerance=0.05, direction=way) for way in ("too low", "either"))
    assert low.verdict == either.verdict == "undecided"
    assert low.rows_needed > either.rows_needed  # more of the error that is seen is left, as chance explains less


def some_clusters(monkeypatch):
    """Rows of 12 clusters at 13 scores, whose cumulative residuals are known at few edges."""
    monkeypatch.setattr(residuals, "_EDGES", 4)
    y, p, clusters = RNG.uniform(size=240) < 0.5, RNG.integers(1, 14, 240) / 14, RNG.integers(0, 12, 240)
    return cap_clusters(cluster_rows(y, p, clusters), 30), (p, clusters, y)


@pytest.mark.parametrize("side", [1, -1])
def test_limit_of_clusters_is_that_of_every_interval(monkeypatch, side):
    for _ in range(2):
        rows, (p, clusters, y) = some_clusters(monkeypatch)
        walks = residuals.cluster_residuals(rows)
        limit = largest_error(walks, cap=rows.cap, delta=0.05, side=side)
        cuts = np.append(0.0, np.unique(p))
        each = [
            np.bincount(clusters[inside], (side * (y - p))[inside], 12)
            for low in cuts
            for high in cuts[cuts > low]
            for inside in [(p > low) & (p <= high)]
        ]
        sizes = {"rows": float(rows.size.sum()), "squared_sizes": walks.squared_sizes, "clusters": 12}
        ends = [largest_ratio(ClusterSums.of(w, rows.size), **sizes, cap=rows.cap, delta=0.05) for w in each]
        assert limit >= max(ends)
        assert limit <= largest_error(walks, cap=rows.cap, delta=0.05)


def test_clusters_have_a_direction():
    clusters = np.arange(3_000) // 10
    for method in ("default", "asymptotic"):
        low, high = (
            certify(TOO_HIGH, P, cluster=clusters, direction=way, method=method, n_simulations=99)
            for way in ("too low", "too high")
        )
        assert low.bound < high.bound
        assert low.estimate < high.estimate
        assert high.lower_bound > low.lower_bound == 0.0


def test_an_audit_says_which_direction_it_is_about():
    result = cal.audit(TOO_HIGH[::10], P[::10].round(1), tolerance=0.1, direction="too low")
    text, details = (" ".join(shown.split()) for shown in (str(result), result.details()))
    assert "the calibration error of predictions that are too low" in text
    assert f"; too low by {result.certificate.estimate:.4f}, at most" in text
    assert f"; too low by {result.certificate.estimate:.4f}, at most" in details
    assert ", too low by 0" in result.sentence()
    assert any("predictions that are too low" in line for line in result.provenance.limitations)
    assert "direction='too low'" in result.provenance.command
    assert result.to_dict()["certificate"]["direction"] == "too low"


def test_segments_have_a_direction():
    by = {"half": np.where(P > 0.5, "upper", "lower")}
    low, high, either = (
        segments_of(TOO_HIGH, P, by=by, direction=way, tolerance=0.03) for way in ("too low", "too high", "either")
    )
    assert (low.errors, high.errors, either.errors) == ("too low", "too high", "either")
    assert low.verdicts[1] == "undecided"
    assert (high.verdicts[1], either.verdicts[1]) == ("refuted", "refuted")
    assert (low.error <= either.error).all()
    assert low.p_value[1] == 1.0
    assert high.p_value[1] == pytest.approx(either.p_value[1] / 2)
    assert "fewer positives than predicted" in str(high)
    assert "No segment is shown to be miscalibrated, as far as predictions are too low." in str(low).replace("\n", " ")
    assert "as far as predictions are too low" in low.claim
    assert "as far" not in either.claim
    assert cal.find_segments(TOO_HIGH, P, by=by, direction="too low").n_found == 0
    assert cal.find_segments(TOO_HIGH, P, by=by, direction="too high").worst == "half = upper"


def test_labels_turned_round_turn_the_direction_of_segments():
    by = {"part": np.arange(len(P)) % 3}
    high, low = (segments_of(*rows, by=by, direction=way) for rows, way in TURNED)
    for name in ("error", "lower", "upper", "p_value"):
        np.testing.assert_allclose(getattr(low, name), getattr(high, name), atol=1e-9)


def test_an_audit_hands_its_direction_to_segments():
    y, p = TOO_HIGH[::10], P[::10].round(1)
    asked = {"by": {"half": p > 0.5}, "direction": "too low", "tolerance": 0.03}
    audit, alone = cal.audit(y, p, **asked), segments_of(y, p, **asked)
    assert audit.segments.to_dict() == alone.to_dict()
    assert "as far as predictions are too low" in " ".join(str(audit).split())
    with pytest.raises(ArgumentError, match="direction"):
        segments_of(TOO_HIGH, P, by={"half": P > 0.5}, direction="low")


def test_another_direction_is_refused():
    with pytest.raises(ArgumentError, match="direction to be one of 'either', 'too low', 'too high'"):
        certify(TOO_HIGH, P, direction="low")


def test_means_have_a_direction():
    z, f = np.tile([0.0, 0.0, 0.0, 1.0], 2_000), np.full(8_000, 0.3)
    either = certify(z, f, limits=(0, 1), tolerance=0.1, kind="amount")
    for way, side in (("too low", either.too_low), ("too high", either.too_high)):
        asked = certify(z, f, limits=(0, 1), tolerance=0.1, direction=way, kind="amount")
        assert (asked.bound, asked.lower_bound, asked.estimate) == (side.upper, side.lower, side.estimate)
        assert asked.verdict == side.verdict
        assert asked.too_low == either.too_low
        assert f"as far as they are {way}, the mean calibration error" in asked.claim
    assert either.verdict == "refuted"
    assert certify(z, f, limits=(0, 1), tolerance=0.1, direction="too low", kind="amount").verdict == "certified"
    with pytest.raises(ArgumentError, match="direction"):
        certify(z, f, direction="both", kind="amount")


def test_means_without_a_cap_say_of_which_direction_there_is_no_limit():
    z, f = np.tile([0.0, 0.0, 0.0, 1.0], 20), np.full(80, 0.3)
    assert certify(z, f, direction="too low", kind="amount").claim.endswith(
        "of predictions that are too low there is none."
    )
    assert "as far as they are too high" in certify(z, f, direction="too high", kind="amount").claim


def draw_rows(seed, n):
    """Probabilities on a grid, perhaps wrong on one side or both, outcomes of three classes, and clusters."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(rng.uniform(0.5, 3.0, 3), n).round(2)
    p[:, 2] = 1.0 - p[:, 0] - p[:, 1]
    true = np.abs(p) ** rng.uniform(0.5, 2.0)
    code = (rng.random((n, 1)) > np.cumsum(true / true.sum(axis=1, keepdims=True), axis=1)).sum(axis=1).clip(0, 2)
    return np.abs(p), code, rng.integers(0, 12, n)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(60, 400), kind=st.sampled_from(["event", "classes"]))
def test_errors_of_both_sides_are_the_worse_of_each_by_itself(seed, n, kind):
    """Asked together, the sides have the larger of their bounds, or of few rows hardly more."""
    p, code, _ = draw_rows(seed, n)
    rows = (code == 0, p[:, 0]) if kind == "event" else (code, p)
    either, *sides = (certify(*rows, kind=kind, direction=way) for way in ("either", "too low", "too high"))
    larger = max(side.bound for side in sides)
    assert larger * (1.0 - 1e-5) <= either.bound <= 1.01 * larger  # of few rows a little wider than each by itself
    assert either.estimate == pytest.approx(max(side.estimate for side in sides), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(60, 400), kind=st.sampled_from(["event", "amount"]))
def test_what_is_wrong_the_other_way_alone_refutes_nothing(seed, n, kind):
    p, _, _ = draw_rows(seed, n)
    limits = {"limits": (0.0, 3.0)} if kind == "amount" else {}
    result = certify(np.zeros(n), np.maximum(p[:, 0], 0.01), kind=kind, direction="too low", tolerance=1e-6, **limits)
    assert (result.estimate, result.lower_bound) == (0.0, 0.0)
    assert result.verdict != "refuted"


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 400),
    clustered=st.booleans(),
    relative_to=st.sampled_from(["predicted", "observed", "exposure", "rows"]),
)
def test_no_side_of_amounts_depends_on_the_limit_of_the_other(seed, n, clustered, relative_to):
    """But for lower bounds, which need to know how far outcomes can be off the other way, and bounds by moments."""
    p, code, cluster = draw_rows(seed, n)
    columns = {"cluster": cluster} if clustered else {}
    results = [
        certify(
            code.astype(float),
            2.0 * p[:, 1] + 0.01,
            kind="amount",
            limits=(0.0, cap),
            relative_to=relative_to,
            direction=way,
            tolerance=0.3,
            **columns,
        )
        for cap in (None, 2.0, 50.0)
        for way in ("either", "too high")
    ]
    assert {result.too_high.method for result in results} == {"betting"}
    assert len({result.too_high.upper for result in results}) == 1
    assert len({result.bound for result in results if result.direction == "too high"}) == 1
    if relative_to != "observed":  # there the cap limits what errors are divided by
        assert len({result.too_low.lower for result in results}) == 1
    assert results[0].too_high.lower == 0.0
