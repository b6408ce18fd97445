"""Profile likelihood limits for the intercept and the slope of a logistic regression on one column."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.table.pooling import FloatArray

__all__ = ["LogisticProfile", "logistic"]

_MOST_STEPS = 100
_NEAR = 1e-10
_LONGEST = 8.0  # distances of one step, in units of the last one


@dataclass(frozen=True, eq=False)
class LogisticProfile:
    """Groups of `n` rows with `k` positives at `x`, of which the positives have log-odds ``intercept + slope x``.

    `least` is the smallest deviance there is: that of the maximum likelihood fit, or what it tends to if a score
    separates the classes.
    """

    x: FloatArray
    n: FloatArray
    k: FloatArray
    least: float

    @classmethod
    def of_fit(cls, x: FloatArray, n: FloatArray, k: FloatArray, intercept: float, slope: float) -> LogisticProfile:
        """Make one whose least deviance is that of these coefficients."""
        return cls(x, n, k, _deviance(intercept + slope * x, n, k))

    def limit(self, column: int, centre: float, start: float, most: float) -> float:
        """Value of the intercept (column 0) or the slope (1) at which the least deviance is `most` above all others.

        It is sought from `start`, on whose side of `centre` it lies. The deviance is convex in it, and so is its
        minimum over the other coefficient, so that Newton's method comes near from outside and never passes.
        """
        target, other = (np.ones_like(self.x), self.x) if column == 0 else (self.x, np.ones_like(self.x))
        side = math.copysign(1.0, start - centre)
        at, last, free = start, max(1.0, abs(start)), 0.0
        for _ in range(_MOST_STEPS):
            excess, slope, free = self._at(target, other, at, free)
            excess -= self.least + most
            # the slope has the other sign only where rounding has left nothing of it
            step = -excess / slope if side * slope > 0.0 else -math.copysign(last, excess) * side
            step = math.copysign(min(abs(step), _LONGEST * last), step)
            if side * (at + step - centre) <= 0.0:  # beyond the minimum
                step = 0.5 * (centre - at)
            at, last = at + step, abs(step)
            if last <= _NEAR * max(1.0, abs(at)):
                break
        return at

    def other(self, column: int, at: float, start: float) -> float:
        """Value of the other coefficient that fits best beside this one, sought from `start`."""
        ones = np.ones_like(self.x)
        target, other = (ones, self.x) if column == 0 else (self.x, ones)
        return self._at(target, other, at, start)[2]

    def _at(self, target: FloatArray, other: FloatArray, at: float, free: float) -> tuple[float, float, float]:
        """Least deviance with one coefficient fixed, its derivative in that one, and the other coefficient."""
        offset = at * target
        low, high = -math.inf, math.inf
        for _ in range(_MOST_STEPS):
            chance = logistic(offset + free * other)
            residual = self.k - self.n * chance
            slope = float(np.dot(other, residual))
            information = float(np.dot(other * other, self.n * chance * (1.0 - chance)))
            low, high = (free, high) if slope > 0.0 else (low, free)
            step = slope / information if information > 0.0 else math.copysign(math.inf, slope) if slope else 0.0
            if abs(step) <= _NEAR * max(1.0, abs(free)):
                free += step
                break
            new = free + math.copysign(min(abs(step), max(1.0, abs(free))), step)
            free = new if low < new < high else 0.5 * (low + high)
        logit = offset + free * other
        residual = self.k - self.n * logistic(logit)
        return _deviance(logit, self.n, self.k), -2.0 * float(np.dot(target, residual)), free


def logistic(logit: FloatArray) -> FloatArray:
    """Probability of log-odds, without overflow."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0.0, 1.0, small) / (1.0 + small))


def _deviance(logit: FloatArray, n: FloatArray, k: FloatArray) -> float:
    return 2.0 * float((n * np.logaddexp(0.0, logit) - k * logit).sum())
