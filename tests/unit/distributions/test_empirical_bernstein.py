"""Lemma 3.1: exp(-l x - psi(l) x^2) <= 1 - l x for x <= 1, with equality at x = 1, so that no smaller psi would do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.distributions.mean_limits import bernstein_rate, psi

RATES = np.concatenate([[1e-6, 1e-3, 0.01], np.linspace(0.05, 0.95, 19), [0.99, 0.999]])


def log_ratio(rate, x, charge):
    """Logarithm of the left side of Lemma 3.1 over the right side."""
    return -rate * x - charge * x**2 - np.log1p(-rate * x)


@pytest.mark.parametrize("rate", RATES.tolist())
def test_inequality_is_sharp(rate):
    x = np.unique(np.concatenate([-np.geomspace(1e-3, 100.0, 2_000), np.linspace(-1.0, 1.0, 4_001)]))
    assert log_ratio(rate, x, psi(rate)).max() <= 1e-15
    assert log_ratio(rate, 1.0, psi(rate)) == pytest.approx(0.0, abs=1e-15)
    # What is missing is 3 percent of psi, wherever the largest term comes with it.
    assert log_ratio(rate, 1.0, 0.97 * psi(rate)) == pytest.approx(0.03 * psi(rate), rel=1e-3)
    assert log_ratio(rate, x, 0.97 * psi(rate)).max() > 0.0


@pytest.mark.parametrize("rate", RATES.tolist())
def test_values(rate):
    series = math.fsum(rate**k / k for k in range(2, 40_000))
    assert psi(rate) == pytest.approx(series, rel=1e-9)
    assert psi(np.array([rate, 0.5]))[0] == pytest.approx(psi(rate), rel=1e-14, abs=1e-16)
    assert psi(0.0) == 0.0


def test_rates_stay_where_psi_is_known():
    a = np.geomspace(1e-6, 1e6, 100)
    assert (bernstein_rate(a) > 0.0).all()
    assert bernstein_rate(a).max() == 0.9
    assert bernstein_rate(a).tolist() == [bernstein_rate(value) for value in a.tolist()]
    assert isinstance(bernstein_rate(0.5), float)
