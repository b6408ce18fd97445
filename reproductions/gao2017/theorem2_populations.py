"""Populations whose calibration error is known exactly, for one classifier and for classes of classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from calibrant.metrics import cutoff_calibration_error

__all__ = ["POPULATIONS", "CellClass", "Population", "SigmoidClass", "largest_over_monotone"]

Array = npt.NDArray[np.float64]


class Population(NamedTuple):
    """Scores spread evenly over an interval, or at one place, and the chance of a positive at each score.

    Attributes
    ----------
    name : str
        In words.
    low, high : float
        Ends of the interval of scores.
    chance : callable
        From scores to chances.
    error : float
        Calibration error, by integration of a polynomial.
    """

    name: str
    low: float
    high: float
    chance: Callable[[Array], Array]
    error: float

    def draw(self, n: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.bool_], Array]:
        """Draw labels and scores."""
        s = self.low + (self.high - self.low) * rng.random(n)
        return rng.random(n) < self.chance(s), s


POPULATIONS = (
    Population("calibrated", 0.0, 1.0, lambda s: s, 0.0),
    Population("too low by 0.05", 0.0, 0.95, lambda s: s + 0.05, 0.05),
    # The chance crosses the score at 1/2; the residual 1/4 - s/2 over (0, 1/2) makes 1/16.
    Population("too extreme", 0.0, 1.0, lambda s: 0.25 + 0.5 * s, 1.0 / 16.0),
    Population("scores without meaning", 0.0, 1.0, lambda s: np.full_like(s, 0.5), 1.0 / 8.0),
    Population("one score: 0.5, chance 0.6", 0.5, 0.5, lambda s: np.full_like(s, 0.6), 0.1),
    Population("rare, calibrated", 0.0, 0.04, lambda s: s, 0.0),
)


class SigmoidClass:
    """The maps ``expit(a logit(s) + b)`` of scores uniform on [0, 1], for a grid of a (both signs) and b.

    The chance is the score itself, and so errors of the maps follow by integration over a fine grid.
    """

    def __init__(self) -> None:
        self._maps = [(a, b) for a in (-0.5, 0.25, 0.5, 1.0, 2.0, 4.0) for b in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        middle = (np.arange(200_000) + 0.5) / 200_000
        self.errors = [_range(middle - self._apply(middle, a, b)) for a, b in self._maps]

    def __len__(self) -> int:
        return len(self._maps)

    @staticmethod
    def _apply(s: Array, a: float, b: float) -> Array:
        mapped: Array = expit(a * logit(s) + b)
        return mapped

    def largest_deviation(self, y: npt.NDArray[np.bool_], s: Array) -> float:
        """Return the largest ``|c - c_emp|`` over the class."""
        found = (cutoff_calibration_error(y, self._apply(s, a, b)) for a, b in self._maps)
        return max(abs(error - seen) for error, seen in zip(self.errors, found, strict=True))


def _range(residual: Array) -> float:
    walk = np.append(0.0, np.cumsum(residual))
    return float(np.ptp(walk)) / len(residual)


def largest_over_monotone(y: npt.NDArray[np.bool_], s: Array) -> float:
    """Return the largest deviation over all nondecreasing maps g and intervals, for ``P(Y = 1 | s) = s`` on [0, 1].

    That of the mean of ``(Y - g) 1_I`` from its expectation, which bounds ``|c - c_emp|`` of every ``g(s)``. It is
    linear in g, and so attained at a jump from 0 to 1 at some x: positives of I below x less negatives above it.
    """
    order = np.argsort(s)
    s, y = s[order], y[order]
    positives, negatives = np.cumsum(y) / len(s), np.cumsum(~y) / len(s)
    # The deviations just before and just after each score.
    up = _both_sides(positives, 0.5 * s**2, 0.5)
    down = _both_sides(negatives, s - 0.5 * s**2, 0.5)
    climbs = []
    for sign in (1.0, -1.0):
        below, above = sign * up, -sign * down
        climb = below - np.minimum.accumulate(below)
        climbs.append(float((climb + np.maximum.accumulate(above[::-1])[::-1] - above).max()))
    return max(climbs)


def _both_sides(seen: Array, expected: Array, total: float) -> Array:
    before = np.append(0.0, seen[:-1])
    inside = np.column_stack([before - expected, seen - expected]).ravel()
    return np.concatenate([[0.0], inside, [seen[-1] - total]])


class CellClass:
    """All functions on a number of equally likely cells: a class that is as rich as one likes.

    Parameters
    ----------
    cells : int
        Number of cells.
    """

    def __init__(self, cells: int) -> None:
        self.cells = cells

    def complexity(self, n: int, runs: int, rng: np.random.Generator) -> Array:
        """Draw Rademacher sums: an interval of scores can be any set of cells, so take those with positive sums."""
        rows = rng.multinomial(n, np.full(self.cells, 1.0 / self.cells), size=runs)
        return np.asarray(np.maximum(2 * rng.binomial(rows, 0.5) - rows, 0).sum(axis=1) / n)

    def deviations(self, n: int, runs: int, rng: np.random.Generator) -> Array:
        """Draw the largest deviation over functions and intervals, where each cell has chance 1/2.

        That of the mean of ``(Y - f) 1_I``: in each cell take the best of outside the interval, score 0, score 1.
        """
        chances = np.full(2 * self.cells, 0.5 / self.cells)
        counts = rng.multinomial(n, chances, size=runs) / n - chances
        up, down = counts[:, : self.cells], counts[:, self.cells :]
        best = [np.maximum(np.maximum(sign * up, -sign * down), 0.0).sum(axis=1) for sign in (1.0, -1.0)]
        return np.asarray(np.maximum(*best))

    def distances(self, n: int, runs: int, rng: np.random.Generator) -> Array:
        """Draw the largest ``|c - c_emp|`` over functions, where there are no positives.

        Then c is the mean score and c_emp that of the rows: the best score is 1 in cells with too few rows.
        """
        share = 1.0 / self.cells
        rows = rng.multinomial(n, np.full(self.cells, share), size=runs)
        return np.asarray(np.maximum(share - rows / n, 0.0).sum(axis=1))
