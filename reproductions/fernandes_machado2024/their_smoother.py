"""Local regression as the authors compute it: at the vertices of a tree, and interpolated between them.

That is what ``locfit`` does by default (Loader 1999, chapter 12). calibrant fits at every point instead; what the
interpolation changes is measured in the items that use this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["TreeFit", "tree_fit"]

FloatArray = npt.NDArray[np.float64]

_CUT = 0.8  # a cell is halved while it is wider than this share of the narrower window at its ends


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A fitted curve.

    Attributes
    ----------
    vertex, value, slope : ndarray of float64, shape (v,)
        Where the regression was fitted, its value and its slope there.
    degree : int
        Degree of the local polynomials.
    """

    vertex: FloatArray
    value: FloatArray
    slope: FloatArray
    degree: int

    def predict(self, at: FloatArray) -> FloatArray:
        """Interpolate, go on along a line beyond the outer vertices, and limit the result to [0, 1].

        With degree 0 the interpolation is linear; else cubic, through the values with the slopes.
        """
        cell = np.clip(np.searchsorted(self.vertex, at, side="right") - 1, 0, len(self.vertex) - 2)
        left, right = self.vertex[cell], self.vertex[cell + 1]
        width = right - left
        share = (at - left) / width
        low, high = self.value[cell], self.value[cell + 1]
        # On a flat stretch rounding decides which of the results are equal, and so which bins they are in.
        curve = ((width - (at - left)) * low + (at - left) * high) / width
        if self.degree > 0:
            curve = _cubic(share, low, high, self.slope[cell] * width, self.slope[cell + 1] * width)
            curve = np.where(share < 0.0, low + (at - left) * self.slope[cell], curve)
            curve = np.where(share > 1.0, high + (at - right) * self.slope[cell + 1], curve)
        return np.clip(curve, 0.0, 1.0)


def tree_fit(y: npt.NDArray[np.int8], score: FloatArray, *, degree: int, nn: float = 0.15) -> TreeFit:
    """Fit at the ends of the sample, and at the middle of every cell that is wide for its windows.

    Parameters
    ----------
    y : ndarray of int8, shape (n,)
        Labels.
    score : ndarray of float64, shape (n,)
        Scores, at least two different ones.
    degree : {0, 1, 2}
        Degree of the polynomial in each window; all rows of a window count alike.
    nn : float
        Share of the rows in each window.
    """
    rows = int(len(score) * nn + 1e-12)
    vertex = np.array([score.min(), score.max()])
    found = _local(vertex, y, score, rows, degree)
    while True:
        reach = found[0]
        wide = np.diff(vertex) > _CUT * np.minimum(reach[:-1], reach[1:])
        wide &= np.minimum(reach[:-1], reach[1:]) > 0.0
        if not wide.any():
            return TreeFit(vertex, found[1], found[2], degree)
        middle = 0.5 * (vertex[:-1] + vertex[1:])[wide]
        place = np.flatnonzero(wide) + 1
        found = np.insert(found, place, _local(middle, y, score, rows, degree), axis=1)
        vertex = np.insert(vertex, place, middle)


def _local(at: FloatArray, y: npt.NDArray[np.int8], score: FloatArray, rows: int, degree: int) -> FloatArray:
    """Half-width, value and slope at each point."""
    offset = score - at[:, None]
    distance = np.abs(offset)
    reach = np.partition(distance, rows - 1, axis=1)[:, rows - 1]
    inside = distance <= reach[:, None]
    value, slope = np.empty(len(at)), np.zeros(len(at))
    for i, window in enumerate(inside):
        labels = y[window]
        if degree == 0:
            value[i] = labels.mean()
            continue
        scale = reach[i]
        powers = (offset[i, window] / scale)[:, None] ** np.arange(degree + 1)
        coefficients = np.linalg.lstsq(powers, labels, rcond=None)[0]
        value[i], slope[i] = coefficients[0], coefficients[1] / scale
    return np.vstack([reach, value, slope])


def _cubic(
    share: FloatArray, low: FloatArray, high: FloatArray, rise_low: FloatArray, rise_high: FloatArray
) -> FloatArray:
    """Hermite's cubic on [0, 1] with these values and slopes at the ends."""
    rest = 1.0 - share
    curve: FloatArray = rest * rest * ((1.0 + 2.0 * share) * low + share * rise_low) + share * share * (
        (1.0 + 2.0 * rest) * high - rest * rise_high
    )
    return curve
