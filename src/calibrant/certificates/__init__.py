"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bernstein import bernstein_width
from calibrant.certificates.certify import Certificate, certify, check_request
from calibrant.certificates.hoeffding import hoeffding_width
from calibrant.certificates.rademacher import rademacher_of_intervals
from calibrant.certificates.sample_size import Plan, plan_table, required_sample_size, rows_to_decide
from calibrant.certificates.theorem2 import theorem2_width
from calibrant.certificates.uniform import uniform_width

__all__ = [
    "Certificate",
    "Plan",
    "bernstein_width",
    "certify",
    "check_request",
    "hoeffding_width",
    "plan_table",
    "rademacher_of_intervals",
    "required_sample_size",
    "rows_to_decide",
    "theorem2_width",
    "uniform_width",
]
