"""The layers of a reliability diagram, the distribution of the scores among them, and its frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from calibrant.curves import CumulativeResiduals, Curve, ScoreHistogram
from calibrant.metrics import CutoffCalibration
from calibrant.plots.canvas import Canvas, tick_places, write_ticks
from calibrant.plots.display import Reading
from calibrant.plots.style import Palette, ground_of
from calibrant.printable import visible
from calibrant.table.numbers import confidence, rows, score_brief, share
from calibrant.table.pooling import FloatArray
from calibrant.table.visible_scores import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Share of the height of axes that a strip along their lower edge takes, and the name by which it is found again.
_STRIP, _STRIP_NAME = 0.26, "calibrant-distribution"

# Scores at which a band is drawn: more than a picture has pixels.
_BAND_POINTS = 2000


def draw_points(curve: Curve, ax: Axes, manner: dict[str, Any], label: str) -> Line2D:
    """Draw bins as points with their intervals; return the points."""
    reach = np.nan_to_num(np.array([curve.rate - curve.lower, curve.upper - curve.rate]))
    usual: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5, "elinewidth": 1.3, "zorder": 3}
    usual |= {"markeredgecolor": ground_of(ax), "markeredgewidth": 0.7}
    drawn = ax.errorbar(curve.score, curve.rate, yerr=np.maximum(reach, 0.0), **(usual | manner | {"label": label}))
    return drawn.lines[0]


def intervals_label(curve: Curve) -> str:
    """Words for the legend about intervals; none where there are none."""
    return f" with {confidence(curve.confidence_level)} intervals" if np.isfinite(curve.lower).any() else ""


def draw_line(curve: Curve, ax: Axes, manner: dict[str, Any], label: str) -> Line2D:
    """Draw a curve as a line, with a strip for its pointwise intervals; a curve of one point as that point."""
    if len(curve.score) == 1:
        return draw_points(curve, ax, manner, label)
    if np.isfinite(curve.lower).any():
        ax.fill_between(curve.score, curve.lower, curve.upper, color=manner["color"], alpha=0.18, linewidth=0)
    (line,) = ax.plot(curve.score, curve.rate, **(manner | {"label": label}))
    return line


class SimultaneousBand(Protocol):
    """A band from wherever: of `calibrant.certificates`, or with the same arrays."""

    @property
    def score(self) -> FloatArray:
        """Where the limits are."""

    @property
    def lower(self) -> FloatArray:
        """Lower limits."""

    @property
    def upper(self) -> FloatArray:
        """Upper limits."""

    @property
    def confidence_level(self) -> float:
        """Probability with which all hold."""


def stacked(heading: str, layers: Sequence[tuple[str, Curve | SimultaneousBand]], dtype: Any = None) -> dict[str, Any]:
    """Return the columns of layers one under the other, and whose they are; NaN where a layer has no such column."""
    columns: dict[str, Any] = {heading: np.repeat([name for name, _ in layers], [len(one.score) for _, one in layers])}
    for name in ("score", "rate", "lower", "upper", "n"):
        columns[name] = np.concatenate([values_of(layer, name) for _, layer in layers], dtype=dtype)
    return columns


def values_of(layer: Curve | SimultaneousBand, name: str) -> npt.NDArray[Any]:
    """Return the values of a layer, NaN where it has no such column."""
    return np.asarray(getattr(layer, name, np.full(len(layer.score), np.nan)))


def draw_band(band: SimultaneousBand, ax: Axes, colour: str) -> None:
    """Draw a simultaneous band.

    Between two scores it has the lower limit of the left one and the upper limit of the right one, which is right for
    curves that do not fall; limits for windows, which do not hold for such curves between the windows, are joined by
    straight lines. Of very many scores some are drawn; that makes the band a little wider.
    """
    drawn = np.linspace(0, len(band.score) - 1, min(len(band.score), _BAND_POINTS)).astype(np.intp)
    score, lower, upper = (np.asarray(values)[drawn] for values in (band.score, band.lower, band.upper))
    if getattr(band, "method", None) != "windows":
        score, lower, upper = np.repeat(score, 3)[1:-1], np.repeat(lower, 3)[:-2], np.repeat(upper, 3)[2:]
    label = f"simultaneous {confidence(band.confidence_level)} band"
    ax.fill_between(score, lower, upper, label=label, facecolor=(colour, 0.25), edgecolor=(colour, 0.6), linewidth=0.6)


def shade(cutoff: CutoffCalibration, canvas: Canvas, view: View) -> None:
    """Shade the interval of scores that attains the calibration error."""
    if cutoff.interval is None:
        return
    low, high = cutoff.interval
    colour = canvas.palette.orange
    label = f"mean predicted {share(cutoff.mean_predicted)}, observed {share(cutoff.observed_rate)}"
    # The edge keeps an interval visible that is narrower than a pixel.
    left = max(low, view.limits()[0])
    canvas.ax.axvspan(left, high, facecolor=(colour, 0.12), edgecolor=(colour, 0.5), linewidth=0.8, label=label)


def draw_bars(histogram: ScoreHistogram, ax: Axes, palette: Palette, **keywords: Any) -> None:
    """Draw the shares of both classes by bin, positives above zero and negatives below, on one scale."""
    from matplotlib.collections import PolyCollection

    across = np.column_stack([histogram.edges[:-1], histogram.edges[1:]]).repeat(2, axis=1)
    up, down = _shares(histogram)
    for heights, colour in ((up, palette.blue), (-down, palette.grey)):
        manner: dict[str, Any] = {"color": colour, "edgecolor": ground_of(ax), "linewidth": 0.4} | keywords
        manner["facecolor"] = manner.pop("color")  # which would colour edges too
        # All bars as one: each by itself, they took a third of the time of the whole diagram.
        ax.add_collection(PolyCollection(list(np.dstack([across, np.outer(heights, [0.0, 1.0, 1.0, 0.0])])), **manner))
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    most, least = float(up.max()), float(down.max())
    ax.set_ylim(-1.05 * (least or 0.05 * most), 1.05 * (most or 0.05 * least))
    tick = _round_down(0.6 * max(most, least))
    ax.set_yticks([height for height in (-tick, 0.0, tick) if -least <= height <= most])
    ax.yaxis.set_major_formatter(lambda height, _: f"{100.0 * abs(height):g}%")
    ax.set_ylabel("share of class")
    _remark(ax, "positives up, negatives down", palette)


def bar_readings(histogram: ScoreHistogram, ax: Axes) -> Iterator[Reading]:
    """Give the rows of each bin that is not empty."""
    columns = (histogram.edges[:-1], histogram.edges[1:], histogram.positives, histogram.negatives, *_shares(histogram))
    for low, high, positives, negatives, up, down in zip(*(column.tolist() for column in columns), strict=True):
        if positives or negatives:
            of_classes = (
                f"{rows(positives)} positives ({share(up)} of them), {rows(negatives)} negatives ({share(down)})"
            )
            yield Reading(ax, low, high, f"scores {score_brief(low)} to {score_brief(high)}: {of_classes}")


def _shares(histogram: ScoreHistogram) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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


def strip_beneath(ax: Axes) -> Axes:
    """Make a strip along the lower edge of the axes, as wide as they are."""
    # The space above the bars is for a remark.
    strip = ax.inset_axes((0.0, 0.0, 1.0, 0.75 * _STRIP), sharex=ax, zorder=1.5)
    strip.set_label(_STRIP_NAME)
    strip.spines[:].set_visible(False)
    strip.tick_params(bottom=False, labelbottom=False)
    return strip


def frame_diagram(canvas: Canvas, view: View, heights: FloatArray, *, first: bool, pos_label: Any = None) -> float:
    """Set limits, ticks and labels; a diagram that was there before (unless `first`) stays in view.

    `view` is the stretch of scores to show; `heights` are shares that must be in view, NaN is passed over. Returns the
    share of the height of the axes that a strip along their lower edge takes.
    """
    ax, beneath = canvas.ax, canvas.beneath
    strip = any(child.get_label() == _STRIP_NAME for child in ax.child_axes)
    if not first:
        view = view._replace(square_root=ax.get_xscale() == "function")
    left, right = view.limits()
    bottom, top = _heights(heights, view)
    if not first:
        before = _stretched(ax.get_ylim(), view, 1.0 - _STRIP) if strip else ax.get_ylim()
        left, right = min(left, ax.get_xlim()[0]), max(right, ax.get_xlim()[1])
        bottom, top = min(bottom, before[0]), max(top, before[1])
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    write_ticks(ax.xaxis, view)
    write_ticks(ax.yaxis, view)
    if strip:
        ax.set_ylim(_stretched((bottom, top), view, 1.0 / (1.0 - _STRIP)))
        # No tick stands beside the strip, where heights are no shares.
        ax.yaxis.set_ticks(tick_places(bottom, top, view))
    of = "" if pos_label in (None, 1, True) else f" ({visible(str(pos_label))})"
    ax.set_ylabel(f"observed rate{of}", parse_math=False)
    (beneath or ax).set_xlabel("predicted probability" + view.remark)
    if beneath is not None:
        beneath.set_xlim(left, right)
        write_ticks(beneath.xaxis, view)
        ax.tick_params(labelbottom=False)
    return _STRIP if strip else 0.0


def _stretched(limits: tuple[float, float], view: View, times: float) -> tuple[float, float]:
    """Limits so many times as far apart on the axis of a view, with the same upper end."""
    bottom, top = view.to_axis(limits)
    return float(view.from_axis(top - times * (top - bottom))), limits[1]


def _heights(heights: FloatArray, view: View) -> tuple[float, float]:
    """Vertical limits: [0, 1] if scores are wide apart, otherwise what contains the rates and the diagonal."""
    if (view.low, view.high) == (0.0, 1.0):
        return view.limits()
    everything = np.append(heights, [view.low, view.high])
    return view._replace(low=float(np.nanmin(everything)), high=float(np.nanmax(everything))).limits()
