"""Everything that a table of cells says is exact, in a form that shows every bit."""

from __future__ import annotations

import numpy as np

from calibrant import ScoreTable
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import cutoff_calibration
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes


def walk_answers(table: ScoreTable) -> dict[str, object]:
    """Range, largest climb and drop, and where they are."""
    return {"walk": repr(extremes(cumulative_residuals(table))), "interval": repr(cutoff_calibration(table).interval)}


def fit_answers(table: ScoreTable) -> dict[str, object]:
    """Blocks of the isotonic fit, of the plain one and of the log-safe one."""
    found = {}
    for log_safe in (False, True):
        fit = isotonic_fit(table, log_safe=log_safe)
        for name in ("low", "high", "value", "n", "k"):
            found[f"{name} {log_safe}"] = getattr(fit, name).astype(np.float64).tobytes()
    return found


def answers(table: ScoreTable) -> dict[str, object]:
    return walk_answers(table) | fit_answers(table)
