"""Numbers that describe how good scores are; every one takes labels and scores, or a score table."""

from calibrant.metrics.cutoff import CutoffCalibration, cutoff_calibration, cutoff_calibration_error
from calibrant.metrics.proper import brier_score, log_loss
from calibrant.metrics.ranking import roc_auc, roc_auc_limits

__all__ = [
    "CutoffCalibration",
    "brier_score",
    "cutoff_calibration",
    "cutoff_calibration_error",
    "log_loss",
    "roc_auc",
    "roc_auc_limits",
]
