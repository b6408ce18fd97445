"""The pictures of the report, each with a description and an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import costs_description, reliability_description, walk_description
from calibrant.plots import costs_figure, cumulative_residuals_figure, figure_svg, reliability_figure
from calibrant.plots.figure import costs_of, reliability_of, walk_of

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Picture", "Pictures", "pictures"]


class Picture(NamedTuple):
    """A drawing and how to read it."""

    svg: Markup
    how_to_read: str


class Pictures(NamedTuple):
    """The pictures of one audit."""

    reliability: Picture
    walk: Picture
    costs: Picture | None


def pictures(audit: Findings, anchor: str) -> Pictures:
    """Draw an audit.

    Parameters
    ----------
    audit : Findings
        What to draw.
    anchor : str
        Unique on the page; starts the ids inside the drawings.
    """
    from markupsafe import Markup

    reliability = figure_svg(
        reliability_figure(audit),
        title=f"Reliability diagram: {audit.name}",
        description=reliability_description(audit),
        prefix=f"{anchor}-reliability",
    )
    walk = figure_svg(
        cumulative_residuals_figure(audit),
        title=f"Cumulative residuals: {audit.name}",
        description=walk_description(audit),
        prefix=f"{anchor}-walk",
    )
    display = costs_of(audit)
    costs = None
    if display is not None:
        drawing = figure_svg(
            costs_figure(display),
            title=f"Cost curve: {audit.name}",
            description=costs_description(display.curve),
            prefix=f"{anchor}-costs",
        )
        costs = Picture(Markup(drawing), display.how_to_read)
    # figure_svg escapes what it is given, and the drawings hold no other text of the user.
    return Pictures(
        Picture(Markup(reliability), reliability_of(audit).how_to_read),
        Picture(Markup(walk), walk_of(audit).how_to_read),
        costs,
    )
