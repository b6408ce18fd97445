"""The curves of Claims 3 and 6: cumulative shares of positives, and the greatest convex minorant, which is the fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import calibrant as cal
from calibrant.calibrators import IsotonicCalibrator
from calibrant.certificates import isotonic_band
from calibrant.certificates.widths import monotone_width


class Hull(NamedTuple):
    """At each score of a table, shares of all rows up to there.

    `lower` and `upper` are limits for the minorant of the true probabilities of these rows: the observed curve is
    within the width of a band of theirs, and minorants are no further apart than curves. `population_width` bounds
    Claim 6 as the width for all monotone maps does, since residuals of the fit add up to 0 in every block.
    """

    observed: np.ndarray
    cumulative: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    population_width: float


def hull_of_rows(table: cal.ScoreTable, delta: float = 0.05) -> Hull:
    """Return the curves of a table, with limits that fail with probability delta each."""
    width = isotonic_band(table, confidence_level=1.0 - delta, method="fixed_design").width
    share = np.cumsum(table.n) / table.total
    fit = IsotonicCalibrator(log_safe=False).fit(table).predict(table.score)
    cumulative = np.cumsum(table.n * fit) / table.total
    lower, upper = np.maximum(0.0, cumulative - width), np.minimum(share, cumulative + width)
    return Hull(np.cumsum(table.k) / table.total, cumulative, lower, upper, monotone_width(table.total, delta))
