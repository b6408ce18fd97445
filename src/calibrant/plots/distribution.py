"""The distribution of the scores, by class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.curves import CumulativeResiduals, Histogram, score_histogram
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display, split_rows
from calibrant.plots.readings import Reading
from calibrant.plots.style import Palette, ground_of, set_scale, write_ticks
from calibrant.table.arguments import Labels, Scores
from calibrant.table.numbers import rows, score_brief, share
from calibrant.table.visible_scores import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DistributionDisplay(Display):
    """Histogram of the scores by class, positives above zero and negatives below.

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

    size = (4.8, 2.6)

    def __init__(self, histogram: Histogram, *, name: str | None = None) -> None:
        self.histogram, self.name = histogram, name

    @classmethod
    def from_predictions(cls, y_true: Labels, y_proba: Scores = None, *, n_bins: int = 40, **keywords: Any) -> Self:
        """Count the rows in bins, and draw them; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        n_bins : int
            Number of bins. They divide [0, 1], or where the scores are if they lie close together; the bins are
            narrower towards 0 if most scores are near 0.
        """
        table, drawing = split_rows(y_true, y_proba, **keywords)
        return cls(score_histogram(table, n_bins=n_bins, within="data"))._drawn(**drawing)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: score; y-axis: share of the rows of each class in a bin, positives above zero and negatives "
            "below, on one scale."
        )

    def columns(self) -> dict[str, Any]:
        """Return the bins: their ends, and positives and negatives in them."""
        return self.histogram.columns()

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        view = self.histogram.view
        set_scale(canvas.ax, view, "x")
        draw_bars(self.histogram, canvas.ax, canvas.palette, **keywords)
        canvas.ax.set_xlim(view.limits())
        write_ticks(canvas.ax.xaxis, view)
        canvas.ax.set_xlabel("score" + view.remark)

    def readings(self) -> Iterator[Reading]:
        """Give the rows of every bin."""
        return bar_readings(self.histogram, self.ax_)


def draw_bars(histogram: Histogram, ax: Axes, palette: Palette, **keywords: Any) -> None:
    """Draw the shares of both classes by bin, positives above zero and negatives below, on one scale."""
    widths = np.diff(histogram.edges)
    up, down = _shares(histogram)
    for heights, colour in ((up, palette.blue), (-down, palette.grey)):
        manner: dict[str, Any] = {"color": colour, "edgecolor": ground_of(ax), "linewidth": 0.4} | keywords
        ax.bar(histogram.edges[:-1], heights, widths, align="edge", **manner)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    most, least = float(up.max()), float(down.max())
    ax.set_ylim(-1.05 * (least or 0.05 * most), 1.05 * (most or 0.05 * least))
    tick = _round_down(0.6 * max(most, least))
    ax.set_yticks([height for height in (-tick, 0.0, tick) if -least <= height <= most])
    ax.yaxis.set_major_formatter(lambda height, _: f"{100.0 * abs(height):g}%")
    ax.set_ylabel("share of class")
    _remark(ax, "positives up, negatives down", palette)


def bar_readings(histogram: Histogram, ax: Axes) -> Iterator[Reading]:
    """Give the rows of each bin that is not empty."""
    columns = (histogram.edges[:-1], histogram.edges[1:], histogram.positives, histogram.negatives, *_shares(histogram))
    for low, high, positives, negatives, up, down in zip(*(column.tolist() for column in columns), strict=True):
        if positives or negatives:
            text = (
                f"scores {score_brief(low)} to {score_brief(high)}: {rows(positives)} positives ({share(up)} of them), "
                f"{rows(negatives)} negatives ({share(down)})"
            )
            yield Reading(ax, low, high, text)


def _shares(histogram: Histogram) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Share of the positives and of the negatives in each bin; 0 for a class without rows."""
    up, down = (rows / (rows.sum() or 1.0) for rows in (histogram.positives, histogram.negatives))
    return up, down


def draw_shares(residuals: CumulativeResiduals, ax: Axes, view: View, palette: Palette, **keywords: Any) -> None:
    """Draw the cumulative share of rows by score."""
    manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.3, "drawstyle": "steps-post"} | keywords
    ax.plot([view.low, *residuals.score, view.high], [0.0, *residuals.share, 1.0], **manner)
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
