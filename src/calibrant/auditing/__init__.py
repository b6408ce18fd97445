"""The findings of an audit: measured, certified, priced, with advice and in words."""

from calibrant.auditing.advice import Advice
from calibrant.auditing.examine import check_audit, examine
from calibrant.auditing.findings import Findings
from calibrant.auditing.recalibration import Recalibration, cross_fitted_isotonic

__all__ = ["Advice", "Findings", "Recalibration", "check_audit", "cross_fitted_isotonic", "examine"]
