"""The score density by which Fernandes Machado et al. (2024) weight the points of a calibration curve."""

from __future__ import annotations

import math

import numpy as np

from calibrant.table.score_table import FloatArray, NumberArray, ScoreTable, need_counts

__all__ = ["reflected_density"]

_LEAST_GRID = 512


def reflected_density(table: ScoreTable, n_points: int) -> FloatArray:
    """Density of the scores at `n_points` points of [0, 1], from the scores and their images in 0 and 1.

    Parameters
    ----------
    table : ScoreTable
        Weights must be whole numbers. A cell counts as standing at its mean score.
    n_points : int
        Number of evenly spaced points, 0 and 1 included.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        What ``density(c(-s, s, 2 - s), from = 0, to = 1, n = n_points)$y`` gives in R before version 4.4: Gaussian
        kernel with the bandwidth of Silverman's rule for the three times n values, linear binning, and R's spacing of
        the kernel. The bandwidth is several times that of the scores themselves, so the density is nearly flat.

    Raises
    ------
    DataError
        If weights are not whole numbers.
    """
    need_counts(table, "the bandwidth depends on the number of rows")
    value = np.concatenate([-table.score[::-1], table.score, 2.0 - table.score[::-1]])
    n = np.concatenate([table.n[::-1], table.n, table.n[::-1]])
    bandwidth = _silverman(value, n)
    size = max(_LEAST_GRID, 1 << (n_points - 1).bit_length())
    low, high = -4.0 * bandwidth, 1.0 + 4.0 * bandwidth
    # Each value is shared between the two neighbouring points of the grid; the image beyond an end is lost there.
    place = (value - low) * (size - 1) / (high - low)
    below = np.floor(place)
    near = (below >= -1) & (below <= size - 1)
    left, over, share = below[near].astype(np.intp) + 1, place[near] - below[near], n[near] / n.sum()
    mass = np.bincount(left, share * (1.0 - over), size + 2) + np.bincount(left + 1, share * over, size + 2)
    lag = np.arange(1 - size, size) * (2.0 * (high - low) / (2 * size - 1)) / bandwidth
    kernel = np.exp(-0.5 * lag * lag) / (math.sqrt(2.0 * math.pi) * bandwidth)
    density = np.convolve(mass[1:-1], kernel)[size - 1 : 2 * size - 1]
    return np.interp(np.linspace(0.0, 1.0, n_points), np.linspace(low, high, size), density)


def _silverman(value: FloatArray, n: NumberArray) -> float:
    """Return ``bw.nrd0``: 0.9 times the smaller of standard deviation and IQR / 1.34, times N**-0.2."""
    total = int(n.sum())
    mean = float(np.dot(n, value)) / total
    deviation = math.sqrt(float(np.dot(n, (value - mean) ** 2)) / (total - 1))
    up_to = np.cumsum(n)

    def quantile(share: float) -> float:
        place = (total - 1) * share
        rank = math.floor(place)
        lower, upper = value[np.searchsorted(up_to, [rank, math.ceil(place)], side="right")]
        return float(lower + (place - rank) * (upper - lower))

    # The images put a third of the values at or below 0 and a third at or above 1: neither is ever 0.
    return float(0.9 * min(deviation, (quantile(0.75) - quantile(0.25)) / 1.34) * total**-0.2)
