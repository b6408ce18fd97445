"""Figures that pyplot does not know, in notebooks: there a figure is shown only once pyplot has been imported."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from calibrant.plots.style import drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_html", "with_png"]

_DPI = 110


def with_png(figure: Figure) -> Figure:
    """Return the figure with the method that notebooks ask objects of unknown types for."""
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def figure_html(figure: Figure, description: str) -> str:
    """Return the figure as an element of HTML that needs no file beside it."""
    picture = b64encode(_png(figure)).decode("ascii")
    return f'<img alt="{description}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    with drawing_style():
        figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()
