"""Clusters as independent draws: events that none of them has shown, and what they tell of means over all rows."""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.bounded_mean import Draws
from calibrant.table.pooling import FloatArray, score_order


def hidden_share(size: FloatArray, delta: float) -> float:
    """Largest share of rows that events take hold of, none of which is seen with probability `delta`.

    `size` are the rows of each cluster. An event that takes hold of cluster g with probability p_g adds ``sum p_g m_g``
    rows; none is seen with probability ``prod (1 - p_g)``. The largest such sum is ``sum (m_g - u)_+`` with u so that
    ``sum log(m_g / u)_+ = log(1 / delta)``: a share of ``1 - delta**(1 / G)`` for G clusters of equal size. Nothing the
    clusters have shown rules such events out, not even rows that seem independent of each other.
    """
    largest = size[score_order(-size)]
    # u for each number of clusters that pass it; the right number is the last that is consistent.
    logs = np.log(largest)
    level = (np.cumsum(logs) + math.log(delta)) / np.arange(1, len(logs) + 1)
    u = math.exp(float(level[np.flatnonzero(logs >= level)[-1]]))
    return float(np.maximum(0.0, largest - u).sum() / size.sum())


def equal_draws(size: FloatArray, delta: float) -> float:
    """Number of clusters of equal size in which events could hide as well as in these."""
    seen = 1.0 - hidden_share(size, delta)
    return math.log(delta) / math.log(seen) if seen > 0.0 else 0.0


def cluster_draws(value: float, parts: FloatArray, row_variance: float, size: FloatArray, tail: float) -> Draws:
    """Draws whose mean has the variance and the third moment that a mean over all rows has over clusters.

    The draws are clusters of equal size, so many that events could hide in them as well as in these. `value` is the
    mean, and `parts` is what each cluster adds to it, less what clusters of its size add on average. The variance is at
    least that of the mean of independent rows, and so much larger that the normal quantile at `tail` becomes Student's.
    """
    from scipy.special import ndtri, stdtrit

    size = size[size > 0.0]
    freedom = float(size.sum() ** 2 / np.dot(size, size)) - 1.0 if len(size) > 1 else 0.0
    if freedom <= 0.0:  # one cluster says nothing
        return Draws(np.array([value]), np.zeros(1))
    draws, student = equal_draws(size, tail), float(stdtrit(freedom, tail) / ndtri(tail))
    squares = float(np.dot(parts, parts))
    variance = student**2 * draws * max(squares * len(size) / (len(size) - 1.0), row_variance)
    # What the clusters add, in units in which the third moment is right, and the variance that is missing on each side.
    clusters = len(parts)
    unit = clusters * (draws / clusters) ** (2.0 / 3.0)
    missing = math.sqrt(max(0.0, variance - unit**2 * squares / clusters))
    values = value + unit * parts
    return Draws(np.concatenate([values - missing, values + missing]), np.full(2 * clusters, 0.5 * draws / clusters))
