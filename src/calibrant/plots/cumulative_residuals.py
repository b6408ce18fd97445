"""The cumulative residuals: observed minus predicted, summed from the lowest score to the highest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant.curves import CumulativeResiduals
from calibrant.metrics import CutoffCalibration
from calibrant.plots.canvas import Canvas, set_scale, write_ticks
from calibrant.plots.display import Display, Reading, halfway
from calibrant.table.bins import View, score_view
from calibrant.table.numbers import number, score_brief, share
from calibrant.table.pooling import distinct_numbers

# The x-axis shows rows instead of scores if so few of so many columns of the picture would hold half of the rows.
_FEW, _COLUMNS = 3, 40
_READINGS = 60
_SCORES, _ERROR = 28.0, 22.0  # points that scores take above the rows, and the error beside the line


class CumulativeResidualsDisplay(Display):
    """Cumulative residuals with the interval of scores that attains the calibration error.

    Parameters
    ----------
    curve : CumulativeResiduals
        What to draw.
    cutoff : CutoffCalibration, optional
        Writes the calibration error beside the range of the line, and draws the 95% limit under perfect calibration.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The cumulative residuals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import cumulative_residuals
    >>> from calibrant.plots import CumulativeResidualsDisplay
    >>> curve = cumulative_residuals([0, 1], [0.25, 0.75])
    >>> display = CumulativeResidualsDisplay(curve).plot(Figure().subplots())
    >>> display.to_frame("pandas")["value"].tolist()
    [-0.125, 0.0]
    """

    _words = "score", "rows"  # what the rows are ordered by, and what the x-axis shows shares of
    _height = "cumulative observed \N{MINUS SIGN} predicted"
    _write = staticmethod(score_brief)
    _line = ("score", "result.score"), ("Cumulative residual", "result.value")

    def __init__(
        self, curve: CumulativeResiduals, *, cutoff: CutoffCalibration | None = None, name: str | None = None
    ) -> None:
        super().__init__(curve, name=name)
        self.cutoff = cutoff
        self.around = (_SCORES if self._over_rows else 0.0), (0.0 if curve.interval is None else _ERROR)

    @property
    def description(self) -> str:
        """Where the line is highest and lowest, and how far these are apart."""
        return f"{super().description} {self._error.capitalize()}{'.' * bool(self._error)}".strip()

    def _sentences(self) -> Iterator[str]:
        attained = "" if self.result.interval is None else ", attained over the shaded scores"
        yield (
            "The line is the sum of observed minus predicted over all rows up to a score, divided by the number of "
            "rows. Where it falls, predictions are too high; where it rises, too low; where it is level, they agree "
            "with the observed rate. Its range, the distance between its highest and its lowest point, is the "
            f"calibration error{attained}."
        )
        if self._limit > 0.0:
            yield "The height of the grey band, around zero, is the 95% limit of this range under perfect calibration."
        if self._over_rows:
            yield (
                "Since the scores are concentrated, the x-axis shows the rows ordered by score, with some scores above."
            )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, curve, palette, limit = canvas.ax, self.result, canvas.palette, self._limit
        bottom, top = min(0.0, float(curve.value.min())), max(0.0, float(curve.value.max()))
        middle = 0.5 * (bottom + top)
        if limit > 0.0:
            # Around the middle of the line as far as zero, where every line starts, stays inside.
            start = min(0.0, max(-limit, middle - 0.5 * limit))
            reach = (start, start + limit)
            what = "95% limit of the range under perfect calibration" if canvas.own else "95% limit if calibrated"
            ax.axhspan(*reach, color=palette.band, linewidth=0, label=what)
        ax.axhline(0.0, color=palette.muted, linewidth=0.8, linestyle=(0, (4, 3)))
        over_rows = self._over_rows
        view = View(0.0, 1.0) if over_rows else _view(curve)
        set_scale(ax, view, "x")
        limits = view.limits()
        manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.3} | keywords
        if name is not None and not canvas.own:
            manner["label"] = canvas.label("cumulative residuals", name)
        if over_rows:
            (self.line_,) = ax.plot([0.0, *curve.share], [0.0, *curve.value], **manner)
            self._write_rows_axis(canvas)
        else:
            x, y = [view.low, *curve.score, view.high], [0.0, *curve.value, curve.value[-1]]
            (self.line_,) = ax.plot(x, y, **({"drawstyle": "steps-post"} | manner))
            ax.set_xlabel("score" + view.remark)
        if curve.interval is not None:
            low, high = curve.interval
            ends = (_share_at(curve, low), _share_at(curve, high)) if over_rows else (max(low, limits[0]), high)
            error = self._error
            span = ax.axvspan(*ends, facecolor=(palette.orange, 0.1), edgecolor=(palette.orange, 0.5), linewidth=0.8)
            if not canvas.own:
                span.set_label(error or "attains the error")
            _mark_heights(canvas, bottom, top, error)
        ax.set_xlim(limits)
        if not over_rows:
            write_ticks(ax.xaxis, view)
        if limit > 0.0:
            bottom, top = min(bottom, reach[0]), max(top, reach[1])
        margin = 0.04 * (top - bottom) or 0.01
        ax.set_ylim(bottom - margin, top + margin)
        write_ticks(ax.yaxis)
        ax.set_ylabel(self._height)
        canvas.legend(height=1.12 if over_rows else 1.0, columns=1)

    def readings(self) -> Iterator[Reading]:
        """Give the cumulative residuals at some scores."""
        over_rows, curve, (score, unit) = self._over_rows, self.result, self._words
        at = np.searchsorted(curve.share, np.linspace(0.0, 1.0, _READINGS))
        if not over_rows:
            at = np.searchsorted(curve.score, _view(curve).edges(_READINGS)[1:], side="right") - 1
        at = distinct_numbers(np.clip(at, 0, len(curve.score) - 1))
        parts = halfway((curve.share if over_rows else curve.score)[at], *self.ax_.get_xlim())
        for (low, high), i in zip(parts, at.tolist(), strict=True):
            text = (
                f"{score}s up to {self._write(curve.score[i])}, {share(curve.share[i])} of {unit}: "
                f"cumulative residual {number(curve.value[i])}"
            )
            yield Reading(self.ax_, low, high, text)

    def _write_rows_axis(self, canvas: Canvas) -> None:
        ax, shares, (score, unit) = canvas.ax, np.linspace(0.0, 1.0, 5), self._words
        ax.set_xticks(shares, [f"{100 * s:g}%" for s in shares])
        ax.set_xlabel(f"{unit}, ordered by {score}")
        scores = ax.secondary_xaxis("top")
        at = np.minimum(np.searchsorted(self.result.share, shares), len(self.result.share) - 1)
        scores.set_xticks(shares, [self._write(self.result.score[i]) for i in at])
        scores.set_xlabel(score, fontsize=8.5, color=canvas.palette.muted)
        scores.spines["top"].set_visible(False)
        scores.tick_params(length=0, labelcolor=canvas.palette.muted, labelsize=8.5, pad=1)

    @property
    def _over_rows(self) -> bool:
        """Whether the x-axis shows rows instead of scores."""
        return crowded(self.result)

    @property
    def _error(self) -> str:
        """What is written beside the range of the line."""
        return "" if self.cutoff is None else f"calibration error {number(self.cutoff.value)}"

    @property
    def _limit(self) -> float:
        return self.cutoff.null_q95 if self.cutoff is not None and math.isfinite(self.cutoff.null_q95) else 0.0


def crowded(curve: CumulativeResiduals) -> bool:
    """Whether half of the rows have their scores in too small a part of the picture to be distinguished."""
    column = np.searchsorted(_view(curve).edges(_COLUMNS)[1:-1], curve.score, side="right")
    rows = np.bincount(column, weights=np.diff(curve.share, prepend=0.0))
    return bool(sum(sorted(rows.tolist())[-_FEW:]) >= 0.5)


def _view(curve: CumulativeResiduals) -> View:
    return score_view(curve.score, np.diff(curve.share, prepend=0.0))


def _share_at(curve: CumulativeResiduals, score: float) -> float:
    """Share of the rows with scores up to there."""
    return float(np.append(0.0, curve.share)[np.searchsorted(curve.score, score, side="right")])


def _mark_heights(canvas: Canvas, bottom: float, top: float, label: str) -> None:
    """Mark the highest and lowest point, and on a figure of its own the distance between them."""
    ax, colour = canvas.ax, canvas.palette.orange
    for height in (bottom, top):
        ax.axhline(height, color=colour, linewidth=0.7, linestyle=(0, (1, 2)))
    if not canvas.own:
        return
    across = ax.get_yaxis_transform()
    where: dict[str, Any] = {"xycoords": across, "textcoords": across, "annotation_clip": False}
    arrow = {"arrowstyle": "|-|,widthA=0.3,widthB=0.3", "color": colour, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=(1.025, bottom), xytext=(1.025, top), arrowprops=arrow, **where)
    middle = 0.5 * (bottom + top)
    ax.text(1.045, middle, label, transform=across, color=colour, rotation=90, va="center", ha="left", fontsize=9)
