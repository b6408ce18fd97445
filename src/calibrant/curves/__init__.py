"""Curves over the scores: observed rates, the distribution of the scores, and cumulative residuals."""

from calibrant.curves.distribution import ScoreHistogram, score_histogram
from calibrant.curves.means import (
    ConcentrationCurve,
    MeanCurve,
    binned_means,
    concentration_curve,
    isotonic_means,
)
from calibrant.curves.reliability import Curve, binned_curve, isotonic_curve, local_curve
from calibrant.curves.residuals import CumulativeResiduals, cumulative_residuals
from calibrant.keywords import check_package

__all__ = [
    "ConcentrationCurve",
    "CumulativeResiduals",
    "Curve",
    "MeanCurve",
    "ScoreHistogram",
    "binned_curve",
    "binned_means",
    "concentration_curve",
    "cumulative_residuals",
    "isotonic_curve",
    "isotonic_means",
    "local_curve",
    "score_histogram",
]

check_package(__name__)
