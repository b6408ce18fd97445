"""The cumulative residuals as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.table.cumulative_residuals import cumulative_residuals as residuals_of
from calibrant.table.cumulative_residuals import extremes
from calibrant.table.parameters import check_count
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.results import Drawable
from calibrant.table.score_table import Labels, Scores, Weights, as_table


@dataclass(frozen=True, eq=False)
class CumulativeResiduals(Drawable):
    """Points of the cumulative residuals.

    Attributes
    ----------
    score, share : ndarray of float64
        Increasing scores, and the share of the rows with scores up to there, in [0, 1].
    value : ndarray of float64
        Sum of residuals ``y - s`` over these rows, divided by the number of all rows. Where it climbs, scores
        are too low; where it falls, too high.
    interval : tuple of float or None
        Scores `(low, high]` between its highest and lowest point.
    """

    _display = "CumulativeResidualsDisplay"

    score: FloatArray
    share: FloatArray
    value: FloatArray
    interval: tuple[float, float] | None


def cumulative_residuals(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_points: int | None = None,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CumulativeResiduals:
    """Add up residuals in the order of the scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`.
    n_points : int, optional
        Thin the walk to about so many points, keeping the highest and lowest of each stretch, so that its range
        is unchanged. By default every distinct score is kept.

    Returns
    -------
    CumulativeResiduals
        Its range, 0 included, is the cutoff calibration error. From a table with cells every point is exact, and there
        is one for the end of each cell.

    Examples
    --------
    >>> from calibrant.curves import cumulative_residuals
    >>> cumulative_residuals([0, 1], [0.25, 0.75]).value.tolist()
    [-0.125, 0.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if n_points is not None:
        n_points = check_count("n_points", n_points, 4, "leave it out to keep every point")
    residuals = residuals_of(table)
    largest = extremes(residuals)
    share = np.cumsum(table.n) / table.total
    points = slice(None) if n_points is None or len(share) <= n_points else thin(share, residuals.value, n_points)
    interval = (largest.low, largest.high) if largest.sign else None
    return CumulativeResiduals(residuals.score[points], share[points], residuals.value[points], interval)


def thin(share: FloatArray, value: FloatArray, n_points: int) -> IndexArray:
    """Keep the highest, the lowest and the last point of each of n_points / 3 stretches of equal mass."""
    stretches = max(1, n_points // 3)
    stretch = np.minimum((share * stretches).astype(np.intp), stretches - 1)
    starts = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
    ends = np.append(starts[1:], len(value))
    points = [ends - 1]
    for values in (value, -value):
        top = np.maximum.reduceat(values, starts)
        hit = np.flatnonzero(values == np.repeat(top, ends - starts))
        points.append(hit[np.searchsorted(hit, starts)])
    flags = np.zeros(len(value), dtype=bool)
    flags[np.concatenate(points)] = True
    return np.flatnonzero(flags)
