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
import numpy.typing as npt

from calibrant.certificates.widths import brownian_width
from calibrant.distributions.sharp_mean import simultaneous_width
from calibrant.segments.sums import CellTotals
from calibrant.table.score_table import FloatArray

__all__ = ["SHARES", "Listed", "confidence_shares", "detectable_error", "largest_error", "lower_bounds", "upper_bounds"]

# Parts of the probability of failure for: the statement about the worst segment, upper bounds, lower bounds.
SHARES = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
_EQUALLY = 0.5  # part of a family's share that is divided equally among its segments, the rest by their rows


class Listed(NamedTuple):
    """The segments of one family that are judged."""

    totals: CellTotals
    identical: npt.NDArray[np.bool_]  # whether the rows of each are identically distributed
    rows: int  # of all cells of the family, listed or not


def confidence_shares(families: Sequence[Listed]) -> FloatArray:
    """Part of a probability of failure that each segment of all families gets; they add up to at most 1."""
    used = [family for family in families if len(family.identical)]
    parts = [_EQUALLY / len(of.identical) + (1.0 - _EQUALLY) * of.totals.n / of.rows for of in used]
    return np.asarray(np.concatenate(parts) / len(families))


def upper_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Upper bounds on the calibration errors of all segments, each failing with its own probability; at most 1."""
    identical = np.concatenate([family.identical for family in families])
    return _above(families, deltas, identical)


def largest_error(families: Sequence[Listed], delta: float) -> FloatArray:
    """One bound for each segment, of which the largest is above the error of the worst segment.

    The worst segment is one fixed segment, and its own bound fails with probability at most `delta`: their number does
    not matter (intersection-union). Where families overlap, who is in the segments of the others says which mixture of
    them is in a segment; so their rows are not taken for identically distributed.
    """
    identical = np.concatenate([family.identical for family in families])
    if len(families) > 1:
        identical = np.zeros_like(identical)
    return _above(families, np.full(len(identical), delta), identical)


def lower_bounds(families: Sequence[Listed], deltas: FloatArray) -> FloatArray:
    """Asymptotic lower bounds on the calibration errors of all segments, over all intervals of scores; at least 0."""
    totals = [family.totals for family in families]
    variance = np.concatenate([np.maximum(of.brier, of.null_variance) for of in totals])
    n, value = (np.concatenate([getattr(of, name) for of in totals]) for name in ("n", "value"))
    widths = [brownian_width(*each) for each in zip(n.tolist(), variance.tolist(), deltas.tolist(), strict=True)]
    return np.asarray(np.maximum(0.0, value - np.array(widths)))


def _above(families: Sequence[Listed], deltas: FloatArray, identical: npt.NDArray[np.bool_]) -> FloatArray:
    n, most, squares, fourths = (
        np.concatenate([getattr(family.totals, name) for family in families]).astype(np.float64)
        for name in ("n", "at_most", "squares", "fourths")
    )
    squares, fourths = (np.minimum(1.0, total / n) for total in (squares, fourths))
    width = simultaneous_width(n, squares, fourths, deltas, estimate=most, identical=identical)
    return np.asarray(np.minimum(1.0, most + width))


def detectable_error(n: float, variance: float, delta: float, power: float) -> float:
    """Error of a segment of n rows whose lower bound is above 0 with a probability of about `power`."""
    from calibrant.distributions.brownian import normal_quantile

    return brownian_width(n, variance, delta) + normal_quantile(power) * math.sqrt(variance / n)
