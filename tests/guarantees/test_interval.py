"""Both bounds at half the probability of failure are an interval: it contains the true error."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.distributions.brownian import range_quantile
from support.counting import assert_probability_within, assert_seldom, failure_probability, per_count
from support.worlds import WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "asymptotic"])
@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("name", WORLDS)
def test_interval_contains_the_true_error(name, n, method):
    world = WORLDS[name]
    tables = world.samples(n, 200, np.random.default_rng([n, *name.encode()]))
    found = (certify(table, method=method, confidence_level=0.975) for table in tables)
    assert_seldom((not one.lower_bound <= world.error + 1e-12 <= one.bound + 1e-9 for one in found), 200, 0.05)


def test_calibrated_rare_events():
    """Found by search: f = eta = .01, n = 100; with v = B the lower end covers only .634."""
    n, rate = 100, 0.01
    tables = [ScoreTable.from_counts([rate], [n], [k]) for k in range(n + 1)]
    lows = per_count(n, lambda k: certify(tables[k], method="asymptotic", confidence_level=0.975).lower_bound)
    assert_probability_within(failure_probability(n, rate, lows > 0.0), 0.025)

    def unsafe(k: int) -> float:
        brier = float(tables[k].squared.sum()) / n
        return abs(k / n - rate) - range_quantile(0.95) * np.sqrt(brier / n)

    assert 1.0 - failure_probability(n, rate, per_count(n, unsafe) > 0.0) == pytest.approx(0.634, abs=5e-4)


def test_interval_is_of_use():
    world = WORLDS["overconfident"]
    table = next(world.samples(10_000, 1, np.random.default_rng(0)))
    finite, asymptotic = (certify(table, method=way, confidence_level=0.975) for way in ("default", "asymptotic"))
    assert finite.bound - finite.lower_bound < 0.03
    assert asymptotic.bound - asymptotic.lower_bound < 0.025
    assert max(finite.lower_bound, asymptotic.lower_bound) < asymptotic.estimate < min(asymptotic.bound, finite.bound)


def test_half_an_interval_is_caught():
    world = WORLDS["one atom"]
    tables = world.samples(1000, 200, np.random.default_rng(1))
    found = (certify(table, method="asymptotic", confidence_level=0.975) for table in tables)
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom((one.estimate + 0.3 * (one.bound - one.estimate) < world.error for one in found), 200, 0.05)
