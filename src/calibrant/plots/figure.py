"""The pictures of an audit, as figures that pyplot does not know and that look the same whatever the user has set."""

from __future__ import annotations

from textwrap import fill, shorten
from typing import TYPE_CHECKING

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import verdict_sentence
from calibrant.plots.canvas import Canvas, panels
from calibrant.plots.cost import CostCurveDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decision_curve import DecisionCurveDisplay
from calibrant.plots.display import Display
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.printable import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

__all__ = ["audit_figure", "costs_of", "cumulative_residuals_of", "decisions_of", "own_figure", "reliability_of"]

# On a telephone a page shows a picture at about this part of its usual width, so that its type stays legible.
_NARROWER = 0.875
# Of the figure of an audit: heights in inches, and how many letters of the verdict are less wide than it.
_HEADER, _BODY, _LINE = 0.6, 4.4, 0.2
_LETTERS = 150


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


def audit_figure(audit: Findings) -> Figure:
    """Draw the reliability diagram with the distribution of scores, and the cumulative residuals.

    Parameters
    ----------
    audit : Findings
        What to draw.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot.
    """
    from matplotlib.figure import Figure

    with drawing_style():
        verdict = fill(verdict_sentence(audit), _LETTERS)
        height = _HEADER + _LINE * verdict.count("\n")
        figure = Figure(figsize=(11.4, height + _BODY), layout="constrained")
        header, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[height, _BODY])[:, 0]
        # Names come from the user: a dollar sign is a dollar sign, not mathematics.
        title = {"fontsize": 13, "weight": "bold", "va": "top", "parse_math": False}
        header.text(0.012, 1.0 - 0.06 / height, shorten(visible(audit.name), 90), **title)
        header.text(0.012, 0.04 / height, verdict, fontsize=10, color=LIGHT.muted, va="bottom", parse_math=False)
        left, right = body.subfigures(1, 2, wspace=0.03)
        _draw(reliability_of(audit), left)
        _draw(cumulative_residuals_of(audit), right)
    return figure


def own_figure(display: Display) -> Figure:
    """Draw a display for a page: without its title, on a figure that pyplot does not know."""
    from matplotlib.figure import Figure

    width, height = display.size
    with drawing_style():
        figure = Figure(figsize=(_NARROWER * width, height), layout="constrained")
        _draw(display, figure)
    return figure


def _draw(display: Display, figure: FigureBase) -> None:
    display.draw_on(Canvas(*panels(figure, beneath=display.beneath), own=True, palette=LIGHT))
