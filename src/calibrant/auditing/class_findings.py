"""The findings about the probabilities of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.auditing.findings import Advice
from calibrant.auditing.provenance import Provenance
from calibrant.certificates.classes import ClassCertificate
from calibrant.curves import Curve
from calibrant.table.class_scores import ClassScores
from calibrant.table.results import Count, Result


@dataclass(frozen=True)
class ClassLosses(Result):
    """How good probabilities of several classes are.

    Attributes
    ----------
    accuracy : float
        Share of the rows whose most probable class occurred.
    log_loss : float
        Mean of minus the logarithm of the probability of the class that occurred; infinite if one of these was 0.
    brier_score : float
        Mean sum over all classes of the squared differences between outcome and probability, in [0, 2].
    """

    accuracy: float
    log_loss: float
    brier_score: float

    @classmethod
    def of(cls, scores: ClassScores) -> ClassLosses:
        """Compute them."""
        with np.errstate(divide="ignore"):
            log_loss = -float(np.log1p(-scores.miss).mean())
        squares = np.einsum("ij,ij->i", scores.proba, scores.proba)
        return cls(
            accuracy=float((scores.predicted == scores.code).mean()),
            log_loss=log_loss + 0.0,
            brier_score=float((squares + 2.0 * scores.miss - 1.0).mean()),
        )


@dataclass(frozen=True)
class ClassFindings(Result):
    """All numbers of an audit of several classes.

    Attributes
    ----------
    name : str
        What was audited, for headings.
    n : int
        Rows.
    classes : tuple of str
        All classes, in the order of the columns.
    certificate : ClassCertificate
        Bound and verdict on the worst class, each against the rest: it holds for all classes.
    total, top_label, confidence : ClassCertificate
        Bounds on the sum of the errors of all classes, on that of the largest probability by predicted class, and on
        that of the largest probability.
    losses : ClassLosses
        Accuracy, log loss and Brier score.
    shown : tuple of int
        Classes that have a reliability diagram, by their number in `classes`; the largest upper bound first.
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
    classes: tuple[str, ...]
    certificate: ClassCertificate
    total: ClassCertificate
    top_label: ClassCertificate
    confidence: ClassCertificate
    losses: ClassLosses
    shown: tuple[int, ...]
    reliability: tuple[Curve, ...]
    advice: Advice
    references: tuple[str, ...]
    provenance: Provenance

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the findings as plain data, marked with the version that made them.

        With ``curves=False`` arrays are left out: points of curves, and what there is one of for each class.
        """
        return {"calibrant": self.provenance.version, "kind": "class audit"} | super().to_dict(curves=curves)
