"""Search for the population in which a claim fails most often, by exact sums over all samples of a few rows.

What is claimed depends on the counts at each score only. For given scores it is computed once for every sample that
can occur; then any masses and rates of positives can be tried at the cost of a sum. The search draws populations of one
to four scores, crowded at 0 and 1, and improves the worst by moving one rate or mass at a time, above all to where the
truth just passes a limit: between these places the same samples fail, so the worst is beside one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from calibrant import ScoreTable
from support.worlds import World

FloatArray = npt.NDArray[np.float64]
CountArray = npt.NDArray[np.int64]

# A truth this far beyond a limit is outside; a closer one may be there by rounding.
BEYOND = 1e-9
# Random populations for each set of scores, how many of them are improved, and in how many rounds.
DRAWN, IMPROVED, ROUNDS = 40, 2, 3


@dataclass(frozen=True)
class Claim:
    """What is said of a sample, and what it is said about.

    Attributes
    ----------
    limits : callable
        Lower and upper limit, from a table: two numbers, or two arrays with one for each score of the table. Infinite
        where nothing is said.
    truth : callable
        What they should enclose, from a world and `Samples`: a number, one for each score, or one for each sample.
    rates : {"any", "nondecreasing", "calibrated"}
        Worlds for which something is claimed.
    given_rows : bool
        Whether it is about the rows at hand: their scores are fixed, and labels alone are by chance.
    fit : callable, optional
        Probabilities for given scores, from a table and the scores, of a map that the claim is about.
    """

    limits: Callable[[ScoreTable], tuple[npt.ArrayLike, npt.ArrayLike]]
    truth: Callable[[World, Samples], npt.ArrayLike]
    rates: Literal["any", "nondecreasing", "calibrated"] = "any"
    given_rows: bool = False
    fit: Callable[[ScoreTable, FloatArray], FloatArray] | None = None


def upper(bound: Callable[[ScoreTable], float], truth: Callable[[World], float]) -> Claim:
    """Claim that a property of the population is at most so large."""
    return Claim(lambda table: (-np.inf, bound(table)), lambda world, _: truth(world))


def lower(bound: Callable[[ScoreTable], float], truth: Callable[[World], float]) -> Claim:
    """Claim that a property of the population is at least so large."""
    return Claim(lambda table: (bound(table), np.inf), lambda world, _: truth(world))


@dataclass(frozen=True)
class Worst:
    """The probability with which a claim fails, and the world in which it does."""

    probability: float
    world: World


class Samples:
    """All samples that a few scores can give, with what is claimed of each.

    Parameters
    ----------
    claim : Claim
        Evaluated once for each sample.
    score : ndarray, shape (a,)
        Distinct scores in increasing order.
    n : int or ndarray of int, shape (a,)
        Rows of a sample; or rows at each score, where these are given.

    Attributes
    ----------
    n, k : ndarray of int, shape (m, a)
        Rows and positives at each score in each sample.
    fitted : ndarray, shape (m, a)
        What the map of each sample makes of the scores, if the claim is about one.
    """

    def __init__(self, claim: Claim, score: FloatArray, n: int | CountArray) -> None:
        self.claim, self.score = claim, score
        self.n, self.k = _all_samples(len(score), n) if isinstance(n, int) else _all_labels(n)
        tables = [ScoreTable.from_counts(score, *counts) for counts in zip(self.n, self.k, strict=True)]
        if claim.fit is not None:
            self.fitted = np.stack([claim.fit(table, score) for table in tables])
        ends = [self._wide(*claim.limits(table), rows > 0) for table, rows in zip(tables, self.n, strict=True)]
        self._low, self._high = (np.stack(end) for end in zip(*ends, strict=True))
        ways = -gammaln(self.k + 1.0) - gammaln(self.n - self.k + 1.0)
        ways += 0.0 if isinstance(n, int) else gammaln(n + 1.0)
        self._log_ways = ways.sum(axis=1) + (gammaln(n + 1.0) if isinstance(n, int) else 0.0)

    @staticmethod
    def _wide(low: npt.ArrayLike, high: npt.ArrayLike, seen: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Limits for every score of the world where they are given by score, infinite at those without rows."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        if low.ndim:
            ends = np.full(len(seen), -np.inf), np.full(len(seen), np.inf)
            ends[0][seen], ends[1][seen] = low, high
            return ends
        return low, high

    def failure(self, world: World) -> float:
        """Probability that the truth is outside the limits."""
        if self.claim.rates == "nondecreasing" and (np.diff(world.eta) < 0.0).any():
            return 0.0
        truth = np.asarray(self.claim.truth(world, self))
        failed = (truth < self._low - BEYOND) | (truth > self._high + BEYOND)
        if failed.ndim > 1:
            failed = failed.any(axis=1)
        n, k = self.n[failed], self.k[failed]
        log_chance = xlogy(k, world.eta) + xlogy(n - k, 1.0 - world.eta)
        if not self.claim.given_rows:
            log_chance += xlogy(n, world.mass)
        return float(np.exp(self._log_ways[failed] + log_chance.sum(axis=1)).sum())

    def worst(self, rng: np.random.Generator) -> Worst:
        """Draw worlds, and improve those in which the claim fails most often."""
        drawn = [Worst(self.failure(world), world) for world in self._drawn(rng)]
        best = sorted(drawn, key=_probability)[-IMPROVED:]
        return max(map(self._improved, best), key=_probability)

    def _improved(self, worst: Worst) -> Worst:
        if self.claim.rates == "calibrated":
            return worst
        for _ in range(ROUNDS):
            before = worst.probability
            for i in range(len(self.score)):
                found = [Worst(self.failure(world), world) for world in self._moved(worst.world, i)]
                worst = max([worst, *found], key=_probability)
            if worst.probability == before:
                break
        return worst

    def _drawn(self, rng: np.random.Generator) -> Iterator[World]:
        for i in range(DRAWN):
            eta = crowded(rng.random(len(self.score)))
            if i % 3 == 0:  # near the scores, where truths are small
                eta = self.score + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-3, 0, len(eta))
            if self.claim.rates == "nondecreasing":
                eta = np.sort(eta)
            if self.claim.rates == "calibrated":
                eta = self.score
            mass = 10.0 ** (-3.0 * rng.random(len(self.score)))
            yield World(mass / mass.sum(), self.score, np.clip(eta, 0.0, 1.0))

    def _moved(self, world: World, i: int) -> Iterator[World]:
        """Worlds with another rate at one score, just beyond a limit above all, or with more or less mass there."""
        for rate in self._rates_beside_limits(world, i):
            yield _with_rate(world, i, rate)
        if not self.claim.given_rows and len(self.score) > 1:
            for factor in (0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 10.0):
                mass = world.mass.copy()
                mass[i] *= factor
                yield replace(world, mass=mass / mass.sum())

    def _rates_beside_limits(self, world: World, i: int) -> FloatArray:
        """Rates at one score: a grid, and the nearest places at which the truth passes a limit.

        Between points of a finer grid truths are nearly straight lines: these give the place, and a step to either side
        makes up for what they miss.
        """
        grid = np.sort(np.concatenate([np.linspace(0.0, 1.0, 33), crowded(np.linspace(0.1, 0.9, 33))]))
        truths = np.stack([np.asarray(self.claim.truth(_with_rate(world, i, rate), self)) for rate in grid])
        ends = np.concatenate([end[:, i] if end.ndim > 1 else end for end in (self._low, self._high)])
        if self.claim.fit is not None:  # a truth for each sample
            truths = np.concatenate([truths, truths], axis=1)
        else:
            truths = truths[:, i, None] if truths.ndim > 1 else truths[:, None]
            ends = np.unique(ends)
        left, right = truths[:-1], truths[1:]
        step, end = np.nonzero(((left < ends) & (ends <= right)) | ((right < ends) & (ends <= left)))
        column = end if self.claim.fit is not None else np.zeros_like(end)
        share = (ends[end] - left[step, column]) / (right[step, column] - left[step, column])
        places = grid[step] + share * (grid[step + 1] - grid[step])
        near = np.unique(places[np.argsort(np.abs(places - world.eta[i]), kind="stable")[:24]])
        slack = 4.0 * BEYOND / max(1e-3, float(world.mass[i]))
        return np.clip(np.concatenate([near - slack, near + slack, grid[::4]]), 0.0, 1.0)


def worst_failure(claim: Claim, *, scores: int, n: int, tries: int, seed: int = 0) -> Worst:
    """Search over scores, masses and rates.

    Parameters
    ----------
    claim : Claim
        What is said.
    scores : int
        Number of different scores.
    n : int
        Rows of a sample.
    tries : int
        Sets of scores. For each, the claim is evaluated for all samples: ``n + 1`` of one score.
    seed : int
        Of the search; samples are summed up, not drawn.

    Returns
    -------
    Worst
        The largest probability found.
    """
    rng = np.random.default_rng([seed, scores, n])
    found = []
    for place in _score_sets(scores, tries, rng):
        rows = 1 + rng.multinomial(n - scores, np.full(scores, 1.0 / scores)) if claim.given_rows else n
        found.append(Samples(claim, place, rows).worst(rng))
    return max(found, key=_probability)


def crowded(u: npt.ArrayLike) -> FloatArray:
    """Turn even numbers in [0, 1] into ones that crowd at 0 and 1, and reach both."""
    odds = np.exp(16.0 * (np.asarray(u, dtype=float) - 0.5))
    value = odds / (1.0 + odds)
    return np.where(value < 1e-3, 0.0, np.where(value > 1.0 - 1e-3, 1.0, value))


def _score_sets(scores: int, tries: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Certain scores and one half first; then drawn ones, every other time so close that they nearly tie."""
    first = {1: [[0.0], [1.0], [0.5]], 2: [[0.0, 1.0]]}.get(scores, [])
    for i in range(tries):
        if i < len(first):
            yield np.array(first[i])
        elif i % 2:
            yield min(float(crowded(rng.random())), 0.999) + 1e-6 * np.arange(scores)
        else:
            yield np.sort(rng.random(scores))


def _probability(worst: Worst) -> float:
    return worst.probability


def _with_rate(world: World, i: int, rate: float) -> World:
    eta = world.eta.copy()
    eta[i] = rate
    return replace(world, eta=eta)


def _all_samples(scores: int, n: int) -> tuple[CountArray, CountArray]:
    """Rows and positives at each score, in every sample of n rows."""
    cells = np.array(list(_shared_out(n, 2 * scores)), dtype=np.int64)
    return cells[:, ::2] + cells[:, 1::2], cells[:, ::2]


def _all_labels(n: CountArray) -> tuple[CountArray, CountArray]:
    """The given rows, and the positives at each score in every way to label them."""
    k = np.stack(np.meshgrid(*(np.arange(rows + 1) for rows in n), indexing="ij"), axis=-1).reshape(-1, len(n))
    return np.broadcast_to(n, k.shape), k


def _shared_out(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _shared_out(n - first, cells - 1):
            yield first, *rest
