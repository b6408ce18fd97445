"""What is wrong, and what would repair it, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.monitoring.sums import _SUMS, PLACES, _fit, in_runs


@pytest.mark.parametrize(
    ("tolerance", "slack", "gain"), [(None, 0.0, 225 / 40), (0.01, 0.1, 144 / 40), (0.2, 0.0, 0.0)]
)
def test_a_shift_gains_by_what_the_null_hypothesis_does_not_allow(tolerance, slack, gain):
    """Arithmetic: of a residual of 15 in 100 rows of variance 20 the tolerance allows 1, and the slack 2."""
    tail = np.zeros(_SUMS + 2 * PLACES)
    tail[:8] = 100.0, 20.0, 15.0, 0.0, 0.0, 1.0, 20.0, 0.0
    assert _fit(tail, None, SimpleNamespace(tolerance=tolerance, slack=slack))[0]["shift"] == pytest.approx(gain)


@pytest.mark.parametrize(
    ("labels", "sorted_"),
    [
        ([1] * 20 + [0] * 200, True),
        ([0] * 200 + [1] * 20, True),
        (([1] * 20 + [0] * 200) * 3, True),  # three files
        ([1] * 8 + [0] * 4000, True),
        ([0] * 1000 + [1] * 3 + [0] * 3000, False),  # may be chance
        ([1] * 5 + [0] * 5, False),
        ([0, 0, 0, 1] * 100, False),
        ([0] * 100, False),
        ([1] * 100, False),
    ],
)
def test_labels_that_look_sorted(labels, sorted_):
    """In random order 2 n1 n0 / n neighbours differ on average; sorted ones differ once."""
    assert in_runs(np.array(labels, dtype=float)) == sorted_


@pytest.mark.parametrize("shares", [(0.002, 0.002), (0.001, 0.05), (0.02, 0.9), (0.1, 0.9), (0.5, 0.99)])
def test_rare_events_and_sudden_shifts_do_not_look_sorted(shares):
    rng = np.random.default_rng(1)
    share = np.repeat(shares, [2500, 1500])
    assert not any(in_runs((rng.uniform(size=4000) < share).astype(float)) for _ in range(200))
