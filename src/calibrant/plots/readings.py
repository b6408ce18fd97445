"""Numbers that a page shows where a reader points at a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant.table.pooling import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Reading(NamedTuple):
    """What is said of a stretch of the x-axis, from `low` to `high`."""

    ax: Axes
    low: float
    high: float
    text: str


def halfway(places: FloatArray, low: float, high: float) -> Iterator[tuple[float, float]]:
    """Divide the stretch from `low` to `high` half way between increasing places, one part for each."""
    edges = np.concatenate([[low], 0.5 * (places[1:] + places[:-1]), [high]]).tolist()
    return pairwise(edges)


def readings_svg(figure: Figure, readings: Iterable[Reading]) -> str:
    """Write readings as clear rectangles over a drawn figure, in the coordinates of its SVG."""
    scale = 72.0 / figure.dpi
    height = 72.0 * figure.get_size_inches()[1]
    written = []
    for ax, low, high, text in readings:
        bottom, top = ax.get_ylim()
        (x0, y0), (x1, y1) = (scale * ax.transData.transform([corner])[0] for corner in ((low, bottom), (high, top)))
        written.append(
            f'<rect x="{x0:.2f}" y="{height - y1:.2f}" width="{x1 - x0:.2f}" height="{y1 - y0:.2f}">'
            f"<title>{escape(text)}</title></rect>"
        )
    return f'<g class="readings" fill="transparent">{"".join(written)}</g>' if written else ""
