"""What clusters are worth: moments of draws against direct sums, and limits where nothing was seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from calibrant.distributions.bounded_mean import bounded_mean_limits
from calibrant.distributions.cluster_draws import cluster_moments, equal_draws


def test_the_mean_of_the_draws_has_the_moments_of_the_sum_over_clusters():
    rng = np.random.default_rng(0)
    size = rng.integers(1, 30, 40).astype(float)
    parts = size * rng.normal(size=40) / size.sum()
    (first, second, third), draws = cluster_moments(0.3, parts, 0.0, size, 0.025)
    variance = second - first**2
    student = t.ppf(0.025, size.sum() ** 2 / (size**2).sum() - 1) / norm.ppf(0.025)
    assert variance / draws == pytest.approx(student**2 * (parts**2).sum() * 40 / 39)
    assert (third - 3 * first * variance - first**3) / draws**2 == pytest.approx((parts**3).sum())
    assert draws == equal_draws(size, 0.025)


def test_the_variance_is_at_least_that_of_independent_rows():
    size = np.full(50, 4.0)
    found = cluster_moments(0.0, np.zeros(50), 0.01, size, 0.025)
    student = t.ppf(0.025, 49) / norm.ppf(0.025)
    assert found.powers.second == pytest.approx(student**2 * 0.01 * 50)


@pytest.mark.parametrize("clusters", [5, 50])
def test_where_no_cluster_shows_an_event_its_limit_is_what_they_can_hide(clusters):
    moments = cluster_moments(0.0, np.zeros(clusters), 0.0, np.full(clusters, 7.0), 0.025)
    lower, upper = bounded_mean_limits(*moments, 0.0, 1.0, 0.95)
    assert lower == 0.0
    assert upper == pytest.approx(1.0 - 0.025 ** (1.0 / clusters))


def test_one_cluster_says_nothing():
    moments = cluster_moments(0.4, np.zeros(2), 0.1, np.array([30.0, 0.0]), 0.025)
    assert [float(end) for end in bounded_mean_limits(*moments, 0.0, 1.0, 0.95)] == [0.0, 1.0]
