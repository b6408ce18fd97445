"""Rotations of the cumulative residuals of clusters: what chance makes of their sum (docs/theory/3-clusters.md).

A cluster g brings a walk W_g over the scores and counts m_g rows. If every score is right, the sum of all walks S
stays near 0. Were the walks normal and alike, any rotation of them would be as probable as they are, so that the range
of S would be one of those of ``sum u_g W_g``, with u uniform on the sphere around 0 that the vector of ones lies on.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.table.pooling import FloatArray
from calibrant.table.progress import report_progress

# Rotated sums are enlarged: of skewed walks, such as those of rare events, the spread is underrated where few go far.
# 4% keep the test of 5 to 50 clusters with shared effects at its level.
_WIDER = 1.04
_FACTORS = 1 << 21  # random factors held at a time
_SLACK = 1e-12  # ranges that agree with the observed one but for rounding count as reaching it
_STEPS = 16  # errors tried on a way to the lower bound, of which the last step is halved
_HALVINGS = 8


@dataclass(frozen=True, eq=False)
class Rotations:
    """The sum of the walks of all clusters at some scores, its rotations, and ranges of walks of independent rows.

    All are errors: relative to all rows. An error c is rejected if walks less their parts ``m_g c S / M`` of a drift of
    that error seldom go as far as what is left of S, and neither do independent rows: the dependence of rows within a
    cluster only adds to what these do, but few clusters with few events may all agree by chance.
    """

    walk: FloatArray  # shape (k,), from 0 on
    rotated: FloatArray  # shape (b, k)
    size: FloatArray  # rows rotated like the walks, over all rows, shape (b,)
    independent: FloatArray  # ranges, shape (b,)
    student: FloatArray  # factors that make of rotations what normal walks of so few clusters may show, shape (b,)
    hidden: Callable[[float], float]  # largest error that nothing shows, with a given probability

    @cached_property
    def observed(self) -> float:
        """Range of the sum."""
        return float(np.ptp(self.walk))

    def p_value(self) -> float:
        """Smallest level at which no error at all is rejected."""
        levels = range(1, len(self.size) + 1)
        ranges = self._ranges(0.0)
        # the larger the level, the less is hidden and the fewer rotations reach the rest
        level = 1 + bisect_left(levels, True, key=lambda level: self._reached(ranges, self.observed, level) <= level)
        return level / (len(self.size) + 1.0)

    def lower_bound(self, delta: float, side: int = 0) -> float:
        """Largest error up to which all are rejected at a level; above 0 only if the p-value is at most that.

        Of one `side`, only a rise of the walk counts (1: predictions are too low), or a fall (-1).
        """
        level, value = self._level(delta), self.observed
        if side:
            value = float((side * self.walk - np.minimum.accumulate(side * self.walk)).max())

        def rejected(share: float) -> bool:
            return self._reached(self._ranges(share), (1.0 - share) * value, level) <= level

        share, step = 0.0, 1.0 / _STEPS
        if not value or not rejected(0.0):
            return 0.0
        while share + step < 1.0 and rejected(share + step):
            share += step
        for _ in range(_HALVINGS):
            step *= 0.5
            share += step * rejected(share + step)
        return share * value

    def width(self, delta: float) -> float:
        """Width of a band around the errors seen on all intervals at once.

        The larger of three quantiles: of the ranges of multiplied walks around their expectation, of these walks
        themselves, which is safe where clusters happen to agree, and of independent rows.
        """
        rank = len(self.size) + 1 - self._level(delta)
        ranges = (*(self.student * self._ranges(share)[0] for share in (0.0, 1.0)), self.independent)
        quantile = max(float(np.partition(one, rank - 1)[rank - 1]) for one in ranges)
        return math.hypot(quantile, self.hidden(delta))

    def _ranges(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Ranges of the rotated walks less a share of the drift seen, and those of independent rows."""
        moved = self.rotated if share == 0.0 else self.rotated - np.outer(share * self.size, self.walk)
        return np.ptp(moved, axis=1), self.independent

    def _reached(self, ranges: tuple[FloatArray, FloatArray], value: float, level: int) -> int:
        """Count ranges that reach a value, what is hidden included, and the observed one: the larger count."""
        hidden = self.hidden(min(level / (len(self.size) + 1.0), 1.0))
        return 1 + max(int(np.count_nonzero(np.hypot(one, hidden) >= value - _SLACK)) for one in ranges)

    def _level(self, delta: float) -> int:
        """Most rotations, and the observed walk, that may reach what is rejected."""
        rotations = len(self.size)
        level = math.floor(delta * (rotations + 1) + 1e-9)
        if not level:
            expected = f"at least {math.ceil(1.0 / delta - 1e-9) - 1} simulations for this delta"
            raise ArgumentError(expected, f"{rotations}", "raise n_simulations, or choose a larger delta")
        return level


def nothing_hidden(_: float) -> float:
    """Say that there are no errors but those that clusters show."""
    return 0.0


def rotate(
    walks: FloatArray,
    size: FloatArray,
    variance: FloatArray,
    n_rotations: int,
    rng: np.random.Generator,
    hidden: Callable[[float], float] = nothing_hidden,
) -> Rotations:
    """Rotate the walks of g clusters at k scores, given in shape (k, g), with 0 in the first row.

    `size` has the rows of each cluster, as they count, and `variance` that of the sum from each of the scores to the
    next, k - 1 numbers, were rows independent and every score right.
    """
    clusters, total = len(size), float(size.sum())
    rotated, moved = np.empty((n_rotations, len(walks))), np.empty(n_rotations)
    at_once = max(1, min(n_rotations, _FACTORS // clusters))
    for start in range(0, n_rotations, at_once):
        report_progress("Rotating clusters", start / n_rotations)
        part = slice(start, min(n_rotations, start + at_once))
        u = rng.standard_normal((part.stop - start, clusters))
        u *= _WIDER * math.sqrt(clusters) / np.sqrt(np.einsum("rg,rg->r", u, u))[:, None] / total
        rotated[part], moved[part] = u @ walks.T, u @ size
    deviation = np.sqrt(np.append(0.0, variance)) / total
    independent = np.ptp(np.cumsum(rng.standard_normal(rotated.shape) * deviation, axis=1), axis=1)
    freedom = total**2 / float(size @ size) - 1.0
    squares = rng.chisquare(clusters, n_rotations) / (clusters - 1.0)  # a normal vector is a rotation of its length
    student = np.sqrt(squares * freedom / rng.chisquare(freedom, n_rotations))
    return Rotations(walks.sum(axis=1) / total, rotated, moved, independent, student, hidden)
