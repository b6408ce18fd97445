"""Results as one HTML page that needs no network and no other files, as PDF, and as Markdown."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant.keywords import check_package, checked
from calibrant.report.classes import render_class_audit
from calibrant.report.files import check_report, write_report
from calibrant.report.means import render_mean_audit
from calibrant.report.models import render_comparison
from calibrant.report.page import render
from calibrant.report.selective import render_selective

if TYPE_CHECKING:
    from calibrant.report.monitor import render_monitor

__all__ = [
    "check_report",
    "render",
    "render_class_audit",
    "render_comparison",
    "render_mean_audit",
    "render_monitor",
    "render_selective",
    "write_report",
]

check_package(__name__)


def __getattr__(name: str) -> Any:
    if name == "render_monitor":  # only what is about monitors needs their package
        return checked(import_module("calibrant.report.monitor").render_monitor)
    raise AttributeError(f"module 'calibrant.report' has no attribute {name!r}")
