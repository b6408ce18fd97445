"""A monitor over time: the evidence with the height of an alarm, and the bias with its confidence sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas, write_ticks
from calibrant.plots.display import Display, Reading, halfway
from calibrant.table.numbers import confidence, rows, signed, write_interval
from calibrant.table.pooling import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.monitoring import MonitorHistory

_LEAST = -2.0  # what is shown of the logarithm of evidence that speaks for calibration
_TICKS = 4
_CROWD = 5  # alarms from which their lines are thin, so that they hide nothing


class MonitorDisplay(Display):
    """Evidence of a monitor by rows read, and on a figure of its own the bias below.

    Parameters
    ----------
    result : MonitorHistory
        What to draw.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The logarithm of the evidence.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import Monitor
    >>> from calibrant.plots import MonitorDisplay
    >>> monitor = Monitor(0.02)
    >>> state = monitor.update([0, 1] * 64, [0.4, 0.6] * 64)
    >>> display = MonitorDisplay(monitor.history()).plot(Figure().subplots())
    >>> display.to_frame("pandas")["row"].tolist()
    [32.0, 64.0, 96.0, 128.0]
    """

    result: MonitorHistory
    _line = ("rows read", "result.row"), ("Logarithm of the evidence", "result.log_evidence")
    size = (5.6, 4.4)
    beneath = True

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: rows read. Upper panel: the evidence against calibration, on a logarithmic scale; where it "
            "reaches the threshold (dashed), the monitor gives an alarm (vertical line)."
        )
        if len(self.result.alarms) > 1:
            yield f"Shown are the latest {len(self.result.alarms)} alarms; after each the evidence begins anew."
        level = confidence(self.result.confidence_level)
        yield (
            "Lower panel: observed rate minus mean predicted over all rows so far. The shaded strip is a confidence "
            f"sequence: at all rows at once, with probability {level}, it contains the mean of the expectations. "
            "Above 0, scores were too low on average."
        )

    def readings(self) -> Iterator[Reading]:
        """Give evidence and bias at every row that is kept."""
        parts = halfway(self.result.row, *self.ax_.get_xlim())
        for part, (row, time, evidence, bias, limits) in zip(parts, moments(self.result), strict=True):
            at = f"row {row}, {time}" if time else f"row {row}"
            yield Reading(self.ax_, *part, f"{at}: evidence {evidence}, bias {bias} ({limits})")

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        history, palette, ax = self.result, canvas.palette, canvas.ax
        if not len(history.row):
            raise ArgumentError("a monitor that has read 16 rows", "fewer", "draw it later")
        high = max(history.log_threshold * 1.15, 0.5)
        row, evidence = _with_alarms(history)
        shown = np.clip(evidence, _LEAST, high)
        manner: dict[str, Any] = {"color": canvas.colour(), "linewidth": 1.6} | keywords
        (self.line_,) = ax.plot(row, shown, label=canvas.label("evidence", name), **manner)
        canvas.mark(self.line_)
        ax.axhline(history.log_threshold, **canvas.dashed("threshold"))
        crowded = len(history.alarms) > _CROWD
        alarm: dict[str, Any] = {"color": palette.orange, "linewidth": 0.6 if crowded else 1.2, "zorder": 1.5}
        for panel in filter(None, (ax, canvas.beneath)):
            for i, at in enumerate(history.alarms):
                panel.axvline(at, label="_" if i else "alarm", **alarm)
        ax.set_ylim(min(0.0, float(np.nanmin(shown))) - 0.1, high + 0.1)
        powers = np.arange(np.ceil(ax.get_ylim()[0]), np.floor(ax.get_ylim()[1]) + 1)
        ax.set_yticks(powers, [f"{10.0**power:g}" for power in powers])
        ax.set_ylabel("evidence")
        canvas.legend(columns=3)
        if canvas.beneath is not None:
            self._draw_bias(canvas.beneath, canvas)
        _write_rows(canvas.beneath or ax, history.row, history.time)

    def _draw_bias(self, ax: Axes, canvas: Canvas) -> None:
        history, palette = self.result, canvas.palette
        ax.axhline(0.0, color=palette.rule, linewidth=0.8)
        colour = self.line_.get_color()
        ax.fill_between(history.row, history.lower, history.upper, color=colour, alpha=0.18, linewidth=0.0)
        ax.plot(history.row, history.bias, color=colour, linewidth=1.3)
        # What the first rows leave open would hide what later ones say.
        some = (history.row >= history.row[-1] / 8) & np.isfinite(history.bias)  # not finite before the first block
        widest = np.abs([history.lower[some], history.upper[some]]).max() if some.any() else 1.0
        reach = 1.1 * max(float(widest), 1e-6)
        ax.set_ylim(-reach, reach)
        ax.set_ylabel("bias")
        write_ticks(ax.yaxis)


def moments(history: MonitorHistory) -> list[tuple[str, str, str, str, str]]:
    """Write row, time, evidence, bias and limits of the bias at every row that is kept."""
    written = []
    for row, time, evidence, *bias in zip(*(column.tolist() for column in history.columns().values()), strict=True):
        against = "infinite" if evidence == math.inf else f"{10.0**evidence:.3g}"
        limits = (signed(bias[0]), "unknown")
        if not math.isnan(bias[0]):
            interval = write_interval(*bias, write=signed)
            limits = (interval.value, interval.ends)
        written.append((rows(row), "" if time is None else str(time), against, *limits))
    return written


def _with_alarms(history: MonitorHistory) -> tuple[FloatArray, FloatArray]:
    """Return rows and evidence with the alarms between them, where it reached the threshold, and breaks after these.

    After the alarm of mode "total" evidence stays where it is, and there is no break.
    """
    height = history.log_threshold
    new = np.array([row for row in history.alarms if row not in history.row], dtype=np.float64)
    places = np.searchsorted(history.row, new)
    row, evidence = np.insert(history.row, places, new), np.insert(history.log_evidence, places, height)
    alarm = np.isin(row, history.alarms)
    anew = np.flatnonzero(alarm[:-1] & (alarm[1:] | (evidence[1:] < height)))
    return np.insert(row, anew + 1, row[anew]), np.insert(evidence, anew + 1, np.nan)


def _write_rows(ax: Axes, row: FloatArray, time: npt.NDArray[Any]) -> None:
    """Write rows below the picture, with their times where they are dates."""
    ax.set_xlabel("rows read")
    places = [int(i) for i in np.linspace(0, len(row) - 1, min(_TICKS, len(row)))]
    dated = isinstance(time[0], str)
    ax.set_xticks([row[i] for i in places], [f"{row[i]:,.0f}" + (f"\n{time[i][:10]}" if dated else "") for i in places])
