"""Curves over the threshold: the net benefit of thresholding the scores, and its mean cost per case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.decisions import CostCurve, NetBenefit, cost_curve, net_benefit
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display, Reading, halfway, split_rows
from calibrant.table.numbers import confidence, number, score_brief, signed
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Labels, Scores, ScoreTable
from calibrant.table.visible_scores import View, score_view

if TYPE_CHECKING:
    from matplotlib.lines import Line2D


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
    beside : mapping of str to NetBenefit, optional
        Further models on the same rows, by name; `name` is then that of the first.

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

    around = 0.0, 0.0

    def __init__(
        self,
        curve: NetBenefit,
        *,
        view: View | None = None,
        name: str | None = None,
        beside: Mapping[str, NetBenefit] | None = None,
    ) -> None:
        self.curve, self.view, self.name = curve, view or score_view(curve.threshold), name
        self.beside = dict(beside or {})
        self._models = {name or "": curve} | self.beside

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
                "Shaded strips are pointwise confidence intervals; they are absent where no row is predicted positive."
            )

    def columns(self) -> dict[str, Any]:
        """Return the net benefits, one entry per threshold; of several models, `model` says whose."""
        parts = [curve.columns() for curve in self._models.values()]
        names = np.repeat([*self._models], [len(curve.threshold) for curve in self._models.values()])
        columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        return {"model": names} | columns if self.beside else columns

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, curve, first = canvas.ax, canvas.palette, self.curve, canvas.series == 0
        if first:
            ax.plot(curve.threshold, curve.treat_none, **canvas.dashed("treat none"))
            ax.plot(curve.threshold, curve.treat_all, color=palette.grey, linewidth=1.3, label="treat all")
        text = self.name or "" if self.beside else canvas.label("thresholding the scores", name)
        self.line_ = self._draw_curve(canvas, curve, text, **keywords)
        for other, of_other in self.beside.items():
            self._draw_curve(canvas, of_other, other)
        benefits = np.concatenate([one.net_benefit for one in self._models.values()])
        top, depth = max(0.0, *benefits, *curve.treat_all), max(0.0, *-benefits)
        # At high thresholds treat all has a large negative net benefit, which need not be in view.
        bottom = -max(0.25 * top, min(depth, top or depth))
        margin = 0.1 * (top - bottom) or 0.01
        heights = (bottom - 0.2 * margin, top + margin)
        canvas.frame(self.view, heights, ("threshold probability", "net benefit per case"), first=first)
        canvas.legend(columns=1)

    @staticmethod
    def _draw_curve(canvas: Canvas, curve: NetBenefit, label: str, **keywords: Any) -> Line2D:
        """Draw the net benefit of a model with its intervals, if it has some, and mark its line."""
        manner: dict[str, Any] = {"color": canvas.colour(), "linestyle": canvas.dash(), "linewidth": 1.6} | keywords
        if np.isfinite(curve.lower).any():
            label += f", {confidence(curve.confidence_level)} intervals"
            strip = {"color": manner["color"], "alpha": 0.18, "linewidth": 0}
            canvas.ax.fill_between(curve.threshold, curve.lower, curve.upper, **strip)
        (line,) = canvas.ax.plot(curve.threshold, curve.net_benefit, **(manner | {"label": label}))
        canvas.mark(line)
        return line

    def readings(self) -> Iterator[Reading]:
        """Give the net benefit at every threshold."""
        curve = self.curve
        for i, part in enumerate(halfway(curve.threshold, *self.ax_.get_xlim())):
            benefits = ", ".join(f"{name} {signed(one.net_benefit[i])}".strip() for name, one in self._models.items())
            text = f"threshold {score_brief(curve.threshold[i])}: net benefit {benefits}"
            yield Reading(self.ax_, *part, f"{text}, treat all {signed(curve.treat_all[i])}")


class CostCurveDisplay(Display):
    """Mean cost per case by cost parameter, before and after recalibration, with that of the best threshold.

    Parameters
    ----------
    curve : CostCurve
        What to draw.
    trivial : ndarray of float64, optional
        At each cost parameter, the smaller cost of treat all and treat none.
    view : View, optional
        Stretch of cost parameters to show; by default that of the curve.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The cost before.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import CostCurveDisplay
    >>> ax = Figure().subplots()
    >>> display = CostCurveDisplay.from_predictions([0, 0, 0, 1], [0.6, 0.6, 0.6, 0.9], n_points=1, ax=ax)
    >>> display.to_frame("pandas")[["cost_before", "cost_trivial"]].values.tolist()
    [[0.375, 0.125]]
    """

    size = (4.8, 4.0)
    around = 0.0, 0.0

    def __init__(
        self, curve: CostCurve, *, trivial: FloatArray | None = None, view: View | None = None, name: str | None = None
    ) -> None:
        self.curve, self.trivial, self.name = curve, trivial, name
        self.view = view or score_view(curve.cost_parameter)

    @classmethod
    def from_predictions(
        cls,
        y_true: Labels,
        y_proba: Scores = None,
        *,
        after: npt.ArrayLike | None = None,
        n_points: int = 99,
        at: npt.ArrayLike | None = None,
        **keywords: Any,
    ) -> Self:
        """Compute the costs, and draw them; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        after : array-like of shape (n,), optional
            Other probabilities of the same rows: those of a calibrator fitted on other data. Needs arrays, not a table.
        n_points : int
            Number of cost parameters, at equal distances in [0, 1], or where the scores are if they lie close together.
        at : array-like of float, optional
            Cost parameters to take instead, increasing, in (0, 1).
        """
        table, drawing = split_rows(y_true, y_proba, **keywords)
        view = score_view(table.score, table.n) if at is None else None
        p = at if view is None else view.grid(n_points)
        rows: dict[str, Any] = {name: keywords.get(name) for name in ("sample_weight", "pos_label")}
        curve = cost_curve(y_true, y_proba, after, at=p, **rows)
        # One score for all rows leaves only two rules: treat all and treat none.
        nothing_known = ScoreTable.from_counts([0.5], [table.n.sum()], [table.k.sum()])
        trivial = cost_curve(nothing_known, at=p).cost_best
        return cls(curve, trivial=trivial, view=view)._drawn(**drawing)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: cost p of a false positive, where a false negative costs 1 \N{MINUS SIGN} p; p is also the "
            "threshold from which a case is predicted positive. y-axis: mean cost per case; lower is better."
        )
        if self.trivial is not None:
            yield "In the shaded area the cost is higher than that of treat all or treat none."
        yield (
            "The thin line is the cost at the best threshold for these rows (in-sample, optimistic): no "
            "order-preserving recalibration costs less on them."
        )
        if self.curve.cost_after is not None:
            yield "Where the line after recalibration lies below that before, it reduces the cost."

    def columns(self) -> dict[str, Any]:
        """Return the costs, one entry per cost parameter."""
        trivial = {} if self.trivial is None else {"cost_trivial": self.trivial}
        return self.curve.columns() | trivial

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, curve = canvas.ax, canvas.palette, self.curve
        p = curve.cost_parameter
        first = canvas.series == 0
        if self.trivial is not None and first:
            worse = "worse than treat all or treat none"
            ax.fill_between(p, self.trivial, 1.0, label=worse, color=palette.band, linewidth=0)
        best = "best threshold (in-sample)" if first else "_nolegend_"
        ax.plot(p, curve.cost_best, color=palette.ink, linewidth=1.0, label=best)
        manner: dict[str, Any] = {"color": canvas.colour(), "linewidth": 1.6}
        text = canvas.label("thresholding the scores" if curve.cost_after is None else "before recalibration", name)
        (self.line_,) = ax.plot(p, curve.cost_before, **(manner | keywords | {"label": text}))
        if curve.cost_after is not None:
            # A ratio that is not defined is not written.
            times = f": {curve.overall_ratio:.3g} times the cost" if np.isfinite(curve.overall_ratio) else ""
            other: dict[str, Any] = {"color": palette.orange, "linewidth": 1.6, "linestyle": (0, (5, 1.5))}
            ax.plot(p, curve.cost_after, label=f"after{times}", **other)
        drawn = (curve.cost_before, curve.cost_after, curve.cost_best, self.trivial)
        top = max(float(cost.max()) for cost in drawn if cost is not None) or 1.0
        canvas.frame(self.view, (0.0, 1.08 * top), ("cost p of a false positive", "mean cost per case"))
        canvas.mark(self.line_)
        canvas.legend()

    def readings(self) -> Iterator[Reading]:
        """Give the costs at every cost parameter."""
        curve = self.curve
        after = None if curve.cost_after is None else curve.cost_after.tolist()
        for i, part in enumerate(halfway(curve.cost_parameter, *self.ax_.get_xlim())):
            text = f"p = {score_brief(curve.cost_parameter[i])}: mean cost {number(curve.cost_before[i])}"
            yield Reading(self.ax_, *part, text if after is None else f"{text}, after recalibration {number(after[i])}")
