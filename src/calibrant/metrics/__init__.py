"""Numbers that describe how good scores are; every one takes labels and scores, or a score table."""

from calibrant.keywords import check_package
from calibrant.metrics.all_classes import (
    ClassSum,
    class_sum_calibration,
    multiclass_expected_calibration_error,
    pooled_calibration_error,
    top_m_calibration_error,
)
from calibrant.metrics.binned import (
    BinnedCalibration,
    binned_calibration,
    expected_calibration_error,
    quantile_mean_squared_error,
)
from calibrant.metrics.classes import (
    ClassCalibration,
    class_wise_calibration,
    confidence_calibration_error,
    top_label_calibration,
)
from calibrant.metrics.classical_tests import (
    HosmerLemeshow,
    KsCalibrationTest,
    Spiegelhalter,
    hosmer_lemeshow,
    ks_calibration_test,
    spiegelhalter,
)
from calibrant.metrics.confusion import ConfusionMetrics, confusion_metrics
from calibrant.metrics.cutoff import CutoffCalibration, cutoff_calibration, cutoff_calibration_error
from calibrant.metrics.divergence import score_divergence
from calibrant.metrics.heterogeneity import BetweenClusters, ClusterHeterogeneity, cluster_heterogeneity
from calibrant.metrics.in_the_large import calibration_in_the_large, observed_expected_ratio
from calibrant.metrics.integrated import IntegratedCalibration, integrated_calibration_index
from calibrant.metrics.local import (
    LocalCalibration,
    local_calibration,
    local_calibration_score,
    weighted_mean_squared_error,
)
from calibrant.metrics.means import (
    Concentration,
    MeanBias,
    concentration,
    mean_bias,
    mean_calibration_error,
    mean_decomposition,
    mean_deviance,
)
from calibrant.metrics.proper import (
    ScoreDecomposition,
    brier_decomposition,
    brier_score,
    log_loss,
    log_loss_decomposition,
)
from calibrant.metrics.ranking import RocAuc, RocCurve, roc_auc, roc_auc_interval, roc_auc_limits, roc_curve
from calibrant.metrics.slope import CalibrationSlope, calibration_slope
from calibrant.metrics.smooth import smooth_calibration_error
from calibrant.table.results import Estimate

__all__ = [
    "BetweenClusters",
    "BinnedCalibration",
    "CalibrationSlope",
    "ClassCalibration",
    "ClassSum",
    "ClusterHeterogeneity",
    "Concentration",
    "ConfusionMetrics",
    "CutoffCalibration",
    "Estimate",
    "HosmerLemeshow",
    "IntegratedCalibration",
    "KsCalibrationTest",
    "LocalCalibration",
    "MeanBias",
    "RocAuc",
    "RocCurve",
    "ScoreDecomposition",
    "Spiegelhalter",
    "binned_calibration",
    "brier_decomposition",
    "brier_score",
    "calibration_in_the_large",
    "calibration_slope",
    "class_sum_calibration",
    "class_wise_calibration",
    "cluster_heterogeneity",
    "concentration",
    "confidence_calibration_error",
    "confusion_metrics",
    "cutoff_calibration",
    "cutoff_calibration_error",
    "expected_calibration_error",
    "hosmer_lemeshow",
    "integrated_calibration_index",
    "ks_calibration_test",
    "local_calibration",
    "local_calibration_score",
    "log_loss",
    "log_loss_decomposition",
    "mean_bias",
    "mean_calibration_error",
    "mean_decomposition",
    "mean_deviance",
    "multiclass_expected_calibration_error",
    "observed_expected_ratio",
    "pooled_calibration_error",
    "quantile_mean_squared_error",
    "roc_auc",
    "roc_auc_interval",
    "roc_auc_limits",
    "roc_curve",
    "score_divergence",
    "smooth_calibration_error",
    "spiegelhalter",
    "top_label_calibration",
    "top_m_calibration_error",
    "weighted_mean_squared_error",
]

check_package(__name__)
