"""The findings about the probabilities of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from calibrant.auditing.findings import AuditFindings
from calibrant.certificates import Certificate
from calibrant.curves import Curve
from calibrant.decisions import ClassConfusion, SwapRegret
from calibrant.metrics import ClassSum
from calibrant.metrics.classes import PartErrors
from calibrant.table.class_scores import ClassScores
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Count, Estimate, Result

_LEVEL = 0.05  # of the test


@dataclass(frozen=True)
class ClassLosses(Result):
    """How good probabilities of several classes are.

    Attributes
    ----------
    accuracy, mean_confidence : float
        Share of the rows whose most probable class occurred, and the mean probability of that class.
    log_loss : float
        Mean of minus the logarithm of the probability of the class that occurred; infinite if one of these was 0.
    brier_score : float
        Mean sum over all classes of the squared differences between outcome and probability, in [0, 2].
    """

    accuracy: float
    mean_confidence: float
    log_loss: float
    brier_score: float

    @classmethod
    def of(cls, scores: ClassScores) -> ClassLosses:
        """Compute them."""
        squares = np.einsum("ij,ij->i", scores.proba, scores.proba)
        each = scores.predicted == scores.code, scores.of_confidence().score, log_losses(scores)
        return cls(
            *(float(np.average(values, weights=scores.weight)) for values in (*each, squares + 2.0 * scores.miss - 1.0))
        )


def log_losses(scores: ClassScores) -> FloatArray:
    """Return minus the logarithm of the probability of the class that occurred, row by row."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(scores.probability_of(scores.code))) + 0.0


@dataclass(frozen=True)
class ClassRecalibration(Result):
    """Probabilities of several classes before and after recalibration, on rows that it was not fitted to.

    Attributes
    ----------
    n, n_fitted : int
        Rows that were judged, and rows that the maps of each part of them were fitted to.
    members : tuple of str
        What was pooled, as `calibrant.MulticlassAutoCalibrator` calls it.
    losses_before, losses_after : ClassLosses
        Accuracy, log loss and Brier score.
    worst_before, worst_after : float
        Calibration error of the class with the largest one.
    gain, gain_error : float
        Mean fall of the log loss per row, and its standard error, which takes the maps as given; infinite and NaN if a
        probability of 0 was wrong.
    gain_lower : float
        Lower 95% confidence limit for the fall on new rows, by the map that is fitted to all, as of
        `calibrant.auditing.Recalibration`.
    decisions_changed : float
        Share of the rows whose most probable class is another one.
    unchanged : bool
        Whether `calibrant.MulticlassAutoCalibrator`, fitted to all rows, leaves them as they are; of more than 40,000
        probabilities, whether it would by what is seen in the rows that were judged.
    """

    n: Count
    n_fitted: Count
    members: tuple[str, ...]
    losses_before: ClassLosses
    losses_after: ClassLosses
    worst_before: float
    worst_after: float
    gain: float
    gain_error: float
    gain_lower: float
    decisions_changed: float
    unchanged: bool

    @property
    def improves(self) -> bool:
        """Whether probabilities are changed, and the log loss of rows that the maps were not fitted to falls."""
        return not self.unchanged and self.gain > 0.0


@dataclass(frozen=True, kw_only=True)
class ClassFindings(AuditFindings):
    """All numbers of an audit of several classes, with the fields of `AuditFindings`; `certificate` of the worst.

    Attributes
    ----------
    weights, effective_clusters : {"rows", "chances", "other"}, and float or None
        Whether rows count the same, or by known chances; how many clusters of equal size the clusters are worth.
    classes : tuple of str
        All classes, in the order of the columns.
    n_rescaled : int
        Rows whose probabilities did not add up to 1 and were divided by their sum.
    total, top_label, confidence : Certificate or None
        Bounds on the sum of the errors of all classes, on that of the largest probability by predicted class, and on
        that of the largest probability. The first two are of independent rows and both directions, else None.
    sum_estimates : ClassSum or None
        That sum, as right probabilities would show it, and cross-fitted, about 0 for these.
    table : PartTable or ClassCalibration
        Bounds on the error of each class that hold together; without a certificate the errors alone.
    losses : ClassLosses
        Accuracy, mean confidence, log loss and Brier score.
    too_sure : Estimate
        Accuracy less mean confidence: below 0 where probabilities of the most probable class are too high.
    null_means, null_errors : dict of str to float, ndarray
        What each error would be on average, about, if all probabilities were right, by its `notion`, of the worst class
        about the median; and those of as many classes, the largest first. Asymptotic in the rows of each class; empty
        where rows are not independent, or one direction counts.
    confusion : ClassConfusion or None
        Observed and expected confusion of independent rows; None of more than 30 classes, and of lists.
    decision : SwapRegret or None
        What acting on the probabilities costs; None if no costs were given.
    recalibration : ClassRecalibration or None
        What it would do, on rows or clusters that it was not fitted to; None if they are too few, of lists and weights.
    shown, reliability : tuple of int, tuple of Curve
        Classes, by their place in `table`, that have a reliability diagram, the worst first, and their curves.
    """

    weights: Literal["rows", "chances", "other"]
    effective_clusters: float | None
    classes: tuple[str, ...]
    n_rescaled: Count
    total: Certificate | None
    top_label: Certificate | None
    confidence: Certificate | None
    sum_estimates: ClassSum | None
    table: PartErrors
    losses: ClassLosses
    too_sure: Estimate
    null_means: dict[str, float]
    confusion: ClassConfusion | None
    decision: SwapRegret | None
    recalibration: ClassRecalibration | None
    null_errors: FloatArray
    shown: tuple[int, ...]
    reliability: tuple[Curve, ...]

    kind: ClassVar[str] = "classes"

    @property
    def rejected(self) -> bool:
        """Whether the test rejects the probabilities at level .05."""
        return self.test is not None and self.test.p_value <= _LEVEL
