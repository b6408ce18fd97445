"""Audits and comparisons as one HTML page that needs nothing else, no network and no other files; and as PDF."""

from calibrant.report.files import check_report, write_report
from calibrant.report.models import render_comparison
from calibrant.report.page import render

__all__ = ["check_report", "render", "render_comparison", "write_report"]
