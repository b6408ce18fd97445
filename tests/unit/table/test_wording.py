"""Confidence in words."""

from __future__ import annotations

import re

import pytest

from calibrant import ScoreTable
from calibrant.certificates import certify_sample, isotonic_band, window_band
from calibrant.curves import binned_curve
from calibrant.decisions import cost_forecast, max_regret, saving_bound
from calibrant.table.wording import at_least

TABLE = ScoreTable.from_counts([0.2, 0.8], [500, 500], [100, 400])
COSTS = {"false_positive_cost": 1, "false_negative_cost": 4}


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (0.05, "0.95"),
        (0.05 / 3, "0.983333"),
        (1e-6, "0.999999"),
        (1.4e-6, "1 - 1.4e-06"),
        (1e-9, "1 - 1e-09"),
        (1e-300, "1 - 1e-300"),
        (1 - 2**-40, "9.09495e-13"),
    ],
)
def test_confidence(delta, text):
    assert at_least(delta) == text


@pytest.mark.parametrize(
    "state",
    [
        isotonic_band,
        lambda table, delta: window_band(binned_curve(table), table, delta=delta),
        certify_sample,
        max_regret,
        lambda table, delta: saving_bound(table, **COSTS, delta=delta),
        lambda table, delta: cost_forecast(table, **COSTS, delta=delta),
    ],
)
def test_claims_never_say_certain(state):
    claim = state(TABLE, delta=1e-9).claim
    assert re.match(r"With probability at least 1 - 1e-09[ ,]", claim)
    assert state(TABLE, delta=0.05).claim.startswith("With probability at least 0.95")
