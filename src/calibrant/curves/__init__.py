"""Curves over the scores: what happened at each, how the scores are spread, how residuals add up."""

from calibrant.curves.distribution import Histogram, score_histogram
from calibrant.curves.local import local_curve
from calibrant.curves.reliability import Curve, binned_curve, isotonic_curve
from calibrant.curves.residuals import ResidualWalk, residual_walk

__all__ = [
    "Curve",
    "Histogram",
    "ResidualWalk",
    "binned_curve",
    "isotonic_curve",
    "local_curve",
    "residual_walk",
    "score_histogram",
]
