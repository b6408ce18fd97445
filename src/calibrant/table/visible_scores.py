"""Where the scores are: the stretch of [0, 1] worth looking at."""

from __future__ import annotations

import numpy as np

from calibrant.table.parameters import check_count
from calibrant.table.score_table import FloatArray

__all__ = ["grid_in_view", "score_view"]

# Scores that cover at least this much of [0, 1] are shown on all of it.
_WIDE = 0.25


def score_view(score: FloatArray) -> tuple[float, float]:
    """Stretch to show of increasing scores: all of [0, 1], or where they are if they lie close together."""
    low, high = float(score[0]), float(score[-1])
    width = high - low
    if width >= _WIDE:
        return 0.0, 1.0
    if width == 0.0:
        # One score only: as far as the nearer end of [0, 1], but not so far that the score is lost in it.
        margin = min(0.05, min(low, 1.0 - low) or 0.05)
        return max(0.0, low - margin), min(1.0, high + margin)
    left = 0.0 if low < width else low - 0.05 * width
    right = 1.0 if 1.0 - high < width else high + 0.05 * width
    return left, right


def grid_in_view(score: FloatArray, n_points: int) -> FloatArray:
    """Points at equal distances inside the stretch of scores to show, without its ends."""
    low, high = score_view(score)
    n_points = check_count("n_points", n_points, 1, "99 suit most pictures")
    return low + (high - low) * (np.arange(1, n_points + 1) / (n_points + 1))
