"""What clusters are worth: moments of draws against direct sums, and limits where nothing was seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from calibrant.distributions.bounded_mean import bounded_mean_limits
from calibrant.distributions.cluster_jackknife import cluster_draws, equal_draws


def test_the_mean_of_the_draws_has_the_moments_of_the_sum_over_clusters():
    rng = np.random.default_rng(0)
    size = rng.integers(1, 30, 40).astype(float)
    parts = size * rng.normal(size=40) / size.sum()
    parts -= size * parts.sum() / size.sum()
    values, counts = cluster_draws(0.3, parts, 0.0, size, 0.025)
    draws = counts.sum()
    assert draws == pytest.approx(equal_draws(size, 0.025))
    first = values @ counts / draws
    variance, third = ((values - first) ** i @ counts / draws for i in (2, 3))
    assert first == pytest.approx(0.3)
    student = t.ppf(0.025, size.sum() ** 2 / (size**2).sum() - 1) / norm.ppf(0.025)
    assert variance / draws == pytest.approx(student**2 * (parts**2).sum() * 40 / 39, rel=1e-3)
    assert third / draws**2 == pytest.approx((parts**3).sum(), rel=1e-2)


def test_the_variance_is_at_least_that_of_independent_rows():
    values, counts = cluster_draws(0.0, np.zeros(50), 0.01, np.full(50, 4.0), 0.025)
    student = t.ppf(0.025, 49) / norm.ppf(0.025)
    assert values**2 @ counts / counts.sum() == pytest.approx(student**2 * 0.01 * 50)


@pytest.mark.parametrize("clusters", [5, 50])
def test_where_no_cluster_shows_an_event_its_limit_is_what_they_can_hide(clusters):
    draws = cluster_draws(0.0, np.zeros(clusters), 0.0, np.full(clusters, 7.0), 0.025)
    lower, upper = bounded_mean_limits(draws, 0.0, 1.0, 0.95)
    assert lower == 0.0
    assert upper == pytest.approx(1.0 - 0.025 ** (1.0 / clusters))


def test_one_cluster_says_nothing():
    draws = cluster_draws(0.4, np.zeros(2), 0.1, np.array([30.0, 0.0]), 0.025)
    assert [float(end) for end in bounded_mean_limits(draws, 0.0, 1.0, 0.95)] == [0.0, 1.0]
