"""The reliability diagram: the share that happened over the share that was promised, and where the scores lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import share
from calibrant.core.table import FloatArray
from calibrant.curves import Curve, Histogram, ResidualWalk
from calibrant.metrics import CutoffCalibration
from calibrant.plots.style import BLUE, GREY, INK, MUTED, ORANGE, RULE, score_view, write_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HOW_TO_READ_RELIABILITY", "draw_distribution", "draw_reliability"]

HOW_TO_READ_RELIABILITY = (
    "The points stand for about equally many rows each: across, the share of positives that their scores promised; "
    "upwards, the share that happened, with an interval for what chance may have done to it. On the dashed line the "
    "two agree. A point below it was promised too much, a point above it too little. The stepped line is the best "
    "nondecreasing fit to the outcomes, which needs no bins. The shaded scores, taken together, missed by the most. "
    "The panel below shows where the scores lie: positives upwards, negatives downwards, each class to its own "
    "scale; or, for scores too close together, the share of rows up to each score."
)

# With fewer bins of the histogram in view, bars would say nothing about where the scores lie.
_FEWEST_BARS = 9


def draw_reliability(audit: Findings, ax: Axes, hist_ax: Axes | None = None) -> None:
    """Draw the binned points with their intervals, the isotonic curve and the worst interval of scores.

    Parameters
    ----------
    audit : Findings
        What to draw.
    ax : matplotlib.axes.Axes
        Where to draw the diagram.
    hist_ax : matplotlib.axes.Axes, optional
        Where to draw the distribution of the scores; it should share its x axis with `ax` and lie below it.
    """
    left, right = score_view(audit.isotonic.score)
    margin = 0.015 * (right - left)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="as promised")
    ax.plot(audit.isotonic.score, audit.isotonic.rate, color=INK, linewidth=1.1, label="isotonic curve")
    _shade(ax, audit.cutoff, left - margin)
    _bins(ax, audit.reliability)
    ax.set_xlim(left - margin, right + margin)
    ax.set_ylim(*_heights(audit.reliability, left, right))
    write_ticks(ax.xaxis)
    write_ticks(ax.yaxis)
    ax.set_ylabel("share that happened")
    _legend(ax)
    if hist_ax is None:
        ax.set_xlabel("score = promised share")
        return
    draw_distribution(audit.histogram, audit.walk, hist_ax)
    hist_ax.set_xlim(ax.get_xlim())
    hist_ax.set_xlabel("score = promised share")
    ax.tick_params(labelbottom=False)


def draw_distribution(histogram: Histogram, walk: ResidualWalk, ax: Axes) -> None:
    """Draw where the scores lie: mirrored bars by class, or the share of rows up to each score.

    Parameters
    ----------
    histogram : Histogram
        Drawn as bars, positives upwards and negatives downwards.
    walk : ResidualWalk
        Its shares are drawn instead if the scores lie in too few bins of the histogram.
    ax : matplotlib.axes.Axes
        Where to draw.
    """
    left, right = score_view(walk.score)
    inside = (histogram.edges[1:] > left) & (histogram.edges[:-1] < right)
    if np.count_nonzero(inside) < _FEWEST_BARS:
        _draw_shares(walk, ax, left, right)
    else:
        _draw_bars(histogram, ax)
    write_ticks(ax.xaxis)


def _shade(ax: Axes, cutoff: CutoffCalibration, left: float) -> None:
    if cutoff.interval is None:
        return
    low, high = cutoff.interval
    label = f"worst: {share(cutoff.promised)} promised, {share(cutoff.happened)} happened"
    # The edge keeps an interval visible that is narrower than a pixel.
    ax.axvspan(max(low, left), high, facecolor=(ORANGE, 0.12), edgecolor=(ORANGE, 0.5), linewidth=0.8, label=label)


def _bins(ax: Axes, curve: Curve) -> None:
    known = np.isfinite(curve.lower)
    label = f"bins with {100 * curve.level:g}% intervals" if known.any() else "bins"
    reach = np.nan_to_num(np.array([curve.rate - curve.lower, curve.upper - curve.rate]))
    ax.errorbar(
        curve.score,
        curve.rate,
        yerr=np.maximum(reach, 0.0),
        fmt="o",
        color=BLUE,
        markersize=5,
        markeredgecolor="white",
        markeredgewidth=0.7,
        elinewidth=1.3,
        label=label,
        zorder=3,
    )


def _legend(ax: Axes) -> None:
    """Above the axes, where it hides nothing; from the left of the axis labels, since its labels are long."""
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(handles=handles[::-1], loc="lower left", bbox_to_anchor=(-0.15, 1.0), ncols=2, borderaxespad=0.2)


def _heights(curve: Curve, left: float, right: float) -> tuple[float, float]:
    """Vertical limits: [0, 1] if scores are wide apart, otherwise what holds the points and the dashed line."""
    if (left, right) == (0.0, 1.0):
        return -0.015, 1.015
    everything = np.concatenate([curve.rate, curve.lower, curve.upper, [left, right]])
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _draw_bars(histogram: Histogram, ax: Axes) -> None:
    widths = np.diff(histogram.edges)
    up, down = float(histogram.positives.max()) or 1.0, float(histogram.negatives.max()) or 1.0

    # Heights stay numbers of rows; only the axis stretches, so that a rare class can be seen beside a common one.
    def squeeze(height: npt.ArrayLike) -> FloatArray:
        height = np.asarray(height, dtype=np.float64)
        return np.where(height > 0.0, height / up, height / down)

    def stretch(height: npt.ArrayLike) -> FloatArray:
        height = np.asarray(height, dtype=np.float64)
        return np.where(height > 0.0, height * up, height * down)

    for rows, colour in ((histogram.positives, BLUE), (-histogram.negatives, GREY)):
        ax.bar(histogram.edges[:-1], rows, widths, align="edge", color=colour, edgecolor="white", linewidth=0.4)
    ax.axhline(0.0, color=INK, linewidth=0.6)
    ax.set_yscale("function", functions=(squeeze, stretch))
    ax.set_ylim(-1.05 * down, 1.05 * up)
    ax.set_yticks([-_round_down(down), 0.0, _round_down(up)])
    ax.yaxis.set_major_formatter(lambda height, _: f"{abs(height):,g}" if abs(height) < 1e6 else f"{abs(height):.0e}")
    ax.minorticks_off()
    ax.set_ylabel("rows")
    ax.set_title("positives up, negatives down, each to its own scale", loc="left", fontsize=8.5, color=MUTED, pad=3)


def _draw_shares(walk: ResidualWalk, ax: Axes, left: float, right: float) -> None:
    ax.plot([left, *walk.score, right], [0.0, *walk.share, 1.0], color=BLUE, linewidth=1.3, drawstyle="steps-post")
    ax.set_ylim(0.0, 1.03)
    ax.set_yticks([0.0, 0.5, 1.0], ["0%", "50%", "100%"])
    ax.set_ylabel("rows")
    ax.set_title("share of rows up to each score", loc="left", fontsize=8.5, color=MUTED, pad=3)
    ax.grid(axis="y", color=RULE, linewidth=0.5)


def _round_down(height: float) -> float:
    """Largest of 1, 2, 5, 10, 20, ... that is not above the height."""
    power = 10.0 ** np.floor(np.log10(height))
    return float(max(step for step in (1.0, 2.0, 5.0) if step * power <= height * (1.0 + 1e-9)) * power)
