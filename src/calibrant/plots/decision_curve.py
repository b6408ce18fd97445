"""The decision curve: net benefit of thresholding the scores, with treat all and treat none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.decisions import NetBenefit, net_benefit
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display, split_rows
from calibrant.plots.readings import Reading, halfway
from calibrant.table.arguments import Labels, Scores
from calibrant.table.numbers import confidence, score_brief, signed
from calibrant.table.visible_scores import View, score_view


class DecisionCurveDisplay(Display):
    """Net benefit by threshold, with those of treat all and treat none.

    Parameters
    ----------
    curve : NetBenefit
        What to draw.
    view : View, optional
        Stretch of thresholds to show; by default that of the curve.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The net benefit of thresholding the scores.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import DecisionCurveDisplay
    >>> ax = Figure().subplots()
    >>> display = DecisionCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], n_points=1, ax=ax)
    >>> display.to_frame("pandas")["net_benefit"].tolist()
    [0.0]
    """

    def __init__(self, curve: NetBenefit, *, view: View | None = None, name: str | None = None) -> None:
        self.curve, self.view, self.name = curve, view or score_view(curve.threshold), name

    @classmethod
    def from_predictions(
        cls,
        y_true: Labels,
        y_proba: Scores = None,
        *,
        n_points: int = 99,
        at: npt.ArrayLike | None = None,
        confidence_level: float = 0.95,
        **keywords: Any,
    ) -> Self:
        """Compute the net benefit, and draw it; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        n_points : int
            Number of thresholds, at equal distances in [0, 1], or where the scores are if they lie close together.
        at : array-like of float, optional
            Thresholds to take instead, increasing, in (0, 1).
        confidence_level : float
            Confidence of each interval by itself, in (0, 1).
        """
        table, drawing = split_rows(y_true, y_proba, **keywords)
        view = score_view(table.score, table.n) if at is None else None
        curve = net_benefit(table, at=at if view is None else view.grid(n_points), confidence_level=confidence_level)
        return cls(curve, view=view)._drawn(**drawing)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: threshold probability. y-axis: net benefit, that is true positives per case minus false positives "
            "per case weighted by the odds of the threshold. The scores are useful where their line lies above both "
            "treat all (grey line) and treat none (zero)."
        )
        if np.isfinite(self.curve.lower).any():
            yield (
                "The shaded strip is a pointwise confidence interval; it is absent where no row is predicted positive."
            )

    def columns(self) -> dict[str, Any]:
        """Return the net benefits, one entry per threshold."""
        return dict(self.curve.columns())

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, curve, first = canvas.ax, canvas.palette, self.curve, canvas.series == 0
        if first:
            nothing: dict[str, Any] = {"color": palette.muted, "linewidth": 1.0, "linestyle": (0, (4, 3))}
            ax.plot(curve.threshold, curve.treat_none, label="treat none", **nothing)
            ax.plot(curve.threshold, curve.treat_all, color=palette.grey, linewidth=1.3, label="treat all")
        manner: dict[str, Any] = {"color": canvas.colour(), "linewidth": 1.6} | keywords
        known = np.isfinite(curve.lower)
        text = canvas.label("thresholding the scores", name)
        if known.any():
            text += f", {confidence(curve.confidence_level)} intervals"
            strip: dict[str, Any] = {"color": manner["color"], "alpha": 0.18, "linewidth": 0}
            ax.fill_between(curve.threshold, curve.lower, curve.upper, **strip)
        (self.line_,) = ax.plot(curve.threshold, curve.net_benefit, **(manner | {"label": text}))
        top, depth = max(0.0, *curve.net_benefit, *curve.treat_all), max(0.0, *-curve.net_benefit)
        # At high thresholds treat all has a large negative net benefit, which need not be in view.
        bottom = -max(0.25 * top, min(depth, top or depth))
        margin = 0.1 * (top - bottom) or 0.01
        heights = (bottom - 0.2 * margin, top + margin)
        canvas.frame(self.view, heights, ("threshold probability", "net benefit per case"))
        canvas.mark(self.line_)
        canvas.legend(columns=1)

    def readings(self) -> Iterator[Reading]:
        """Give the net benefit at every threshold."""
        curve = self.curve
        for i, part in enumerate(halfway(curve.threshold, *self.ax_.get_xlim())):
            text = (
                f"threshold {score_brief(curve.threshold[i])}: net benefit {signed(curve.net_benefit[i])}, treat all "
                f"{signed(curve.treat_all[i])}"
            )
            yield Reading(self.ax_, *part, text)
