"""Our recalibrators in the same form as those of other packages."""

from __future__ import annotations

import numpy as np

from benchmarks.recalibration.methods import Method
from calibrant.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.calibrators.one_column import AutoCalibrator


def fitted(make: type, **parameters: object) -> Method:
    """Fit one of our calibrators."""

    def method(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
        return make(**parameters).fit(score, label).predict(new)

    return method


def ours() -> dict[str, Method]:
    """Return our methods by name."""
    return {
        "calibrant auto": fitted(AutoCalibrator),
        "calibrant beta": fitted(BetaCalibrator),
        "calibrant isotonic": fitted(IsotonicCalibrator),
        "calibrant platt": fitted(PlattCalibrator),
        "calibrant temperature": fitted(TemperatureCalibrator),
        "calibrant venn-abers": fitted(VennAbersCalibrator),
    }
