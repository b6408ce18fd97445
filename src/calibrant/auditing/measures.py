"""The measures of calibration that other people report, for those who have to quote them."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.errors import DataError
from calibrant.metrics import (
    BinnedCalibration,
    CalibrationSlope,
    IntegratedCalibration,
    LocalCalibration,
    ScoreDecomposition,
    binned_calibration,
    brier_decomposition,
    calibration_slope,
    integrated_calibration_index,
    local_calibration,
    smooth_calibration_error,
)
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable

__all__ = ["Measures", "measure"]


@dataclass(frozen=True)
class Measures(Result):
    """Further measures of calibration, each with what chance alone would show where that is known.

    Attributes
    ----------
    binned : BinnedCalibration
        Expected calibration error in ten bins of about equally many rows.
    integrated : IntegratedCalibration
        Integrated calibration index, E50, E90 and Emax.
    local : LocalCalibration
        Local Calibration Score.
    smooth : float
        Smooth calibration error.
    slope : CalibrationSlope or None
        Calibration intercept and slope; None if they cannot be computed.
    slope_refused : str or None
        Why not.
    brier_parts : ScoreDecomposition
        Miscalibration, discrimination and uncertainty, which make up the Brier score.
    """

    binned: BinnedCalibration
    integrated: IntegratedCalibration
    local: LocalCalibration
    smooth: float
    slope: CalibrationSlope | None
    slope_refused: str | None
    brier_parts: ScoreDecomposition


def measure(table: ScoreTable) -> Measures:
    """Compute them all on a table with rows of both classes."""
    slope, refused = None, None
    try:
        slope = calibration_slope(table)
    except DataError as error:  # scores of 0 or 1, only one score, or separated classes
        refused = f"{error.found}; {error.expected} are needed"
    return Measures(
        binned=binned_calibration(table),
        integrated=integrated_calibration_index(table),
        local=local_calibration(table),
        smooth=smooth_calibration_error(table),
        slope=slope,
        slope_refused=refused,
        brier_parts=brier_decomposition(table),
    )
