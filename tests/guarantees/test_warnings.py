"""Warnings about rows and scores: seldom raised where all is well, nearly always where it is not."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.auditing.warnings import RowOrder, data_warnings
from calibrant.calibrators import HistogramCalibrator, IsotonicCalibrator
from calibrant.distributions.null_distribution import null_lower_tail
from calibrant.metrics import cutoff_calibration_error
from support.counting import assert_failures_within, assert_seldom, decided

RATE = 0.01  # of false alarms, at most, for each warning
CHANCE = ("reversed_labels", "in_sample", "dependent_rows")  # warnings that chance can raise


def rare(rng, n):
    return np.clip(0.003 * np.exp(rng.normal(size=n)), 0.0, 1.0)


# Scores as classifiers give them.
SCORES = {
    "two decimals": lambda rng, n: np.round(rng.beta(0.7, 1.3, n), 2),
    "continuous": lambda rng, n: rng.uniform(size=n),
    "one decimal": lambda rng, n: np.round(rng.uniform(size=n), 1),
    "five grades": lambda rng, n: rng.choice([0.02, 0.05, 0.1, 0.3, 0.6], n),
    "three grades": lambda rng, n: rng.choice([0.25, 0.5, 0.75], n),
    "sharp": lambda rng, n: rng.beta(0.05, 0.1, n),
    "useless": lambda rng, n: np.round(rng.normal(0.3, 0.001, n), 4),
    "single precision": lambda rng, n: rng.beta(2.0, 5.0, n).astype(np.float32),
    "rare": rare,
    "rare, three decimals": lambda rng, n: np.round(np.minimum(rare(rng, n) + 0.001, 1.0), 3),
}
# Chance of a positive: as the score says, too flat, too low, and up and down.
RATES = {
    "calibrated": lambda s: s,
    "overconfident": lambda s: 0.5 * s + 0.5 * s.mean(),
    "wave": lambda s: np.clip(s + 0.05 * np.sin(20.0 * s), 0.0, 1.0),
}
ORDERS = {
    "as drawn": lambda y, s: slice(None),
    "by score": lambda y, s: np.argsort(s, kind="stable"),
    "by outcome": lambda y, s: np.argsort(y, kind="stable"),
}
SIZES = {20: 1200, 200: 800, 2_000: 400, 20_000: 100}
CASES = [
    (scores, rates, n)
    for n in (200, 20, 2_000, 20_000)
    for scores in SCORES
    for rates in RATES
    if rates == "calibrated" or n > 20
]


def raised(y, s):
    """Codes of the warnings for rows of both classes."""
    y = np.asarray(y, dtype=np.int8)
    table = ScoreTable.from_scores(y, s)
    error = cutoff_calibration_error(table)
    cutoff = SimpleNamespace(value=error, value_upper=error, null_mean=math.nan)  # the others take long to find
    return {found.code for found in data_warnings(table, cutoff, RowOrder(y, s))}


def false_alarms(scores, rates, n, rng):
    """Codes raised by each of some samples, the order of the rows in turn as drawn, by score and by outcome."""
    orders, found = list(ORDERS.values()), []
    while len(found) < SIZES[n]:
        s = SCORES[scores](rng, n)
        y = rng.uniform(size=n) < RATES[rates](s)
        if 0 < y.sum() < n:
            at = orders[len(found) % len(orders)](y, s)
            found.append(raised(y[at], s[at]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "rates", "n"), CASES)
def test_seldom_raised_where_all_is_well_in_many_samples(scores, rates, n):
    found = false_alarms(scores, rates, n, np.random.default_rng([n, *scores.encode(), *rates.encode()]))
    for code in CHANCE:
        assert_failures_within(sum(code in codes for codes in found), len(found), RATE)
    if n > 20:  # of so few rows, two different scores may be all there are
        assert set.union(*found) <= set(CHANCE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "rates"), [("two decimals", "calibrated"), ("continuous", "wave"), ("rare", "calibrated")]
)
def test_seldom_raised_where_all_is_well(scores, rates):
    found = false_alarms(scores, rates, 200, np.random.default_rng(0))[:100]
    for code in CHANCE:
        assert_failures_within(sum(code in codes for codes in found), len(found), RATE)


def expit(log_odds):
    return 1.0 / (1.0 + np.exp(-log_odds))


def drawn(rng, s, rate, *keys):
    """Rows in the order of some keys, the last the first, of which a key may be the outcome."""
    y = rng.uniform(size=len(s)) < rate
    order = np.lexsort([y if isinstance(key, str) else key for key in keys]) if keys else slice(None)
    return y[order], s[order]


def by_variable(rng, n):
    known, unknown = rng.normal(size=(2, n))
    return drawn(rng, expit((known - 1.0) / np.sqrt(1.346)), expit(known - 1.0 + unknown), unknown)


def by_hospital(rng, n, spread):
    hospital, known = rng.integers(0, 20, n), rng.normal(size=n) - 1.0
    effect = spread * np.random.default_rng(5).normal(size=20)
    return drawn(rng, expit(known / np.sqrt(1.0 + 0.346 * spread**2)), expit(known + effect[hospital]), hospital)


def by_site(rng, n, then):
    s, site = rng.beta(1.0, 3.0, n), rng.integers(0, 10, n)
    return drawn(rng, s, s, s if then == "score" else then, site)


def over_time(rng, n):
    s, time = rng.normal(size=n) - 1.0, np.linspace(-1.0, 1.0, n)
    return drawn(rng, expit(s), expit(s + 1.2 * time))


def leaves(rng, n, rates):
    leaf = rng.integers(0, 50, n)
    return drawn(rng, (leaf + 0.5) / 50, rates[leaf])


# Independent rows in which neighbours, or rows of one score, are alike: rows of the table in
# docs/reference/warnings.md, with the least and the most of 100 samples in which to be asked.
ASKED = {
    "by a variable": (by_variable, 85, 100),
    "by hospital": (lambda rng, n: by_hospital(rng, n, 0.9), 50, 85),
    "by hospital, less apart": (lambda rng, n: by_hospital(rng, n, 0.4), 0, 5),
    "by site and outcome": (lambda rng, n: by_site(rng, n, "outcome"), 95, 100),
    "by site and score": (lambda rng, n: by_site(rng, n, "score"), 0, 5),
    "over time": (over_time, 5, 35),
    "leaves, any rates": (lambda rng, n: leaves(rng, n, np.random.default_rng(2).random(50)), 0, 5),
    "leaves, two rates": (lambda rng, n: leaves(rng, n, np.random.default_rng(2).choice([0.02, 0.98], 50)), 95, 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_how_often_independent_rows_are_asked_whether_they_are(name):
    make, least, most = ASKED[name]
    rng = np.random.default_rng([*name.encode()])
    asked = sum("dependent_rows" in raised(*make(rng, 2_000)) for _ in range(100))
    assert least <= asked <= most


@pytest.mark.parametrize("n", [30, 300, 10_000])
def test_the_area_under_a_useless_score_is_seldom_taken_for_reversed(n):
    """Where the area is 1/2: a limit one standard error lower would be raised in a sixth of the samples."""
    rng = np.random.default_rng(n)
    found = (raised(rng.uniform(size=n) < 0.4, rng.uniform(size=n)) for _ in range(300))
    assert_seldom(("reversed_labels" in codes for codes in found), 300, RATE)


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("n", [10, 100, 1_000])
def test_the_lower_tail_of_the_null_distribution_is_none_too_small(scores, n):
    """At levels from .01 to .2."""
    rng, repetitions, levels = np.random.default_rng([n, *scores.encode()]), 1500, np.array([0.01, 0.05, 0.2])
    counts = np.zeros(3, dtype=int)
    for seen in range(1, repetitions + 1):
        s = SCORES[scores](rng, n)
        table = ScoreTable.from_scores(rng.uniform(size=n) < s, s)
        counts += null_lower_tail(table, cutoff_calibration_error(table)) <= levels
        if all(decided(count, seen, repetitions, level) for count, level in zip(counts, levels.tolist(), strict=True)):
            break
    for count, level in zip(counts.tolist(), levels, strict=True):
        assert_failures_within(count, seen, level)


@pytest.mark.slow
def test_half_of_the_lower_tail_would_be_too_small():
    rng, tails = np.random.default_rng(0), []
    for _ in range(400):
        s = rng.uniform(size=10_000)
        table = ScoreTable.from_scores(rng.uniform(size=10_000) < s, s)
        tails.append(null_lower_tail(table, cutoff_calibration_error(table)))
    assert_failures_within(int(np.sum(np.array(tails) <= 0.2)), 400, 0.2)
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(int(np.sum(0.5 * np.array(tails) <= 0.2)), 400, 0.2)


def reversed_labels(rng, n):
    s = rng.uniform(size=n)
    return rng.uniform(size=n) >= s, s


def fitted_to(calibrator):
    def draw(rng, n):
        s = rng.uniform(size=n)
        y = rng.uniform(size=n) < s
        return y, calibrator().fit(s, y).predict(s)

    return draw


def patients(rng, n, *, spread=0.02):
    """Twenty rows of each patient, one after the other, whose scores differ a little, or not at all."""
    chance = np.repeat(rng.uniform(size=n // 20), 20)
    return np.repeat(rng.uniform(size=n // 20), 20) < chance, np.clip(
        chance + spread * rng.normal(size=len(chance)), 0, 1
    )


def shuffled(draw):
    def other(rng, n):
        y, s = draw(rng, n)
        order = rng.permutation(len(y))
        return y[order], s[order]

    return other


def copies(rng, n):
    """Rows drawn again with replacement, each five times on average."""
    s = rng.uniform(size=n // 5)
    y = rng.uniform(size=n // 5) < s
    at = rng.integers(n // 5, size=n)
    return y[at], s[at]


def both_sides(decimals):
    def draw(rng, n):
        s = np.round(rng.uniform(size=n // 2), decimals)
        y = rng.uniform(size=n // 2) < s
        return np.concatenate([y, ~y]), np.concatenate([s, 1.0 - s])  # 1 - 0.9 is not 0.1

    return shuffled(draw)


def drifting(rng, n):
    """A rate that goes up and down over time, which scores do not know."""
    s = rng.uniform(0.1, 0.9, size=n)
    return rng.uniform(size=n) < np.clip(s + 0.35 * np.sign(np.sin(np.arange(n) / 60.0)), 0, 1), s


HITS = {
    "reversed labels": (reversed_labels, "reversed_labels"),
    "isotonic fit, same rows": (fitted_to(IsotonicCalibrator), "in_sample"),
    "bins, same rows": (fitted_to(HistogramCalibrator), "in_sample"),
    "patients": (patients, "dependent_rows"),
    "patients of one score each, shuffled": (shuffled(lambda rng, n: patients(rng, n, spread=0.0)), "dependent_rows"),
    "copies": (shuffled(copies), "dependent_rows"),
    "both sides": (both_sides(15), "dependent_rows"),
    "both sides, two decimals": (both_sides(2), "dependent_rows"),
    "drift": (drifting, "dependent_rows"),
    "decisions": (
        lambda rng, n: ((y := rng.uniform(size=n) < 0.4), (y ^ (rng.uniform(size=n) < 0.1)).astype(float)),
        "decisions",
    ),
    "outcomes": (lambda rng, n: ((y := rng.uniform(size=n) < 0.4), y.astype(float)), "decisions"),
    "two scores": (
        lambda rng, n: ((y := rng.uniform(size=n) < 0.4), np.where(y, 0.9, 0.2)[rng.permutation(n)]),
        "two_scores",
    ),
    "one score": (lambda rng, n: (rng.uniform(size=n) < 0.4, np.full(n, 0.4)), "constant_score"),
}


@pytest.mark.grid
@pytest.mark.parametrize("n", [1_000, 20_000])
@pytest.mark.parametrize("name", HITS)
def test_raised_where_something_is_wrong(name, n):
    draw, code = HITS[name]
    rng, repetitions = np.random.default_rng(n), 10
    assert sum(code in raised(*draw(rng, n)) for _ in range(repetitions)) >= 8
