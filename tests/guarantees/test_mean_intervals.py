"""Intervals of the bias, of the balance and of bins of predicted means miss about as often as they say."""

import numpy as np
import pytest

from calibrant.curves import binned_means
from calibrant.metrics import mean_bias

pytestmark = pytest.mark.slow

RUNS, N = 600, 1000
# of 600 intervals, 30 may miss; a right one misses more often than this in 1 of 1,000 tries
MOST = 48


def bounded(rng, n):
    """Shares with the mean 1.1 f, such as losses given default."""
    f = rng.uniform(0.1, 0.8, n)
    return rng.beta(1.1 * f, 1.0 - 1.1 * f), f, None, 1.1


def counts(rng, n):
    """Numbers of claims with exposures that differ, at 0.9 of the tariff."""
    w, f = rng.uniform(0.05, 1.0, n), 0.2 * np.exp(0.5 * rng.standard_normal(n))
    return rng.poisson(0.9 * w * f), f, w, 0.9


def amounts(rng, n):
    """Claims of exponential size."""
    w, f = rng.uniform(0.05, 1.0, n), 0.1 * np.exp(0.5 * rng.standard_normal(n))
    return rng.poisson(w * f) * rng.exponential(size=n), f, w, 1.0


def missed(interval, true, narrower=1.0):
    lower, upper = (interval.value + narrower * (end - interval.value) for end in (interval.lower, interval.upper))
    return not lower <= true <= upper


@pytest.mark.parametrize("world", [bounded, counts, amounts])
def test_balance_and_bias_of_rows(world):
    rng, wrong = np.random.default_rng(0), np.zeros(3, dtype=int)
    for _ in range(RUNS):
        z, f, w, ratio = world(rng, N)
        result = mean_bias(z, f, exposure=w)
        # the mean prediction varies from sample to sample; that of all is that of very many rows
        wrong += [
            missed(result.balance, ratio),
            missed(result.bias, (ratio - 1.0) * result.predicted),
            missed(result.balance, ratio, narrower=0.8),
        ]
    print(world.__name__, wrong)
    assert (wrong[:2] <= MOST).all()
    assert wrong[2] > MOST


def test_balance_and_bias_of_clusters():
    """Claims of customers with several policies, some of whom have nine times as many claims as others."""
    rng, wrong = np.random.default_rng(1), np.zeros(3, dtype=int)
    customer = np.repeat(np.arange(N // 5), 5)
    for _ in range(RUNS):
        f = 0.3 * np.exp(0.3 * rng.standard_normal(N))
        z = rng.poisson(f * rng.choice([0.2, 1.8], N // 5)[customer])
        result = mean_bias(z, f, clusters=customer)
        alone = mean_bias(z, f)
        wrong += [missed(result.balance, 1.0), missed(result.bias, 0.0), missed(alone.balance, 1.0)]
    print("clusters", wrong)
    assert (wrong[:2] <= MOST).all()
    assert wrong[2] > MOST  # as if rows did not depend on each other


@pytest.mark.parametrize("world", [bounded, counts])
def test_bins(world):
    rng, wrong = np.random.default_rng(2), np.zeros((2, 5), dtype=int)
    for _ in range(RUNS):
        z, f, w, ratio = world(rng, N)
        curve = binned_means(z, f, exposure=w, n_bins=5)
        true = ratio * curve.score
        wrong[0] += (curve.lower > true) | (true > curve.upper)
        half = [0.8 * (end - curve.rate) for end in (curve.lower, curve.upper)]
        wrong[1] += (curve.rate + half[0] > true) | (true > curve.rate + half[1])
    print(world.__name__, wrong)
    assert wrong[0].max() <= MOST + 6  # the largest of five
    assert wrong[1].mean() > MOST
