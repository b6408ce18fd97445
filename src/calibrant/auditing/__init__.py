"""The audit: measured, certified, priced, with advice and in words."""

from calibrant.auditing.class_findings import ClassFindings, ClassLosses, ClassRecalibration
from calibrant.auditing.findings import Advice, Findings
from calibrant.auditing.index import AuditIndex, audit_index
from calibrant.auditing.mean_findings import MeanFindings, MeanRecalibration, PredictionBand
from calibrant.auditing.performance import Performance
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.recalibration import Recalibration, cross_fitted
from calibrant.auditing.warnings import DataWarning
from calibrant.keywords import check_package

__all__ = [
    "Advice",
    "AuditIndex",
    "ClassFindings",
    "ClassLosses",
    "ClassRecalibration",
    "DataWarning",
    "Findings",
    "MeanFindings",
    "MeanRecalibration",
    "Performance",
    "PredictionBand",
    "Provenance",
    "Recalibration",
    "audit_index",
    "cross_fitted",
]

check_package(__name__)
