"""Margins of a figure for a page, by arithmetic: a layout engine takes half as long again as the drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# In points: the edge, a line of labels or of ticks with their distances, a letter of ticks, and what is between panels.
_EDGE, _LABEL, _TICKS, _LETTER, _BETWEEN = 4.5, 15.0, 16.0, 5.4, 25.0


def set_margins(figure: Figure, above: float, beside: float) -> None:
    """Leave as much around the axes of a figure as ticks, labels and legend take.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With axes, or two above each other; with labels at the left and at the bottom, and a legend above or none.
    above, beside : float
        Points that other marks take over the axes, and at their right.
    """
    width, height = 72.0 * figure.get_size_inches()
    axes, legend = figure.axes, figure.axes[0].get_legend()
    left = _EDGE + _LABEL + 8.0 + _LETTER * max(len(label) for ax in axes for _, label in _tick_labels(ax.yaxis))
    *_, (last, label) = _tick_labels(axes[-1].xaxis)
    right = _EDGE + max(beside, 0.5 * _LETTER * len(label) - (1.0 - last) * (width - left))
    top = _EDGE + above + (0.0 if legend is None else 2.0 + 72.0 / figure.dpi * legend.get_window_extent().height)
    bottom = _EDGE + _LABEL + _TICKS
    share = _BETWEEN / (height - top - bottom)
    figure.subplots_adjust(
        left / width, bottom / height, 1.0 - right / width, 1.0 - top / height, hspace=2.0 * share / (1.0 - share)
    )
    if legend is not None:
        over = axes[0].get_position().height * height
        legend.set_bbox_to_anchor(((_EDGE - left) / (width - left - right), 1.0 + above / over), axes[0].transAxes)


def _tick_labels(axis: Axis) -> list[tuple[float, str]]:
    """Labels of the ticks in view, with their places as shares of the axis."""
    places = axis.get_majorticklocs()
    labels = axis.get_major_formatter().format_ticks(places.tolist())
    low, high = axis.get_transform().transform(axis.get_view_interval())
    shares = (axis.get_transform().transform(places) - low) / (high - low)
    return [
        (share, label) for share, label in zip(shares.tolist(), labels, strict=True) if -1e-9 <= share <= 1.0 + 1e-9
    ]
