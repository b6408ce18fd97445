"""The findings about predicted means: of claims, counts, shares, scores and whatever else is a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calibrant.auditing.findings import AuditFindings
from calibrant.certificates.results import Certificate
from calibrant.curves.means import ConcentrationCurve, MeanCurve
from calibrant.metrics.means import Concentration
from calibrant.metrics.proper import ScoreDecomposition
from calibrant.table.results import Count, Estimate, Result


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


@dataclass(frozen=True)
class MeanRecalibration(Result):
    """What `calibrant.calibrators.AutoMeanCalibrator` does to predictions of rows that it was not fitted to.

    Attributes
    ----------
    chosen : str
        The map that it chooses on all rows: "identity", "scale", "power" or "isotonic".
    n : int
        Rows that were judged, each half of them by the map of the other one.
    error_before, error_after : float
        Calibration errors, in the unit of the certificate.
    deviance_before, deviance_after : float
        Mean Poisson deviance per unit of weight, which is smaller where predictions are better.
    upper_limit : float or None
        Above which no recalibrated mean is: the largest outcome there can be, of rows without exposure.
    """

    chosen: str
    n: Count
    error_before: float
    error_after: float
    deviance_before: float
    deviance_after: float
    upper_limit: float | None


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
