"""Statements about the true calibration error that hold with a stated probability."""

from calibrant.certificates.bands import Band as Band
from calibrant.certificates.bands import isotonic_band as isotonic_band
from calibrant.certificates.calibration_test import calibration_test as calibration_test
from calibrant.certificates.certify import certify as certify
from calibrant.certificates.expected_error.certify import ExpectedErrorCertificate as ExpectedErrorCertificate
from calibrant.certificates.expected_error.certify import certify_ece as certify_ece
from calibrant.certificates.part_table import PartTable as PartTable
from calibrant.certificates.plan import Plan as Plan
from calibrant.certificates.recalibrated import RecalibratedCertificate as RecalibratedCertificate
from calibrant.certificates.recalibrated import certify_recalibrated as certify_recalibrated
from calibrant.certificates.results import CalibrationTest as CalibrationTest
from calibrant.certificates.results import Certificate as Certificate
from calibrant.certificates.results import Side as Side
from calibrant.keywords import check_package

check_package(__name__)
