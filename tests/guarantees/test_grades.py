"""Limits of default rates that hold for all grades together, and right PDs that are seldom called off."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import audit_grades
from support.counting import assert_seldom
from support.panels import MONTHLY, panel

SAMPLES = 1000
# Rates at which single limits are nearly as often wrong as they may be: few grades, so that all of them are seldom so.
SIZE = {"A": 400, "B": 300, "C": 150, "D": 80}
RATE = {"A": 0.0105, "B": 0.03, "C": 0.085, "D": 0.25}


def portfolio(spread):
    """Grade and chance of default of each obligor; with a spread, chances differ within grades."""
    grade = np.repeat(list(SIZE), list(SIZE.values()))
    chance = np.repeat(list(RATE.values()), list(SIZE.values()))
    weight = np.concatenate([1.0 + spread * np.linspace(-1.0, 1.0, n) for n in SIZE.values()])
    return grade, chance * weight


def outcomes(seed, failed, *, spread=0.0, wrong=1.0, **keywords):
    """Whether something failed in each of many samples; the PDs are the chances, or wrong by a factor."""
    rng = np.random.default_rng(seed)
    grade, chance = portfolio(spread)
    for _ in range(SAMPLES):
        yield failed(audit_grades(rng.random(len(chance)) < chance, wrong * chance, grade, **keywords).grades)


def misses(grades):
    """Whether some limit is on the wrong side of the mean chance of its grade, whatever the PDs are."""
    rate = np.array([RATE[name] for name in grades["grade"]])
    return bool(((grades["lower"] > rate + 1e-12) | (grades["upper"] < rate - 1e-12)).any())


def off(grades):
    return bool((grades["verdict"] != "").any())


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "wrong"), [(0.0, 1.0), (0.9, 0.5)])
def test_limits_of_all_grades_hold_together(spread, wrong):
    assert_seldom(outcomes(0, misses, spread=spread, wrong=wrong), SAMPLES, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["too low", "too high", "either"])
def test_right_pds_are_seldom_called_off(direction):
    assert_seldom(outcomes(1, off, direction=direction), SAMPLES, 0.05)
    assert_seldom(outcomes(2, off, spread=0.9, direction=direction), SAMPLES, 0.05)


@pytest.mark.slow
def test_narrower_limits_and_single_tests_would_be_caught():
    """Limits of 70%, and exact tests of each grade by itself."""

    def single(grades):
        return bool((grades["p_exact"] <= 0.05).any())

    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(outcomes(0, misses, confidence_level=0.7), SAMPLES // 3, 0.05)
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(outcomes(1, single, direction="too low"), SAMPLES // 3, 0.05)


def panels(samples, failed, *, obligors=2600, monthly=MONTHLY, by="obligor", direction="either"):
    """Whether something failed in panels with right PDs, of obligors or of rows."""
    for seed in range(samples):
        rows = panel(np.random.default_rng([seed, obligors]), obligors, monthly=monthly)
        clusters = rows.obligor if by == "obligor" else None
        yield failed(audit_grades(rows.default, rows.pd, rows.grade, clusters=clusters, direction=direction).grades)


@pytest.mark.parametrize("direction", ["too low", "either"])
@pytest.mark.parametrize(("obligors", "times"), [(2600, 1.0), (2600, 0.15), (300, 1.0), (300, 4.0)])
def test_right_pds_of_panels_in_many_samples(obligors, times, direction):
    found = panels(200, off, obligors=obligors, monthly=times * MONTHLY, direction=direction)
    assert_seldom(found, 200, 0.05)


def test_panels_whose_rows_count_as_independent_are_called_off():
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(panels(20, off, by="row"), 20, 0.05)
