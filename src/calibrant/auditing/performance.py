"""The numbers of a validation report, each with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.metrics import (
    brier_score,
    calibration_in_the_large,
    calibration_slope,
    log_loss,
    observed_expected_ratio,
    roc_auc_interval,
    roc_auc_limits,
)
from calibrant.metrics.estimates import SampledRows, sampled_rows
from calibrant.table.clusters import ClusteredRows
from calibrant.table.results import Estimate, Result
from calibrant.table.score_table import FloatArray, ScoreTable

__all__ = ["Performance", "performance_of"]


@dataclass(frozen=True)
class Performance(Result):
    """Discrimination, accuracy and calibration as validation reports give them; every number with its interval.

    Each interval holds by itself with the confidence of the audit. With clusters all rows count once, whatever the
    largest weight of a cluster in certificate, test and costs is.

    Attributes
    ----------
    roc_auc : Estimate
        Area under the ROC curve; larger is better, 0.5 is chance.
    brier, log_loss : Estimate
        Mean squared difference of label and score, and mean of minus the log of the probability given to the label;
        smaller is better.
    scaled_brier : Estimate
        ``1 - brier / (rate (1 - rate))``, the Brier skill score: 1 is perfect, 0 as good as predicting the observed
        rate, below 0 worse.
    calibration_in_the_large : Estimate
        Mean predicted minus observed; 0 is ideal.
    observed_expected : Estimate
        O:E, observed over expected positives; 1 is ideal.
    calibration_intercept : Estimate
        Intercept of the logistic recalibration with slope 1, in log-odds; 0 is ideal, below 0 predictions are too high.
    calibration_slope : Estimate
        Slope of the logistic recalibration; 1 is ideal, below 1 predictions are too extreme.
    net_benefit : Estimate or None
        At the threshold of the costs, in true positives per row; larger is better. None without costs, or if a false
        negative costs nothing.
    """

    roc_auc: Estimate
    brier: Estimate
    log_loss: Estimate
    scaled_brier: Estimate
    calibration_in_the_large: Estimate
    observed_expected: Estimate
    calibration_intercept: Estimate
    calibration_slope: Estimate
    net_benefit: Estimate | None


def performance_of(
    rows: ScoreTable | ClusteredRows, *, confidence_level: float, threshold: float | None = None
) -> Performance:
    """Compute them all from rows of both classes; the threshold is that of the costs."""
    sample = sampled_rows(rows, confidence_level=confidence_level)
    slope = calibration_slope(rows, confidence_level=confidence_level)
    return Performance(
        roc_auc=_area(rows, confidence_level),
        brier=sample.mean(_squared, brier_score(sample.table)),
        log_loss=sample.mean(_log_loss, log_loss(sample.table)),
        scaled_brier=_scaled_brier(sample),
        calibration_in_the_large=calibration_in_the_large(rows, confidence_level=confidence_level),
        observed_expected=observed_expected_ratio(rows, confidence_level=confidence_level),
        calibration_intercept=sample.estimate(
            slope.calibration_intercept, slope.calibration_intercept_interval, slope.note
        ),
        calibration_slope=sample.estimate(slope.slope, slope.slope_interval, slope.note),
        net_benefit=None if threshold is None else _net_benefit(sample, threshold),
    )


def _area(rows: ScoreTable | ClusteredRows, confidence_level: float) -> Estimate:
    """Area under the ROC curve; the interval allows for the order of rows that were pooled in cells."""
    found = roc_auc_interval(rows, confidence_level=confidence_level)
    low, high = roc_auc_limits(rows.table if isinstance(rows, ClusteredRows) else rows)
    pooled = 0.5 * (high - low)
    return Estimate(
        found.value,
        float(np.clip(found.lower - pooled, 0.0, 1.0)),
        float(np.clip(found.upper + pooled, 0.0, 1.0)),
        confidence_level,
        found.method,
        f"known to within {pooled:.1g}, since neighbouring scores were pooled" if pooled > 0.0 else "",
    )


def _squared(label: int, score: FloatArray) -> FloatArray:
    return (label - score) ** 2


def _log_loss(label: int, score: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return -np.log(score) if label else -np.log1p(-score)


def _scaled_brier(sample: SampledRows) -> Estimate:
    """1 minus the ratio of two mean squares.

    The rate of the rows in place of that of the population makes the second larger by a part in n: it is the constant
    with the least mean square.
    """
    rate = sample.table.base_rate
    ratio = sample.ratio(_squared, lambda label, score: (label - rate) ** 2 + 0.0 * score)
    return sample.estimate(1.0 - ratio.value, (1.0 - ratio.upper, 1.0 - ratio.lower))


def _net_benefit(sample: SampledRows, threshold: float) -> Estimate | None:
    if threshold == 1.0:
        return None
    odds = threshold / (1.0 - threshold)

    def gained(label: int, score: FloatArray) -> FloatArray:
        return np.where(score >= threshold, 1.0 if label else -odds, 0.0)

    return sample.mean(gained, within=(-odds, 1.0))
