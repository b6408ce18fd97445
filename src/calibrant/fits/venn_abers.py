"""Venn-Abers prediction: the isotonic fit at a new score, once with either label of the new object."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.score_table import ScoreTable
from calibrant.typed_json import Probabilities, Scores

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class VennAbersFit:
    """The two probabilities of every new score, as nondecreasing step functions.

    Each has values between the scores at which it jumps; at such an edge the lower probability has the value above, the
    upper one the value below.
    """

    lower_edge: Scores
    lower_value: Probabilities
    upper_edge: Scores
    upper_value: Probabilities

    def lower(self, score: FloatArray) -> FloatArray:
        """Return the isotonic fit at each score after a negative has been added there."""
        return np.asarray(self.lower_value[np.searchsorted(self.lower_edge, score, side="right")])

    def upper(self, score: FloatArray) -> FloatArray:
        """Return the isotonic fit at each score after a positive has been added there."""
        return np.asarray(self.upper_value[np.searchsorted(self.upper_edge, score, side="left")])


def venn_abers_fit(table: ScoreTable) -> VennAbersFit:
    """Find both probabilities for every score that a new object, of weight 1, may have (Vovk et al. 2015, section 4).

    Cells count at their mean score. The time is proportional to the length of the table, and the result exact for whole
    numbers of rows, up to the rounding of one quotient.

    The isotonic fit is the slope of the greatest convex minorant of the points ``(n, k)``, rows and positives up to
    each score. A new object with label 1 moves the points to the right of it by ``(1, 1)``, and the fit at the
    object is the slope of the line that touches the points to the left and the moved ones from below. That slope is at
    least the fit without the object. Therefore the touching point on the right is a corner of the minorant of the
    table itself, and while it stays the same, the slope is the largest one from any point on the left. As the object
    moves up, both touching points and the slope only move up, and points to the left of the touching one never matter
    again. At a score the fit is the same as just below it. A label 0 is the mirror image.
    """
    zero = np.zeros(1, dtype=table.n.dtype)
    n, k = np.append(zero, np.cumsum(table.n)), np.append(zero, np.cumsum(table.k))
    m = len(table)
    corner = np.append(np.searchsorted(table.low, isotonic_fit(table).low), m)

    below, last = _touching_points(n, k, corner)
    upper = (k[last] - k[below] + 1) / (n[last] - n[below] + 1)
    upper_edge = table.score[below[1:] - 1]

    misses = n - k
    above, first = _touching_points((n[-1] - n)[::-1], (misses[-1] - misses)[::-1], (m - corner)[::-1])
    last, first = m - above[::-1], m - first[::-1]
    lower = (k[last] - k[first]) / (n[last] - n[first] + 1)
    lower_edge = table.score[last[:-1]]

    # Rounding, of weights that are not whole numbers, may leave values falling or above 1.
    lower, upper = (np.minimum(np.maximum.accumulate(value), 1.0) for value in (lower, upper))
    return VennAbersFit(lower_edge, lower, upper_edge, upper)


def _touching_points(n: NumberArray, k: NumberArray, corner: Indices) -> tuple[Indices, Indices]:
    """Find where the line through an added positive touches, as the number of scores below the object grows.

    `n` and `k` are rows and positives at the first 0, 1, ... m scores, `corner` the corners of the greatest convex
    minorant of these points, first and last point included. Returns every pair of touching points, the right one before
    it was moved; a pair serves from ``left`` scores below the object until the next pair does.
    """
    slopes_behind = [*(np.diff(k[corner[1:]]) / np.diff(n[corner[1:]])).tolist(), math.inf]
    ends = zip(corner[1:].tolist(), n[corner[1:]].tolist(), k[corner[1:]].tolist(), slopes_behind, strict=True)
    left, right = [], []
    end, n_end, k_end, slope_behind = next(ends)
    steepest = -1.0
    for point, (n_point, k_point) in enumerate(zip(n.tolist(), k.tolist(), strict=True)):
        slope = (k_end - k_point + 1) / (n_end - n_point + 1)
        if slope > steepest:
            while slope >= slope_behind:
                end, n_end, k_end, slope_behind = next(ends)
                slope = (k_end - k_point + 1) / (n_end - n_point + 1)
            left.append(point)
            right.append(end)
            steepest = slope
            if steepest >= 1.0:
                break  # only ones follow, and the points to come may lie behind the corner
    return np.array(left), np.array(right)
