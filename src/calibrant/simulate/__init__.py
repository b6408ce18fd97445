"""Worlds with known truth: labels and scores drawn with the probabilities behind them."""

from calibrant.keywords import check_package
from calibrant.simulate.documents import Documents, documents
from calibrant.simulate.logistic import (
    DistortedProbabilities,
    TwoFeatureLogit,
    distorted_probabilities,
    two_feature_logit,
)

__all__ = [
    "DistortedProbabilities",
    "Documents",
    "TwoFeatureLogit",
    "distorted_probabilities",
    "documents",
    "two_feature_logit",
]

check_package(__name__)
