"""The monitor is seldom ever wrong, read after every row, at default arguments; and it finds what there is to find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import calibrant as cal
from calibrant.monitoring.evidence import Evidence
from calibrant.monitoring.rows import Settings
from calibrant.monitoring.state import bias_limits
from support.counting import assert_failures_within, assert_seldom


def uniform(rng, n):
    score = rng.uniform(size=n)
    return rng.uniform(size=n) < score, score


def even(rng, n):
    return rng.uniform(size=n) < 0.5, np.full(n, 0.5)


def rare(rng, n):
    score = rng.beta(0.5, 49.5, n)
    return rng.uniform(size=n) < score, score


def skewed(rng, n):
    score = rng.beta(0.7, 1.6, n)
    return rng.uniform(size=n) < score, score


def certain(rng, n):
    """A third of the scores are exactly 0 or 1, and right."""
    score = np.where(rng.uniform(size=n) < 1 / 3, rng.integers(0, 2, n), rng.uniform(size=n))
    return rng.uniform(size=n) < score, score


def chosen(rng, n):
    """The next score depends on the last label."""
    y, score, u = np.zeros(n, bool), np.empty(n), rng.uniform(size=(2, n))
    for i in range(n):
        score[i] = (u[0, i] + y[i - 1]) / 2
        y[i] = u[1, i] < score[i]
    return y, score


def drifting(rng, n):
    score = np.clip(0.5 - 0.4 * np.cos(np.arange(n) / 500) + 0.1 * rng.normal(size=n), 0.01, 0.99)
    return rng.uniform(size=n) < score, score


def edge(rng, n):
    return rng.uniform(size=n) < 0.52, np.full(n, 0.5)


def rare_edge(rng, n):
    return rng.uniform(size=n) < 0.03, np.full(n, 0.01)


def turning(rng, n):
    """Too high by the tolerance and too low, in turns."""
    score = 0.02 + 0.96 * rng.uniform(size=n)
    return rng.uniform(size=n) < score + np.where(np.arange(n) // 700 % 2, 0.02, -0.02), score


def odds_edge(rng, n):
    score = rng.uniform(size=n)
    return rng.uniform(size=n) < 1.2 * score / (1 - score + 1.2 * score), score


EXACT = {"tolerance": 0.0}
WORLDS = {
    "uniform": (uniform, EXACT),
    "one score": (even, EXACT),
    "rare": (rare, EXACT),
    "skewed": (skewed, EXACT),
    "certain": (certain, EXACT),
    "chosen": (chosen, EXACT),
    "drifting": (drifting, EXACT),
    "edge": (edge, {"tolerance": 0.02}),
    "rare edge": (rare_edge, {"tolerance": 0.02}),
    "turning": (turning, {"tolerance": 0.02}),
    "odds edge": (odds_edge, {"odds_tolerance": 1.2}),
    "slope expected": (uniform, {"tolerance": 0.0, "expect": "slope"}),
    "interval expected": (even, {"tolerance": 0.0, "expect": "interval"}),
}


def alarms(draw, settings, streams, rows):
    """Alarms in each of some streams."""
    rng = np.random.default_rng(11)
    return (cal.Monitor(**settings).update(*draw(rng, rows)).number_of_alarms for _ in range(streams))


@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_ever(world):
    draw, settings = WORLDS[world]
    assert_seldom(alarms(draw, settings, 100, 4000), 100, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_ever_in_many_samples(world):
    draw, settings = WORLDS[world]
    assert_seldom(alarms(draw, settings, 300, 30_000), 300, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_per_horizon(world):
    """Their number has an expectation of at most 0.05 per horizon; a bound on its spread is that of Poisson."""
    draw, settings = WORLDS[world]
    found = sum(alarms(draw, settings | {"mode": "rate", "horizon": 5000}, 60, 20_000))
    assert found <= 0.05 * 60 * 4 + 4 * math.sqrt(0.05 * 60 * 4)


@pytest.mark.slow
def test_a_lower_threshold_would_be_wrong_too_often():
    """At a fifth of the evidence there are too many false alarms; that M has a mean of 1 is tested exactly."""
    rng, found = np.random.default_rng(12), 0
    for _ in range(200):
        evidence = Evidence(Settings(tolerance=0.0, expect=0.3))
        evidence.threshold = 4.0
        y, score = uniform(rng, 20_000)
        evidence.read(y.astype(float), score)
        found += evidence.number_of_alarms
    assert binom.sf(found - 1, 200, 0.05) < 1e-3


@pytest.mark.slow
def test_rows_of_a_block_may_be_the_same():
    """With one uniform variable per block the monitor of rows is nearly always wrong, that of blocks is not."""
    rng, rowwise, blockwise = np.random.default_rng(13), 0, 0
    block = np.arange(5000) // 50
    for _ in range(60):
        score = rng.uniform(size=5000)
        y = rng.uniform(size=100)[block] < score
        rowwise += cal.Monitor(tolerance=0).update(y, score).alarm
        blockwise += cal.Monitor(tolerance=0, blocks=True).update(y, score, block=block).alarm
    assert rowwise > 50
    assert_failures_within(blockwise, 60, 0.05)


@pytest.mark.slow
def test_with_a_tolerance_rows_sorted_by_score_need_blocks():
    """The tolerance is an average over scores: an error of .15 in a tenth of them is within it, in any other order."""
    rng, found = np.random.default_rng(17), {"as they come": 0, "sorted": 0, "blocks": 0}
    day = np.repeat(np.arange(10), 2000)
    for _ in range(20):
        score = rng.uniform(size=20_000)
        y = rng.uniform(size=20_000) < score + np.where((score > 0.6) & (score < 0.7), 0.15, 0.0)
        order = np.lexsort([score, day])
        found["as they come"] += cal.Monitor(tolerance=0.02).update(y, score, day).alarm
        found["sorted"] += cal.Monitor(tolerance=0.02).update(y[order], score[order], day).alarm
        found["blocks"] += cal.Monitor(tolerance=0.02, blocks=True).update(y[order], score[order], block=day).alarm
    assert found["sorted"] > 15
    assert_failures_within(found["as they come"], 20, 0.05)
    assert_failures_within(found["blocks"], 20, 0.05)


@pytest.mark.slow
def test_late_labels_are_harmless_at_a_fixed_age_only():
    """Positives known after 800 rows on average and negatives after 1,200: as they come, alarms are nearly certain."""
    rng, as_they_come, mature = np.random.default_rng(14), 0, 0
    for _ in range(30):
        y, score = uniform(rng, 12_000)
        order = np.argsort(np.arange(12_000) + np.where(y, 800, 1200) * rng.exponential(size=12_000))
        as_they_come += cal.Monitor(tolerance=0, delay="independent").update(y[order], score[order]).alarm
        fixed = cal.Monitor(tolerance=0, maturity=1500)
        mature += fixed.update(y.astype(float), score, time=np.arange(12_000)).alarm
    assert as_they_come > 25
    assert_failures_within(mature, 30, 0.05)


@pytest.mark.parametrize("world", ["uniform", "one score", "rare", "edge", "chosen"])
def test_the_bias_is_in_its_confidence_sequence_at_all_rows(world):
    draw, _ = WORLDS[world]
    truth = {"edge": 0.02}.get(world, 0.0)
    rng, missed = np.random.default_rng(15), 0
    looks = np.array([1, 3, 10, 30, 100, 300, 1000, 3000])
    for _ in range(100):
        y, score = draw(rng, 3000)
        residual = y - score
        sums, squares = np.cumsum(residual)[looks - 1], np.cumsum(residual**2)[looks - 1]
        limits = [bias_limits(terms, 0.05)[1:] for terms in np.column_stack([looks, sums, squares])]
        missed += any(not low <= truth <= high for low, high in limits)
    assert_failures_within(missed, 100, 0.05)


@pytest.mark.slow
def test_the_mean_of_monitors_that_share_their_rows():
    """Half of the rows of each of three streams are those of the others."""
    rng, found = np.random.default_rng(17), 0
    for _ in range(40):
        y, score = even(rng, 3000)
        monitors = [cal.Monitor(tolerance=0) for _ in range(3)]
        for monitor in monitors:
            own_y, own_score = even(rng, 3000)
            monitor.update(np.append(y, own_y), np.append(score, own_score))
        found += cal.monitoring.combine(monitors).alarm
    assert_failures_within(found, 40, 0.05)


@pytest.mark.slow
def test_calm_does_not_dilute_the_evidence():
    """After 30,000 calm rows a shift takes at most 2.5 times the rows that it takes from the start."""

    def delay(calm):
        rng = np.random.default_rng(16)
        found = []
        for _ in range(15):
            score = rng.uniform(size=calm + 6000)
            odds = score / (1 - score) * np.where(np.arange(len(score)) < calm, 1.0, math.exp(0.4))
            state = cal.Monitor(tolerance=0).update(rng.uniform(size=len(score)) < odds / (1 + odds), score)
            found.append(state.alarm_row - calm if state.alarm and state.alarm_row > calm else 6000)
        return np.median(found)

    assert delay(30_000) < 2.5 * delay(0)
