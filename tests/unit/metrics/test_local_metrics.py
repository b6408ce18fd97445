"""Local calibration score, its weights and its floor, and the integrated index, by hand and against slow versions."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.fits import local_polynomial as windows_module
from calibrant.metrics import (
    integrated_calibration_index,
    local_calibration,
    local_calibration_score,
)
from calibrant.metrics import local as integrated_module
from support.oracles import cell_table
from support.oracles_local import LEAST_SPREAD, exact_fit
from support.strategies import small_rows

Y = [0, 1, 0, 1, 1]
S = [0.1, 0.3, 0.4, 0.8, 0.9]
EVERY = [local_calibration_score, integrated_calibration_index]


def weights_of(rows):
    return np.ones(len(rows.y)) if rows.w is None else np.asarray(rows.w, dtype=float)


def mass_near(points, s, w):
    """Share of the weight nearest to each point; rows as near to two points count half for each."""
    middles = 0.5 * (points[1:] + points[:-1])
    share = np.zeros(len(points))
    for score, weight in zip(s, w, strict=True):
        share[(middles < score).sum()] += 0.5 * weight
        share[(middles <= score).sum()] += 0.5 * weight
    return share / share.sum()


@given(
    rows=small_rows(most=9),
    span=st.sampled_from([0.15, 0.5, 1.0]),
    n_points=st.sampled_from([2, 3, 7]),
)
def test_score_is_the_definition(rows, span, n_points):
    w = weights_of(rows)
    s = rows.s[w > 0].astype(float)
    points = np.linspace(s.min(), s.max(), n_points) if s.min() < s.max() else s[:1]
    weight = mass_near(points, s, w[w > 0]) if len(points) > 1 else np.ones(1)
    fits = [exact_fit(rows.y, rows.s, rows.w, x, span, 0, "rectangular") for x in points]
    value = sum(wj * (fit.value - t) ** 2 for wj, fit, t in zip(weight, fits, points, strict=True))
    found = local_calibration(rows.y, rows.s, **rows.keywords, span=span, n_points=n_points)
    assert found.weight == pytest.approx(weight, abs=1e-12)
    assert found.value == pytest.approx(value, abs=1e-10)
    bias = [fit.mean_predicted - x for fit, x in zip(fits, points, strict=True)]
    floor = sum(wj * (b**2 + fit.variance) for wj, b, fit in zip(weight, bias, fits, strict=True))
    if rows.w is None:
        assert found.null_mean == pytest.approx(floor, abs=1e-10)
        assert found.excess == found.value - found.null_mean


def test_score_by_hand():
    """Arithmetic: points .1 and .9 with 3 and 2 of 5 rows; one neighbour each, labels 0 and 1: 3/5 .01 + 2/5 .01."""
    found = local_calibration(Y, S, n_points=2)
    assert found.rate.tolist() == [0.0, 1.0]
    assert found.weight.tolist() == [0.6, 0.4]
    assert found.value == pytest.approx(0.01)
    assert found.null_mean == pytest.approx(0.09)  # both windows hold one row, at .1 and at .9


def test_rows_in_the_middle_count_half_for_each_point():
    found = local_calibration([0, 1, 1], [0.0, 0.5, 1.0], n_points=2)
    assert found.weight.tolist() == [0.5, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_noise_floor_is_the_mean_of_calibrated_samples(degree):
    """Simulation: labels drawn with the scores as probabilities; these keep off 0 and 1, so nothing is clipped."""
    rng = np.random.default_rng(0)
    s = rng.uniform(0.3, 0.7, 500)
    found = [local_calibration(rng.random(500) < s, s, degree=degree, span=0.3) for _ in range(300)]
    values = np.array([f.value for f in found])
    assert found[0].null_mean == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(300))
    assert np.mean([f.excess for f in found]) == pytest.approx(0, abs=4 * values.std() / math.sqrt(300))


def slow_index(rows, span, degree, kernel):
    """Every row fitted separately, and the distances sorted with their weights; None where rounding decides."""
    w = weights_of(rows)
    pairs = []
    for i in np.flatnonzero(w > 0):
        fit = exact_fit(rows.y, rows.s, rows.w, float(rows.s[i]), span, degree, kernel)
        if fit.spread < 1e3 * LEAST_SPREAD:
            return None
        pairs.append((abs(min(1.0, max(0.0, fit.value)) - float(rows.s[i])), w[i]))
    total = math.fsum(weight for _, weight in pairs)

    def quantile(tenths):
        reached = 0.0
        for distance, weight in sorted(pairs):
            reached += weight
            if 10 * reached >= tenths * total * (1 - 1e-12):
                return distance
        raise AssertionError("never reached")

    mean = math.fsum(distance * weight for distance, weight in pairs) / total
    return mean, quantile(5), quantile(9), max(distance for distance, _ in pairs)


@given(
    rows=small_rows(most=9, weighted=("none", "whole")),
    span=st.sampled_from([0.2, 0.75, 1.0]),
    degree=st.integers(0, 2),
    kernel=st.sampled_from(["rectangular", "tricube"]),
)
def test_index_is_the_definition(rows, span, degree, kernel):
    slow = slow_index(rows, span, degree, kernel)
    found = integrated_calibration_index(rows.y, rows.s, **rows.keywords, span=span, degree=degree, kernel=kernel)
    assert found.exact
    if slow is not None:
        assert (found.ici, found.e50, found.e90, found.emax) == pytest.approx(slow, abs=1e-7)
    assert 0 <= found.e50 <= found.e90 <= found.emax <= 1


def test_index_by_hand():
    """Arithmetic: ten rows at four scores, one window each: distances .1 (4 rows), .2 (2), .3 (3), .4 (1)."""
    found = integrated_calibration_index(
        ScoreTable.from_counts([0.1, 0.2, 0.7, 0.6], [4, 2, 3, 1], [0, 0, 3, 1]), span=0.1, degree=0
    )
    assert found.ici == pytest.approx((0.4 + 0.4 + 0.9 + 0.4) / 10)
    assert (found.e50, found.e90, found.emax) == pytest.approx((0.2, 0.3, 0.4))
    assert (found.n, found.n_points) == (10, 4)


def with_rare(near, rate):
    """Scores near 0, of which 0.2% are anywhere."""
    return (lambda rng, n: np.where(rng.random(n) < 0.002, rng.random(n), near(rng, n))), rate


WORLDS = {
    "smooth": (lambda rng, n: rng.beta(0.5, 2.0, n), lambda s: s**1.3),
    "step": (lambda rng, n: rng.random(n), lambda s: 0.1 + 0.8 * (s > 0.37)),
    "waves": (lambda rng, n: rng.random(n), lambda s: 0.5 + 0.4 * np.sin(12 * s)),
    "outliers": with_rare(lambda rng, n: 0.01 * rng.random(n), lambda s: s**0.3),
    "four outliers": (lambda rng, n: np.append(rng.beta(2, 200, n - 4), [0.3, 0.31, 0.9, 0.95]), lambda s: s**0.5),
    "powers of ten": (lambda rng, n: np.minimum(1.0, np.exp(rng.normal(-7, 2, n))), lambda s: s**0.7),
    "crowds": (
        lambda rng, n: np.where(rng.random(n) < 0.7, 0.1, 0.9) + rng.normal(0, 1e-4, n),
        lambda s: 0.1 + 0.8 * s,
    ),
    "half at one score": (lambda rng, n: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)), lambda s: s**1.2),
}


@pytest.mark.grid
@pytest.mark.parametrize("world", ["outliers", *(name for name in WORLDS if name != "outliers")])
def test_interpolation_moves_no_printed_digit(world, monkeypatch):
    """Against the curve at every score; printed are four decimals."""
    scores, rate = WORLDS[world]
    rng = np.random.default_rng(4)
    for rows, keywords in (
        (2500, {}),
        (2500, {"span": 0.3, "degree": 1}),
        (25_000, {"span": 0.15, "degree": 0, "kernel": "rectangular"}),
    ):
        s = scores(rng, rows)
        table = ScoreTable.from_scores(rng.random(rows) < rate(s), s)
        with monkeypatch.context() as patched:
            patched.setattr(integrated_module, "_EXACT_SCORES", 1_000)
            patched.setattr(integrated_module, "_EXACT_AVERAGES", 500)
            near = integrated_calibration_index(table, **keywords)
            patched.setattr(integrated_module, "_EXACT_SCORES", len(table))
            patched.setattr(integrated_module, "_EXACT_AVERAGES", len(table))
            exact = integrated_calibration_index(table, **keywords)
        assert (exact.exact, near.exact) == (True, False)
        assert exact.n_points == len(table) > near.n_points
        assert (near.ici, near.null_mean) == pytest.approx((exact.ici, exact.null_mean), abs=5e-5)
        off = 1e-4 if "span" not in keywords else 2e-4
        assert (near.e50, near.e90, near.emax) == pytest.approx((exact.e50, exact.e90, exact.emax), abs=off)


def test_weights_that_do_not_count_rows_are_interpolated_alike():
    """What chance makes of them is not known, which must not end the search for points."""
    rng = np.random.default_rng(4)
    scores, rate = WORLDS["outliers"]
    s = scores(rng, 2500)
    y = rng.random(2500) < rate(s)
    counted, weighed = (integrated_calibration_index(y, s, sample_weight=np.full(2500, w)) for w in (1, 0.5))
    assert counted.n_points == pytest.approx(weighed.n_points, rel=0.2)
    assert (weighed.ici, weighed.emax) == pytest.approx((counted.ici, counted.emax), abs=5e-5)
    assert math.isnan(weighed.null_mean)


@pytest.mark.parametrize("n", [20, 60])
def test_no_score_is_fitted_twice(n, monkeypatch):
    monkeypatch.setattr(integrated_module, "_EXACT_SCORES", 0)
    rng = np.random.default_rng(0)
    s = rng.random(n)
    found = integrated_calibration_index(rng.random(n) < s, s)
    assert not found.exact
    assert found.n_points <= n


def test_points_are_bounded_where_the_curve_follows_single_rows():
    rng = np.random.default_rng(4)
    s = rng.random(30_000)
    found = integrated_calibration_index(rng.random(30_000) < s, s, span=1e-3, degree=1)
    assert found.n_points <= 2 * integrated_module._MOST_POINTS


@given(small_rows(most=12, weighted=("none", "whole", "float")), st.sampled_from([0, 1, 4]))
def test_quantiles_are_those_of_all_values_in_order(rows, digits):
    """The sizes of the scores stand for distances."""
    value, n = rows.s.astype(float).round(digits), weights_of(rows)
    order = np.argsort(value)
    reached = np.cumsum(n[order]) * (1 + 1e-12)
    expected = [value[order][np.argmax(reached >= share * n.sum())] for share in (0.5, 0.9)]
    assert list(integrated_module._quantiles(value, n)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("rate", [lambda s: s, lambda s: s**1.3, lambda s: 0.1 + 0.8 * (s > 0.37)])
def test_index_of_many_rows_is_that_of_all_rows_in_each_window(rate, monkeypatch):
    rng = np.random.default_rng(9)
    s = rng.beta(0.7, 1.6, 100_000)
    table = ScoreTable.from_scores(rng.random(len(s)) < rate(s), s)
    fast = integrated_calibration_index(table)
    monkeypatch.setattr(windows_module, "_MOST_SCORES", len(table))
    slow = integrated_calibration_index(table)
    for name in ("ici", "e50", "e90", "emax", "null_mean"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), abs=1e-5), name
    assert fast != slow


@pytest.mark.slow
@pytest.mark.parametrize("keywords", [{}, {"span": 0.2, "degree": 0, "kernel": "rectangular"}])
def test_noise_floor_of_the_index(keywords):
    """Simulation: mean index of calibrated samples; a normal approximation, hence 3% on top of chance."""
    rng = np.random.default_rng(5)
    s = rng.beta(2, 2, 400)
    found = [integrated_calibration_index(rng.random(400) < s, s, **keywords) for _ in range(60)]
    values = np.array([f.ici for f in found])
    assert found[0].null_mean == pytest.approx(values.mean(), rel=0.03, abs=4 * values.std() / math.sqrt(60))
    assert math.isnan(integrated_calibration_index(Y, S, sample_weight=[0.5] * 5).null_mean)


def test_floor_of_the_index_where_nothing_is_left_to_chance():
    """Scores of 0 and 1 leave no variance: the floor is 0, and with bias alone its size."""
    assert integrated_calibration_index([0, 1, 1], [0.0, 1.0, 1.0]).null_mean == 0.0
    found = integrated_calibration_index([0, 1], [0.0, 1.0], span=1.0, degree=0, kernel="rectangular")
    assert found.null_mean == 0.5


def test_cells_are_measured_at_their_means():
    rng = np.random.default_rng(6)
    s = rng.random(2000)
    y = rng.random(2000) < s
    cells = cell_table(y, s, None, np.linspace(0, 1, 401))
    assert local_calibration_score(cells) == pytest.approx(local_calibration_score(y, s), abs=1e-3)
    assert integrated_calibration_index(cells).ici == pytest.approx(integrated_calibration_index(y, s).ici, abs=1e-3)


@pytest.mark.parametrize(("y", "s"), [([1], [0.3]), ([1, 1], [0.3, 0.3])])
def test_one_score(y, s):
    score, index = local_calibration(y, s), integrated_calibration_index(y, s)
    assert (score.value, score.null_mean) == pytest.approx((0.49, 0.21 / len(y)))
    assert (index.ici, index.emax) == pytest.approx((0.7, 0.7))


def test_one_class():
    """Arithmetic: the curve is 0, the points are the scores."""
    assert local_calibration_score([0, 0, 0], [0.0, 0.5, 1.0], n_points=3) == pytest.approx(1.25 / 3)
    assert integrated_calibration_index([0, 0, 0], [0.0, 0.5, 1.0]).ici == pytest.approx(0.5)


@pytest.mark.parametrize("span", [0.0, 2, np.nan])
@pytest.mark.parametrize("function", EVERY)
def test_bad_windows(function, span):
    with pytest.raises(ArgumentError, match="expected span in"):
        function(Y, S, span=span)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"degree": 3}, "expected degree in"),
        ({"n_points": 1}, "expected n_points to be a whole number"),
    ],
)
def test_bad_parameters(keywords, message):
    with pytest.raises(ArgumentError, match=message):
        local_calibration_score(Y, S, **keywords)


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize(("y", "s"), [([], []), ([0, 1], [0.5, np.nan]), ([0, 1], [0.5, 1.5]), ([0, 1], [0.5])])
def test_bad_data(function, y, s):
    with pytest.raises(DataError):
        function(y, s)


def test_the_mean_distance_of_a_curve_is_that_of_a_normal_variable():
    """The mean of its size, by SciPy; without chance it is the bias itself."""
    bias, deviation = np.array([0.1, -0.1, 0.02, 0.0, -0.3]), np.array([0.05, 0.2, 0.1, 0.1, 0.0])
    fit = SimpleNamespace(mean_predicted=bias + 0.5, windows=SimpleNamespace(at=np.full(5, 0.5)), variance=deviation**2)
    expected = [foldnorm.mean(abs(b) / d, scale=d) if d else abs(b) for b, d in zip(bias, deviation, strict=True)]
    assert integrated_module._mean_distance(fit) == pytest.approx(expected, abs=1e-12)


def test_quantiles_among_many_distances_that_are_nearly_the_same():
    values = 0.5 + 1e-7 * np.random.default_rng(0).permutation(10)
    assert integrated_module._quantiles(values, np.ones(10)) == (np.sort(values)[4], np.sort(values)[8])
