"""Labels drawn from the scores exceed the null limit at most once in twenty, and the limit is close to their quantile.

Numbers of theorems and checks are those of docs/theory/6-null.md.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import ScoreTable
from calibrant.certificates import calibration_test
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.metrics import cutoff_calibration
from support.counting import assert_failures_within, assert_probability_within, failure_probability, per_count
from support.worlds import WORLDS, at, spread

CALIBRATED = {
    "even": WORLDS["calibrated"],
    "rare": WORLDS["rare, calibrated"],
    "few grades": at([0.2, 0.5, 0.3], [0.1, 0.4, 0.9], [0.1, 0.4, 0.9]),
    "narrow": spread(lambda s: s, low=0.45, high=0.55),
}


def limit_of(score, n) -> float:
    """Null 95% limit of a table of these scores."""
    return cutoff_calibration(ScoreTable.from_counts(score, n, np.zeros(len(score), dtype=int))).null_q95


def exceeded_exactly(score, n, shrink: float = 1.0) -> float:
    """Probability of an error above the limit, by adding up all labels of a table of a few scores."""
    score, n = np.asarray(score), np.asarray(n)
    walk, top, bottom, chance = np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1)
    for s, rows in zip(score, n, strict=True):
        k = np.arange(rows + 1)
        pmf = binom.pmf(k, rows, s)
        k, pmf = k[pmf > 1e-9], pmf[pmf > 1e-9]
        top, bottom = np.repeat(top, len(k)), np.repeat(bottom, len(k))
        walk, chance = (walk[:, None] + k - rows * s).ravel(), (chance[:, None] * pmf).ravel()
        top, bottom = np.maximum(top, walk), np.minimum(bottom, walk)
    return float(chance[top - bottom > shrink * limit_of(score, n) * n.sum()].sum())


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_scores_seldom_exceed_the_limit(name, n):
    samples = CALIBRATED[name].samples(n, 300, np.random.default_rng([n, *name.encode()]))
    exceeded = sum(found.value > found.null_q95 for found in map(cutoff_calibration, samples))
    assert_failures_within(exceeded, 300, 0.05)


@pytest.mark.parametrize("expected", [0.01, 0.05, 0.052, 0.1, 0.123, 0.16, 0.36, 1.0, 5.0, 18.0])
@pytest.mark.parametrize("n", [20, 100, 400])
def test_rare_events_at_one_score(n, expected):
    """Exact. With q sqrt(V) alone, V the sum of s (1 - s), the limit is exceeded with probability .116 at V = .123."""
    rate = expected / n
    found = [cutoff_calibration(ScoreTable.from_counts([rate], [n], [k])) for k in range(n + 1)]
    above = per_count(n, lambda k: found[k].value > found[k].null_q95).astype(bool)
    assert_probability_within(failure_probability(n, rate, above), 0.05)


# Worst cases of a search over one to four scores, their rows and values, by exact enumeration (Check 6.4).
WORST = [
    ([0.01694], [3]),
    ([0.99967], [155]),
    ([0.63268, 0.74256], [1990, 43]),
    ([0.00043, 0.52491], [5, 1064]),
    ([0.23876, 1.0], [11294, 20]),
    ([0.00211, 0.08925, 0.41985], [25, 8, 102834]),
    ([0.10224, 0.38503, 0.47334], [15, 19287, 5]),
]


@pytest.mark.parametrize(("score", "n"), WORST)
def test_worst_tables_of_a_search(score, n):
    """Exact but for what is left out, 1e-9 per count; a limit 3% lower would fail, in at least one."""
    assert_probability_within(exceeded_exactly(score, n), 0.05)


def test_a_limit_three_percent_lower_is_caught():
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(max(exceeded_exactly(score, n, shrink=0.97) for score, n in WORST), 0.05)


def poisson_ranges(expected: float, repetitions: int, rng) -> np.ndarray:
    """Range of a Poisson process less its mean: what many different small scores tend to."""
    events = rng.poisson(expected, repetitions)
    most = int(events.max())
    time = np.where(np.arange(most) < events[:, None], rng.random((repetitions, most)), np.inf)
    time.sort(axis=1)
    counted = np.arange(1, most + 1)
    after = np.where(np.isfinite(time), counted - expected * time, -np.inf)
    before = np.where(np.isfinite(time), counted - 1 - expected * time, np.inf)
    end = events - expected
    return np.maximum(after.max(axis=1, initial=0.0), end) - np.minimum(before.min(axis=1, initial=0.0), end)


@pytest.mark.parametrize("expected", [0.06, 0.2, 0.3, 0.36, 0.83, 1.4, 2.6, 5.0, 12.0, 30.0])
@pytest.mark.parametrize("chance", [0.2, 0.05, 0.01])
def test_few_events_at_many_scores(expected, chance):
    """Check 6.4: the most jagged distribution there is for a given V, in the limit of scores near 0."""
    rng = np.random.default_rng([round(100 * expected), round(100 * chance)])
    ranges = poisson_ranges(expected, 20_000, rng)
    above = int((ranges > calibrated_limit(expected, 1.0 - chance)).sum())
    assert_failures_within(above, 20_000, chance)


def test_without_the_term_for_few_events_it_fails():
    ranges = poisson_ranges(0.1, 20_000, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(int((ranges > calibrated_limit(0.1, 0.95) - 0.5).sum()), 20_000, 0.05)


SHAPES = {
    "one score": (np.array([0.3]), np.array([400])),
    "two grades": (np.array([0.1, 0.6]), np.array([500, 100])),
    "ten grades": (np.arange(1, 11) / 11, np.full(10, 40)),
    "forty grades": (np.arange(1, 41) / 41, np.full(40, 20)),
    "different scores": ((np.arange(600) + 0.5) / 600, np.full(600, 1)),
    "confident": (np.r_[np.linspace(1e-4, 0.02, 2000), np.linspace(0.98, 0.9999, 2000)], np.full(4000, 1)),
    "one grade among many": (
        np.r_[np.linspace(0.1, 0.4, 300), 0.5, np.linspace(0.6, 0.9, 300)],
        np.r_[[1] * 300, 150, [1] * 300],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_limit_and_mean_are_close_to_simulated_ones(name):
    """With 25 expected events or more, the limit is at most 12% above the quantile of simulated labels."""
    score, n = SHAPES[name]
    rng = np.random.default_rng(len(name))
    walk = np.cumsum(rng.binomial(n, score, size=(4_000, len(n))) - n * score, axis=1) / n.sum()
    ranges = np.maximum(walk.max(axis=1), 0.0) - np.minimum(walk.min(axis=1), 0.0)
    found = cutoff_calibration(ScoreTable.from_counts(score, n, np.zeros(len(n), dtype=int)))
    assert (n * score * (1 - score)).sum() >= 25
    assert 0.98 <= found.null_q95 / np.quantile(ranges, 0.95) <= 1.12
    assert found.null_mean == pytest.approx(ranges.mean(), rel=0.08)


def test_confident_scores_have_the_same_limit_however_wrong_they_are():
    """Labels do not count; with the Brier score in place of s (1 - s) the limit was 20 times too wide here."""
    score = np.r_[np.full(500, 0.0005), np.full(500, 0.9995)]
    right, wrong = (cutoff_calibration(y, score) for y in (np.repeat([0, 1], 500), np.tile([0, 1], 500)))
    assert (right.null_q95, right.null_mean) == (wrong.null_q95, wrong.null_mean)
    assert wrong.null_q95 < 0.0035
    assert wrong.value > 70 * wrong.null_q95


@pytest.mark.parametrize("chance", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("name", ["even", "rare", "few grades"])
def test_asymptotic_p_values_are_uniform_or_larger(name, chance):
    world = CALIBRATED[name]
    n = math.ceil(40 / float((world.mass * world.score * (1 - world.score)).sum()))
    samples = world.samples(n, 400, np.random.default_rng([n, round(100 * chance)]))
    below = sum(calibration_test(sample, method="asymptotic").p_value <= chance for sample in samples)
    assert_failures_within(below, 400, chance)
