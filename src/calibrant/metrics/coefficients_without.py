"""Intercept and slope of the logistic recalibration without the rows of each cluster, by one step from those of all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.fits.profile import logistic
from calibrant.metrics.estimates import SampledRows, cluster_sums
from calibrant.table.score_table import FloatArray

__all__ = ["coefficients_without"]


def coefficients_without(
    sample: SampledRows, log_odds: Callable[[FloatArray], FloatArray], intercept: float, slope: float
) -> tuple[FloatArray, FloatArray]:
    """Intercept and slope without each cluster: one step of Newton from the coefficients that fit all rows best."""
    rows = sample.clusters
    assert rows is not None
    x = log_odds(sample.table.score)
    chance = logistic(intercept + slope * x)
    weight = chance * (1.0 - chance)
    u0, u1 = (cluster_sums(rows, power * (1.0 - chance), -power * chance) for power in (np.ones(len(x)), x))
    h0, h1, h2 = (_others(cluster_sums(rows, weight * power, weight * power)) for power in (np.ones(len(x)), x, x**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h0 * h2 - h1**2
        changes = (h2 * u0 - h1 * u1) / determinant, (h0 * u1 - h1 * u0) / determinant
    return intercept - changes[0], slope - changes[1]


def _others(sums: FloatArray) -> FloatArray:
    return np.asarray(sums.sum() - sums)
