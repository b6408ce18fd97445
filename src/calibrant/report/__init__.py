"""Results as one HTML page that needs no network and no other files, as PDF, and as Markdown."""

from calibrant.keywords import check_package
from calibrant.report.files import check_report as check_report
from calibrant.report.files import write_report as write_report
from calibrant.report.page import render as render

check_package(__name__)
