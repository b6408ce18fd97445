"""Continuous maps given by their values at some scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray


def interpolate(score: npt.NDArray[np.floating], knot: FloatArray, value: FloatArray) -> FloatArray:
    """Connect values at increasing scores by straight lines; outside of them the map keeps its end values."""
    found = np.asarray(np.interp(score, knot, value), dtype=np.float64)
    steep = ~np.isfinite(found)  # a gap so narrow, near 0, that its slope is beyond float64: there it jumps
    if steep.any():
        found[steep] = value[np.searchsorted(knot, score[steep], side="right") - 1]
    return found
