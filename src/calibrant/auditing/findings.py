"""The findings of an audit: what those of every kind have, and all numbers about the scores of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from calibrant.auditing.measures import Measures
from calibrant.auditing.performance import Performance
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.verdict import WORDS, judged
from calibrant.auditing.warnings import DataWarning
from calibrant.certificates import Band, CalibrationTest, Certificate, ExpectedErrorCertificate
from calibrant.curves import CumulativeResiduals, Curve, ScoreHistogram
from calibrant.decisions import BinarySelection, Decision, MaxRegret, NetBenefit
from calibrant.metrics import ClusterHeterogeneity, CutoffCalibration
from calibrant.table.missing import LeftOut
from calibrant.table.results import Count, Estimate, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calibrant.auditing.grades import GradeAudit
    from calibrant.auditing.segment_audit import SegmentAudit

_Mend = Literal["check the scores", "check the labels"]
_Fit = Literal["recalibrate", "recalibrate meanwhile", "recalibrate by segment", "recalibrate by grade"]
Action = Literal["leave alone", "collect more data", "none"] | _Fit | _Mend


@dataclass(frozen=True)
class Advice(Result):
    """One recommendation and why.

    Attributes
    ----------
    action : str
        What to do: "leave alone", "recalibrate", "recalibrate by segment" (or "grade"), "collect more data", or
        "recalibrate meanwhile" until there are more; "check the scores" or "check the labels" if a warning comes first;
        "none" if the weights leave no basis for advice.
    reason : str
        Why, in one sentence.
    command, python : str or None
        Next shell command and next line of Python, where ``cal`` is `calibrant`; None if there is nothing to run, or
        not there: a shell does not see rows in memory. Both are about the rows that were audited, with all that was
        said of them. A dataframe is called ``frame``, arrays are ``y`` and ``p`` (means ``z`` and ``f``, classes ``P``)
        or as their parameters.
    """

    action: Action
    reason: str
    command: str | None = None
    python: str | None = None


class DrawnAudit(Protocol):
    """What `Audit.plot` and `ClassAudit.plot` return, see `calibrant.plots.AuditDisplay`."""

    figure_: Figure
    axes_: tuple[Axes, ...]


@dataclass(frozen=True, kw_only=True)
class AuditFindings(Result):
    """Base of the findings of audits of every kind.

    Attributes
    ----------
    kind : {"event", "classes", "amount"}
        What was predicted.
    name : str
        What was audited, for headings.
    n : float
        Rows, each counted once if they have weights.
    clusters : int or None
        Clusters of rows that may depend on each other; None if rows are independent.
    left_out : LeftOut or None
        Rows that were left out because a value is missing, by cause; None if such rows are refused.
    certificate : Certificate or None
        Bounds and verdict; None where weights count no rows, or clusters are worth fewer than five of equal size.
    test : CalibrationTest or None
        Test of perfect calibration; None where rows are not independent but of events, and where it takes too long.
    warnings : tuple of DataWarning
        Signs that rows or predictions are not what they are taken for.
    segments, grades : SegmentAudit and GradeAudit, or None
        Calibration in segments of the rows, and tests of grades or pools; None if they were not asked for.
    advice : Advice
        What to do.
    references : tuple of str
        Keys of `calibrant.references`.
    provenance : Provenance
        When and by which call it was made, of which rows, and the fingerprint of its numbers.
    """

    _document = "audit"
    kind: ClassVar[str]

    name: str
    n: Count
    clusters: int | None
    left_out: LeftOut | None
    certificate: Certificate | None
    test: CalibrationTest | None
    warnings: tuple[DataWarning, ...]
    segments: SegmentAudit | None = None
    grades: GradeAudit | None = None
    advice: Advice
    references: tuple[str, ...]
    provenance: Provenance

    @property
    def verdict(self) -> str:
        """Verdict on all that was asked for: tolerance, segments, grades and agreed limits.

        "certified", "refuted", "rejected", "undecided" or "uninformative"; "no verdict" where nothing was asked for, or
        all of it but a tolerance holds, and "no certificate" where there is none besides.
        """
        return judged(self).word

    @property
    def passed(self) -> bool:
        """Whether all that was asked for is shown to hold."""
        return self.verdict not in WORDS[:-1]

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the findings as plain data, with the verdict.

        With ``curves=False`` arrays are left out: points of curves, and what there is one of for each class.
        """
        return {"verdict": self.verdict} | super().to_dict(curves=curves)

    def estimated(self, measure: str) -> Estimate | None:
        """Return a measure with its interval; None if there is none of this name."""
        estimate: Estimate | None = getattr(getattr(self, "performance", None), measure, None)
        return estimate


