"""Events that take hold of whole clusters and are not seen in a sample."""

from __future__ import annotations

import math

import numpy as np

from calibrant.table.pooling import FloatArray, score_order

__all__ = ["hidden_share"]


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
