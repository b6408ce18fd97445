"""The noise of a binned error is never below the average over labels that calibrated scores would show."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calibrant.metrics import binned_calibration

WORLDS = {
    "even": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.5, 200, n),
    "at the ends": lambda rng, n: rng.beta(0.05, 0.05, n),
    "few grades": lambda rng, n: rng.choice([0.05, 0.3, 0.9], n),
    "one score": lambda rng, n: np.full(n, rng.random()),
    "half certain": lambda rng, n: np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), rng.random(n)),
}
CASES = [(name, n, n_bins) for name in WORLDS for n in (1, 7, 60, 500) for n_bins in (1, 3, 10)]


def pmf_of_the_sum(chances):
    """Probabilities of 0, 1, 2 ... successes of independent trials, one trial after the other."""
    pmf = np.ones(1)
    for chance in chances:
        pmf = np.append(pmf, 0.0) * (1.0 - chance) + np.append(0.0, pmf) * chance
    return pmf


def average_error(s, found):
    """Mean over labels of the l1 error in the bins of a result, if every score is right."""
    total = 0.0
    for low, high in zip(found.low, found.high, strict=True):
        inside = s[(low <= s) & (s <= high)]
        pmf = pmf_of_the_sum(inside)
        total += np.dot(pmf, np.abs(np.arange(len(pmf)) - inside.sum()))
    return total / len(s)


def ratios(name, n, n_bins):
    """Noise, and exact average, for the three strategies."""
    rng = np.random.default_rng([n, n_bins, *name.encode()])
    s = WORLDS[name](rng, n)
    of = partial(binned_calibration, rng.random(n) < s, s, n_bins=n_bins)
    found = [of(strategy=strategy) for strategy in ("quantile", "uniform", "type7")]
    return [(result.null_mean, average_error(s, result)) for result in found]


def assert_not_below(pairs, factor=1.0):
    for noise, average in pairs:
        assert factor * noise >= average - 1e-12


@pytest.mark.parametrize(("name", "n", "n_bins"), CASES)
def test_noise_is_an_upper_limit(name, n, n_bins):
    """Exact, by convolution; Hoeffding (1956), theorem 3, and Jensen's inequality."""
    assert_not_below(ratios(name, n, n_bins))


@pytest.mark.parametrize("name", ["even", "few grades", "one score"])
def test_noise_is_close_in_ten_bins(name):
    """Within 2% of the average where the scores of a bin differ by a tenth or less."""
    for noise, average in ratios(name, 500, 10):
        assert noise <= 1.02 * average


def test_a_shrunk_noise_is_caught():
    with pytest.raises(AssertionError):
        assert_not_below(ratios("one score", 60, 10), factor=0.99)
