"""The audit: measured, certified, priced, with advice and in words."""

from calibrant.auditing.advice import Advice
from calibrant.auditing.findings import Findings
from calibrant.auditing.performance import Performance
from calibrant.auditing.recalibration import Recalibration, cross_fitted_isotonic

__all__ = ["Advice", "Findings", "Performance", "Recalibration", "cross_fitted_isotonic"]
