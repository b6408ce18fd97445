"""Logistic regression on one column with one of its two coefficients held fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.table.pooling import FloatArray

_MOST_STEPS = 100
_NEAR = 1e-10


@dataclass(frozen=True, eq=False)
class LogisticProfile:
    """Groups of `n` rows with `k` positives at `x`, of which the positives have log-odds ``intercept + slope x``."""

    x: FloatArray
    n: FloatArray
    k: FloatArray

    def other(self, column: int, at: float, start: float) -> float:
        """Value of the other coefficient that fits best beside this intercept (column 0) or slope (1).

        It is sought from `start`, by Newton's method, and by halving where that leaves what is known of it.
        """
        ones = np.ones_like(self.x)
        target, other = (ones, self.x) if column == 0 else (self.x, ones)
        offset, free = at * target, start
        low, high = -math.inf, math.inf
        for _ in range(_MOST_STEPS):
            chance = logistic(offset + free * other)
            residual = self.k - self.n * chance
            slope = float(np.dot(other, residual))
            information = float(np.dot(other * other, self.n * chance * (1.0 - chance)))
            low, high = (free, high) if slope > 0.0 else (low, free)
            step = slope / information if information > 0.0 else math.copysign(math.inf, slope) if slope else 0.0
            if abs(step) <= _NEAR * max(1.0, abs(free)):
                return free + step
            new = free + math.copysign(min(abs(step), max(1.0, abs(free))), step)
            free = new if low < new < high else 0.5 * (low + high)
        return free


def logistic(logit: FloatArray) -> FloatArray:
    """Probability of log-odds, without overflow."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0.0, 1.0, small) / (1.0 + small))
