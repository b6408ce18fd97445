"""Confidence limits for averages against their definitions, and the bound on the harm of recalibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.decisions import isotonic_harm_bound
from calibrant.decisions.cost_curves import normal_half_width, ratio_limits
from calibrant.distributions.brownian import kuiper_upper_quantile
from calibrant.errors import ArgumentError


def test_normal_half_width_by_hand():
    """Arithmetic: 1.96 standard errors and log(40) / n times the reach."""
    half = normal_half_width([0.25, 0.0], [1.0, 2.0], 100, 0.95)
    assert half.tolist() == pytest.approx([1.959963984540054 * 0.05 + math.log(40) / 100, 2.0 * math.log(40) / 100])


def accepted(ratio, top, bottom, moments, reach, n, level) -> bool:
    """Whether the interval for the mean of top - ratio bottom holds 0."""
    var_top, var_bottom, covariance = moments
    variance = var_top - 2.0 * ratio * covariance + ratio**2 * var_bottom
    return abs(top - ratio * bottom) <= normal_half_width(variance, reach * (1.0 + ratio), n, level)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.9, 0.99]), st.integers(1, 4000))
def test_ratio_limits_hold_what_is_not_ruled_out(rows, seed, level, copies):
    rng = np.random.default_rng(seed)
    top, bottom = rng.random((2, rows)) * (rng.random((2, rows)) < rng.random())
    if bottom.sum() == 0.0:
        return
    moments = tuple(
        np.array([np.mean(u * v) - u.mean() * v.mean()]) for u, v in ((top, top), (bottom,) * 2, (top, bottom))
    )
    means = (np.array([top.mean()]), np.array([bottom.mean()]))
    n = float(rows * copies)
    lower, upper = (float(limit[0]) for limit in ratio_limits(*means, moments, 1.0, n, level))
    flat = tuple(float(m[0]) for m in moments)
    a, b = float(means[0][0]), float(means[1][0])
    assert lower <= a / b <= upper
    inside = np.linspace(lower, min(upper, 100.0 * a / b + 100.0), 41)[1:-1]
    assert all(accepted(r, a, b, flat, 1.0, n, level) for r in inside)
    if lower > 0.0:
        assert not accepted(lower * (1.0 - 1e-6), a, b, flat, 1.0, n, level)
    if math.isfinite(upper):
        assert not accepted(upper * (1.0 + 1e-6), a, b, flat, 1.0, n, level)
    else:
        far = 1e9 * (1.0 + a / b)
        assert accepted(far, a, b, flat, 1.0, n, level) or accepted(10.0 * far, a, b, flat, 1.0, n, level)


def test_ratio_limits_where_nothing_is_known():
    moments = (np.zeros(1), np.zeros(1), np.zeros(1))
    for bottom, n in ((0.0, 10.0), (0.5, math.nan)):
        assert np.isnan(ratio_limits(np.array([0.5]), np.array([bottom]), moments, 1.0, n, 0.95)).all()


def test_harm_bound():
    """Arithmetic: 1.7473 / sqrt(n) and half a row; less than the closed form, and at most 1."""
    assert isotonic_harm_bound(400) == pytest.approx(1.74726 / 20 + 0.5 / 400, abs=1e-6)
    assert isotonic_harm_bound(400, log_safe=False) == pytest.approx(1.74726 / 20, abs=1e-6)
    assert isotonic_harm_bound(1) == 1.0
    assert isotonic_harm_bound(100, 0.1) == isotonic_harm_bound(100, 0.5)
    for delta in (0.5, 0.1, 0.05, 1e-3, 1e-9):
        assert kuiper_upper_quantile(delta) < 2.0 * math.sqrt(math.log(2.0 / delta) / 2.0)


def test_harm_bound_refuses():
    for arguments in ((0.5,), (math.inf, 1.0), (100, 0.0), ("many",)):
        with pytest.raises(ArgumentError):
            isotonic_harm_bound(*arguments)
