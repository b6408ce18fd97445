"""The picture of an audit: both diagrams side by side."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import verdict_sentence
from calibrant.plots.reliability import draw_reliability
from calibrant.plots.style import INK, MUTED, drawing_style
from calibrant.plots.walk import draw_walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["audit_figure", "reliability_figure", "walk_figure"]


def audit_figure(audit: Findings) -> Figure:
    """Draw the reliability diagram with the distribution of scores, and the residual walk.

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
        figure = Figure(figsize=(11.4, 5.0), layout="constrained")
        header, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[0.12, 0.88])[:, 0]
        # Names come from the user: a dollar sign is a dollar sign, not mathematics.
        header.text(0.012, 0.58, shorten(audit.name, 90), fontsize=13, weight="bold", color=INK, parse_math=False)
        header.text(0.012, 0.1, verdict_sentence(audit), fontsize=10, color=MUTED, parse_math=False)
        left, right = body.subfigures(1, 2, wspace=0.03)
        ax, hist_ax = left.subplots(2, 1, sharex=True, height_ratios=[2.8, 1.0])
        draw_reliability(audit, ax, hist_ax)
        draw_walk(audit.walk, right.subplots(), audit.cutoff)
    return figure


def reliability_figure(audit: Findings) -> Figure:
    """Draw the reliability diagram with the distribution of scores, alone."""
    from matplotlib.figure import Figure

    with drawing_style():
        figure = Figure(figsize=(4.8, 5.3), layout="constrained")
        ax, hist_ax = figure.subplots(2, 1, sharex=True, height_ratios=[2.8, 1.0])
        draw_reliability(audit, ax, hist_ax)
    return figure


def walk_figure(audit: Findings) -> Figure:
    """Draw the residual walk alone."""
    from matplotlib.figure import Figure

    with drawing_style():
        figure = Figure(figsize=(4.8, 3.8), layout="constrained")
        draw_walk(audit.walk, figure.subplots(), audit.cutoff)
    return figure
