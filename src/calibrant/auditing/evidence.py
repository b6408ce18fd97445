"""Test and confidence limits at a computing time that suits an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.certificates import (
    Band,
    CalibrationTest,
    Certificate,
    ExpectedErrorCertificate,
    calibration_test,
    certify_ece,
    isotonic_band,
)
from calibrant.certificates.clusters import certify_clusters, cluster_test
from calibrant.certificates.clusters_asymptotic import need_clusters
from calibrant.decisions import Decision
from calibrant.decisions.clusters import cluster_saving
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.errors import DataError
from calibrant.table.cluster_residuals import cluster_residuals
from calibrant.table.clusters import ClusteredRows
from calibrant.table.progress import portion, tell
from calibrant.table.score_table import ScoreTable

__all__ = ["affordable_test", "bounds_of_expected_error", "cluster_statements", "drawable_band"]

# Labels are simulated at every distinct score: a fifth of a second at so many, and some seconds at the second limit.
_EXACT, _MOST = 20_000, 200_000
_FEWEST_ROWS = 6  # a band needs them
_BAND_POINTS = 400
_SIMULATIONS = 999  # of paths, behind statements about clusters


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


def cluster_statements(
    capped: ClusteredRows,
    prices: tuple[float, float] | None,
    *,
    tolerance: float | None,
    confidence_level: float,
    method: str,
    random_state: int | np.random.Generator,
) -> tuple[Certificate, CalibrationTest, Decision | None]:
    """Return the certificate, the test and, if there are prices, the expected cost of clustered rows."""
    need_clusters(capped)
    tell(f"Summing {len(capped.size):,} clusters", 0.65)
    walks = cluster_residuals(capped)
    with portion(0.65, 0.7):
        certificate = certify_clusters(
            capped,
            confidence_level=confidence_level,
            tolerance=tolerance,
            method=method,
            n_simulations=_SIMULATIONS,
            random_state=random_state,
            walks=walks,
        )
    with portion(0.7, 0.75):
        test = cluster_test(
            capped, method="asymptotic", n_simulations=_SIMULATIONS, random_state=random_state, walks=walks
        )
    if prices is None:
        return certificate, test, None
    decision = cluster_saving(
        capped, false_positive_cost=prices[0], false_negative_cost=prices[1], confidence_level=confidence_level
    )
    return certificate, test, decision
