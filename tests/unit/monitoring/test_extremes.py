"""Scores at the ends of the range, tiny updates and extreme settings: evidence stays a number, without a warning."""

import math

import numpy as np
import pytest

import calibrant as cal

SCORES = {
    "zeros and ones": lambda rng, n: rng.choice([0.0, 1.0, 0.5], n),
    "zeros": lambda rng, n: np.zeros(n),
    "least float": lambda rng, n: np.full(n, 5e-324),
    "tiny": lambda rng, n: 10.0 ** -rng.uniform(0, 300, n),
    "near one": lambda rng, n: 1.0 - 10.0 ** -rng.uniform(0, 16, n),
    "at both ends": lambda rng, n: rng.beta(0.01, 0.01, n),
}
SETTINGS = (
    {"tolerance": 0},
    {"tolerance": 1e-6},
    {"tolerance": 1e-310},
    {"tolerance": 0.249},
    {"odds_tolerance": 10},
    {"tolerance": 0, "mode": "rate", "horizon": 100},
    {"odds_tolerance": 1.5, "expect": 4.9},
    {"tolerance": 0, "blocks": True},
    {"tolerance": 0.1, "blocks": True},
    {"odds_tolerance": 1.2, "blocks": True},
    {"tolerance": 0.02, "reference": [0.0, 1.0, 0.3]},
)


@pytest.mark.grid
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("right", [True, False])
def test_evidence_is_a_number(kind, right):
    rng = np.random.default_rng(0)
    for settings in SETTINGS:
        monitor, first = cal.Monitor(**settings), 0
        for n in (1, 2, 600, 40):
            score = SCORES[kind](rng, n)
            y = rng.uniform(size=n) < score if right else rng.integers(0, 2, n)
            block = (first + np.arange(n)) // 20 if settings.get("blocks") else None
            first += n
            state = monitor.update(y.astype(int), score, block=block)
            assert state.evidence >= 0.0
            assert not math.isnan(state.evidence)
            assert state.to_json()
            assert len(str(state).splitlines()) <= 9
            monitor.history()
            monitor = cal.Monitor.from_json(monitor.to_json())
