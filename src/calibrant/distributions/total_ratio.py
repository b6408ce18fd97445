"""Limits and tests for what was observed and what was predicted: totals that a few outcomes may decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits, limit_excess, mean_deviate
from calibrant.distributions.brownian import LEAST_EVENTS, normal_quantile, range_survival, range_upper_quantile
from calibrant.distributions.cluster_jackknife import LOG, PLAIN, Jackknife
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, sorted_values

# Largest outcomes from which the tail index is estimated.
FEWEST, _SHARE = 20, 0.02
# Below the first index a few outcomes decide every mean. By index, how many times the largest one that was not seen may
# be: found by counting; an infinite variance (index 2) often seems less heavy. From so many outcomes and the last index
# on it does not matter.
HEAVY = 1.5
_MANY, _LIGHT = 50_000, 2.5
_FACTORS = ((HEAVY, 3), (_LIGHT, 2))
_LEAST, _MOST, _FINE_LEVEL = 1e-6, 0.5, 0.01  # levels between which the p-value is sought, and its relative error


def range_p_value(
    residual: FloatArray, ends: IndexArray, unseen: tuple[float, float] = (0.0, 0.0), squares: float | None = None
) -> float:
    """P-value of the self-normalised range; 1 if all residuals are 0.

    `ends` are the last rows of each prediction. With `unseen`, sizes that residuals above 0, and below, may have, what
    these may add is taken off: the p-value is then the level at which the range, less the limit at that level, is just
    significant. `squares` is the sum that the range is measured by; by default that of the residuals.
    """
    squares = float(residual @ residual) if squares is None else squares
    scale, cumulative = math.sqrt(squares), np.cumsum(residual)[ends]
    if scale == 0.0:
        return 1.0
    size = float(max(0.0, cumulative.max()) - min(0.0, cumulative.min()))
    if not any(unseen):
        return range_survival(size / scale)
    return level_of_range(size, lambda level: scale * range_upper_quantile(level), residual, unseen)


def level_of_range(
    size: float, quantile: Callable[[float], float], residual: FloatArray, unseen: tuple[float, float]
) -> float:
    """Level at which a range, less what draws that were not seen may add, is just above its quantile."""

    def too_small(level: float) -> bool:
        beyond = size - quantile(level)
        sides = zip((residual, -residual), unseen, strict=True)
        return beyond < 0.0 or any(end and _may_add(of_side, end, beyond, level) for of_side, end in sides)

    return bisect(too_small, _LEAST, _MOST, atol=_LEAST, rtol=_FINE_LEVEL)[1]


def _may_add(residual: FloatArray, end: float, more: float, level: float) -> bool:
    """Whether residuals up to an end, which were not seen, may add so much to the sum of all.

    Beyond chance: it is judged by the limit of Gaffke for the mean, with the end of the range there, and how far that
    is above the normal limit.
    """
    n = len(residual)
    chance = -normal_quantile(level) * float(residual.std()) * math.sqrt(n)
    at = float(residual.mean()) + (chance + more) / n
    return end > at and limit_excess(1, Draws(residual - at, np.ones(n)), end - at, 1.0 - 2.0 * level) > 0.0


def tail_factor(outcome: FloatArray) -> int:
    """How many times the largest outcome one that was not seen may be; 0 if that does not matter."""
    index = tail_index(outcome)
    for below, factor in _FACTORS:
        if index < below:
            return factor
    return 0 if len(outcome) >= _MANY and index >= _LIGHT else 1


def tail_index(outcome: FloatArray) -> float:
    """Hill's estimate of the tail index from the largest 2% of the positive outcomes, at least 20; NaN of too few."""
    positive = sorted_values(outcome[outcome > 0.0])
    largest = max(FEWEST, math.ceil(_SHARE * len(positive)))
    if len(positive) <= largest:
        return math.nan
    excess = float(np.log(positive[-largest:] / positive[-largest - 1]).mean())
    return 1.0 / excess if excess > 0.0 else math.inf


_FAR, _FINE = 1e3, 1e-9  # deviates beyond which all are alike; fraction up to which a limit is known
_EQUAL = 1e-12  # of the largest value: a spread that is rounding
_ALIKE = 3.0  # times the median of outcomes other than 0, up to which the largest shows no tail


def by_draw(cluster: IntArray | None, *columns: FloatArray) -> list[FloatArray]:
    """Add up columns of rows, and the number of rows, by cluster; without clusters every row is a draw."""
    columns = (*columns, np.ones(len(columns[0])))
    if cluster is None:
        return list(columns)
    return [np.bincount(cluster, column).astype(np.float64) for column in columns]


def ratio_limits(totals: Sequence[FloatArray], level: float) -> tuple[float, float, str]:
    """Limits for the ratio of two sums over independent rows, or clusters of such sizes; or NaN, and why.

    The totals are those of `by_draw`: top, bottom, size, cap and rows. No entry of the first can be above its cap,
    which may be infinite: what the rows of one cluster bring on average may then be what each row of another brings.
    """
    top, bottom, size, cap, rows = totals
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, without = float(np.divide(top.sum(), bottom.sum())), (top.sum() - top) / (bottom.sum() - bottom)
    lower, upper, why = Jackknife(size).limits(ratio, without, level, LOG if top.min() >= 0.0 else PLAIN)
    if why:
        return lower, upper, why
    expected = ratio * bottom
    residual = top - expected
    sizes = np.abs(top[top != 0.0])
    alike = sizes.max() <= _ALIKE * np.median(sizes)
    if alike or residual @ residual >= LEAST_EVENTS * np.abs(residual).max() ** 2:
        return lower, upper, ""
    low, high = _farthest(top / rows)
    ends = float((low * rows - expected).min()), float((np.minimum(high * rows, cap) - expected).max())
    if not np.isfinite(ends).all():
        return math.nan, math.nan, f"no interval: only {len(sizes)} outcomes differ from 0, and there is no cap"
    draws = Draws(residual, np.ones(len(top)))
    below, above = (ratio + float(limit) / float(bottom.mean()) for limit in bounded_mean_limits(draws, *ends, level))
    return min(lower, below), max(upper, above), ""


