"""Pictures in the HTML of notebooks."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any

from calibrant.plots.drawing import display_of
from calibrant.plots.style import drawing_style

__all__ = ["picture_html"]

_DPI = 110


def picture_html(result: Any, description: str) -> str:
    """Return the picture of a result as an element of HTML that needs no file beside it."""
    buffer, figure = BytesIO(), display_of(result).own_figure()
    with drawing_style():
        figure.savefig(buffer, format="png", dpi=_DPI)
    picture = b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{description}" style="max-width:100%" src="data:image/png;base64,{picture}">'
