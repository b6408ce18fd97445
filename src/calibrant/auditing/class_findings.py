"""The findings about the probabilities of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.auditing.findings import Advice
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.verdict import AuditFindings
from calibrant.auditing.warnings import DataWarning
from calibrant.certificates import CalibrationTest, ClassCertificate, ClassTable
from calibrant.curves import Curve
from calibrant.decisions import ClassConfusion, SwapRegret
from calibrant.metrics.all_classes import ClassSum
from calibrant.table.class_scores import ClassScores
from calibrant.table.missing import LeftOut
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
        return cls(
            accuracy=float((scores.predicted == scores.code).mean()),
            mean_confidence=float(scores.of_confidence().score.mean()),
            log_loss=float(log_losses(scores).mean()),
            brier_score=float((squares + 2.0 * scores.miss - 1.0).mean()),
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


@dataclass(frozen=True)
class ClassFindings(AuditFindings):
    """All numbers of an audit of several classes.

    Attributes
    ----------
    name : str
        What was audited, for headings.
    n : int
        Rows.
    left_out : LeftOut or None
        Rows without a label or a probability, where ``missing="drop"`` asked to leave them out.
    classes : tuple of str
        All classes, in the order of the columns.
    n_listed : int or None
        Classes that a row lists at most, "none of those listed" among them; None if rows have the probabilities of all.
    certificate : ClassCertificate
        Bound and verdict on the worst class, each against the rest: it holds for all classes.
    total, top_label, confidence : ClassCertificate
        Bounds on the sum of the errors of all classes, on that of the largest probability by predicted class, and on
        that of the largest probability.
    sum_estimates : ClassSum
        The sum of the errors of all classes, as right probabilities would show it, and cross-fitted, which is about 0
        for these.
    table : ClassTable
        Bounds on the error of each class that hold together.
    test : CalibrationTest or None
        Test of the hypothesis that labels are drawn from the probabilities of their rows, a `ClassTest` of more than
        two classes; None of lists of some classes.
    losses : ClassLosses
        Accuracy, mean confidence, log loss and Brier score.
    too_sure : Estimate
        Accuracy less mean confidence: below 0 where probabilities of the most probable class are too high.
    null_means : dict of str to float
        What each error would be on average, about, if all probabilities were right, by its `notion`; of the worst class
        about the median. Asymptotic in the rows of each class.
    warnings : tuple of DataWarning
        Whether the tolerance is wide for some classes.
    confusion : ClassConfusion or None
        Observed and expected confusion; None of more than 30 classes, and of lists.
    decision : SwapRegret or None
        What acting on the probabilities costs; None if no costs were given.
    recalibration : ClassRecalibration or None
        What recalibration would do, on rows that it was not fitted to; None if there are too few rows, or lists of some
        classes only.
    null_errors : ndarray
        Errors that as many classes would show if all probabilities were right, the largest first; asymptotic in the
        rows of each class, as if the errors of classes were independent of each other.
    shown : tuple of int
        Classes that have a reliability diagram, by their place in `table`; the largest upper bound first.
    reliability : tuple of Curve
        Their binned reliability curves.
    advice : Advice
        What to do.
    references : tuple of str
        Keys of `calibrant.references`.
    provenance : Provenance
        When and by which call it was made, of which rows, and the fingerprint of its numbers.
    """

    name: str
    n: Count
    left_out: LeftOut | None
    classes: tuple[str, ...]
    n_listed: int | None
    certificate: ClassCertificate
    total: ClassCertificate
    top_label: ClassCertificate
    confidence: ClassCertificate
    sum_estimates: ClassSum
    table: ClassTable
    test: CalibrationTest | None
    losses: ClassLosses
    too_sure: Estimate
    null_means: dict[str, float]
    warnings: tuple[DataWarning, ...]
    confusion: ClassConfusion | None
    decision: SwapRegret | None
    recalibration: ClassRecalibration | None
    null_errors: FloatArray
    shown: tuple[int, ...]
    reliability: tuple[Curve, ...]
    advice: Advice
    references: tuple[str, ...]
    provenance: Provenance

    _kind: ClassVar[str] = "class audit"

    @property
    def rejected(self) -> bool:
        """Whether the test rejects the probabilities at level .05."""
        return self.test is not None and self.test.p_value <= _LEVEL