@dataclass(frozen=True, kw_only=True)
class Findings(AuditFindings):
    """All numbers of an audit of events, with the fields of `AuditFindings`.

    Attributes
    ----------
    positives : float or None
        Positives among the rows; None if they have weights.
    base_rate : float
        Share of positives, as weighted.
    mean_score : float
        Mean predicted probability, as weighted.
    distinct_scores : int or None
        Number of distinct scores; None if they were too many to keep each.
    tied_rows : float or None
        Rows that share their score with another row; None if unknown.
    weights : {"rows", "chances", "other"}
        "other" if weights do not count rows; "chances" if they are 1 over known chances of having been looked at.
    effective_clusters : float or None
        Number of clusters of equal size that would be worth as much, ``(sum m)**2 / sum m**2`` of their sizes m.
    classes : tuple of str or None
        Where a `pos_label` stands against several other labels: it and these, up to six of them; else None.
    cutoff : CutoffCalibration
        Cutoff calibration error with its interval, and what perfect calibration would give.
    certificate_ordinary : Certificate or None
        With clusters beside a verdict: the narrower bound that `certificate` is without a tolerance.
    expected_error : ExpectedErrorCertificate or None
        Bounds on the expected calibration error, the upper one if the event rate is nondecreasing; None if
        rows are not independent or weights do not count them.
    performance : Performance
        Discrimination, accuracy and calibration in the large, each number with its interval.
    performance_unseen : Performance or None
        The same for clusters of a kind that none of these shows; None without clusters, or if `performance` is so.
    decision : Decision or None
        Expected cost at the costs given; None if there were none.
    max_regret : MaxRegret or None
        Possible saving at any costs; None if weights do not count rows.
    recalibration : Recalibration or None
        Cross-validated effect of what `calibrant recalibrate` would fit; None if it could not be assessed.
    measures : Measures
        Further measures of calibration.
    reliability, isotonic, local : Curve
        Binned and isotonic reliability curve, and the local regression (loess) of the integrated calibration index.
    band : Band or None
        Limits for the event rate at every score at once, if it is nondecreasing in the score; at fewer scores for
        drawing, which widens it between the scores kept. None if weights do not count rows, or rows too few.
    histogram : ScoreHistogram
        Distribution of the scores by class.
    cumulative_residuals : CumulativeResiduals
        The cumulative residuals, at fewer scores for drawing.
    decision_curve : NetBenefit
        Confusion matrix, net benefit and expected cost at thresholds spread over the scores.
    selective : BinarySelection or None
        Which cases may be decided without review; None without a `target_error`.
    heterogeneity : ClusterHeterogeneity or None
        Calibration and AUC in each cluster, and how they differ; None but of 3 to 200 clusters, with as many events.
    """

    positives: Count | None
    base_rate: float
    mean_score: float
    distinct_scores: int | None
    tied_rows: Count | None
    weights: str
    effective_clusters: float | None
    classes: tuple[str, ...] | None = None
    cutoff: CutoffCalibration
    expected_error: ExpectedErrorCertificate | None
    performance: Performance
    performance_unseen: Performance | None
    decision: Decision | None
    max_regret: MaxRegret | None
    recalibration: Recalibration | None
    measures: Measures
    reliability: Curve
    isotonic: Curve
    local: Curve
    band: Band | None
    histogram: ScoreHistogram
    cumulative_residuals: CumulativeResiduals
    decision_curve: NetBenefit
    selective: BinarySelection | None = None
    certificate_ordinary: Certificate | None = None
    heterogeneity: ClusterHeterogeneity | None = None

    kind: ClassVar[str] = "event"
