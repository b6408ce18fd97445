"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bands import Band, isotonic_band, simultaneous_half_width, window_band
from calibrant.certificates.calibration_test import CalibrationTest, calibration_test
from calibrant.certificates.certify import Certificate, certify, check_request
from calibrant.certificates.cumulative_band import CumulativeBand, cumulative_band
from calibrant.certificates.expected_error.certify import ExpectedErrorCertificate, certify_ece
from calibrant.certificates.expected_error.sample_size import required_sample_size_ece
from calibrant.certificates.fixed_design import SampleCertificate, certify_sample
from calibrant.certificates.interval import CutoffInterval, cutoff_interval
from calibrant.certificates.recalibrated import RecalibratedCertificate, certify_recalibrated
from calibrant.certificates.sample_size import Plan, plan_table, required_sample_size, rows_to_decide
from calibrant.certificates.split import split_lower_bound
from calibrant.certificates.theory.l1 import L1Bound, L1Impossibility, l1_cannot_be_certified, l1_from_repeats
from calibrant.certificates.theory.rademacher import rademacher_finite, rademacher_linear, rademacher_of_intervals
from calibrant.certificates.theory.rademacher_ties import (
    SimulatedRademacher,
    rademacher_simulated,
    rademacher_with_ties,
)
from calibrant.certificates.theory.theorem2 import uniform_convergence_width
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.asymptotic import asymptotic_width
from calibrant.certificates.widths.default import bernstein_width, default_width
from calibrant.certificates.widths.fixed_design import (
    cumulative_width,
    effective_rows,
    fixed_design_width,
    variance_bound,
    weighted_fixed_design_width,
)
from calibrant.certificates.widths.hoeffding import hoeffding_width
from calibrant.certificates.widths.uniform import brownian_width, monotone_width

__all__ = [
    "Band",
    "CalibrationTest",
    "Certificate",
    "CumulativeBand",
    "CutoffInterval",
    "ExpectedErrorCertificate",
    "L1Bound",
    "L1Impossibility",
    "Plan",
    "RecalibratedCertificate",
    "SampleCertificate",
    "SimulatedRademacher",
    "anytime_width",
    "asymptotic_width",
    "bernstein_width",
    "brownian_width",
    "calibration_test",
    "certify",
    "certify_ece",
    "certify_recalibrated",
    "certify_sample",
    "check_request",
    "cumulative_band",
    "cumulative_width",
    "cutoff_interval",
    "default_width",
    "effective_rows",
    "fixed_design_width",
    "hoeffding_width",
    "isotonic_band",
    "l1_cannot_be_certified",
    "l1_from_repeats",
    "monotone_width",
    "plan_table",
    "rademacher_finite",
    "rademacher_linear",
    "rademacher_of_intervals",
    "rademacher_simulated",
    "rademacher_with_ties",
    "required_sample_size",
    "required_sample_size_ece",
    "rows_to_decide",
    "simultaneous_half_width",
    "split_lower_bound",
    "uniform_convergence_width",
    "variance_bound",
    "weighted_fixed_design_width",
    "window_band",
]
