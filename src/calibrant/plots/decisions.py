"""Curves over the threshold: net benefit, mean cost per case, and the risk of the cases that are decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.decisions import CostCurve, NetBenefit
from calibrant.decisions.selective import Selection, percent
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display, Reading, halfway
from calibrant.table.bins import View, score_view
from calibrant.table.numbers import confidence, given, number, score_brief, signed

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

_TOP = 3.0  # of the picture of risk and coverage, in target errors


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
    >>> from calibrant.decisions import net_benefit
    >>> from calibrant.plots import DecisionCurveDisplay
    >>> curve = net_benefit([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], n_points=1)
    >>> display = DecisionCurveDisplay(curve).plot(Figure().subplots())
    >>> display.to_frame("pandas")["net_benefit"].tolist()
    [0.0]
    """

    result: NetBenefit
    _line = ("threshold", "result.threshold"), ("Net benefit", "result.net_benefit")
    around = 0.0, 0.0

    def __init__(
        self,
        curve: NetBenefit,
        *,
        view: View | None = None,
        name: str | None = None,
        beside: Mapping[str, NetBenefit] | None = None,
    ) -> None:
        super().__init__(curve, name=name)
        self.view = view or score_view(curve.threshold)
        self.beside = dict(beside or {})
        self._models = {name or "": curve} | self.beside

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: threshold probability. y-axis: net benefit, that is true positives per case minus false positives "
            "per case weighted by the odds of the threshold. The scores are useful where their line lies above both "
            "treat all (grey line) and treat none (zero)."
        )
        if np.isfinite(self.result.lower).any():
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
        ax, palette, curve, first = canvas.ax, canvas.palette, self.result, canvas.series == 0
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
        curve = self.result
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
    >>> from calibrant.decisions import cost_curve
    >>> from calibrant.plots import CostCurveDisplay
    >>> curve = cost_curve([0, 0, 0, 1], [0.6, 0.6, 0.6, 0.9], n_points=1)
    >>> display = CostCurveDisplay(curve).plot(Figure().subplots())
    >>> display.to_frame("pandas")["cost_before"].tolist()
    [0.375]
    """

    result: CostCurve
    _line = ("cost of a false positive", "result.cost_parameter"), ("Mean cost per case", "result.cost_before")
    size = (4.8, 4.0)
    around = 0.0, 0.0

    def __init__(self, curve: CostCurve, *, view: View | None = None, name: str | None = None) -> None:
        super().__init__(curve, name=name)
        self.view = view or score_view(curve.cost_parameter)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: cost p of a false positive, where a false negative costs 1 \N{MINUS SIGN} p; p is also the "
            "threshold from which a case is predicted positive. y-axis: mean cost per case; lower is better."
        )
        yield (
            "The thin line is the cost at the best threshold for these rows (in-sample, optimistic): no "
            "order-preserving recalibration costs less on them."
        )
        if self.result.cost_after is not None:
            yield "Where the line after recalibration lies below that before, it reduces the cost."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, curve = canvas.ax, canvas.palette, self.result
        p, first = curve.cost_parameter, canvas.series == 0
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
        drawn = (curve.cost_before, curve.cost_after, curve.cost_best)
        top = max(float(cost.max()) for cost in drawn if cost is not None) or 1.0
        canvas.frame(self.view, (0.0, 1.08 * top), ("cost p of a false positive", "mean cost per case"))
        canvas.mark(self.line_)
        canvas.legend()

    def readings(self) -> Iterator[Reading]:
        """Give the costs at every cost parameter."""
        curve = self.result
        after = None if curve.cost_after is None else curve.cost_after.tolist()
        for i, part in enumerate(halfway(curve.cost_parameter, *self.ax_.get_xlim())):
            text = f"p = {score_brief(curve.cost_parameter[i])}: mean cost {number(curve.cost_before[i])}"
            yield Reading(self.ax_, *part, text if after is None else f"{text}, after recalibration {number(after[i])}")


class RiskCoverageDisplay(Display):
    """Share of errors among the cases decided, by the share of cases decided, with what is allowed and certified.

    Parameters
    ----------
    result : Selection
        What to draw: a result of `calibrant.selective`.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The selective risk.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import selective
    >>> from calibrant.plots import RiskCoverageDisplay
    >>> selection = selective([1] * 190 + [0] * 10, [0.9] * 150 + [0.6] * 50)
    >>> display = RiskCoverageDisplay(selection).plot(Figure().subplots())
    >>> display.to_frame("pandas")["coverage"].tolist()
    [0.75, 1.0]
    """

    result: Selection
    _line = ("coverage", "result.curve.coverage"), ("Selective risk", "result.curve.selective_risk")

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: coverage, the share of the rows that a cut-off decides, the highest scores first. y-axis: "
            f"selective risk, the share of these that is wrong, up to {_TOP:g} times the target (dashed). A cut-off is "
            "certified where the risk is at or below what is allowed (grey), a line that depends on the number of rows "
            "alone: the thick stretches. The marked one decides most. Limits of the risk at one cut-off are not shown: "
            "the certificate is about all of them at once."
        )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, selection, curve = canvas.ax, self.result, self.result.curve
        coverage, risk = np.append(0.0, curve.coverage), np.append(curve.selective_risk[0], curve.selective_risk)
        allowed = np.where(curve.allowed_errors < 0, np.nan, curve.allowed_errors / curve.accepted)
        if canvas.series == 0:
            ax.axhline(selection.target_error, **canvas.dashed(f"target {percent(selection.target_error)}"))
        steps: dict[str, Any] = {"color": canvas.palette.grey, "drawstyle": "steps-pre"}
        ax.plot(coverage, np.append(np.nan, allowed), label="allowed", linewidth=1.3, **steps)
        manner: dict[str, Any] = steps | {"color": canvas.colour(), "linewidth": 1.3}
        label = canvas.label("selective risk", name)
        (self.line_,) = ax.plot(coverage, risk, **(manner | keywords | {"label": label}))
        if curve.certified.any():
            certified = np.append(np.nan, np.where(curve.certified, curve.selective_risk, np.nan))
            ax.plot(coverage, certified, label="certified", **(manner | {"linewidth": 4.0}))
        top = min(1.0, _TOP * selection.target_error)
        if selection.threshold is not None:
            at, low = selection.coverage, selection.coverage < 0.3  # words on its left would leave the axes
            ax.plot([at, at], [selection.selective_risk, top], color=canvas.palette.rule, linewidth=1.0)
            ax.plot(at, selection.selective_risk, "o", color=manner["color"], markersize=7)
            text = f" {given(selection.threshold)} and {selection.decided.removeprefix('at or ')} "
            ax.text(at, top, text, ha="left" if low else "right", va="top", fontsize=9)
        canvas.frame(View(-0.01, 1.01), (-0.02 * top, top), ("coverage", "selective risk"))
        canvas.mark(self.line_)
        canvas.legend()
