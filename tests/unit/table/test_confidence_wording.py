"""Confidence in words."""

from __future__ import annotations

import re

import pytest

from calibrant import ScoreTable
from calibrant.certificates import isotonic_band
from calibrant.decisions import expected_cost, max_regret
from calibrant.table.numbers import at_least

TABLE = ScoreTable.from_counts([0.2, 0.8], [500, 500], [100, 400])
COSTS = {"false_positive_cost": 1, "false_negative_cost": 4}


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (0.95, "0.95"),
        (1 - 0.05 / 3, "0.983333"),
        (0.999999, "0.999999"),
        (0.999975, "0.999975"),
        (0.9999999, "0.9999999"),
        (1 - 2**-53, "0.9999999999999999"),
    ],
)
def test_confidence(level, text):
    assert at_least(level) == text


@pytest.mark.parametrize(
    "state",
    [
        isotonic_band,
        max_regret,
        lambda table, **level: expected_cost(table, **COSTS, **level),
        lambda table, **level: expected_cost(table, **COSTS, threshold=0.5, **level),
    ],
)
def test_claims_never_say_certain(state):
    claim = state(TABLE, confidence_level=0.999999999).claim
    assert re.match(r"With probability at least 0.999999999[ ,]", claim)
    assert state(TABLE, confidence_level=0.95).claim.startswith("With probability at least 0.95")
