"""Where the scores are: the stretch of [0, 1] worth looking at, and the axis on which to look at it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.parameters import check_count
from calibrant.table.pooling import FloatArray, NumberArray

# Scores that cover at least this much of [0, 1] are shown on all of it.
_WIDE = 0.25
# A square-root axis is used if most rows have scores in the lowest part of what there is to show.
_MOST, _LOWEST = 0.9, 0.3
# Margin on either side, as a share of the axis.
_MARGIN = 0.015


class View(NamedTuple):
    """Stretch of scores to show, with a square-root axis if most scores are near 0, as those of rare events."""

    low: float
    high: float
    square_root: bool = False

    @property
    def remark(self) -> str:
        """What the label of the axis adds."""
        return " (square-root scale)" if self.square_root else ""

    def to_axis(self, score: npt.ArrayLike) -> FloatArray:
        """Position of scores along the axis; negative numbers are for its margin."""
        score = np.asarray(score, dtype=np.float64)
        return np.sign(score) * np.sqrt(np.abs(score)) if self.square_root else score

    def from_axis(self, position: npt.ArrayLike) -> FloatArray:
        """Scores at positions along the axis."""
        position = np.asarray(position, dtype=np.float64)
        return position * np.abs(position) if self.square_root else position

    def limits(self) -> tuple[float, float]:
        """Ends of the axis with a margin."""
        left, right = self.to_axis([self.low, self.high])
        margin = _MARGIN * (right - left)
        first, last = self.from_axis([left - margin, right + margin])
        return float(first), float(last)

    def edges(self, n_bins: int) -> FloatArray:
        """Ends of so many bins that are equally wide on the axis."""
        left, right = self.to_axis([self.low, self.high])
        inner = self.from_axis(left + (right - left) * (np.arange(1, n_bins) / n_bins))
        return np.concatenate([[self.low], inner, [self.high]])

    def grid(self, n_points: int) -> FloatArray:
        """Points at equal distances along the axis, without its ends."""
        return self.edges(check_count("n_points", n_points, 1, "99 suit most pictures") + 1)[1:-1]


def score_view(score: FloatArray, weight: NumberArray | None = None) -> View:
    """Stretch to show of scores with so many rows each: all of [0, 1], or where they are if they lie close together."""
    low, high = float(score.min()), float(score.max())
    width = high - low
    weight = np.ones(len(score)) if weight is None else weight
    left, right = low - 0.05 * width, high + 0.05 * width
    if weight[score <= _LOWEST * high].sum() >= _MOST * weight.sum() and low < _LOWEST * high:
        return View(0.0, min(1.0, right), square_root=True)
    if width >= _WIDE:
        return View(0.0, 1.0)
    if width == 0.0:
        # One score only: as far as the nearer end of [0, 1], but not so far that the score is lost in it.
        margin = min(0.05, min(low, 1.0 - low) or 0.05)
        return View(max(0.0, low - margin), min(1.0, high + margin))
    return View(0.0 if low < width else left, 1.0 if 1.0 - high < width else right)


def spread_thresholds(score: FloatArray, weight: NumberArray, n_points: int, *others: float) -> FloatArray:
    """Thresholds to choose from, half over the axis, half over the rows: at most `n_points` of 3 digits, and others."""
    half = n_points // 2
    up_to = np.cumsum(weight)
    over_rows = score[np.searchsorted(up_to, up_to[-1] * ((np.arange(half) + 0.5) / half))]
    over_axis = score_view(score, weight).grid(half)
    # Beyond the picture's grid are scores such as 1e-20, nobody's thresholds; below all scores one treats all.
    inside = over_rows[(over_axis[0] <= over_rows) & (over_rows <= over_axis[-1])]
    over_axis = over_axis[over_axis >= min(over_rows[0], over_axis[-1])]
    chosen = {_three_digits(value) for value in (*over_axis, *inside)} | {*others}
    return np.array([value for value in sorted(chosen) if 0.0 < value < 1.0])


def _three_digits(value: float) -> float:
    """Round a threshold, where that would give 1 its distance from 1."""
    rounded = float(f"{value:.3g}")
    return rounded if rounded < 1.0 else 1.0 - float(f"{1.0 - value:.3g}")
