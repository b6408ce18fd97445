"""The cumulative residuals: observed minus predicted, summed from the lowest score to the highest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.auditing.wording import number
from calibrant.curves import CumulativeResiduals, cumulative_residuals
from calibrant.metrics import CutoffCalibration, cutoff_calibration
from calibrant.plots.canvas import Canvas, canvas
from calibrant.plots.display import Display
from calibrant.plots.style import write_ticks
from calibrant.table.score_table import FloatArray, ScoreTable, as_table
from calibrant.table.visible_scores import score_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CumulativeResidualsDisplay", "crowded"]

# The x-axis shows rows instead of scores if so few of so many columns of the picture would hold half of the rows.
_FEW, _COLUMNS = 3, 40


class CumulativeResidualsDisplay(Display):
    """Cumulative residuals with the interval of scores that attains the calibration error.

    Made by `from_predictions` or `from_estimator`, or from results at hand.

    Parameters
    ----------
    walk : CumulativeResiduals
        What to draw.
    cutoff : CutoffCalibration, optional
        Writes the calibration error beside the range of the line, and draws the 95% limit under perfect calibration.
    name : str, optional
        What is shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure
        Where it was drawn last.
    line_ : matplotlib.lines.Line2D
        The cumulative residuals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import CumulativeResidualsDisplay
    >>> display = CumulativeResidualsDisplay.from_predictions([0, 1], [0.25, 0.75], ax=Figure().subplots())
    >>> display.to_frame("pandas")["value"].tolist()
    [-0.125, 0.0]
    """

    def __init__(
        self, walk: CumulativeResiduals, *, cutoff: CutoffCalibration | None = None, name: str | None = None
    ) -> None:
        self.walk, self.cutoff, self.name = walk, cutoff, name

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike | ScoreTable,
        y_proba: npt.ArrayLike | None = None,
        *,
        n_points: int = 900,
        sample_weight: npt.ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **keywords: Any,
    ) -> Self:
        """Compute the cumulative residuals, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n,) or ScoreTable
            Labels, or a table that holds labels and scores.
        y_proba : array-like of shape (n,)
            Predicted probabilities of the positive class, in [0, 1].
        n_points : int
            Points to draw, at least 4. The highest and the lowest point are always among them.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights. The 95% limit is drawn only for whole numbers.
        pos_label : scalar, optional
            The label value that counts as 1.
        name : str, optional
            What is shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot.
        **keywords
            Passed on to `plot`.

        Returns
        -------
        CumulativeResidualsDisplay
            Already drawn.
        """
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        walk = cumulative_residuals(table, n_points=n_points)
        return cls(walk, cutoff=cutoff_calibration(table), name=name).plot(ax, **keywords)

    @property
    def how_to_read(self) -> str:
        """A few sentences on how to read this picture, for its caption."""
        course = (
            "The line is the sum of observed minus predicted over all rows up to a score, divided by the number of "
            "rows. Where it falls, predictions are too high; where it rises, too low; where it is level, they agree "
            "with the observed rate. Its range, the distance between its highest and its lowest point, is the "
            "calibration error"
        )
        sentences = [course + ("." if self.walk.interval is None else ", attained over the shaded scores.")]
        if self._limit > 0.0:
            sentences.append("The height of the grey band is the 95% limit of this range under perfect calibration.")
        if crowded(self.walk):
            sentences.append(
                "Since the scores are concentrated, the x-axis shows the rows ordered by score, with some scores above."
            )
        return " ".join(sentences)

    def columns(self) -> dict[str, Any]:
        """Return the points of the line: score, share of rows up to it, and cumulative residual."""
        return dict(self.walk.columns())

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **keywords: Any) -> Self:
        """Draw the cumulative residuals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot.
        name : str, optional
            Replaces the name given before.
        **keywords
            Of matplotlib, for the line: ``color``, ``linewidth`` ...
        """
        with canvas(ax, (4.8, 3.8)) as place:
            name = self.name if name is None else name
            self.draw_on(place, name=name, keywords=keywords)
            place.title(name)
        return self

    def draw_on(self, place: Canvas, *, name: str | None = None, keywords: dict[str, Any] | None = None) -> None:
        """Draw on a canvas; parameters as in `plot`."""
        ax, walk, palette, limit = place.ax, self.walk, place.palette, self._limit
        bottom, top = min(0.0, float(walk.value.min())), max(0.0, float(walk.value.max()))
        middle = 0.5 * (bottom + top)
        if limit > 0.0:
            reach = (middle - 0.5 * limit, middle + 0.5 * limit)
            what = "95% limit of the range under perfect calibration" if place.own else "95% limit if calibrated"
            ax.axhspan(*reach, color=palette.band, linewidth=0, label=what)
        ax.axhline(0.0, color=palette.muted, linewidth=0.8, linestyle=(0, (4, 3)))
        over_rows = crowded(walk)
        left, right = (0.0, 1.0) if over_rows else score_view(walk.score)
        margin = 0.015 * (right - left)
        manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.3} | (keywords or {})
        if name is not None and not place.own:
            manner["label"] = place.label("cumulative residuals", name)
        if over_rows:
            (self.line_,) = ax.plot([0.0, *walk.share], [0.0, *walk.value], **manner)
            _write_rows_axis(walk, place)
        else:
            x, y = [left, *walk.score, right], [0.0, *walk.value, walk.value[-1]]
            (self.line_,) = ax.plot(x, y, **({"drawstyle": "steps-post"} | manner))
            write_ticks(ax.xaxis)
            ax.set_xlabel("score")
        if walk.interval is not None:
            low, high = walk.interval
            ends = (_share_at(walk, low), _share_at(walk, high)) if over_rows else (max(low, left - margin), high)
            error = "" if self.cutoff is None else f"calibration error {number(self.cutoff.value)}"
            span = ax.axvspan(*ends, facecolor=(palette.orange, 0.1), edgecolor=(palette.orange, 0.5), linewidth=0.8)
            if not place.own:
                span.set_label(error or "attains the error")
            _mark_heights(place, bottom, top, error)
        ax.set_xlim(left - margin, right + margin)
        tall = max(0.5 * limit, 0.5 * (top - bottom)) or 0.01
        ax.set_ylim(middle - 1.08 * tall, middle + 1.08 * tall)
        write_ticks(ax.yaxis)
        ax.set_ylabel("cumulative observed \N{MINUS SIGN} predicted")
        place.legend(height=1.12 if over_rows else 1.0, columns=1)
        self._drawn_on(place)

    @property
    def _limit(self) -> float:
        return self.cutoff.null_q95 if self.cutoff is not None and math.isfinite(self.cutoff.null_q95) else 0.0


def crowded(walk: CumulativeResiduals) -> bool:
    """Whether half of the rows have their scores in too small a part of the picture to be distinguished."""
    left, right = score_view(walk.score)
    column = np.minimum(((walk.score - left) / (right - left) * _COLUMNS).astype(np.intp), _COLUMNS - 1)
    rows = np.bincount(column, weights=np.diff(walk.share, prepend=0.0), minlength=_COLUMNS)
    return bool(sum(sorted(rows.tolist())[-_FEW:]) >= 0.5)


def _write_rows_axis(walk: CumulativeResiduals, place: Canvas) -> None:
    ax, shares = place.ax, np.linspace(0.0, 1.0, 5)
    ax.set_xticks(shares, [f"{100 * s:g}%" for s in shares])
    ax.set_xlabel("rows, ordered by score")
    scores = ax.secondary_xaxis("top")
    at = np.minimum(np.searchsorted(walk.share, shares), len(walk.share) - 1)
    scores.set_xticks(shares, [_brief(walk.score[i]) for i in at])
    scores.set_xlabel("score", fontsize=8.5, color=place.palette.muted)
    scores.spines["top"].set_visible(False)
    scores.tick_params(length=0, labelcolor=place.palette.muted, labelsize=8.5, pad=1)


def _brief(score: float) -> str:
    """Write a score in a few characters."""
    if 0.0 < score < 0.0005:
        return f"{score:.0e}"
    if 0.9995 <= score < 1.0:
        return ">0.999"
    return f"{score:.3g}"


def _share_at(walk: CumulativeResiduals, score: float) -> float:
    """Share of the rows with scores up to there."""
    shares: FloatArray = np.concatenate([[0.0], walk.share])
    return float(shares[np.searchsorted(walk.score, score, side="right")])


def _mark_heights(place: Canvas, bottom: float, top: float, label: str) -> None:
    """Mark the highest and lowest point, and on a figure of its own the distance between them."""
    ax, colour = place.ax, place.palette.orange
    for height in (bottom, top):
        ax.axhline(height, color=colour, linewidth=0.7, linestyle=(0, (1, 2)))
    if not place.own:
        return
    across = ax.get_yaxis_transform()
    ax.annotate(
        "",
        xy=(1.025, bottom),
        xytext=(1.025, top),
        xycoords=across,
        textcoords=across,
        annotation_clip=False,
        arrowprops={"arrowstyle": "|-|,widthA=0.3,widthB=0.3", "color": colour, "shrinkA": 0, "shrinkB": 0},
    )
    middle = 0.5 * (bottom + top)
    ax.text(1.045, middle, label, transform=across, color=colour, rotation=90, va="center", ha="left", fontsize=9)
