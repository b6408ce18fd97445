"""From a result to its page."""

from __future__ import annotations

from typing import Any

from calibrant.auditing.findings import Findings
from calibrant.comparing import ComparisonFindings
from calibrant.errors import ArgumentError
from calibrant.monitoring import Monitor
from calibrant.report.models import render_comparison
from calibrant.report.monitor import render_monitor
from calibrant.report.page import render

__all__ = ["page_of"]


def page_of(result: Any) -> str:
    """Return the page of a result; the same as its method ``to_html``."""
    match result:
        case Findings():
            found = result.provenance
            return render([result], title=found.title or f"Calibration audit: {result.name}", note=found.note or "")
        case ComparisonFindings():
            return render_comparison(result)
        case Monitor():
            return render_monitor(result)
    raise ArgumentError("an audit, a comparison or a monitor", f"a {type(result).__name__}", "see calibrant.report")
