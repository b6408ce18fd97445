"""Bounds on the calibration errors of many segments that hold together.

Each family of segments is a partition of the rows, and gets an equal part of the probability of failure. Inside it half
is divided equally among the segments listed, half by their rows: the sizes of the cells of one partition tell nothing
of the outcomes inside any of them. Derivation: docs/theory/10-segments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.certificates.widths import brownian_width
from calibrant.distributions.sharp_mean import simultaneous_width
from calibrant.segments.totals import CellTotals
from calibrant.table.pooling import BoolArray, FloatArray

# Parts of the probability of failure for: the statement about the worst segment, upper bounds, lower bounds.
SHARES = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
_EQUALLY = 0.5  # part of a family's share that is divided equally among its segments, the rest by their rows


class Listed(NamedTuple):
    """The segments of one family that are judged."""

    totals: CellTotals
    identical: BoolArray  # whether the rows of each are identically distributed
    rows: int  # of all cells of the family, listed or not


def confidence_shares(families: Sequence[Listed]) -> FloatArray:
    """Part of a probability of failure that each segment of all families gets; they add up to at most 1."""
    used = [family for family in families if len(family.identical)]
    parts = [_EQUALLY / len(of.identical) + (1.0 - _EQUALLY) * of.totals.n / of.rows for of in used]
    return np.asarray(np.concatenate(parts) / len(families))


def upper_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Upper bounds on the calibration errors of all segments, each failing with its own probability; at most 1."""
    n, most, squares, fourths = (
        np.concatenate([getattr(family.totals, name) for family in families]).astype(np.float64)
        for name in ("n", "at_most", "squares", "fourths")
    )
    squares, fourths = (np.minimum(1.0, total / n) for total in (squares, fourths))
    variance = np.concatenate([family.totals.null_variance for family in families])
    identical = _identical(families)
    width = simultaneous_width(n, squares, fourths, deltas, estimate=most, identical=identical, variance=variance)
    return np.asarray(np.minimum(1.0, most + width))


def largest_error(families: Sequence[Listed], delta: float) -> float:
    """Bound on the error of the worst segment.

    The worst segment is one fixed segment, and its own bound fails with probability at most `delta`: their number does
    not matter (intersection-union).
    """
    n_segments = sum(len(family.identical) for family in families)
    return float(upper_bounds(families, np.full(n_segments, delta)).max())


def _identical(families: Sequence[Listed]) -> BoolArray:
    """Whether the rows of each segment are identically distributed, given who is in which segment.

    Where families overlap, the segments of the others say which mixture of them is in a segment.
    """
    identical = np.concatenate([family.identical for family in families])
    return identical if len(families) == 1 else np.zeros_like(identical)


def lower_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Asymptotic lower bounds on the calibration errors of all segments, over all intervals of scores; at least 0."""
    totals = [family.totals for family in families]
    variance = np.concatenate([np.maximum(of.brier, of.null_variance) for of in totals])
    n, value = (np.concatenate([getattr(of, name) for of in totals]) for name in ("n", "value"))
    widths = [brownian_width(*each) for each in zip(n.tolist(), variance.tolist(), deltas.tolist(), strict=True)]
    return np.asarray(np.maximum(0.0, value - np.array(widths)))


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
