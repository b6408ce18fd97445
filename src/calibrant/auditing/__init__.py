"""The audit: measured, certified, priced, with advice and in words."""

from calibrant.auditing.advice import Advice
from calibrant.auditing.findings import Findings
from calibrant.auditing.performance import Performance
from calibrant.auditing.recalibration import Recalibration, cross_fitted
from calibrant.auditing.warnings import DataWarning

__all__ = ["Advice", "DataWarning", "Findings", "Performance", "Recalibration", "cross_fitted"]
