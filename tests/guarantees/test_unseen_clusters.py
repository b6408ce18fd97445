"""Intervals that allow for unseen clusters hold where whole clusters go wrong, few of them do, and sizes differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.auditing.performance import Performance, performance_of
from calibrant.distributions import cluster_jackknife
from calibrant.table.clusters import cluster_rows
from support.counting import assert_failures_within, decided

NAMES = [field.name for field in fields(Performance)]
LEVEL, THRESHOLD = 0.05, 0.2
WIDE = (0.1, 0.3, 0.5, 0.7, 0.9), (0.2,) * 5
SHARP = (0.02, 0.1, 0.9, 0.98), (0.25,) * 4
RARE = (0.002, 0.005, 0.01, 0.02, 0.04), (0.3, 0.3, 0.2, 0.15, 0.05)  # positives are 1%

EQUAL_10, EQUAL_50, EQUAL_200 = (np.full(n, 40) for n in (10, 50, 200))
HUGE = np.append(980, np.full(49, 20))  # one cluster has half of all rows
THREE = np.append([258] * 3, np.ones(226, dtype=int))
TAILS = np.minimum(400, np.ceil(3 * (1 - (np.arange(50) + 0.5) / 50) ** (-1 / 1.5))).astype(int)


@dataclass(frozen=True)
class Clusters:
    """Rows are calibrated, but for clusters in which all labels are reversed, or all are 1 (`event`).

    Given the sizes, each cluster goes wrong with probability `share`. Rows of the others are independent, or one
    uniform number decides all labels of a cluster; all rows of a cluster may have one score.
    """

    size: np.ndarray
    scores: tuple[tuple[float, ...], tuple[float, ...]]
    share: float
    event: str = "reversed"
    one_number: bool = False
    one_score: bool = False

    def truth(self) -> dict[str, float]:
        score, mass = map(np.array, self.scores)
        rate = (1 - self.share) * score + self.share * (1 - score if self.event == "reversed" else 1.0)
        table = ScoreTable.from_counts(score, 0.7 * mass, 0.7 * mass * rate)  # mass, not rows
        found = performance_of(table, confidence_level=0.95, threshold=THRESHOLD)
        return {name: getattr(found, name).value for name in NAMES}

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cluster = np.repeat(np.arange(len(self.size)), self.size)

        def numbers(together: bool) -> np.ndarray:
            return rng.random(len(self.size))[cluster] if together else rng.random(len(cluster))

        at = np.searchsorted(np.cumsum(self.scores[1])[:-1], numbers(self.one_score))
        s = np.array(self.scores[0])[at]
        y = numbers(self.one_number) < s
        wrong = (rng.random(len(self.size)) < self.share)[cluster]
        return np.where(wrong, ~y if self.event == "reversed" else True, y).astype(int), s, cluster


# Where intervals by a design effect missed in 5 to 76% of samples.
CASES = {
    "ten clusters": Clusters(EQUAL_10, SHARP, 0.05),
    "fifty clusters": Clusters(EQUAL_50, SHARP, 0.02),
    "fifty clusters, all positive": Clusters(EQUAL_50, RARE, 0.02, "positive"),
    "rare positives": Clusters(EQUAL_200, RARE, 0.005),
    "rare positives, ten clusters": Clusters(EQUAL_10, RARE, 0.05),
    "one score each": Clusters(EQUAL_50, SHARP, 0.03, one_score=True),
    "one huge cluster": Clusters(HUGE, SHARP, 0.02),
    "three large clusters": Clusters(THREE, RARE, 0.05),
    "three large clusters, often": Clusters(THREE, SHARP, 0.3),
    "heavy tails": Clusters(TAILS, SHARP, 0.05),
    "one number": Clusters(EQUAL_50, WIDE, 0.0, one_number=True),
    "one number, heavy tails": Clusters(TAILS, WIDE, 0.0, one_number=True),
}


def missed(name: str, repetitions: int, shrink: float = 1.0) -> tuple[dict[str, int], int]:
    """How often each interval leaves out the truth, among samples with both classes, and how many these are.

    Counting ends early where it is clear what all samples would show of every interval.
    """
    case = CASES[name]
    true, rng = case.truth(), np.random.default_rng([*name.encode()])
    counts, valid = dict.fromkeys(NAMES, 0), 0
    for _ in range(repetitions):
        y, s, cluster = case.draw(rng)
        if y.all() or not y.any():
            continue
        valid += 1
        asked = {"confidence_level": 0.95, "threshold": THRESHOLD, "unseen_clusters": True}
        found = performance_of(cluster_rows(y, s, cluster), **asked)
        for key, value in true.items():
            one = getattr(found, key)
            lower, upper = (
                one.value + shrink * (end - one.value) if math.isfinite(one.value - end) else end
                for end in (one.lower, one.upper)
            )
            counts[key] += not lower - 1e-9 <= value <= upper + 1e-9
        if decided([*counts.values()], valid, repetitions, LEVEL).all():
            break
    return counts, valid


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold(name):
    counts, valid = missed(name, 40)
    for count in counts.values():
        assert_failures_within(count, valid, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_in_many_samples(name):
    counts, valid = missed(name, 200)
    for count in counts.values():
        assert_failures_within(count, valid, LEVEL)


@pytest.mark.slow
def test_shrunk_intervals_are_caught():
    counts, valid = missed("one number", 50, 0.3)
    for count in counts.values():
        with pytest.raises(AssertionError, match="failures in"):
            assert_failures_within(count, valid, LEVEL)


@pytest.mark.slow
def test_rows_as_draws_are_caught(monkeypatch):
    """With a design effect alone, what no cluster has shown is not allowed for."""
    monkeypatch.setattr(cluster_jackknife, "equal_draws", lambda size, delta: float(size.sum()))
    counts, valid = missed("fifty clusters, all positive", 50)
    for name in ("brier", "log_loss", "observed_minus_predicted", "observed_expected", "calibration_intercept"):
        with pytest.raises(AssertionError, match="failures in"):
            assert_failures_within(counts[name], valid, LEVEL)
