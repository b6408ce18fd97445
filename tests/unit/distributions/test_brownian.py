"""Quantiles of the range of a Brownian motion: by the series of Feller (1951)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from calibrant.distributions.brownian import (
    MEAN_RANGE,
    normal_quantile,
    range_quantile,
    range_survival,
)

TABLE_W4 = {
    0.5: 1.5145,
    0.8: 1.9584,
    0.9: 2.2412,
    0.95: 2.4977,
    0.975: 2.7344,
    0.99: 3.0233,
    0.995: 3.2272,
    0.999: 3.6623,
}


@pytest.mark.parametrize(("probability", "quantile"), TABLE_W4.items())
def test_quantiles_of_the_table(probability, quantile):
    assert range_quantile(probability) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize("probability", [1e-6, 0.01, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9])
def test_quantile_inverts_survival(probability):
    assert range_survival(range_quantile(probability)) == pytest.approx(1.0 - probability, rel=1e-6, abs=1e-12)


def test_survival_falls_from_one_to_zero():
    values = [range_survival(r) for r in np.linspace(0.0, 12.0, 2001)]
    assert values[0] == 1.0
    assert all(0.0 <= b <= a + 1e-12 <= 1.0 + 1e-12 for a, b in itertools.pairwise(values))
    assert values[-1] < 1e-30


def test_mean_is_the_integral_of_survival():
    """E R = integral of P(R > r) dr = 2 sqrt(2 / pi) (Feller 1951)."""
    from scipy.integrate import quad

    assert quad(range_survival, 0.0, 12.0, limit=200)[0] == pytest.approx(MEAN_RANGE, abs=1e-8)
    assert pytest.approx(2.0 * math.sqrt(2.0 / math.pi)) == MEAN_RANGE


@pytest.mark.slow
def test_distribution_is_that_of_the_range_of_long_random_walks():
    """Simulation: 4000 Gaussian walks of 4000 steps, within 4 standard errors."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.normal(size=(4000, 4000)), axis=1) / math.sqrt(4000)
    spread = np.maximum(walks.max(axis=1), 0.0) - np.minimum(walks.min(axis=1), 0.0)
    for r in (1.0, 1.5, 2.0, 2.5):
        # A walk of m steps misses about 0.58 of a step at either end.
        seen = np.mean(spread + 2 * 0.5826 / math.sqrt(4000) > r)
        assert seen == pytest.approx(range_survival(r), abs=4 * math.sqrt(0.25 / 4000))


def test_normal_quantile():
    from scipy.stats import norm  # 1.17.1

    for p in (0.001, 0.2, 0.5, 0.95, 0.999):
        assert normal_quantile(p) == pytest.approx(norm.ppf(p), abs=1e-9)
