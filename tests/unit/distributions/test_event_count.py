"""Numbers of events and tests of them: against enumeration, SciPy, and numbers that others publish."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import binom, poisson_binom

from calibrant.distributions.binomial import clopper_pearson, event_tails, jeffreys_tails, mean_limits, p_values


def enumerated(chances):
    mass = np.ones(1)
    for chance in chances:
        mass = np.convolve(mass, [1.0 - chance, chance])
    return mass


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_tails_of_unequal_probabilities(n):
    chances = np.sort(np.random.default_rng(n).beta(0.4, 3.0, n))
    at_least, at_most = event_tails(chances, float(chances.mean()))
    np.testing.assert_allclose(at_most, np.cumsum(poisson_binom.pmf(np.arange(n + 1), chances)), rtol=0, atol=1e-13)
    known = np.cumsum(enumerated(chances)[::-1])[::-1]
    near = known > 1e-10
    np.testing.assert_allclose(at_least[near], known[near], rtol=1e-4)
    assert (at_least[~near] >= known[~near]).all(), "far tails are upper limits"


def test_tails_of_equal_probabilities_are_binomial():
    at_least, at_most = event_tails(np.full(250, 0.01), 0.01)
    k = np.arange(251)
    np.testing.assert_allclose(at_least, binom.sf(k - 1, 250, 0.01), rtol=1e-9)
    np.testing.assert_allclose(at_most, binom.cdf(k, 250, 0.01), rtol=1e-9)
    assert at_least[10] == pytest.approx(0.00025, abs=5e-6), "riskval 0.1.1, documentation of binomial_test"


def test_no_chance_and_certainty():
    for mean, k in ((0.0, 0), (1.0, 5)):
        tails = event_tails(np.full(5, mean), mean)
        assert jeffreys_tails(tails, mean) is tails
        for direction in ("too low", "too high", "either"):
            p_value = p_values(tails, direction)
            assert p_value[k] == 1.0
        assert p_values(tails, "either")[[i for i in range(6) if i != k]].tolist() == [0.0] * 5


def posterior_up_to(pd, k, n):
    """ECB (2019), section 2.5.3.1: the distribution function of Beta(k + 1/2, n - k + 1/2) at the PD, by quadrature."""

    def density(angle):  # of the arc sine of the root of the rate, which has no poles
        return 2.0 * np.sin(angle) ** (2 * k) * np.cos(angle) ** (2 * (n - k)) / np.exp(betaln(k + 0.5, n - k + 0.5))

    return quad(density, 0.0, np.arcsin(np.sqrt(pd)), epsabs=1e-13)[0]


@pytest.mark.parametrize(("n", "k", "pd"), [(20, 0, 0.01), (200, 3, 0.0005), (60, 60, 0.9), (1000, 12, 0.01)])
def test_jeffreys_test_is_that_of_the_ecb(n, k, pd):
    low, high = (tail[k] for tail in jeffreys_tails(event_tails(np.full(n, pd), pd), pd))
    assert low == pytest.approx(posterior_up_to(pd, k, n), rel=1e-6)
    assert high == pytest.approx(1.0 - low, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "k", "pd", "published", "digits"),
    [
        # riskval 0.1.1, documentation of jeffreys_test
        (20, 0, 0.01, 0.477, 3),
        (200, 0, 0.01, 0.955, 3),
        (20_000, 0, 0.01, 1.0, 3),
        # Roesch and Scheule, Deep Credit Risk (training.deepcreditrisk.com, validation)
        (6, 2, 0.0367, 0.0044, 4),
    ],
)
def test_published_p_values_of_jeffreys(n, k, pd, published, digits):
    low, _ = jeffreys_tails(event_tails(np.full(n, pd), pd), pd)
    assert round(float(low[k]), digits) == published


def test_mean_limits_are_those_of_clopper_and_pearson_beyond_the_first_count():
    k = np.arange(41)
    lower, upper = mean_limits(np.full(41, 40), k, 0.01, 0.04)
    assert lower[k != 1].tolist() == clopper_pearson(np.full(41, 40), k, 0.98)[0][k != 1].tolist()
    assert upper[k != 39].tolist() == clopper_pearson(np.full(41, 40), k, 0.92)[1][k != 39].tolist()
    assert mean_limits(np.array([40]), np.array([3]), 0.0, 0.05)[0].tolist() == [0.0]


def failing(chances, limits, tail):
    """Exact probabilities that the limits below and above fail."""
    n, k, mass = len(chances), np.arange(len(chances) + 1), enumerated(chances)
    lower, upper = limits(np.full(n + 1, n), k, tail)
    return mass[lower > chances.mean() + 1e-12].sum(), mass[upper < chances.mean() - 1e-12].sum()


@pytest.mark.parametrize("tail", [0.25, 0.05])
def test_mean_limits_hold_whatever_the_probabilities(tail):
    """Some rows without a chance, some alike, some sure, at means just beyond the limits; and the usual ones do not."""

    def own(n, k, tail):
        return mean_limits(n, k, tail, tail)

    def usual(n, k, tail):
        return clopper_pearson(n, k, 1.0 - 2.0 * tail)

    worst = {own: 0.0, usual: 0.0}
    for n in (1, 2, 5, 9):
        k = np.arange(n + 1)
        ends = [limits(np.full(n + 1, n), k, tail) for limits in worst]
        for mean in np.unique([*(low[1:] - 1e-9 for low, _ in ends), *(high[:-1] + 1e-9 for _, high in ends)]):
            for sure in range(n + 1):
                some = np.arange(1, n - sure + 1)
                for left, chance in zip(n - sure - some, (n * mean - sure) / some, strict=True):
                    if 0.0 <= chance <= 1.0:
                        chances = np.repeat([1.0, chance, 0.0], [sure, n - sure - left, left])
                        worst = {limits: max(most, *failing(chances, limits, tail)) for limits, most in worst.items()}
    assert worst[own] <= tail + 1e-7
    assert worst[usual] > tail + 0.3 * tail * tail
