"""The band for all intervals and monotone maps fails with probability at most delta, however small delta is.

What it bounds is the largest climb plus the largest drop of a uniform empirical process, one on either side of the base
rate (docs/theory/6-null.md). Probabilities far below one in a thousand are counted by importance sampling.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.certificates.widths import monotone_width
from support.counting import assert_failures_within


def climb_and_drop(u: np.ndarray, rate: float) -> np.ndarray:
    """Largest climb before `rate` plus largest drop after it, or the other way round, of each row's process."""
    repetitions, n = u.shape
    at = np.sort(np.column_stack([u, np.full(repetitions, rate)]), axis=1)
    place = (u < rate).sum(axis=1)
    jump = np.ones(at.shape)
    jump[np.arange(repetitions), place] = 0.0  # the base rate is no observation
    after = np.cumsum(jump, axis=1) / n - at
    path = np.stack([after - jump / n, after], axis=2).reshape(repetitions, -1)
    path = np.pad(path, ((0, 0), (1, 1)))
    left = np.arange(path.shape[1]) <= 2 * place[:, None] + 2

    def climb(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
        lowest = np.minimum.accumulate(np.where(inside, values, np.inf), axis=1)
        return np.where(inside, values - lowest, 0.0).max(axis=1)

    right = np.arange(path.shape[1]) >= 2 * place[:, None] + 2
    return np.maximum(climb(path, left) + climb(-path, right), climb(-path, left) + climb(path, right))


def failure_probability(
    n: int, delta: float, rate: float, repetitions: int, shrink: float = 1.0
) -> tuple[float, float]:
    """Estimate with its standard error; observations are drawn too often on one side of the base rate, either one."""
    rng = np.random.default_rng([n, round(-1e3 * math.log(delta)), round(10 * rate)])
    width = shrink * monotone_width(n, delta)
    chances = np.clip([rate + 0.4 * width, rate - 0.4 * width], 0.02, 0.98)
    chance = rng.choice(chances, repetitions)[:, None]
    left = rng.random((repetitions, n)) < chance
    u = np.where(left, rate * rng.random(left.shape), rate + (1.0 - rate) * rng.random(left.shape))
    count = left.sum(axis=1)
    drawn = [np.exp(count * np.log(c / rate) + (n - count) * np.log((1 - c) / (1 - rate))) for c in chances]
    weight = (climb_and_drop(u, rate) > width) / np.mean(drawn, axis=0)
    return float(weight.mean()), float(weight.std() / math.sqrt(repetitions))


def assert_within(n: int, delta: float, rate: float, repetitions: int, shrink: float = 1.0) -> None:
    found, error = failure_probability(n, delta, rate, repetitions, shrink)
    assert found <= delta + 4.0 * error, f"failure probability {found:.3g} +- {error:.1g} above {delta}"


@pytest.mark.parametrize("rate", [0.5, 0.3])
@pytest.mark.parametrize("delta", [0.07, 0.03, 0.002, 5e-4, 1e-4, 1e-6])
@pytest.mark.parametrize("n", [5, 20, 100])
def test_small_failure_probabilities(n, delta, rate):
    assert_within(n, delta, rate, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.07, 0.03, 0.002, 1e-4, 1e-6])
def test_many_rows(delta):
    assert_within(1_000, delta, 0.5, 10_000)


def test_counted_directly():
    """Without importance sampling, between two constants."""
    values = climb_and_drop(np.random.default_rng(0).random((4_000, 200)), 0.5)
    assert_failures_within(int((values > monotone_width(200, 0.07)).sum()), 4_000, 0.07)


def test_a_narrower_band_is_caught():
    """The quantiles of 100 rows are 3% to 10% below those of the limit, which the band uses."""
    with pytest.raises(AssertionError, match="failure probability"):
        assert_within(100, 1e-4, 0.5, 4_000, shrink=0.85)
