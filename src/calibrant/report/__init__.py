"""Results as one HTML page that needs no network and no other files, as PDF, and as Markdown."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant.keywords import check_package, checked
from calibrant.report.files import check_report as check_report
from calibrant.report.files import write_report as write_report
from calibrant.report.page import render as render
from calibrant.report.selective import render_selective as render_selective

if TYPE_CHECKING:
    from calibrant.report.monitor import render_monitor as render_monitor

check_package(__name__, "render_monitor")


def __getattr__(name: str) -> Any:
    if name == "render_monitor":  # only what is about monitors needs their package
        return checked(import_module("calibrant.report.monitor").render_monitor)
    raise AttributeError(f"module 'calibrant.report' has no attribute {name!r}")
