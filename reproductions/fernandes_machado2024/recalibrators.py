"""The six recalibrations of the paper: calibrant's, set as the authors set theirs, and the authors' own rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.calibrators import BetaCalibrator, IsotonicCalibrator, LocalCalibrator, PlattCalibrator
from reproductions.fernandes_machado2024.their_smoother import tree_fit
from reproductions.fernandes_machado2024.world import FloatArray, Sample

__all__ = ["METHODS", "SAME_RULE", "our_map", "their_map"]

_POINTS = 300  # every fourth score of the 1200: a window holds 180
Map = Callable[[FloatArray], FloatArray]

_CALIBRATORS: dict[str, Callable[[], Any]] = {
    "Platt": lambda: PlattCalibrator(on="score", smooth_targets=False),
    "isotonic": lambda: IsotonicCalibrator(interpolation="step", log_safe=False),
    "beta": lambda: BetaCalibrator(smooth_targets=False, clip=1e-16),
    "local, degree 0": lambda: LocalCalibrator(degree=0, n_points=_POINTS, log_safe=False),
    "local, degree 1": lambda: LocalCalibrator(degree=1, n_points=_POINTS, log_safe=False),
    "local, degree 2": lambda: LocalCalibrator(degree=2, n_points=_POINTS, log_safe=False),
}
METHODS = tuple(_CALIBRATORS)
SAME_RULE = ("Platt", "beta")


def our_map(method: str, sample: Sample) -> Map:
    """Fit calibrant's calibrator on a sample."""
    predict: Map = _CALIBRATORS[method]().fit(sample.score, sample.y).predict
    return predict


def their_map(method: str, sample: Sample) -> Map:
    """Fit the authors' rule on a sample; those of `SAME_RULE` are ours as well."""
    if method == "isotonic":
        return _isotonic(sample)
    if method.startswith("local"):
        return tree_fit(sample.y, sample.score, degree=int(method[-1])).predict
    return our_map(method, sample)


def _isotonic(sample: Sample) -> Map:
    """Isotonic regression as steps: a score between two blocks gets the value of the next one."""
    blocks = IsotonicCalibrator(log_safe=False).fit(sample.score, sample.y).fit_
    last = len(blocks.value) - 1
    return lambda score: blocks.value[np.minimum(np.searchsorted(blocks.high, score), last)]
