"""Audits, comparisons and monitors as one HTML page that needs no network and no other files; PDF, and Markdown."""

from calibrant.keywords import check_package
from calibrant.report.files import check_report, form_of, write_report
from calibrant.report.models import render_comparison
from calibrant.report.monitor import render_monitor
from calibrant.report.page import render

__all__ = ["check_report", "form_of", "render", "render_comparison", "render_monitor", "write_report"]

check_package(__name__)
