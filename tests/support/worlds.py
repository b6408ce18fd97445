"""Populations in which the truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant import ScoreTable

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Scores with their probability and the chance of a positive at each."""

    mass: FloatArray
    score: FloatArray
    eta: FloatArray

    @property
    def error(self) -> float:
        """True cutoff calibration error: the range of the sums of `mass * (eta - score)`."""
        walk = np.concatenate([[0.0], np.cumsum(self.mass * (self.eta - self.score))])
        return float(walk.max() - walk.min())

    def one_sided(self, direction: str) -> float:
        """True error of predictions that are too low, or too high: the largest rise or fall of these sums."""
        walk = np.concatenate([[0.0], np.cumsum(self.mass * (self.eta - self.score))])
        walk *= {"too low": 1.0, "too high": -1.0}[direction]
        return float((walk - np.minimum.accumulate(walk)).max())

    def saving(self, tau: float, threshold: float | None = None) -> float:
        """What the best threshold costs less than another, `tau` by default, at costs tau and 1 - tau."""
        positives = np.concatenate([[0.0], np.cumsum(self.mass * self.eta)])
        negatives = np.concatenate([[0.0], np.cumsum(self.mass * (1.0 - self.eta))])
        costs = tau * (negatives[-1] - negatives) + (1.0 - tau) * positives
        return float(costs[np.searchsorted(self.score, tau if threshold is None else threshold)] - costs.min())

    def samples(self, n: int, repetitions: int, rng: np.random.Generator) -> Iterator[ScoreTable]:
        """Independent samples of n rows."""
        for counts in rng.multinomial(n, self.mass, size=repetitions):
            yield ScoreTable.from_counts(self.score, counts, rng.binomial(counts, self.eta))


def spread(eta, low: float = 0.0, high: float = 1.0, atoms: int = 400) -> World:
    """Scores spread evenly over a range, with a chance of a positive that depends on them."""
    score = low + (high - low) * (np.arange(atoms) + 0.5) / atoms
    return World(np.full(atoms, 1.0 / atoms), score, np.clip(eta(score), 0.0, 1.0))


def at(mass, score, eta) -> World:
    """A few scores."""
    return World(np.array(mass, dtype=float), np.array(score, dtype=float), np.array(eta, dtype=float))


def true_largest_regret(world: World) -> float:
    """All bands of atoms: those that start at the threshold and do not pay, and those that end there and do."""
    mass = np.concatenate([[0.0], np.cumsum(world.mass)])
    positive = np.concatenate([[0.0], np.cumsum(world.mass * world.eta)])
    inside = np.triu(np.ones((len(world.mass),) * 2, dtype=bool))
    share, observed_rate = mass[None, 1:] - mass[:-1, None], positive[None, 1:] - positive[:-1, None]
    too_high, missed = world.score[:, None] * share - observed_rate, observed_rate - world.score[None, :] * share
    return max(0.0, float(too_high[inside].max()), float(missed[inside].max()))


def true_cost(world: World, a: float, b: float) -> float:
    acted = world.score >= a / (a + b)
    return float((world.mass * np.where(acted, a * (1.0 - world.eta), b * world.eta)).sum())


def true_forecast(world: World, a: float, b: float) -> float:
    return true_cost(World(world.mass, world.score, world.score), a, b)


def rows_of(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Labels and scores of the rows of a table."""
    k, rest = table.k.astype(int), (table.n - table.k).astype(int)
    y = np.repeat([1.0, 0.0], [k.sum(), rest.sum()])
    return y, np.concatenate([np.repeat(table.score, k), np.repeat(table.score, rest)])


WORLDS = {
    "calibrated": spread(lambda s: s),
    "overconfident": spread(lambda s: 0.5 + 0.6 * (s - 0.5)),
    "shifted": spread(lambda s: s + 0.05, high=0.95),
    "wave": spread(lambda s: s + 0.1 * np.sin(8 * np.pi * s)),
    "opposite": spread(lambda s: 1.0 - s),
    "rare, twice as many": spread(lambda s: 2.0 * s, high=0.02),
    "rare, calibrated": spread(lambda s: s, high=0.02),
    "rare, never predicted": at([0.98, 0.02], [0.0, 0.3], [0.01, 0.3]),
    "one atom": at([1.0], [0.5], [0.6]),
    "several atoms": at([0.3, 0.2, 0.4, 0.1], [0.1, 0.3, 0.6, 0.9], [0.2, 0.25, 0.5, 0.95]),
    "zeros and ones": at([0.6, 0.4], [0.0, 1.0], [0.1, 0.85]),
    "ten grades": at(np.full(10, 0.1), np.arange(10) / 10 + 0.05, np.linspace(0.15, 0.8, 10)),
    "no one at all": at([1.0], [0.3], [0.0]),
}
