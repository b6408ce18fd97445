"""Test and confidence limits at a computing time that suits an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.certificates import (
    Band,
    CalibrationTest,
    ExpectedErrorCertificate,
    calibration_test,
    certify_ece,
    isotonic_band,
)
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.errors import DataError
from calibrant.table.score_table import ScoreTable

__all__ = ["affordable_test", "bounds_of_expected_error", "drawable_band"]

# Labels are simulated at every distinct score: a fifth of a second at so many, and some seconds at the second limit.
_EXACT, _MOST = 20_000, 200_000
_FEWEST_ROWS = 6  # a band needs them
_BAND_POINTS = 400


def affordable_test(table: ScoreTable, random_state: int | np.random.Generator) -> CalibrationTest | None:
    """Test by simulated labels where scores are few, by the asymptotic distribution where rows are many.

    None if the weights are not whole numbers, or if so many scores predict so few events that the asymptotic
    distribution is wrong and simulation would take long.
    """
    if not table.counts:
        return None
    asymptotic = table.total * table.mean_variance >= LEAST_EVENTS
    if table.exact and len(table) <= (_EXACT if asymptotic else _MOST):
        return calibration_test(table, random_state=random_state)
    return calibration_test(table, method="asymptotic") if asymptotic else None


def bounds_of_expected_error(table: ScoreTable, confidence_level: float) -> ExpectedErrorCertificate | None:
    """Bounds, or None if the weights are not whole numbers or the cells of the table were chosen by its maker."""
    if not table.counts:
        return None
    try:
        return certify_ece(table, confidence_level=confidence_level)
    except DataError:
        return None


def drawable_band(table: ScoreTable, confidence_level: float) -> Band | None:
    """Return the band around the isotonic fit at no more scores than a picture can show.

    None if the weights are not whole numbers, or there are too few rows for a band.
    """
    if not table.counts or table.total < _FEWEST_ROWS:
        return None
    band = isotonic_band(table, confidence_level=confidence_level)
    if len(band.score) <= _BAND_POINTS:
        return band
    # Half of them spread over the scores, half over the rows. Limits hold at each score, so any choice is a band.
    kept = np.zeros(len(band.score), dtype=bool)
    kept[np.linspace(0, len(kept) - 1, _BAND_POINTS // 2).astype(np.intp)] = True
    rows = np.cumsum(band.n)
    kept[np.searchsorted(rows, np.linspace(0.0, 1.0, _BAND_POINTS // 2) * rows[-1])] = True
    columns: dict[str, Any] = {name: values[kept] for name, values in band.columns().items()}
    return replace(band, **columns)
