"""The measures of calibration that other people report, for those who have to quote them."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.metrics import (
    BinnedCalibration,
    IntegratedCalibration,
    LocalCalibration,
    ScoreDecomposition,
    binned_calibration,
    brier_decomposition,
    integrated_calibration_index,
    local_calibration,
    smooth_calibration_error,
)
from calibrant.metrics.proper import calibrated_miscalibration
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable


@dataclass(frozen=True)
class Measures(Result):
    """Further measures of calibration, each with what chance alone would show where that is known.

    Attributes
    ----------
    binned : BinnedCalibration
        Expected calibration error in ten bins of about equally many rows.
    integrated : IntegratedCalibration
        Integrated calibration index, E50, E90 and Emax. In the population the index is the expected calibration error:
        read it with the bounds on that one (`certify_ece`); for the others no bounds are known to us.
    local : LocalCalibration
        Local Calibration Score.
    smooth : float
        Smooth calibration error.
    brier_parts : ScoreDecomposition
        Miscalibration, discrimination and uncertainty, which make up the Brier score.
    miscalibration_null_mean : float
        Mean miscalibration under perfect calibration, by simulation, good to a few percent; NaN if weights are not
        whole numbers.
    """

    binned: BinnedCalibration
    integrated: IntegratedCalibration
    local: LocalCalibration
    smooth: float
    brier_parts: ScoreDecomposition
    miscalibration_null_mean: float


def measure(table: ScoreTable) -> Measures:
    """Compute them all on a table with rows of both classes."""
    return Measures(
        binned=binned_calibration(table),
        integrated=integrated_calibration_index(table),
        local=local_calibration(table),
        smooth=smooth_calibration_error(table),
        brier_parts=brier_decomposition(table),
        miscalibration_null_mean=calibrated_miscalibration(table)[0],
    )
