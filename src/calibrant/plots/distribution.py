"""The distribution of the scores, by class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.curves import CumulativeResiduals, Histogram, score_histogram
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display
from calibrant.plots.style import Palette, ground_of, write_ticks
from calibrant.table.arguments import as_table
from calibrant.table.score_table import FloatArray, ScoreTable
from calibrant.table.visible_scores import score_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DistributionDisplay", "draw_bars", "draw_shares"]


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

    _size = (4.8, 2.6)

    def __init__(self, histogram: Histogram, *, name: str | None = None) -> None:
        self.histogram, self.name = histogram, name

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
        **keywords: Any,
    ) -> Self:
        """Count the rows in bins, and draw them; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        n_bins : int
            Number of bins; they divide [0, 1], or where the scores are if they lie close together.
        """
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        histogram = score_histogram(table, n_bins=n_bins, within=score_view(table.score))
        return cls(histogram, name=name).plot(ax, **keywords)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: score; y-axis: rows per bin, positives above zero and negatives below, with separate scales, so "
            "that a rare class is visible."
        )

    def columns(self) -> dict[str, Any]:
        """Return the bins: their ends, and positives and negatives in them."""
        return self.histogram.columns()

    def _draw(self, place: Canvas, name: str | None, **keywords: Any) -> None:
        draw_bars(self.histogram, place.ax, place.palette, **keywords)
        low, high = float(self.histogram.edges[0]), float(self.histogram.edges[-1])
        margin = 0.015 * (high - low)
        place.ax.set_xlim(low - margin, high + margin)
        write_ticks(place.ax.xaxis)
        place.ax.set_xlabel("score")


def draw_bars(histogram: Histogram, ax: Axes, palette: Palette, **keywords: Any) -> None:
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
        manner: dict[str, Any] = {"color": colour, "edgecolor": ground_of(ax), "linewidth": 0.4} | keywords
        ax.bar(histogram.edges[:-1], rows, widths, align="edge", **manner)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_yscale("function", functions=(squeeze, stretch))
    ax.set_ylim(-1.05 * down if least else -0.1, 1.05 * up if most else 0.1)
    ax.set_yticks([*([-_round_down(down)] if least else []), 0.0, *([_round_down(up)] if most else [])])
    ax.yaxis.set_major_formatter(lambda height, _: f"{abs(height):,g}" if abs(height) < 1e6 else f"{abs(height):.0e}")
    ax.minorticks_off()
    ax.set_ylabel("rows")
    _remark(ax, "positives up, negatives down, separate scales", palette)


def draw_shares(
    residuals: CumulativeResiduals, ax: Axes, view: tuple[float, float], palette: Palette, **keywords: Any
) -> None:
    """Draw the cumulative share of rows by score."""
    left, right = view
    manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.3, "drawstyle": "steps-post"} | keywords
    ax.plot([left, *residuals.score, right], [0.0, *residuals.share, 1.0], **manner)
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
