"""The measures of calibration that other people report, and curves at as many points as a picture needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.certificates import Band, isotonic_band
from calibrant.curves import Curve, local_curve
from calibrant.decisions import Decision, NetBenefit, net_benefit
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
from calibrant.table.bins import score_view, spread_thresholds
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable

_LOESS_POINTS, _THRESHOLDS, _BAND_POINTS = 60, 200, 400
_FEWEST_ROWS = 6  # a band needs them


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


def loess(table: ScoreTable) -> Curve:
    """Local regression as `integrated_calibration_index` makes it, at points that are evenly spread in a picture."""
    points = score_view(table.score, table.n).grid(_LOESS_POINTS)
    points = points[(points >= table.low[0]) & (points <= table.high[-1])]
    return local_curve(table, span=0.75, degree=2, kernel="tricube", at=points if len(points) else table.score[:1])


def decision_curve(table: ScoreTable, decision: Decision | None, confidence_level: float) -> NetBenefit:
    """Decisions at thresholds spread over the scores, that of the costs among them."""
    own = () if decision is None else (decision.threshold,)
    thresholds = spread_thresholds(table.score, table.n, _THRESHOLDS, *own)
    return net_benefit(table, at=thresholds, confidence_level=confidence_level)


def drawable_band(table: ScoreTable, confidence_level: float) -> Band | None:
    """Return the band around the isotonic fit at no more scores than a picture can show.

    None if weights do not count rows, or there are too few rows for a band.
    """
    if not table.independent or table.total < _FEWEST_ROWS:
        return None
    band = isotonic_band(table, confidence_level=confidence_level)
    if len(band.score) <= _BAND_POINTS:
        return band
    # Half of them spread over the scores, half over the rows. Limits hold at each score, so any choice is a band.
    drawn = np.zeros(len(band.score), dtype=bool)
    drawn[np.linspace(0, len(drawn) - 1, _BAND_POINTS // 2).astype(np.intp)] = True
    rows = np.cumsum(band.n)
    drawn[np.searchsorted(rows, np.linspace(0.0, 1.0, _BAND_POINTS // 2) * rows[-1])] = True
    columns: dict[str, Any] = {name: values[drawn] for name, values in band.columns().items()}
    return replace(band, **columns)
