"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bands import Band as Band
from calibrant.certificates.bands import CumulativeBand as CumulativeBand
from calibrant.certificates.bands import MeanBand as MeanBand
from calibrant.certificates.bands import cumulative_band as cumulative_band
from calibrant.certificates.bands import isotonic_band as isotonic_band
from calibrant.certificates.bands import isotonic_mean_band as isotonic_mean_band
from calibrant.certificates.calibration_test import calibration_test as calibration_test
from calibrant.certificates.certify import certify as certify
from calibrant.certificates.expected_error.certify import ExpectedErrorCertificate as ExpectedErrorCertificate
from calibrant.certificates.expected_error.certify import certify_ece as certify_ece
from calibrant.certificates.expected_error.certify import required_sample_size_ece as required_sample_size_ece
from calibrant.certificates.part_table import PartTable as PartTable
from calibrant.certificates.recalibrated import RecalibratedCertificate as RecalibratedCertificate
from calibrant.certificates.recalibrated import certify_recalibrated as certify_recalibrated
from calibrant.certificates.results import CalibrationTest as CalibrationTest
from calibrant.certificates.results import Certificate as Certificate
from calibrant.certificates.results import Side as Side
from calibrant.certificates.sample_size import Plan as Plan
from calibrant.certificates.sample_size import plan_table as plan_table
from calibrant.certificates.sample_size import required_sample_size as required_sample_size
from calibrant.certificates.sample_size import required_sample_size_means as required_sample_size_means
from calibrant.certificates.validation_size import ValidationPlan as ValidationPlan
from calibrant.certificates.validation_size import validation_sample_size as validation_sample_size
from calibrant.keywords import check_package

check_package(__name__)
