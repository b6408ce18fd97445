"""Audits as one HTML page that needs nothing else: no network, no scripts, no other files."""

from calibrant.report.page import render

__all__ = ["render"]
