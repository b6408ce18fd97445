"""The pictures of an audit's page: figures that pyplot does not know, the same whatever the user has set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.auditing.findings import Findings
from calibrant.plots.canvas import Canvas, panels
from calibrant.plots.cost import CostCurveDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decision_curve import DecisionCurveDisplay
from calibrant.plots.display import Display
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.style import LIGHT, drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

__all__ = ["costs_of", "cumulative_residuals_of", "decisions_of", "draw_panel", "own_figure", "reliability_of"]

# On a telephone a page shows a picture at about this part of its usual width, so that its type stays legible.
_NARROWER = 0.875


def reliability_of(audit: Findings) -> ReliabilityDisplay:
    """Return the reliability diagram of an audit, not yet drawn."""
    return ReliabilityDisplay(
        audit.reliability,
        line=audit.isotonic,
        local=audit.local,
        band=audit.band if audit.band is not None and audit.band.consistent else None,
        worst=audit.cutoff,
        distribution=audit.histogram,
        name=audit.name,
    )


def cumulative_residuals_of(audit: Findings) -> CumulativeResidualsDisplay:
    """Return the cumulative residuals of an audit, not yet drawn."""
    return CumulativeResidualsDisplay(audit.cumulative_residuals, cutoff=audit.cutoff, name=audit.name)


def decisions_of(audit: Findings) -> DecisionCurveDisplay:
    """Return the decision curve of an audit, not yet drawn."""
    return DecisionCurveDisplay(audit.decision_curve, view=audit.histogram.view, name=audit.name)


def costs_of(audit: Findings) -> CostCurveDisplay | None:
    """Return the cost curve of an audit, not yet drawn; None if recalibration was not assessed."""
    judged = audit.recalibration
    if judged is None or judged.costs is None:
        return None
    return CostCurveDisplay(judged.costs, view=audit.histogram.view, name=audit.name)


def own_figure(display: Display) -> Figure:
    """Draw a display for a page: without its title, on a figure that pyplot does not know."""
    from matplotlib.figure import Figure

    width, height = display.size
    with drawing_style():
        figure = Figure(figsize=(_NARROWER * width, height), layout="constrained")
        draw_panel(display, figure)
    return figure


def draw_panel(display: Display, figure: FigureBase) -> None:
    """Draw a display on a part of a figure, within the style."""
    display.draw_on(Canvas(*panels(figure, beneath=display.beneath), own=True, palette=LIGHT))
