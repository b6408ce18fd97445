"""The distribution of the scores, by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.curves import CumulativeResiduals, Histogram, score_histogram
from calibrant.plots.canvas import canvas
from calibrant.plots.display import Display
from calibrant.plots.style import Palette, ground_of, write_ticks
from calibrant.table.score_table import FloatArray, ScoreTable, as_table
from calibrant.table.visible_scores import score_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DistributionDisplay", "draw_bars", "draw_shares", "write_shares"]


class DistributionDisplay(Display):
    """Histogram of the scores, positives above zero and negatives below.

    Parameters
    ----------
    histogram : Histogram
        Rows of each class in bins of the score.
    name : str, optional
        What is shown.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import DistributionDisplay
    >>> ax = Figure().subplots()
    >>> display = DistributionDisplay.from_predictions([0, 1, 1], [0.2, 0.6, 0.9], n_bins=2, ax=ax)
    >>> display.to_frame("pandas")["positives"].tolist()
    [0.0, 2.0]
    """

    def __init__(self, histogram: Histogram, *, name: str | None = None) -> None:
        self.histogram = histogram
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike | ScoreTable,
        y_proba: npt.ArrayLike | None = None,
        *,
        n_bins: int = 40,
        sample_weight: npt.ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Count the rows in bins, and draw them.

        Parameters
        ----------
        y_true, y_proba, n_bins, sample_weight, pos_label
            As in `calibrant.curves.score_histogram`; the bins divide [0, 1], or where the scores are if they lie
            close together.
        name : str, optional
            What is shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot.
        """
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        histogram = score_histogram(table, n_bins=n_bins, within=score_view(table.score))
        return cls(histogram, name=name).plot(ax)

    @property
    def how_to_read(self) -> str:
        """A few sentences on how to read this picture, for its caption."""
        return (
            "x-axis: score; y-axis: rows per bin, positives above zero and negatives below, with separate scales, so "
            "that a rare class is visible."
        )

    def columns(self) -> dict[str, Any]:
        """Return the bins: their ends, and positives and negatives in them."""
        return self.histogram.columns()

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot.
        name : str, optional
            Replaces the name given before.
        """
        with canvas(ax, (4.8, 2.6)) as place:
            draw_bars(self.histogram, place.ax, place.palette)
            low, high = float(self.histogram.edges[0]), float(self.histogram.edges[-1])
            margin = 0.015 * (high - low)
            place.ax.set_xlim(low - margin, high + margin)
            write_ticks(place.ax.xaxis)
            place.ax.set_xlabel("score")
            place.title(self.name if name is None else name)
            self._drawn_on(place)
        return self


def draw_bars(histogram: Histogram, ax: Axes, palette: Palette) -> None:
    """Draw positives above zero and negatives below, with separate scales."""
    widths = np.diff(histogram.edges)
    most, least = float(histogram.positives.max()), float(histogram.negatives.max())
    # A class without rows takes next to no height.
    up, down = most or 1.0, least or 1.0

    # Heights stay numbers of rows; only the axis stretches, so that a rare class can be seen beside a common one.
    def squeeze(height: npt.ArrayLike) -> FloatArray:
        height = np.asarray(height, dtype=np.float64)
        return np.where(height > 0.0, height / up, height / down)

    def stretch(height: npt.ArrayLike) -> FloatArray:
        height = np.asarray(height, dtype=np.float64)
        return np.where(height > 0.0, height * up, height * down)

    for rows, colour in ((histogram.positives, palette.blue), (-histogram.negatives, palette.grey)):
        ax.bar(histogram.edges[:-1], rows, widths, align="edge", color=colour, edgecolor=ground_of(ax), linewidth=0.4)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_yscale("function", functions=(squeeze, stretch))
    ax.set_ylim(-1.05 * down if least else -0.1, 1.05 * up if most else 0.1)
    ax.set_yticks([*([-_round_down(down)] if least else []), 0.0, *([_round_down(up)] if most else [])])
    ax.yaxis.set_major_formatter(lambda height, _: f"{abs(height):,g}" if abs(height) < 1e6 else f"{abs(height):.0e}")
    ax.minorticks_off()
    ax.set_ylabel("rows")
    _remark(ax, "positives up, negatives down, separate scales", palette)


def draw_shares(walk: CumulativeResiduals, ax: Axes, view: tuple[float, float], palette: Palette) -> None:
    """Draw the cumulative share of rows by score."""
    left, right = view
    ax.plot(
        [left, *walk.score, right], [0.0, *walk.share, 1.0], color=palette.blue, linewidth=1.3, drawstyle="steps-post"
    )
    write_shares(ax, palette)


def write_shares(ax: Axes, palette: Palette) -> None:
    """Label axes for the cumulative share of rows by score."""
    ax.set_ylim(0.0, 1.03)
    ax.set_yticks([0.0, 0.5, 1.0], ["0%", "50%", "100%"])
    ax.set_ylabel("rows")
    _remark(ax, "cumulative share of rows", palette)
    ax.grid(axis="y", color=palette.rule, linewidth=0.5)


def _remark(ax: Axes, text: str, palette: Palette) -> None:
    ax.set_title(text, loc="left", fontsize=8.5, color=palette.muted, pad=3)


def _round_down(height: float) -> float:
    """Largest of 1, 2, 5, 10, 20, ... that is not above the height."""
    power = 10.0 ** np.floor(np.log10(height))
    return float(max(step for step in (1.0, 2.0, 5.0) if step * power <= height * (1.0 + 1e-9)) * power)
