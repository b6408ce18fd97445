"""From a result to its picture: drawn, or in the HTML of a notebook."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any

from calibrant.errors import ArgumentError
from calibrant.plots.display import Display
from calibrant.plots.style import drawing_style
from calibrant.table.results import Drawable
from calibrant.upward import resolve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI = 110


def draw(result: Drawable, ax: Axes | None = None, **keywords: Any) -> Display:
    """Draw a result; the same as its method ``plot``.

    Parameters
    ----------
    result : Drawable
        Curve, Band, Histogram, CumulativeResiduals, CostCurve, NetBenefit, SegmentAudit, Comparison or MonitorHistory.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default on a new figure of pyplot, so that notebooks show it.
    **keywords
        Passed on to the ``plot`` method of the display.

    Returns
    -------
    Display
        With `ax_`, `figure_`, `how_to_read` and ``to_frame``.

    Raises
    ------
    ArgumentError
        If there is no picture of such a thing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import cumulative_residuals
    >>> from calibrant.plots import draw
    >>> draw(cumulative_residuals([0, 1], [0.25, 0.75]), Figure().subplots())
    <CumulativeResidualsDisplay>
    """
    display: Display = _display_of(result)
    return display.plot(ax, **keywords)


def picture_html(result: Any, description: str) -> str:
    """Return the picture of a result as an element of HTML that needs no file beside it."""
    buffer, figure = BytesIO(), _display_of(result).own_figure()
    with drawing_style():
        figure.savefig(buffer, format="png", dpi=_DPI)
    picture = b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{description}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _display_of(result: Any) -> Any:
    """Return the display of a result, not yet drawn."""
    name = getattr(type(result), "_display", None)
    if name is None:
        expected = "a result that has a picture, such as an audit, a comparison or a curve"
        raise ArgumentError(expected, f"a {type(result).__name__}", "see calibrant.plots")
    return resolve(name).from_result(result)
