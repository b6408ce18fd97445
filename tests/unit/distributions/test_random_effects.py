"""The random-effects summary gives the numbers of metafor and statsmodels."""

import numpy as np
import pytest
from scipy.stats import poisson

from calibrant.distributions.cluster_jackknife import pool, random_effects, root_scale

# Trials of the BCG vaccine (Colditz et al. 1994), as in R's metafor: cases and others, vaccinated and not.
CASES = np.array(
    [[4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27], [11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29]]
)
OTHERS = np.array(
    [
        [119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886],
        [128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825],
    ]
)


@pytest.fixture
def trials():
    """Logarithms of the risk ratio, and their variances."""
    rate = CASES / (CASES + OTHERS)
    return np.log(rate[0] / rate[1]), (1 / CASES - 1 / (CASES + OTHERS)).sum(axis=0)


def test_numbers_of_the_bcg_trials(trials):
    """Of statsmodels 0.15: `combine_effects(..., method_re="iterated", use_t=True)`; of metafor: `confint`."""
    effects = random_effects(*trials, 0.95)
    np.testing.assert_allclose(effects.tau[0] ** 2, 0.3180685, atol=1e-7)
    np.testing.assert_allclose(effects.ends[:3], [-0.7149682, -1.1090984, -0.3208379], atol=1e-7)
    np.testing.assert_allclose(effects.tau[1:] ** 2, [0.1197, 1.1115], atol=5e-5)


def test_numbers_of_metafor_at_its_estimate_of_the_variance(trials):
    """Its page prints tau^2 0.3132 (REML), mean -0.7145, Q 152.2330, with Knapp & Hartung se 0.1808, else 0.1798."""
    mean, error, excess = pool(*trials, np.array([0.31324, 0.0]))
    np.testing.assert_allclose(mean[0], -0.7145, atol=5e-5)
    np.testing.assert_allclose(error[0], 0.1798, atol=5e-5)
    np.testing.assert_allclose(error[0] * np.sqrt(excess[0] / 12), 0.1808, atol=5e-5)
    np.testing.assert_allclose(excess[1], 152.2330, atol=5e-5)


def test_prediction_interval_is_wider_than_that_of_a_known_variance(trials):
    effects = random_effects(*trials, 0.95)
    lower, upper = effects.ends[3:]
    assert upper - lower > 2 * 1.96 * effects.tau[0]
    assert lower < effects.ends[1] < effects.ends[2] < upper


def test_no_variance_between_equal_values_and_none_below_zero():
    effects = random_effects(np.array([0.0, 0.2, 0.4, 0.2, 0.2]), np.full(5, 0.1), 0.95)
    assert effects.tau[0] == effects.tau[1] == 0.0 < effects.tau[2]
    # The factor of Hartung and Knapp is at least 1.
    half = 2.7764451 * np.sqrt(0.1 / 5)
    np.testing.assert_allclose(effects.ends[:3], [0.2, 0.2 - half, 0.2 + half])


def test_too_few_clusters():
    value, variance = np.array([0.1, 0.4, 0.2, 0.3]), np.full(4, 0.01)
    assert np.isnan(random_effects(value[:2], variance[:2], 0.95).ends).all()
    four = random_effects(value, variance, 0.95).ends
    assert np.isfinite(four[:3]).all()
    assert np.isnan(four[3:]).all()


def test_ratios_with_many_events_are_like_their_logarithms():
    rng = np.random.default_rng(0)
    expected, logarithm = rng.uniform(2e4, 6e4, 30), rng.normal(-0.2, 0.1, 30)
    ratio = rng.poisson(expected * np.exp(logarithm)) / expected
    as_ratio = random_effects(ratio - 1, ratio.mean() / expected, 0.95, skew=1.0)
    as_logarithm = random_effects(np.log(ratio), 1 / (ratio * expected), 0.95)
    np.testing.assert_allclose(as_ratio.ends, as_logarithm.ends, atol=0.01)
    np.testing.assert_allclose(as_ratio.tau, as_logarithm.tau, atol=0.01)


def test_ratios_of_zero_need_nothing_added():
    """O:E of 0, .4, ..., each with 5 expected: the mean of the logarithms is known from the moments of the ratios."""
    ratio, variance = np.array([0.0, 0.4, 0.8, 1.2, 1.6, 2.0]), np.full(6, 0.2)
    effects = random_effects(ratio - 1, variance, 0.95, skew=1.0)
    np.testing.assert_allclose(effects.tau[0] ** 2, np.log1p(ratio.var(ddof=1) - 0.2))
    np.testing.assert_allclose(effects.ends[0], -0.5 * effects.tau[0] ** 2)


def test_ratios_that_are_all_zero_have_no_logarithms():
    effects = random_effects(np.full(6, -1.0), np.full(6, 0.2), 0.95, skew=1.0)
    assert np.isnan(effects.tau).all()
    assert not np.isfinite(effects.ends).any()


@pytest.mark.parametrize("n", [5, 6, 20])
def test_a_new_cluster_is_no_better_known_than_the_mean(n):
    """Where clusters are alike, a normal distribution with tau = 0 would be narrower than Student's."""
    ends = random_effects(np.linspace(0.9, 1.1, n), np.full(n, 0.04), 0.95).ends
    assert ends[3] <= ends[1] < ends[2] <= ends[4]


@pytest.mark.parametrize("mean", [0.01, 0.3, 2.0, 20.0])
def test_roots_of_counts_have_the_moments_that_are_said(mean):
    """By sums over all counts: mean and variance where x is 0, and the skew from the means beside it."""
    count, step = np.arange(150), 1e-3
    value, variance, skew = root_scale(count / mean, np.full(150, 1 / mean), np.ones(150))
    low, here, high = (poisson.pmf(count, mean * np.exp(x)) @ value for x in (-step, 0.0, step))
    np.testing.assert_allclose(here, 0.0, atol=1e-9)
    np.testing.assert_allclose(poisson.pmf(count, mean) @ value**2, variance[0])
    np.testing.assert_allclose((high - low) / (2 * step), 1.0, atol=1e-4)
    np.testing.assert_allclose((high + low) / step**2, skew[0], atol=1e-4)
    assert 0.499 < skew[0] < 1.0


def test_roots_of_large_counts_and_of_ratios_without_curvature():
    value, variance, skew = root_scale(np.full(2, 1.1), np.array([1 / 31.99, 1 / 32.01]), np.ones(2))
    np.testing.assert_allclose(value[0], value[1], rtol=2e-3)
    np.testing.assert_allclose(variance[0], variance[1], rtol=5e-3)
    np.testing.assert_allclose(skew, 0.5, rtol=1e-3)
    moved, variance, skew = root_scale(1 + 1e-9 * np.array([0.7]), np.array([1e-18 / 4]), np.array([1e-9]))
    np.testing.assert_allclose(moved, 7e-4, rtol=1e-2)