class DrawTotals(NamedTuple):
    """What rows, or clusters of them, have brought, what they were expected to, their sizes, and what they may bring.

    Where it is not known how little or how much that is, these are infinite: what the rows of one bring on average may
    be what each row of another brings. Where rows were looked at with known chances, `largest` is the same if each had
    the largest weight that there can be, and `rows` are weights.
    """

    observed: FloatArray
    expected: FloatArray
    size: FloatArray
    least: FloatArray
    most: FloatArray
    rows: FloatArray
    largest: DrawTotals | None = None

    def deviates(self, shift: float = 0.0) -> tuple[float, float]:
        """Normal deviates of both tails, by the limits of Gaffke, if the mean is shifted for each unit of size."""
        draws, at = Draws(self.observed - self.expected - shift * self.size, np.ones(len(self.size))), self
        if self.largest is not None:
            at = self.largest
        expected = at.expected + shift * at.size
        least, most = (
            side * float((side * (end - expected)).max()) for side, end in zip((-1, 1), self._ends(at), strict=True)
        )
        return mean_deviate(-1, draws, min(0.0, least)), mean_deviate(1, draws, max(0.0, most))

    def tails(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities of at least, and of at most, what was observed, if the mean is that expected."""
        from scipy.special import ndtr

        more, fewer = ndtr(self.deviates())
        return more, fewer

    def limits(self, below: float, above: float) -> tuple[float, float]:
        """Limits of the mean for each unit of size, of which each fails with its probability: at most 1/4."""
        size, expected = float(self.size.sum()), float(self.expected.sum())
        result, seen = [], (float(self.observed.sum()) - expected) / size
        for i, (part, *ends) in enumerate(zip((below, above), (self.least, self.most), self._ends(self), strict=True)):
            at, last = ((float(end.sum()) - expected) / size for end in ends)
            apart = math.isfinite(last) and abs(last - seen) > _EQUAL * (abs(last) + abs(expected / size))
            if part and apart and self.deviates(last)[i] < (goal := normal_quantile(part)):
                at = self._shift(i, goal, last, seen)
            result.append(expected / size + at)
        return result[0], result[1]

    def _ends(self, at: DrawTotals) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most that each can bring at some weights, as was seen where that is not known."""
        low, high = (end * at.rows for end in _farthest(self.observed / self.rows))
        return np.where(np.isinf(at.least), low, at.least), np.where(np.isinf(at.most), high, at.most)

    def _shift(self, i: int, goal: float, last: float, seen: float) -> float:
        """Return the shift at which one of the deviates is that asked for: between an end of the range and 0."""
        from scipy.optimize import brentq

        def above(shift: float) -> float:
            return max(-_FAR, min(_FAR, self.deviates(shift)[i])) - goal

        return float(brentq(above, last, seen, xtol=_FINE * abs(seen - last), rtol=_FINE))


class TTest(NamedTuple):
    """Probabilities of a mean at least so high, and at most, and about how often either is within a level."""

    tails: tuple[FloatArray, FloatArray]
    sizes: tuple[float, float]


def student_test(difference: FloatArray, level: float) -> TTest:
    """Test that the mean of independent differences is 0, by Student's distribution; sizes by an Edgeworth expansion.

    These take the skewness and the kurtosis seen (Hall 1992, section 2.6). All are NaN where there is one difference,
    or all are equal: there is no such test.
    """
    from scipy.special import stdtr

    n, apart = len(difference), difference - difference.mean()
    spread = float(np.sqrt((apart**2).mean()))
    if spread <= _EQUAL * float(np.abs(difference).max()):
        return TTest((np.array(math.nan),) * 2, (math.nan, math.nan))
    t = math.sqrt(n - 1.0) * float(difference.mean()) / spread
    skewness, kurtosis = (float(((apart / spread) ** power).mean()) for power in (3, 4))
    z = -normal_quantile(level)
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    odd = skewness * (2.0 * z * z + 1.0) / (6.0 * math.sqrt(n))
    even = z / n * ((kurtosis - 3.0) * (z * z - 3.0) / 12.0 - skewness**2 * (z**4 + 2.0 * z * z - 3.0) / 18.0)
    above, below = (min(1.0, max(0.0, level - density * (sign * odd + even))) for sign in (1.0, -1.0))
    return TTest((stdtr(n - 1, -t), stdtr(n - 1, t)), (above, below))


def _farthest(outcome: FloatArray) -> tuple[float, float]:
    """Return between which totals those are that were not seen, by how slowly totals fall off; infinite of too few.

    They are of the signs that were seen; if all are 0, of both.
    """
    if not outcome.any():
        return -math.inf, math.inf
    factor = max(1, tail_factor(outcome)) if np.count_nonzero(outcome) > FEWEST else math.inf
    low, high = (factor * most if most > 0.0 else 0.0 for most in (-float(outcome.min()), float(outcome.max())))
    return -low, high
