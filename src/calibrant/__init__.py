"""calibrant: can the scores of a binary classifier be read as probabilities?

Names are imported on first use, so that `import calibrant` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from calibrant.version import __version__ as __version__

if TYPE_CHECKING:
    from calibrant.auditing.audit import Audit, audit
    from calibrant.auditing.class_audit import ClassAudit, audit_classes
    from calibrant.auditing.grades import GradeAudit, audit_grades
    from calibrant.auditing.mean_audit import MeanAudit, audit_means
    from calibrant.auditing.segment_audit import SegmentAudit, audit_segments
    from calibrant.auditing.segments import SegmentSearch, find_segments
    from calibrant.auditing.selective import selective, selective_binary
    from calibrant.calibrators import (
        AutoCalibrator,
        AutoMeanCalibrator,
        BetaCalibrator,
        CalibratedClassifier,
        IsotonicCalibrator,
        MulticlassAutoCalibrator,
        OffsetCalibrator,
        PlattCalibrator,
        SegmentCalibrator,
        TemperatureCalibrator,
        VennAbersCalibrator,
    )
    from calibrant.certificates.calibration_test import calibration_test
    from calibrant.certificates.certify import certify
    from calibrant.certificates.class_table import certify_each_class
    from calibrant.certificates.classes import certify_classes
    from calibrant.certificates.means import certify_means
    from calibrant.certificates.sample_size import required_sample_size
    from calibrant.comparing.compare import compare
    from calibrant.comparing.results import Comparison
    from calibrant.decisions import Selection
    from calibrant.errors import ArgumentError, CalibrantError, DataError, SourceError
    from calibrant.export import load_model
    from calibrant.metrics import (
        brier_score,
        cutoff_calibration,
        cutoff_calibration_error,
        expected_calibration_error,
        log_loss,
    )
    from calibrant.metrics.scorers import scorers
    from calibrant.monitoring.monitor import Monitor
    from calibrant.plots import ReliabilityDisplay
    from calibrant.sources.files import read_table
    from calibrant.sources.query import Query
    from calibrant.table.class_scores import ClassScores
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.score_table import ScoreTable

# Module -> the names a user types often.
_HOME = {
    "auditing.audit": "Audit audit",
    "auditing.class_audit": "ClassAudit audit_classes",
    "auditing.grades": "GradeAudit audit_grades",
    "auditing.mean_audit": "MeanAudit audit_means",
    "auditing.segment_audit": "SegmentAudit audit_segments",
    "auditing.segments": "SegmentSearch find_segments",
    "auditing.selective": "selective selective_binary",
    "calibrators": "AutoCalibrator AutoMeanCalibrator BetaCalibrator CalibratedClassifier IsotonicCalibrator "
    "MulticlassAutoCalibrator OffsetCalibrator PlattCalibrator SegmentCalibrator TemperatureCalibrator "
    "VennAbersCalibrator",
    "certificates": "calibration_test certify certify_classes certify_each_class certify_means required_sample_size",
    "comparing.compare": "compare",
    "comparing.results": "Comparison",
    "decisions": "Selection",
    "errors": "ArgumentError CalibrantError DataError SourceError",
    "export": "load_model",
    "sources.files": "read_table",
    "sources.query": "Query",
    "metrics": "brier_score cutoff_calibration cutoff_calibration_error expected_calibration_error log_loss",
    "metrics.scorers": "scorers",
    "monitoring.monitor": "Monitor",
    "plots": "ReliabilityDisplay",
    "table.class_scores": "ClassScores",
    "table.outcome_table": "OutcomeTable",
    "table.score_table": "ScoreTable",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_PACKAGES = (
    "calibrators",
    "certificates",
    "curves",
    "decisions",
    "errors",
    "export",
    "metrics",
    "monitoring",
    "papers",
    "plots",
    "references",
)

__all__ = [
    "ArgumentError",
    "Audit",
    "AutoCalibrator",
    "AutoMeanCalibrator",
    "BetaCalibrator",
    "CalibrantError",
    "CalibratedClassifier",
    "ClassAudit",
    "ClassScores",
    "Comparison",
    "DataError",
    "GradeAudit",
    "IsotonicCalibrator",
    "MeanAudit",
    "Monitor",
    "MulticlassAutoCalibrator",
    "OffsetCalibrator",
    "OutcomeTable",
    "PlattCalibrator",
    "Query",
    "ReliabilityDisplay",
    "ScoreTable",
    "SegmentAudit",
    "SegmentCalibrator",
    "SegmentSearch",
    "Selection",
    "SourceError",
    "TemperatureCalibrator",
    "VennAbersCalibrator",
    "audit",
    "audit_classes",
    "audit_grades",
    "audit_means",
    "audit_segments",
    "brier_score",
    "calibration_test",
    "certify",
    "certify_classes",
    "certify_each_class",
    "certify_means",
    "compare",
    "cutoff_calibration",
    "cutoff_calibration_error",
    "expected_calibration_error",
    "find_segments",
    "load_model",
    "log_loss",
    "read_table",
    "required_sample_size",
    "scorers",
    "selective",
    "selective_binary",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        from calibrant.keywords import checked

        return checked(getattr(importlib.import_module(f"calibrant.{_MODULE_OF[name]}"), name))
    if name in _PACKAGES:
        return importlib.import_module(f"calibrant.{name}")
    raise AttributeError(f"module 'calibrant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
