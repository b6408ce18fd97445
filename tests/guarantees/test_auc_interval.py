"""The interval of the area under the ROC curve, where few rows decide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.metrics import ranking, roc_auc_interval
from support.counting import assert_failures_within, assert_probability_within, per_count, worst_failure_probability

# Nominal are 5%. A limit for many rows may miss more often; where it would, the other interval is to take over.
ALLOWED = 0.08
REPETITIONS = 600

# scores, shares of the rows, rows; positives have the chance of their score
WORLDS = {
    "few in the upper grade": ([0.3, 0.6], [0.97, 0.03], 30),
    "few positives": ([0.02, 0.9], [0.9, 0.1], 30),
    "few positives, 200 rows": ([0.02, 0.3], [0.99, 0.01], 200),
    "few positives, grades alike": ([0.05, 0.1], [0.9, 0.1], 100),
    "22 positives": ([0.02, 0.3], [0.995, 0.005], 1000),
    "unseen misses decide": ([0.001, 0.5, 0.999], [0.6, 0.05, 0.35], 1000),
    "one grade": ([0.3], [1.0], 50),
    "many rows": ([0.1, 0.3, 0.5, 0.7, 0.9], [0.2] * 5, 1000),
}


def draw(name: str):
    """Tables that hold both classes, twice at least, and the area in the population."""
    score, share, n = (np.array(v) for v in WORLDS[name])
    rng = np.random.default_rng([*name.encode()])
    up, down = share * score, share * (1 - score)
    up, down = up / up.sum(), down / down.sum()
    area = float(np.dot(up, np.cumsum(down) - 0.5 * down))
    tables = []
    for _ in range(REPETITIONS):
        rows = rng.multinomial(n, share)
        positives = rng.binomial(rows, score)
        if 2 <= positives.sum() <= n - 2:
            tables.append(ScoreTable.from_counts(score, rows, positives))
    return tables, area


def misses(name: str) -> int:
    tables, area = draw(name)
    found = [roc_auc_interval(table) for table in tables]
    assert all(f.lower < f.upper for f in found)
    return sum(not f.lower <= area <= f.upper for f in found)


@pytest.mark.parametrize("name", WORLDS)
def test_misses(name):
    assert_failures_within(misses(name), REPETITIONS, ALLOWED)


@pytest.mark.parametrize("name", ["few positives, grades alike", "unseen misses decide"])
def test_the_normal_interval_alone_would_be_caught(name, monkeypatch):
    """As it was before the number of effective rows was asked for; no variance at all gives no interval."""
    monkeypatch.setattr(ranking, "_LEAST_EFFECTIVE", 1e-9)
    monkeypatch.setattr(ranking, "_delong", lambda *a, plain=ranking._delong: (plain(*a)[0], plain(*a)[0]))
    with pytest.raises(AssertionError, match="failures in 600"):
        assert_failures_within(misses(name), REPETITIONS, ALLOWED)


@pytest.mark.parametrize("m", [2, 5, 30])
def test_below_that_each_end_holds_for_every_number_of_rows(m, monkeypatch):
    """All negatives alike: the area is the chance that a positive is above them, and rows show k of m."""
    monkeypatch.setattr(ranking, "_LEAST_EFFECTIVE", math.inf)
    tables = [ScoreTable.from_counts([0.4, 0.5, 0.6], [m - k, m, k], [m - k, 0, k]) for k in range(m + 1)]
    found = [roc_auc_interval(table) for table in tables]
    upper = per_count(m, lambda k: found[k].upper)
    lower = per_count(m, lambda k: 1 - found[m - k].lower)
    for bounds in (upper, lower):
        assert_probability_within(worst_failure_probability(bounds, 0.0, sides=(1,)), 0.025)
        # no weaker than it has to be: all rows right is met with equality
        assert worst_failure_probability(bounds, 0.0, sides=(1,)) > 0.0249


def test_says_something():
    """Five even grades and 1000 rows: the normal interval, of about four standard errors."""
    for table in draw("many rows")[0][:50]:
        found = roc_auc_interval(table)
        assert found.upper - found.lower == pytest.approx(2 * 1.959964 * found.standard_error, rel=0.02)
        assert found.upper - found.lower < 0.06
