"""Figures that pyplot does not know, for the HTML of notebooks."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING

from calibrant.plots.style import drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_html"]

_DPI = 110


def figure_html(figure: Figure, description: str) -> str:
    """Return the figure as an element of HTML that needs no file beside it."""
    picture = b64encode(_png(figure)).decode("ascii")
    return f'<img alt="{description}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    with drawing_style():
        figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()
