"""How many errors among the first rows, for every number of them, show a rate of errors below a limit.

One boundary c(k) holds for all k at once: a random walk that makes an error with chance alpha in each of n steps is
ever at or below it with probability at most delta (docs/theory/13-selective.md). It never falls, and rises by at most
one from k to k + 1, which the theorem about populations needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, IntArray

_STEP = 0.1  # between the numbers of rows at which it is computed, in standard deviations of the errors
_GROWTH = 0.25  # the level at k of n rows, each by itself, is proportional to (k / n) to this power
_SPENT, _CLOSE = 0.9985, 0.997  # shares of delta: aimed at, and near enough
_TRIES = 24
_UNLIKELY = 1e-4  # share of delta that may be spent on paths that are left out of the computation
_ROUNDING = 1e-15  # per number of rows
_MOST_REMEMBERED = 256


@dataclass(frozen=True, eq=False)
class WalkBoundary:
    """Errors that are allowed among the first rows, for every number of them up to n.

    Attributes
    ----------
    rows : ndarray of int64
        Increasing numbers of rows at which the boundary was computed; the last is n, or one above it where not even
        n rows without an error are enough.
    errors : ndarray of int64
        Errors that are allowed there; -1 where even none is too many.
    crossing : float
        Probability that the walk is ever at or below the boundary; at most delta.
    """

    rows: IntArray
    errors: IntArray
    crossing: float

    def allowed(self, rows: npt.ArrayLike) -> IntArray:
        """Errors that are allowed among so many rows, from none to n; -1 where even none is too many.

        Between two numbers of rows at which it was computed, the boundary is as high as it can be without being reached
        by a path that is above it at both: errors never become fewer, and at most as many more as there are rows more.
        """
        k = np.asarray(rows, dtype=np.int64)
        after = np.searchsorted(self.rows, k)
        before = np.where(after > 0, self.errors[after - 1], -1)
        return np.asarray(np.maximum(before, self.errors[after] - (self.rows[after] - k)))

    @property
    def first(self) -> int:
        """Smallest number of rows of which none may be an error; above n if no number up to n is enough."""
        i = int(np.argmax(self.errors >= 0))
        return int(self.rows[i] - self.errors[i])


def rows_without_error(rate: float, delta: float) -> int:
    """Smallest number of rows that show no error with probability at most `delta`, if errors have this rate."""
    return max(1, math.ceil(math.log(delta) / math.log1p(-rate)))


@lru_cache(maxsize=_MOST_REMEMBERED)
def walk_boundary(n: int, rate: float, delta: float) -> WalkBoundary:
    """Boundary for n steps that each are an error with chance `rate`, crossed with probability at most `delta`.

    The binomial limits at each number of rows, at a level such that a walk crosses them with nearly that probability.
    It is computed exactly, by carrying the distribution of the errors of paths that are still above the boundary from
    one number of rows to the next. What is dropped from it counts as crossing, so the level is never exceeded.
    """
    first = rows_without_error(rate, delta)
    best = WalkBoundary(np.array([max(first, n + 1)]), np.array([0]), 0.0)
    if first > n:
        return best
    rows, low, high = _rows(first, n, rate), math.log(delta) - 20.0, math.log(delta) + 0.01
    level = math.log(delta) - math.log1p(1.1 * math.log(n / first))  # near the answer for usual rates
    for _ in range(_TRIES):
        limits = binomial_limits(rows, rate, np.exp(level + _GROWTH * np.log(rows / n)))
        errors = np.minimum.accumulate(np.maximum.accumulate(limits) - rows) + rows  # to rise as they must
        crossing = _crossing(rows, errors, rate, _UNLIKELY * delta)
        low, high = (level, high) if crossing <= delta else (low, level)
        if best.crossing < crossing <= delta and errors[-1] >= 0:
            best = WalkBoundary(rows, errors, crossing)
        if best.crossing >= _CLOSE * delta:
            break
        level += math.log(_SPENT * delta / crossing)  # nearly proportional
        if not low < level < high:
            level = 0.5 * (low + high)
    return best


def _rows(first: int, n: int, rate: float) -> IntArray:
    """Numbers of rows from the first to n, near enough to each other for little to be lost between them."""
    rows = [first]
    while rows[-1] < n:
        rows.append(min(n, rows[-1] + max(1, int(_STEP * math.sqrt(rows[-1] * (1.0 - rate) / rate)))))
    return np.array(rows, dtype=np.int64)


def binomial_limits(rows: IntArray, rate: float, level: FloatArray) -> IntArray:
    """Most errors that so many rows or fewer show with probability at most `level`, each by itself; -1 if none is."""
    from scipy.special import bdtr, bdtrik

    errors = np.floor(np.nan_to_num(bdtrik(level, rows, rate), nan=-1.0))
    errors -= np.where(errors >= 0, bdtr(np.maximum(errors, 0), rows, rate) > level, 0)
    return np.asarray(errors, dtype=np.int64)


def _crossing(rows: IntArray, errors: IntArray, rate: float, dropped: float) -> float:
    """Probability that the walk is ever at or below the boundary, and at most `dropped` more."""
    tail = 0.25 * dropped / len(rows)
    chance, least = np.ones(1), 0  # of being above so far with `least` errors, one more and so on
    for step, limit in zip(np.diff(rows, prepend=0).tolist(), errors.tolist(), strict=True):
        fewest, steps = _binomial(step, rate, tail)
        chance = np.convolve(chance, steps)
        least += fewest
        below = max(0, limit - least + 1)
        above = len(chance) - int(np.searchsorted(np.cumsum(chance[::-1]), tail))
        chance, least = chance[below:above], least + below
    return float(1.0 - chance.sum() + _ROUNDING * len(rows))


@lru_cache(maxsize=4096)
def _binomial(n: int, rate: float, tail: float) -> tuple[int, FloatArray]:
    """Least number of errors that is likely, and the chances of it and of those that follow; tails are left out."""
    mode = min(n, int((n + 1) * rate))
    reach = 12.0 * math.sqrt(n * rate * (1.0 - rate)) + 30.0
    j = np.arange(max(0, int(mode - reach)), min(n, int(mode + reach)) + 1)
    # Products of ratios from the largest on, whose sum is known: that of logarithms of factorials would be off by more.
    ratio = (n - j[:-1]) / (j[:-1] + 1.0) * (rate / (1.0 - rate))
    at = mode - int(j[0])
    chance = np.concatenate([np.cumprod(1.0 / ratio[:at][::-1])[::-1], [1.0], np.cumprod(ratio[at:])])
    chance /= chance.sum()
    first, last = (int(np.searchsorted(np.cumsum(side), tail)) for side in (chance, chance[::-1]))
    return int(j[first]), chance[first : len(chance) - last]
