"""A constant score of half a target, with half the target as tolerance: whether a rate is above the target."""

import numpy as np
import pytest

import calibrant as cal

TARGET = 0.05


def alarm_row(rate, n, seed):
    rng = np.random.default_rng(seed)
    monitor = cal.Monitor(tolerance=TARGET / 2)
    monitor.update((rng.uniform(size=n) < rate).astype(int), np.full(n, TARGET / 2))
    return monitor.state.alarm_row if monitor.state.alarm else None


@pytest.mark.grid
@pytest.mark.parametrize("rate", [0.0, 0.01, TARGET])
def test_no_alarm_up_to_the_target(rate):
    """At the target in about 1 of 100 runs of 3,000 rows; below it hardly ever."""
    alarms = [alarm_row(rate, 3_000, seed) for seed in range(60)]
    assert sum(row is not None for row in alarms) <= (3 if rate == TARGET else 0)


def test_alarm_above_it():
    rows = [alarm_row(0.12, 3_000, seed) for seed in range(20)]
    assert None not in rows
    assert np.median(rows) < 600
