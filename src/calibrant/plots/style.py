"""What all pictures share: colours, type, the stretch of scores they show and how numbers stand at their axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.core.table import FloatArray

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["BAND", "BLUE", "GREY", "INK", "MUTED", "ORANGE", "RULE", "drawing_style", "score_view", "write_ticks"]

# Okabe and Ito's blue and a darkened vermilion: apart for every kind of colour vision, and apart in grey.
INK = "#1f2328"
MUTED = "#57606a"
RULE = "#c3c8ce"
BAND = "#e9ecef"
BLUE = "#0072b2"
GREY = "#8b949e"
ORANGE = "#b34700"

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.facecolor": "none",
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.h_pad": 0.06,
    "svg.fonttype": "none",
}

# Scores that cover at least this much of [0, 1] are shown on all of it.
_WIDE = 0.25


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in calibrant's style whatever the user has set, and leave the user's settings as they were."""
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield


def score_view(score: FloatArray) -> tuple[float, float]:
    """Stretch of scores to show: all of [0, 1], or where the scores are if they lie close together.

    Parameters
    ----------
    score : ndarray of float64
        Increasing scores.
    """
    low, high = float(score[0]), float(score[-1])
    width = high - low
    if width >= _WIDE:
        return 0.0, 1.0
    if width == 0.0:
        # One score only: as far as the nearer end of [0, 1], but not so far that the score is lost in it.
        room = min(0.05, min(low, 1.0 - low) or 0.05)
        return max(0.0, low - room), min(1.0, high + room)
    left = 0.0 if low < width else low - 0.05 * width
    right = 1.0 if 1.0 - high < width else high + 0.05 * width
    return left, right


def write_ticks(axis: Axis, *, most: int = 6) -> None:
    """Write few ticks, as plain decimals without an offset to be added in the reader's head."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(_decimal))


def _decimal(value: float, _: int | None = None) -> str:
    return np.format_float_positional(round(value, 12) + 0.0, trim="-").replace("-", "\N{MINUS SIGN}")
