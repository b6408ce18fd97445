"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bands import Band, isotonic_band, simultaneous_half_width, window_band
from calibrant.certificates.calibration_test import CalibrationTest, calibration_test
from calibrant.certificates.certify import Certificate, certify, check_request
from calibrant.certificates.cumulative_band import CumulativeBand, claim6_band
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
from calibrant.certificates.theory.theorem2 import theorem2_width
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.asymptotic import normal_width
from calibrant.certificates.widths.default import bernstein_width, default_width
from calibrant.certificates.widths.fixed_design import (
    effective_rows,
    skorokhod_width,
    variance_bound,
    walk_width,
    weighted_skorokhod_width,
)
from calibrant.certificates.widths.hoeffding import hoeffding_width
from calibrant.certificates.widths.uniform import range_width, uniform_width

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
    "bernstein_width",
    "calibration_test",
    "certify",
    "certify_ece",
    "certify_recalibrated",
    "certify_sample",
    "check_request",
    "claim6_band",
    "cutoff_interval",
    "default_width",
    "effective_rows",
    "hoeffding_width",
    "isotonic_band",
    "l1_cannot_be_certified",
    "l1_from_repeats",
    "normal_width",
    "plan_table",
    "rademacher_finite",
    "rademacher_linear",
    "rademacher_of_intervals",
    "rademacher_simulated",
    "rademacher_with_ties",
    "range_width",
    "required_sample_size",
    "required_sample_size_ece",
    "rows_to_decide",
    "simultaneous_half_width",
    "skorokhod_width",
    "split_lower_bound",
    "theorem2_width",
    "uniform_width",
    "variance_bound",
    "walk_width",
    "weighted_skorokhod_width",
    "window_band",
]
