"""What several fits and measures need of maps: their values between knots, and a shorter table to fit them to."""

from __future__ import annotations

import numpy as np

from calibrant.table.pooling import FloatArray, ScoreArray
from calibrant.table.score_table import ScoreTable


def interpolate(score: ScoreArray, knot: FloatArray, value: FloatArray) -> FloatArray:
    """Connect values at increasing scores by straight lines; outside of them the map keeps its end values."""
    result = np.asarray(np.interp(score, knot, value), dtype=np.float64)
    steep = ~np.isfinite(result)  # a gap so narrow, near 0, that its slope is beyond float64: there it jumps
    if steep.any():
        result[steep] = value[np.searchsorted(knot, score[steep], side="right") - 1]
    return result


def shortened(table: ScoreTable, groups: int, single: int = 512) -> ScoreTable:
    """Join neighbouring scores to so many groups, each at its mean score, but for the scores at either end.

    These stay single: the lowest and the highest scores weigh more than others in regressions and isotonic fits.
    """
    m = len(table)
    if m <= groups + 2 * single:
        return table
    inner = np.linspace(single, m - single, groups, endpoint=False).astype(np.intp)
    starts = np.concatenate([np.arange(single), inner, np.arange(m - single, m)])
    n = np.add.reduceat(table.n, starts)
    return ScoreTable(np.add.reduceat(table.n * table.score, starts) / n, n, np.add.reduceat(table.k, starts))
