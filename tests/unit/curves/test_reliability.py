"""The local curve by hand, with weights, and with bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.curves import binned_curve, local_curve
from calibrant.fits.local_polynomial import local_fit
from support.oracles import cell_table
from support.oracles_local import exact_fit
from support.strategies import small_rows

Y = [0, 1, 0, 1, 1]
S = [0.1, 0.3, 0.4, 0.8, 0.9]


def test_by_hand():
    """Arithmetic: 2 of 5 rows; at .1 these are .1 and .3, at .35 .3 and .4, at .6 .4 and .8, tied at .2."""
    curve = local_curve(Y, S, span=0.4, at=[0.1, 0.35, 0.6])
    assert curve.rate.tolist() == [0.5, 0.5, 0.5]
    assert curve.n.tolist() == [2, 2, 2]
    assert curve.degree.tolist() == [0, 0, 0]
    assert (curve.method, curve.confidence_level, curve.interval) == ("local", 0.95, "wilson")
    wilson = binomtest(1, 2).proportion_ci(method="wilson")
    assert (curve.lower[0], curve.upper[0]) == pytest.approx((wilson.low, wilson.high))


def test_line_by_hand():
    """Arithmetic: through (.1, 0), (.3, 1), (.4, 0), mean 8/30 and 1/3, the slope is (1/30) / (14/300) = 5/7."""
    curve = local_curve(Y, S, span=0.6, degree=1, at=[0.2])
    assert curve.rate[0] == pytest.approx(1 / 3 + 5 / 7 * (0.2 - 8 / 30))
    assert curve.degree.tolist() == [1]


def test_default_points_span_the_scores():
    curve = local_curve(Y, S)
    assert (len(curve.score), curve.score[0], curve.score[-1]) == (100, 0.1, 0.9)
    assert len(local_curve(Y, S, n_points=7).score) == 7
    assert not np.isnan(curve.rate).any()
    assert local_curve([0, 1], [0.4, 0.4]).rate.tolist() == [0.5]


def test_no_curve_outside_the_scores():
    curve = local_curve(Y, S, at=[0.95, 0.45, 0.05], degree=1, span=0.8)
    assert np.isnan(curve.rate).tolist() == [True, False, True]
    assert np.isnan(curve.lower[[0, 2]]).all()
    assert curve.n.tolist() == [0, 4, 0]
    assert curve.to_dict()["rate"][0] is None


@pytest.mark.parametrize("at", [0.1, [0.1, 0.9]])
def test_all_points_may_be_outside(at):
    assert np.isnan(local_curve([0, 1], [0.2, 0.3], at=at).rate).all()


@given(
    rows=small_rows(most=10),
    span=st.sampled_from([0.2, 0.5, 1.0]),
    degree=st.integers(0, 2),
    kernel=st.sampled_from(["rectangular", "tricube"]),
)
def test_rates_are_the_exact_ones_within_0_and_1(rows, span, degree, kernel):
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    curve = local_curve(rows.y, rows.s, **rows.keywords, span=span, degree=degree, kernel=kernel, at=table.score)
    for j, x in enumerate(table.score):
        slow = exact_fit(rows.y, rows.s, rows.w, x, span, degree, kernel)
        if slow.spread > 1e-4:
            assert curve.rate[j] == pytest.approx(min(1.0, max(0.0, slow.value)), abs=1e-8 * slow.scale)
    known = ~np.isnan(curve.lower)
    assert (curve.lower[known] <= curve.rate[known] + 1e-12).all()
    assert (curve.rate[known] <= curve.upper[known] + 1e-12).all()
    if not table.whole:
        assert not known.any()
        assert curve.interval is None


def test_order_of_rows_does_not_show():
    rng = np.random.default_rng(0)
    s = np.round(rng.random(300), 2)
    y = (rng.random(300) < s).astype(int)
    order = rng.permutation(300)
    for degree in (0, 1, 2):
        one, two = local_curve(y, s, degree=degree), local_curve(y[order], s[order], degree=degree)
        for name in ("rate", "lower", "upper", "n"):
            assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)


def test_clopper_pearson_by_name():
    curve = local_curve(Y, S, span=0.4, at=[0.1], interval="clopper-pearson", confidence_level=0.9)
    exact = binomtest(1, 2).proportion_ci(0.9, method="exact")
    assert (curve.lower[0], curve.upper[0]) == pytest.approx((exact.low, exact.high))
    assert curve.interval == "clopper-pearson"


def test_normal_interval_is_value_and_standard_error():
    rng = np.random.default_rng(1)
    s = rng.random(500)
    table = ScoreTable.from_scores(rng.random(500) < s, s)
    curve = local_curve(table, degree=2, kernel="tricube", span=0.4, confidence_level=0.9)
    fit = local_fit(table, curve.score, span=0.4, degree=2, kernel="tricube", variance="robust")
    half = norm.ppf(0.95) * np.sqrt(fit.variance)
    assert curve.interval == "normal"
    assert curve.lower == pytest.approx(np.clip(fit.value - half, 0, 1), nan_ok=True)
    assert curve.upper == pytest.approx(np.clip(fit.value + half, 0, 1), nan_ok=True)


def test_cells_make_a_curve():
    rng = np.random.default_rng(2)
    s = rng.random(400)
    y = rng.random(400) < s
    cells = cell_table(y, s, None, np.linspace(0, 1, 201))
    curve = local_curve(cells)
    assert (curve.score[0], curve.score[-1]) == (s.min(), s.max())
    assert curve.rate == pytest.approx(local_curve(y, s).rate, abs=0.1)


def test_frame_has_the_degree():
    assert list(local_curve(Y, S, n_points=3).to_frame("pandas").columns) == [
        "score", "rate", "lower", "upper", "n", "degree",
    ]  # fmt: skip


def test_binned_curve_has_the_exact_interval_too():
    curve = binned_curve(Y, S, n_bins=1, interval="clopper-pearson")
    exact = binomtest(3, 5).proportion_ci(method="exact")
    assert (curve.lower[0], curve.upper[0]) == pytest.approx((exact.low, exact.high))
    assert binned_curve(Y, S).interval == "wilson"
    assert binned_curve(Y, S, sample_weight=np.full(5, 0.5)).interval is None


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"span": 0}, "expected span in"),
        ({"degree": 3}, "expected degree in"),
        ({"kernel": "gauss"}, "expected kernel to be one of"),
        ({"confidence_level": 1.0}, "expected confidence_level in"),
        ({"confidence_level": 1.0, "degree": 1}, "expected confidence_level in"),
        ({"n_points": 1}, "expected n_points to be a whole number"),
        ({"interval": "wald"}, "expected interval to be one of"),
        ({"interval": "wilson", "degree": 1}, "leave interval out"),
        ({"at": [0.1, np.nan]}, "expected at to be a finite score or a list of them, found nan"),
        ({"at": [[0.5]]}, "expected at to be a finite score or a list of them, found shape"),
        ({"at": ["low"]}, "expected points as numbers"),
    ],
)
def test_bad_parameters(keywords, message):
    with pytest.raises(ArgumentError, match=message):
        local_curve(Y, S, **keywords)


@pytest.mark.parametrize(
    "s", [[0.1, np.nan, 0.4, 0.8, 0.9], [0.1, np.inf, 0.4, 0.8, 0.9], [0.1, 1.2, 0.4, 0.8, 0.9], S[1:]]
)
def test_bad_scores(s):
    with pytest.raises(DataError):
        local_curve(Y, s)


def test_no_rows():
    with pytest.raises(DataError):
        local_curve([], [])


def test_one_point_may_be_a_number():
    y, p = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]
    one, many = local_curve(y, p, span=0.5, at=0.25), local_curve(y, p, span=0.5, at=[0.25])
    assert one.to_dict() == many.to_dict()
    assert one.rate.tolist() == [0.5]
