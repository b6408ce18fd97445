"""Fits to a part of the rows, as folds are: unlike those that `fit` takes, they may all be of one class."""

from __future__ import annotations

from calibrant import ScoreTable
from calibrant.fits.score_map import fit_part

__all__ = ["fit_rows"]


def fit_rows(calibrator, score, y, sample_weight=None, count=None):
    """Fit a calibrator to rows that need not hold both classes."""
    return fit_part(calibrator, ScoreTable.from_scores(y, score, sample_weight=sample_weight, count=count))
