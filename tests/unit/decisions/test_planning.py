"""Planned rows against the share of simulated samples in which the cut-off is certified."""

import re

import numpy as np
import pytest

import calibrant as cal
from calibrant.distributions.binomial import walk_boundary
from calibrant.errors import ArgumentError

CASES = [(0.03, 0.4, 0.05, 0.8), (0.01, 0.5, 0.02, 0.8), (0.02, 0.3, 0.05, 0.9), (0.0, 1.0, 0.05, 0.5)]


def simulated_power(n, risk, coverage, target, samples=20_000):
    rng = np.random.default_rng(1)
    accepted = rng.binomial(n, coverage, samples)
    errors = rng.binomial(accepted, risk)
    return (errors <= walk_boundary(n, target, 0.05).allowed(accepted)).mean()


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize(("risk", "coverage", "target", "power"), CASES)
def test_power_is_what_samples_show(risk, coverage, target, power):
    n = cal.plan("selective", risk=risk, coverage=coverage, target_error=target, power=power).n
    assert simulated_power(n, risk, coverage, target) >= power - 0.01
    assert simulated_power(int(0.96 * n), risk, coverage, target) < power


def test_known_numbers():
    assert cal.plan("selective", risk=0.03, coverage=0.4).n == pytest.approx(2_900, rel=0.02)
    assert cal.plan("selective", risk=0.0, coverage=1.0).n == 59


@pytest.mark.slow
def test_more_is_asked_of_more_rows():
    rows = [cal.plan("selective", risk=risk, coverage=0.4).n for risk in (0.0, 0.01, 0.02, 0.03)]
    assert rows == sorted(rows)
    assert cal.plan("selective", risk=0.02, coverage=0.4, power=0.95).n > rows[2]
    assert cal.plan("selective", risk=0.02, coverage=0.4, confidence_level=0.9875).n > rows[2]


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_the_plan_that_a_selection_prints_is_for_its_own_confidence(level):
    correct, score = np.ones(120), np.repeat([0.9, 0.6], 60)
    correct[[5, 70, 90, 110]] = 0
    both = cal.selective_binary(correct, score, confidence_level=level)
    for side in (both.yes, both.no):
        called = re.search(r"calibrant\.(plan\(\"selective\", .*\)) says", str(side))
        beyond = side.next_cutoff
        risk, coverage = beyond.errors / beyond.accepted, beyond.accepted / side.n
        assert (called is None) == (risk >= 0.05)
        if called:
            rows = cal.plan("selective", risk=risk, coverage=coverage, confidence_level=side.confidence_level).n
            assert eval(called[1], {"plan": cal.plan}).n == pytest.approx(rows, rel=0.02)


@pytest.mark.parametrize(
    "mistake",
    [{"risk": 0.05}, {"risk": -0.1}, {"coverage": 0.0}, {"power": 1.0}, {"target_error": 2}, {"risk": 0.0499999}],
)
def test_what_is_refused(mistake):
    with pytest.raises(ArgumentError):
        cal.plan("selective", **({"risk": 0.02, "coverage": 0.4} | mistake))
