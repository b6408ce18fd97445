"""The audit: measured, certified, priced, with advice and in words."""

from calibrant.auditing.findings import Advice as Advice
from calibrant.auditing.findings import AuditFindings as AuditFindings
from calibrant.auditing.findings import ClassFindings as ClassFindings
from calibrant.auditing.findings import Findings as Findings
from calibrant.auditing.findings import MeanFindings as MeanFindings
from calibrant.auditing.findings import PredictionBand as PredictionBand
from calibrant.auditing.index import AuditIndex as AuditIndex
from calibrant.auditing.index import audit_index as audit_index
from calibrant.auditing.performance import Performance as Performance
from calibrant.auditing.provenance import Provenance as Provenance
from calibrant.auditing.recalibration import ClassLosses as ClassLosses
from calibrant.auditing.recalibration import ClassRecalibration as ClassRecalibration
from calibrant.auditing.recalibration import MeanRecalibration as MeanRecalibration
from calibrant.auditing.recalibration import Recalibration as Recalibration
from calibrant.auditing.recalibration import cross_fitted as cross_fitted
from calibrant.auditing.warnings import DataWarning as DataWarning
from calibrant.keywords import check_package

check_package(__name__)
