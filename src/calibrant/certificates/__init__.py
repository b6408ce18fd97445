"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bands import Band, isotonic_band, window_band
from calibrant.certificates.calibration_test import calibration_test
from calibrant.certificates.certify import certify, cutoff_interval
from calibrant.certificates.class_table import ClassTable, certify_each_class
from calibrant.certificates.class_test import ClassTest
from calibrant.certificates.classes import ClassCertificate, certify_classes
from calibrant.certificates.cumulative_band import CumulativeBand, cumulative_band
from calibrant.certificates.expected_error.certify import (
    ExpectedErrorCertificate,
    certify_ece,
    required_sample_size_ece,
)
from calibrant.certificates.fixed_design import SampleCertificate, certify_sample
from calibrant.certificates.mean_band import MeanBand, isotonic_mean_band
from calibrant.certificates.mean_results import MeanCertificate, Side
from calibrant.certificates.mean_size import required_sample_size_means
from calibrant.certificates.mean_test import MeanTest, mean_calibration_test
from calibrant.certificates.means import certify_means
from calibrant.certificates.recalibrated import RecalibratedCertificate, certify_recalibrated
from calibrant.certificates.results import CalibrationTest, Certificate, CutoffInterval
from calibrant.certificates.sample_size import Plan, plan_table, required_sample_size
from calibrant.certificates.validation_size import ValidationPlan, validation_sample_size
from calibrant.keywords import check_package

__all__ = [
    "Band",
    "CalibrationTest",
    "Certificate",
    "ClassCertificate",
    "ClassTable",
    "ClassTest",
    "CumulativeBand",
    "CutoffInterval",
    "ExpectedErrorCertificate",
    "MeanBand",
    "MeanCertificate",
    "MeanTest",
    "Plan",
    "RecalibratedCertificate",
    "SampleCertificate",
    "Side",
    "ValidationPlan",
    "calibration_test",
    "certify",
    "certify_classes",
    "certify_each_class",
    "certify_ece",
    "certify_means",
    "certify_recalibrated",
    "certify_sample",
    "cumulative_band",
    "cutoff_interval",
    "isotonic_band",
    "isotonic_mean_band",
    "mean_calibration_test",
    "plan_table",
    "required_sample_size",
    "required_sample_size_ece",
    "required_sample_size_means",
    "validation_sample_size",
    "window_band",
]

check_package(__name__)
