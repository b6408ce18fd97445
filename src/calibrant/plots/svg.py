"""A figure as SVG that can stand inside an HTML page, with numbers that it shows where a reader points at it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from calibrant.plots.display import Reading
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.printable import visible_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_GEOMETRY = re.compile(r'(?<=\s)(?:d|x|y|width|height|transform)="[^"]*"')
_LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
_COLOUR = re.compile('#[0-9a-f]{6}(?=[;"])')
_VARIABLES = {colour: f"var(--plot-{name}, {colour})" for name, colour in LIGHT.by_name().items()}
_FONT = re.compile(r"font-family: [^;\"]*; ?")


def figure_svg(
    figure: Figure, *, title: str = "", description: str = "", prefix: str = "picture", readings: Iterable[Reading] = ()
) -> str:
    """Write a figure as an SVG element, the same text for the same figure every time.

    Text stays text: it can be searched, read aloud and set in the type of the page, and takes fewer bytes than
    outlines. Colours can be set by a style sheet, as variables such as ``--plot-blue``.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to write.
    title, description : str
        What a reader who does not see the picture is told.
    prefix : str
        Starts every id, so that several pictures can stand on one page.
    readings : iterable of Reading
        Numbers to show where a reader points at the picture, as `Display.readings` gives them.

    Returns
    -------
    str
        An ``<svg>`` element without background and size of its own: it fills the width it is given.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer, canvas, layout = StringIO(), figure.canvas, figure.get_layout_engine()
    with drawing_style(), rc_context({"svg.hashsalt": "calibrant"}):
        if layout is not None:  # else matplotlib draws everything once more, only to have it laid out
            FigureCanvasSVG(figure)
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, facecolor="none")
    over = _readings_svg(figure, readings)
    figure.set_canvas(canvas)
    figure.set_layout_engine(layout)
    drawing = buffer.getvalue()
    _, _, body = drawing.partition("<svg ")
    size, _, body = body.partition(">")
    view = size[size.index("viewBox") :].split('"')[1]
    body = re.sub(r"<!--.*?-->\s*|<style.*?</style>\s*", "", body, flags=re.DOTALL)
    body = _FONT.sub("", body)
    body = _GEOMETRY.sub(lambda match: _LONG_NUMBER.sub(r"\1", match.group()).replace("\n", " "), body)
    body = _COLOUR.sub(lambda match: _VARIABLES.get(match.group(), match.group()), _with_own_ids(body, prefix))
    body = body.rpartition("</svg>")[0] + over + "</svg>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{view}" '
        f'role="img" aria-labelledby="{prefix}-title {prefix}-description" '
        f'stroke-linejoin="round" stroke-linecap="butt">\n'
        f'<title id="{prefix}-title">{escape(visible_lines(title))}</title>\n'
        f'<desc id="{prefix}-description">{escape(visible_lines(description))}</desc>{body}'
    ).strip()


def _with_own_ids(body: str, prefix: str) -> str:
    """Keep the ids that are referred to, with the prefix, and drop the others."""
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', body))
    body = re.sub(
        r' id="([^"]*)"', lambda match: f' id="{prefix}-{match.group(1)}"' if match.group(1) in used else "", body
    )
    return re.sub(r'(href="|url\()#', rf"\1#{prefix}-", body)


def _readings_svg(figure: Figure, readings: Iterable[Reading]) -> str:
    """Write readings as clear rectangles over a drawn figure, in the coordinates of its SVG."""
    scale = 72.0 / figure.dpi
    height = 72.0 * figure.get_size_inches()[1]
    written = []
    for ax, low, high, text in readings:
        bottom, top = ax.get_ylim()
        (x0, y0), (x1, y1) = (scale * ax.transData.transform([corner])[0] for corner in ((low, bottom), (high, top)))
        written.append(
            f'<rect x="{x0:.2f}" y="{height - y1:.2f}" width="{x1 - x0:.2f}" height="{y1 - y0:.2f}">'
            f"<title>{escape(visible_lines(text))}</title></rect>"
        )
    return f'<g class="readings" fill="transparent">{"".join(written)}</g>' if written else ""
