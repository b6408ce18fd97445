"""Counting that ends early finds what all samples would find, and gives no other alarm: by exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from support.counting import ENDED_TOO_EARLY, FALSE_ALARM, assert_failures_within, assert_seldom, decided


def power_and_samples(planned: int, delta: float, rate: float) -> tuple[float, float]:
    """Chance that failures of this rate are too many, and the samples that are seen on average."""
    allowed = int(binom.ppf(1.0 - FALSE_ALARM, planned, delta))
    going = np.zeros(allowed + 1)  # chance by number of failures, while counting goes on
    going[0], caught, samples = 1.0, 0.0, 0.0
    for seen in range(1, planned + 1):
        samples += going.sum()
        caught += going[-1] * rate
        going = going * (1.0 - rate) + np.append(0.0, going[:-1] * rate)
        going[decided(np.arange(allowed + 1), seen, planned, delta)] = 0.0
    return caught, samples


@pytest.mark.parametrize(("planned", "delta"), [(25, 0.05), (100, 0.025), (120, 0.2), (500, 0.05)])
def test_ending_early_costs_next_to_no_power(planned, delta):
    allowed = binom.ppf(1.0 - FALSE_ALARM, planned, delta)
    for rate in np.append(delta, np.linspace(0.02, 0.98, 25)):
        power, _ = power_and_samples(planned, delta, rate)
        of_all = binom.sf(allowed, planned, rate)
        assert of_all - ENDED_TOO_EARLY <= power <= of_all + 1e-12


def test_most_samples_are_not_needed():
    assert power_and_samples(500, 0.05, 0.03)[1] < 125
    assert power_and_samples(500, 0.05, 0.05)[1] < 215
    assert power_and_samples(500, 0.05, 0.3)[1] < 160


def test_counting_ends_once_all_is_clear():
    drawn = []

    def outcomes(*every):
        for i in range(1, 501):
            drawn.append(i)
            yield [period > 0 and i % period == 0 for period in every]

    assert_seldom(outcomes(0, 0), 500, 0.05)
    few = len(drawn)
    drawn.clear()
    assert_seldom(outcomes(0, 20), 500, 0.05)
    assert few < len(drawn) < 500
    drawn.clear()
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(outcomes(0, 4), 500, 0.05)
    assert few < len(drawn) < 200


def test_without_an_early_end_all_are_counted():
    outcomes = [i % 13 == 0 for i in range(500)]
    assert_seldom(outcomes, 500, 0.05)
    assert_failures_within(sum(outcomes), 500, 0.05)
