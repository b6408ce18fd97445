"""Bounds on the calibration errors of many segments that hold together.

Each family of segments is a partition of the rows, and gets an equal part of the probability of failure. Inside it half
is divided equally among the segments listed, half by their rows: the sizes of the cells of one partition tell nothing
of the outcomes inside any of them. Derivation: docs/theory/10-segments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from calibrant.certificates.widths import brownian_width
from calibrant.distributions.sharp_mean import simultaneous_width
from calibrant.segments.totals import CellTotals
from calibrant.table.pooling import BoolArray, FloatArray, IntArray

# Parts of the probability of failure for: the statement about the worst segment, upper bounds, lower bounds.
SHARES = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
_EQUALLY = 0.5  # part of a family's share that is divided equally among its segments, the rest by their rows


class SegmentBounds(Protocol):
    """Segments that are judged, with bounds on their calibration errors."""

    def upper(self, deltas: FloatArray) -> FloatArray:
        """Return upper bounds, each of which fails with its own probability."""

    def lower(self, deltas: FloatArray) -> FloatArray:
        """Return lower bounds, at least 0."""


class Listed(NamedTuple):
    """The segments of one family that are judged."""

    n: IntArray  # rows of each
    rows: int  # of all cells of the family, listed or not
    judged: SegmentBounds


class EventCells(NamedTuple):
    """Segments of independent rows with labels, of which sums tell all that bounds need."""

    totals: CellTotals
    identical: BoolArray  # whether the rows of each are identically distributed

    def upper(self, deltas: FloatArray) -> FloatArray:
        """Return upper bounds, at most 1."""
        of = self.totals
        n, squares, fourths = (each.astype(np.float64) for each in (of.n, of.squares, of.fourths))
        squares, fourths = (np.minimum(1.0, total / n) for total in (squares, fourths))
        moments, variance = (n, squares, fourths, deltas), of.null_variance
        width = simultaneous_width(*moments, estimate=of.at_most, identical=self.identical, variance=variance)
        return np.asarray(np.minimum(1.0, of.at_most + width))

    def lower(self, deltas: FloatArray) -> FloatArray:
        """Return asymptotic lower bounds, over all intervals of scores."""
        of = self.totals
        variance = np.maximum(of.brier, of.null_variance)
        each = zip(of.n.tolist(), variance.tolist(), deltas.tolist(), strict=True)
        return np.asarray(np.maximum(0.0, of.value - np.array([brownian_width(*one) for one in each])))


def confidence_shares(families: Sequence[Listed]) -> FloatArray:
    """Part of a probability of failure that each segment of all families gets; they add up to at most 1."""
    used = [family for family in families if len(family.n)]
    parts = [_EQUALLY / len(of.n) + (1.0 - _EQUALLY) * of.n / of.rows for of in used]
    return np.asarray(np.concatenate(parts) / len(families))


def upper_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Upper bounds on the calibration errors of all segments, each failing with its own probability."""
    each = zip(families, _by_family(families, deltas), strict=True)
    return np.concatenate([family.judged.upper(part) for family, part in each])


def lower_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Lower bounds on the calibration errors of all segments, at least 0."""
    each = zip(families, _by_family(families, deltas), strict=True)
    return np.concatenate([family.judged.lower(part) for family, part in each])


def _by_family(families: Sequence[Listed], deltas: FloatArray) -> list[FloatArray]:
    return np.split(deltas, np.cumsum([len(family.n) for family in families])[:-1])


def largest_error(families: Sequence[Listed], delta: float) -> float:
    """Bound on the error of the worst segment.

    The worst segment is one fixed segment, and its own bound fails with probability at most `delta`: their number does
    not matter (intersection-union).
    """
    n_segments = sum(len(family.n) for family in families)
    return float(upper_bounds(families, np.full(n_segments, delta)).max())


def verdict_within(lower: float, upper: float, tolerance: float | None) -> str:
    """Verdict on a tolerance, by bounds that hold together with those of others; empty without one."""
    if tolerance is None:
        return ""
    return "refuted" if lower > tolerance else "certified" if upper <= tolerance else "undecided"


def detectable_error(n: float, variance: float, mean_score: float, delta: float, power: float) -> float:
    """Error of a segment of n rows whose lower bound is above 0 with a probability of about `power`.

    Parameters
    ----------
    n : float
        Rows of the segment.
    variance, mean_score : float
        Mean of s (1 - s), or Brier score, and mean of s in the segment.
    delta, power : float
        Probability of failure of the lower bound; probability that it is above 0.
    """
    from calibrant.distributions.brownian import normal_quantile

    # The error itself adds to the Brier score, which the width is made of: e = q sqrt((variance + a e) / n).
    unit = brownian_width(1.0, 1.0, delta) + normal_quantile(power)
    half = 0.5 * unit * unit * abs(1.0 - 2.0 * mean_score) / n
    return half + math.sqrt(half * half + unit * unit * variance / n)
