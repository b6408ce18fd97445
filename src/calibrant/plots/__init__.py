"""Pictures of results; nothing here computes a statistic, and matplotlib is imported when a picture is drawn."""

from calibrant.plots.figure import audit_figure, reliability_figure, walk_figure
from calibrant.plots.reliability import HOW_TO_READ_RELIABILITY, draw_distribution, draw_reliability
from calibrant.plots.svg import figure_svg
from calibrant.plots.walk import HOW_TO_READ_WALK, draw_walk

__all__ = [
    "HOW_TO_READ_RELIABILITY",
    "HOW_TO_READ_WALK",
    "audit_figure",
    "draw_distribution",
    "draw_reliability",
    "draw_walk",
    "figure_svg",
    "reliability_figure",
    "walk_figure",
]
