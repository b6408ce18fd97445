"""The residual walk: how promise and outcome drift apart from the lowest score to the highest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from calibrant.auditing.wording import number
from calibrant.core.table import FloatArray
from calibrant.curves import ResidualWalk
from calibrant.metrics import CutoffCalibration
from calibrant.plots.style import BAND, BLUE, MUTED, ORANGE, score_view, write_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HOW_TO_READ_WALK", "crowded", "draw_walk"]

HOW_TO_READ_WALK = (
    "Going from the lowest score to the highest, the line adds up what happened minus what was promised, divided by "
    "the number of rows. Where it falls, scores promise too much; where it climbs, too little; where it keeps level, "
    "they are right. The height between its highest and its lowest point is the calibration error, and the shaded "
    "scores lie between the two. The grey band is as high as chance alone would make it: the line of perfectly "
    "calibrated scores would need more height at most once in twenty. If the scores crowd together, the line is drawn "
    "over the rows in the order of their scores, with some scores written above."
)

# The walk is drawn over rows if so few of so many columns of the picture would hold half of them.
_FEW, _COLUMNS = 3, 40


def draw_walk(walk: ResidualWalk, ax: Axes, cutoff: CutoffCalibration | None = None) -> None:
    """Draw the walk with the interval that attains the calibration error, and its height.

    Parameters
    ----------
    walk : ResidualWalk
        What to draw.
    ax : matplotlib.axes.Axes
        Where to draw; there should be room for a label on the right.
    cutoff : CutoffCalibration, optional
        Writes the error at that height, and draws a band as high as chance alone would make the walk.
    """
    bottom, top = min(0.0, float(walk.value.min())), max(0.0, float(walk.value.max()))
    noise = cutoff.noise_95 if cutoff is not None and math.isfinite(cutoff.noise_95) else 0.0
    middle = 0.5 * (bottom + top)
    if noise > 0.0:
        ax.axhspan(
            middle - 0.5 * noise,
            middle + 0.5 * noise,
            color=BAND,
            linewidth=0,
            label="height chance alone keeps to, 19 times in 20",
        )
    ax.axhline(0.0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    over_rows = crowded(walk)
    left, right = (0.0, 1.0) if over_rows else score_view(walk.score)
    margin = 0.015 * (right - left)
    if over_rows:
        ax.plot([0.0, *walk.share], [0.0, *walk.value], color=BLUE, linewidth=1.3)
        _write_rows_axis(walk, ax)
    else:
        x, y = [left, *walk.score, right], [0.0, *walk.value, walk.value[-1]]
        ax.plot(x, y, color=BLUE, linewidth=1.3, drawstyle="steps-post")
        write_ticks(ax.xaxis)
        ax.set_xlabel("score")
    if walk.interval is not None:
        low, high = walk.interval
        ends = (_share_at(walk, low), _share_at(walk, high)) if over_rows else (max(low, left - margin), high)
        ax.axvspan(*ends, facecolor=(ORANGE, 0.1), edgecolor=(ORANGE, 0.5), linewidth=0.8)
        _bracket(ax, bottom, top, "" if cutoff is None else f"error {number(cutoff.value)}")
    ax.set_xlim(left - margin, right + margin)
    reach = max(0.5 * noise, 0.5 * (top - bottom)) or 0.01
    ax.set_ylim(middle - 1.08 * reach, middle + 1.08 * reach)
    write_ticks(ax.yaxis)
    ax.set_ylabel("happened \N{MINUS SIGN} promised, added up")
    if noise > 0.0:
        ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.12 if over_rows else 1.0), borderaxespad=0.2)


def crowded(walk: ResidualWalk) -> bool:
    """Whether half of the rows have their scores in so small a part of the picture that nothing could be seen there."""
    left, right = score_view(walk.score)
    column = np.minimum(((walk.score - left) / (right - left) * _COLUMNS).astype(np.intp), _COLUMNS - 1)
    rows = np.bincount(column, weights=np.diff(walk.share, prepend=0.0), minlength=_COLUMNS)
    return bool(sum(sorted(rows.tolist())[-_FEW:]) >= 0.5)


def _write_rows_axis(walk: ResidualWalk, ax: Axes) -> None:
    shares = np.linspace(0.0, 1.0, 5)
    ax.set_xticks(shares, [f"{100 * s:g}%" for s in shares])
    ax.set_xlabel("rows, in the order of their scores")
    scores = ax.secondary_xaxis("top")
    at = np.minimum(np.searchsorted(walk.share, shares), len(walk.share) - 1)
    scores.set_xticks(shares, [_brief(walk.score[i]) for i in at])
    scores.set_xlabel("score", fontsize=8.5, color=MUTED)
    scores.spines["top"].set_visible(False)
    scores.tick_params(length=0, labelcolor=MUTED, pad=1)


def _brief(score: float) -> str:
    """Write a score in a few characters."""
    if 0.0 < score < 0.0005:
        return f"{score:.0e}"
    if 0.9995 <= score < 1.0:
        return ">0.999"
    return f"{score:.3g}"


def _share_at(walk: ResidualWalk, score: float) -> float:
    """Share of the rows with scores up to there."""
    shares: FloatArray = np.concatenate([[0.0], walk.share])
    return float(shares[np.searchsorted(walk.score, score, side="right")])


def _bracket(ax: Axes, bottom: float, top: float, label: str) -> None:
    """Height of the walk, to the right of the axes where it covers nothing."""
    place = ax.get_yaxis_transform()
    for height in (bottom, top):
        ax.axhline(height, color=ORANGE, linewidth=0.7, linestyle=(0, (1, 2)))
    ax.annotate(
        "",
        xy=(1.025, bottom),
        xytext=(1.025, top),
        xycoords=place,
        textcoords=place,
        annotation_clip=False,
        arrowprops={"arrowstyle": "|-|,widthA=0.3,widthB=0.3", "color": ORANGE, "shrinkA": 0, "shrinkB": 0},
    )
    ax.text(
        1.045,
        0.5 * (bottom + top),
        label,
        transform=place,
        color=ORANGE,
        rotation=90,
        va="center",
        ha="left",
        fontsize=9,
    )
