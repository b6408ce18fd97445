"""What the paper measures of scores: as calibrant defines it, and where that differs as the authors compute it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant import ScoreTable
from calibrant.metrics import (
    brier_score,
    cutoff_calibration_error,
    expected_calibration_error,
    roc_auc,
)
from calibrant.papers import accuracy_ece, lcs, true_mse, wmse
from reproductions.fernandes_machado2024.their_smoother import tree_fit
from reproductions.fernandes_machado2024.world import FloatArray, Sample

__all__ = ["CALIBRATION", "STANDARD", "shares_called", "their_lcs", "their_wmse", "values_of"]

# The six of the published tables come first.
CALIBRATION = (
    "True MSE",
    "Brier",
    "ECE (accuracy)",
    "QMSE",
    "WMSE",
    "LCS",
    "ECE (observed)",
    "cutoff calibration error",
)
STANDARD = ("accuracy", "sensitivity", "specificity", "AUC")

_GRID = np.linspace(0.0, 1.0, 100)
_NN = 0.15
_BLUR = 0.001


def values_of(sample: Sample, score: FloatArray | None = None) -> list[float]:
    """Return what `CALIBRATION` and `STANDARD` name, for the scores of a sample or others in their place."""
    score = sample.score if score is None else score
    table = ScoreTable.from_scores(sample.y, score)
    return [
        true_mse(sample.p, score),
        brier_score(table),
        accuracy_ece(table),
        expected_calibration_error(table, strategy="type7", norm="l2") ** 2,
        wmse(table),
        lcs(table).value,
        expected_calibration_error(table, strategy="type7"),
        cutoff_calibration_error(table),
        *shares_called(sample.y, score),
        roc_auc(table),
    ]


def shares_called(y: npt.NDArray[np.int8], score: FloatArray) -> tuple[float, float, float]:
    """Return accuracy, sensitivity and specificity where scores above 1/2 are called positive."""
    right = (score > 0.5) == (y == 1)
    return float(right.mean()), float(right[y == 1].mean()), float(right[y == 0].mean())


def their_lcs(y: npt.NDArray[np.int8], score: FloatArray, noise: FloatArray) -> float:
    """Local Calibration Score of blurred scores, by an interpolated local regression."""
    blurred = score + _BLUR * noise
    kept = (blurred.min() <= _GRID) & (blurred.max() >= _GRID)
    curve = tree_fit(y, blurred, degree=0, nn=_NN).predict(_GRID[kept])
    return float(np.average((_GRID[kept] - curve) ** 2, weights=_density(blurred, _GRID)[kept]))


def their_wmse(y: npt.NDArray[np.int8], score: FloatArray, n_points: int = 100) -> float:
    """WMSE with windows of exactly so many rows: among rows at the same distance, the first ones count."""
    rows, points = round(_NN * len(score)), np.linspace(0.0, 1.0, n_points)
    nearest = np.argsort(np.abs(score - points[:, None]), axis=1, kind="stable")[:, :rows]
    return float(np.average((points - y[nearest].mean(axis=1)) ** 2, weights=_density(score, points)))


def _density(score: FloatArray, at: FloatArray) -> FloatArray:
    """Density of the scores reflected at 0 and 1, as R's ``density`` has it before version 4.4.

    Silverman's bandwidth for all three times n values; values shared out linearly on 512 points; the kernel at
    distances a little too small, by 1023 / 1022.
    """
    values = np.concatenate([-score, score, 2.0 - score])
    upper, lower = np.quantile(values, [0.75, 0.25])
    bandwidth = 0.9 * min(values.std(ddof=1), (upper - lower) / 1.34) * len(values) ** -0.2
    points = np.linspace(-4.0 * bandwidth, 1.0 + 4.0 * bandwidth, 512)
    place = (values - points[0]) / (points[1] - points[0])
    place = place[(place > -1.0) & (place < 512.0)] + 1.0
    below = place.astype(np.intp)
    mass = np.bincount(below, 1.0 - (place - below), 514) + np.bincount(below + 1, place - below, 514)
    lags = np.arange(-511, 512) * (2.0 * (points[-1] - points[0]) / 1023.0) / bandwidth
    density = np.convolve(mass[1:-1], np.exp(-0.5 * lags**2))[511:1023]
    return np.interp(at, points, density)
