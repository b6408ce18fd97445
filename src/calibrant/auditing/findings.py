"""The findings: every number calibrant has about one set of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.auditing.advice import Advice
from calibrant.auditing.recalibration import Recalibration
from calibrant.certificates import Certificate
from calibrant.core.results import Result
from calibrant.curves import Curve, Histogram, ResidualWalk
from calibrant.decisions import Decision
from calibrant.metrics import CutoffCalibration

__all__ = ["Findings", "Sample"]


@dataclass(frozen=True)
class Sample(Result):
    """The rows that were audited.

    Attributes
    ----------
    n : float
        Rows, or total weight.
    positives : float
        Positives among them.
    base_rate : float
        Share of positives.
    mean_score : float
        Average score, the share that was promised.
    distinct_scores : int or None
        Number of distinct scores; None if they were too many to keep apart.
    tied_rows : float or None
        Rows that share their score with another row; None if unknown.
    weights : {"rows", "other"}
        Whether a weight is a number of rows.
    """

    n: float
    positives: float
    base_rate: float
    mean_score: float
    distinct_scores: int | None
    tied_rows: float | None
    weights: str


@dataclass(frozen=True)
class Findings(Result):
    """All numbers of an audit.

    Attributes
    ----------
    name : str
        What was audited, for headings.
    sample : Sample
        The rows.
    cutoff : CutoffCalibration
        Cutoff calibration error with its interval and noise floor.
    certificate : Certificate or None
        Bound and verdict; None if the weights are not whole numbers.
    brier, log_loss, roc_auc : float
        Brier score and log loss (smaller is better), area under the ROC curve (larger is better).
    roc_auc_error : float
        `roc_auc` is known to within this; 0 unless the rows were too many to keep apart.
    brier_of_base_rate : float
        Brier score of always predicting the base rate, for comparison.
    decision : Decision or None
        Money; None if no costs were given.
    recalibration : Recalibration or None
        What isotonic calibration achieves on rows it has not seen; None if it could not be judged.
    advice : Advice
        What to do.
    reliability, isotonic : Curve
        Binned and isotonic reliability curve.
    histogram : Histogram
        Distribution of the scores by class.
    walk : ResidualWalk
        The residual walk, thinned for drawing.
    references : tuple of str
        Keys of `calibrant.references`.
    version : str
        Version of calibrant.
    """

    name: str
    sample: Sample
    cutoff: CutoffCalibration
    certificate: Certificate | None
    brier: float
    log_loss: float
    roc_auc: float
    roc_auc_error: float
    brier_of_base_rate: float
    decision: Decision | None
    recalibration: Recalibration | None
    advice: Advice
    reliability: Curve
    isotonic: Curve
    histogram: Histogram
    walk: ResidualWalk
    references: tuple[str, ...]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, marked with the version that made them."""
        return {"calibrant": self.version, "kind": "audit"} | super().to_dict()
