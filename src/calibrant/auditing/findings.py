"""The findings of an audit: what those of every kind have, and all numbers of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from calibrant.auditing.measures import Measures
from calibrant.auditing.performance import Performance
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.recalibration import ClassLosses, ClassRecalibration, MeanRecalibration, Recalibration
from calibrant.auditing.verdict import WORDS, judged
from calibrant.auditing.warnings import DataWarning
from calibrant.certificates import Band, CalibrationTest, Certificate, ExpectedErrorCertificate
from calibrant.curves import CumulativeResiduals, Curve, ScoreHistogram
from calibrant.curves.means import ConcentrationCurve, MeanCurve
from calibrant.decisions import BinarySelection, ClassConfusion, Decision, MaxRegret, NetBenefit, SwapRegret
from calibrant.metrics import ClassSum, ClusterHeterogeneity, CutoffCalibration
from calibrant.metrics.classes import PartErrors
from calibrant.metrics.means import Concentration
from calibrant.metrics.proper import ScoreDecomposition
from calibrant.table.missing import LeftOut
from calibrant.table.pooling import FloatArray
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


_LEVEL = 0.05  # of the test


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


@dataclass(frozen=True)
class PredictionBand(Result):
    """The interval of predictions that attains the calibration error, and what is in it.

    Attributes
    ----------
    low, high : float
        Its ends: above low, up to and including high; low is minus infinity if it starts below all predictions.
    n : int
        Rows in it.
    weight : float
        Their exposure, or as many equal rows as weights are worth.
    predicted, observed : float
        Totals of what was predicted and observed there; of rows with weights their means.
    """

    low: float
    high: float
    n: Count
    weight: float
    predicted: float
    observed: float

    @property
    def direction(self) -> str:
        """Whether predictions there are "too low" or "too high"."""
        return "too low" if self.observed > self.predicted else "too high"


@dataclass(frozen=True, kw_only=True)
class MeanFindings(AuditFindings):
    """All numbers of an audit of predicted means, with the fields of `AuditFindings`.

    Attributes
    ----------
    n_events : int
        Rows whose outcome is not 0.
    weight : float
        Total exposure; or as many equal rows as rows with weights are worth, ``(sum w)**2 / sum w**2``; or rows.
    weighting : {"none", "exposure", "sample_weight"}
        Whether rows have weights, and what they mean.
    observed, predicted : float
        Totals of outcomes and of predictions; of rows with weights their means.
    certificate : Certificate
        Bounds on how far predictions are too low and too high, and the verdict.
    band : PredictionBand or None
        Where the calibration error is attained; None if it is 0.
    bias : Estimate
        Total observed divided by total predicted.
    deviance : {"poisson", "squared"}
        Which deviance is decomposed: squared error where outcomes or predictions may be negative.
    decomposition : ScoreDecomposition
        Miscalibration, discrimination and uncertainty of this deviance.
    concentration : Concentration
        Gini index, and the area between concentration and Lorenz curve.
    recalibration : MeanRecalibration or None
        What `AutoMeanCalibrator` does to predictions it was not fitted to; None if it cannot be fitted.
    reliability, isotonic : MeanCurve
        Observed means in bins, and the isotonic curve.
    concentration_curve : ConcentrationCurve
        Concentration and Lorenz curve with the cumulative residuals, at fewer predictions for drawing.
    """

    n_events: Count
    weight: float
    weighting: str
    observed: float
    predicted: float
    certificate: Certificate
    band: PredictionBand | None
    bias: Estimate
    deviance: str
    decomposition: ScoreDecomposition
    concentration: Concentration
    recalibration: MeanRecalibration | None
    reliability: MeanCurve
    isotonic: MeanCurve
    concentration_curve: ConcentrationCurve

    kind: ClassVar[str] = "amount"

    def estimated(self, measure: str) -> Estimate | None:
        """Return the ratio of observed and predicted total, by its name."""
        return self.bias if measure == "observed_expected" else None
