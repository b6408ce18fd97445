"""Coefficients of the logistic recalibration without the rows of each cluster, by one step from those of all rows.

They are NaN where the other rows are of one class, so that no coefficients fit them best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.fits.profile import logistic
from calibrant.metrics.estimates import SampledRows, cluster_sums
from calibrant.table.score_table import FloatArray

__all__ = ["intercepts_without", "lines_without"]

_Scale = Callable[[FloatArray], FloatArray]


def lines_without(
    sample: SampledRows, log_odds: _Scale, intercept: float, slope: float
) -> tuple[FloatArray, FloatArray]:
    """Intercept and slope without each cluster: one step of Newton from the line that fits all rows best."""
    (u0, u1), (h0, h1, h2) = _sums(sample, log_odds, intercept, slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h0 * h2 - h1**2
        changes = (h2 * u0 - h1 * u1) / determinant, (h0 * u1 - h1 * u0) / determinant
    known = np.where(sample.one_class_without, np.nan, 1.0)
    return known * (intercept - changes[0]), known * (slope - changes[1])


def intercepts_without(sample: SampledRows, log_odds: _Scale, intercept: float) -> FloatArray:
    """Intercept beside a slope of 1 without each cluster: one step of Newton from the one that fits all rows best."""
    (u0, _), (h0, _, _) = _sums(sample, log_odds, intercept, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sample.one_class_without, np.nan, intercept - u0 / h0)


def _sums(
    sample: SampledRows, log_odds: _Scale, intercept: float, slope: float
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Sums of scores by cluster, of powers 0 and 1 of x; and of information over all others, of powers 0 to 2."""
    rows = sample.clusters
    assert rows is not None
    x = log_odds(sample.table.score)
    chance = logistic(intercept + slope * x)
    weight = chance * (1.0 - chance)
    scores = [cluster_sums(rows, x**power * (1.0 - chance), -(x**power) * chance) for power in (0, 1)]
    information = [cluster_sums(rows, weight * x**power, weight * x**power) for power in (0, 1, 2)]
    return scores, [sums.sum() - sums for sums in information]
