"""The main job: measure, certify, price and advise."""

from calibrant.auditing.advice import Advice
from calibrant.auditing.recalibration import Recalibration, cross_fitted_isotonic
from calibrant.auditing.result import Audit
from calibrant.auditing.run import audit, check_audit

__all__ = ["Advice", "Audit", "Recalibration", "audit", "check_audit", "cross_fitted_isotonic"]
