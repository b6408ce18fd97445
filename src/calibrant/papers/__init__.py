"""What the two papers define and prove, for those who study them: their worlds, bounds, tests and classifier.

Nothing else of calibrant needs it but the reproductions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.keywords import check_package, checked
from calibrant.papers.l1 import L1Bound, L1Impossibility, l1_cannot_be_certified, l1_from_repeats
from calibrant.papers.rademacher import (
    SimulatedRademacher,
    rademacher_finite,
    rademacher_linear,
    rademacher_simulated,
    rademacher_with_ties,
)
from calibrant.papers.uniform_convergence import (
    hoeffding_width,
    rademacher_of_intervals,
    uniform_convergence_width,
)
from calibrant.papers.worlds import (
    DistortedProbabilities,
    Documents,
    TwoFeatureLogit,
    distorted_probabilities,
    documents,
    l1_error,
    true_mse,
    two_feature_logit,
)

if TYPE_CHECKING:
    from calibrant.papers.single_index.classifier import SingleIndexClassifier

__all__ = [
    "DistortedProbabilities",
    "Documents",
    "L1Bound",
    "L1Impossibility",
    "SimulatedRademacher",
    "SingleIndexClassifier",
    "TwoFeatureLogit",
    "distorted_probabilities",
    "documents",
    "hoeffding_width",
    "l1_cannot_be_certified",
    "l1_error",
    "l1_from_repeats",
    "rademacher_finite",
    "rademacher_linear",
    "rademacher_of_intervals",
    "rademacher_simulated",
    "rademacher_with_ties",
    "true_mse",
    "two_feature_logit",
    "uniform_convergence_width",
]

check_package(__name__)


def __getattr__(name: str) -> Any:
    """Import the classifier on first use, since scikit-learn takes most of a second to load."""
    if name == "SingleIndexClassifier":
        from calibrant.papers.single_index.classifier import SingleIndexClassifier

        return checked(SingleIndexClassifier)
    raise AttributeError(f"module 'calibrant.papers' has no attribute {name!r}")
