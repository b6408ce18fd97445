"""The numbers of a validation report, each with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.decisions import net_benefit
from calibrant.distributions.cluster_jackknife import LOG
from calibrant.metrics import brier_score, log_loss
from calibrant.metrics.estimates import SampledRows, difference_of, label_of, ratio_of
from calibrant.metrics.proper import log_loss_of, squared_loss_of
from calibrant.metrics.ranking import ONE_CLASS, area_of
from calibrant.metrics.slope import slope_of
from calibrant.table.clusters import ClusteredRows
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Estimate, Result
from calibrant.table.score_table import ScoreTable, has_both_classes


@dataclass(frozen=True)
class Performance(Result):
    """Discrimination, accuracy and calibration as validation reports give them; every number with its interval.

    Each interval holds by itself with about the confidence of the audit, if rows of every kind that matters were seen:
    one in a few hundred whose scores are far outside those of the others cannot be allowed for as long as there is
    none. With clusters it is about clusters of these sizes and approximate, and all rows count once, whatever the
    largest weight of a cluster in the certificate is.

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
    observed_minus_predicted : Estimate
        Calibration in the large: observed rate minus mean predicted; 0 is ideal, below 0 predictions are too high.
    observed_expected : Estimate
        O:E, observed over expected positives; 1 is ideal.
    calibration_intercept : Estimate
        Intercept of the logistic recalibration with slope 1, in log-odds; 0 is ideal, below 0 predictions are too high.
    calibration_slope : Estimate
        Slope of the logistic recalibration; 1 is ideal, below 1 predictions are too extreme.
    net_benefit : Estimate or None
        At the threshold of the costs, in true positives per row; larger is better. None without costs, or if a false
        negative costs nothing.

    Examples
    --------
    >>> from calibrant import audit
    >>> found = audit([0, 0, 0, 1] * 50, [0.1, 0.2, 0.3, 0.4] * 50).performance
    >>> found.observed_expected.value, round(found.observed_expected.lower, 2), round(found.observed_expected.upper, 2)
    (1.0, 0.8, 1.21)
    """

    roc_auc: Estimate
    brier: Estimate
    log_loss: Estimate
    scaled_brier: Estimate
    observed_minus_predicted: Estimate
    observed_expected: Estimate
    calibration_intercept: Estimate
    calibration_slope: Estimate
    net_benefit: Estimate | None


def performance_of(
    rows: ScoreTable | ClusteredRows,
    *,
    confidence_level: float,
    threshold: float | None = None,
    unseen_clusters: bool = False,
) -> Performance:
    """Compute them all; the threshold is that of the costs."""
    clusters = rows if isinstance(rows, ClusteredRows) else None
    table = rows.table if isinstance(rows, ClusteredRows) else rows
    sample = SampledRows(table, clusters, confidence_level, unseen_clusters)
    area, slope = area_of(sample), slope_of(sample)
    pooled = "" if table.exact else "neighbouring scores were pooled; the interval allows for their order"
    notes = "; ".join(filter(None, [area.note, pooled]))
    return Performance(
        roc_auc=Estimate(area.value, area.lower, area.upper, confidence_level, area.method, notes),
        brier=sample.mean(squared_loss_of, brier_score(sample.table), scale=LOG),
        log_loss=sample.mean(log_loss_of, log_loss(sample.table), scale=LOG),
        scaled_brier=_scaled_brier(sample),
        observed_minus_predicted=difference_of(sample),
        observed_expected=ratio_of(sample),
        calibration_intercept=sample.estimate(
            slope.calibration_intercept, slope.calibration_intercept_interval, slope.note
        ),
        calibration_slope=sample.estimate(
            slope.slope, slope.slope_interval, "; ".join(filter(None, [slope.note, slope.slope_note]))
        ),
        net_benefit=None if threshold is None else _net_benefit(sample, threshold),
    )


def _one(_: int, score: FloatArray) -> FloatArray:
    return np.ones(len(score))


def _scaled_brier(sample: SampledRows) -> Estimate:
    """1 minus the ratio of two mean squares.

    The rate of the population is not known: the interval is the widest of those for this rate at its estimate and at
    either end of its interval. To first order it does not matter; for scores that are of hardly any use it does.
    """
    brier, share = brier_score(sample.table), sample.table.base_rate
    if not has_both_classes(sample.table):
        return sample.estimate(math.nan, (math.nan, math.nan), ONE_CLASS)
    if sample.jackknife is not None:
        rates = sample.ratios_without(label_of, _one)
        with np.errstate(divide="ignore", invalid="ignore"):
            without = sample.ratios_without(squared_loss_of, _one) / (rates * (1.0 - rates))
        estimate = sample.left_out(brier / (share * (1.0 - share)), without, LOG)
        return sample.estimate(1.0 - estimate.value, (1.0 - estimate.upper, 1.0 - estimate.lower), estimate.note)
    rate = sample.mean(label_of, share)
    ratios = [_ratio_to_rate(sample, brier, at) for at in (rate.value, rate.lower, rate.upper)]
    lower, upper = max(ratio.upper for ratio in ratios), min(ratio.lower for ratio in ratios)
    return sample.estimate(1.0 - ratios[0].value, (1.0 - lower, 1.0 - upper))


def _ratio_to_rate(sample: SampledRows, brier: float, rate: float) -> Estimate:
    """Brier score over that of predicting a rate throughout."""
    share = sample.table.base_rate
    constant = share * (1.0 - share) + (share - rate) ** 2
    return sample.ratio(
        squared_loss_of, lambda label, score: np.full(len(score), (label - rate) ** 2), brier / constant
    )


def _net_benefit(sample: SampledRows, threshold: float) -> Estimate | None:
    if threshold == 1.0:
        return None
    odds = threshold / (1.0 - threshold)

    def gained(label: int, score: FloatArray) -> FloatArray:
        return np.where(score >= threshold, 1.0 if label else -odds, 0.0)

    value = net_benefit(sample.table, at=[threshold]).net_benefit[0] if threshold > 0.0 else sample.table.base_rate
    return sample.mean(gained, float(value), within=(-odds, 1.0))
