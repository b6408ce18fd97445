"""Pictures of predicted means: the reliability diagram, and concentration curve minus Lorenz curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from calibrant.auditing.findings import MeanFindings
from calibrant.curves import ConcentrationCurve, MeanCurve, binned_means, isotonic_means
from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas, write_ticks
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.display import Display
from calibrant.plots.reliability import ReliabilityDisplay, values_of
from calibrant.table.bins import View
from calibrant.table.numbers import number, share, short, significant
from calibrant.table.outcome_table import Outcomes, as_outcome_table
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Scores, Weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN, _FARTHEST = 0.06, 3.0  # around what is shown, of the axis; and how far intervals are shown, in largest means


class MeanReliabilityDisplay(ReliabilityDisplay):
    """Observed mean by predicted mean, both in the unit of the outcomes.

    Each of these results is optional, but there must be points or a line.

    Parameters
    ----------
    points : MeanCurve, optional
        Bins, drawn as points with their intervals.
    line : MeanCurve, optional
        Drawn as a line, as far as the bins reach.
    name : str, optional
        What is shown.
    scale : {"linear", "log"}
        Of both axes. On "log" means of 0 are not shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D or None
        The points; if there are none, the line.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import MeanReliabilityDisplay
    >>> ax = Figure().subplots()
    >>> display = MeanReliabilityDisplay.from_predictions([0, 1, 3, 2], [0.5, 0.5, 2.0, 2.0], n_bins=2, ax=ax)
    >>> display.line_.get_ydata().tolist()
    [0.5, 2.5]
    """

    _axes = "x-axis: predicted mean; y-axis: observed mean, per unit of exposure where rows have one."
    _binned, _line = "predictions", (("mean prediction", "shown.score"), ("Observed mean", "shown.rate"))
    _write_score = _write_rate = staticmethod(number)

    def __init__(
        self,
        points: MeanCurve | None = None,
        *,
        line: MeanCurve | None = None,
        name: str | None = None,
        scale: Literal["linear", "log"] = "linear",
    ) -> None:
        self._log = check_choice("scale", scale, ("linear", "log")) == "log"
        super().__init__(points, line=line, name=name, view=View(0.0, 1.0))
        self.view = View(*self._ends(self.shown.score))
        self._diagonal = self._ends(self.shown.score, margin=2.0)  # there may be other models on the same axes

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        y_true: Outcomes,
        y_pred: Scores = None,
        *,
        n_bins: int = 10,
        confidence_level: float = 0.95,
        scale: Literal["linear", "log"] = "linear",
        exposure: Weights = None,
        sample_weight: Weights = None,
        name: str | None = None,
        ax: Axes | None = None,
        **keywords: Any,
    ) -> Self:
        """Compute bins and the isotonic curve, and draw them.

        Parameters
        ----------
        y_true, y_pred, exposure, sample_weight
            As in `calibrant.metrics.mean_calibration_error`.
        n_bins, confidence_level
            As in `calibrant.curves.binned_means`.
        scale : {"linear", "log"}
            Of both axes.
        name, ax, **keywords
            As in `plot`.
        """
        limits: Any = {"limits": (None, None), "relative_to": "exposure"}
        table = as_outcome_table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight, **limits)
        points = binned_means(table, n_bins=n_bins, confidence_level=confidence_level)
        return cls(points, line=isotonic_means(table), scale=scale, name=name).plot(ax, **keywords)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: npt.ArrayLike, *, name: str | None = None, **keywords: Any
    ) -> Self:
        """Draw the picture of a fitted regressor, which has ``predict``, on data; see `from_predictions`."""
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, estimator.predict(X), name=name, **keywords)

    def _sentences(self) -> Iterator[str]:
        yield from super()._sentences()
        if self._log:
            yield "Both axes are logarithmic: the same distance is the same factor, and means of 0 are not shown."

    def _frame(self, canvas: Canvas, heights: FloatArray, *, first: bool) -> float:
        ax = canvas.ax
        means = np.concatenate([self.shown.score, values_of(self.shown, "rate")])
        low, high = self._ends(means, margin=0.0)
        reach = _FARTHEST * high  # intervals that go beyond must not squeeze what else there is to see
        heights = np.clip(heights, low / _FARTHEST if self._log else low - reach, reach)
        limits = self._ends(np.append(heights, (low, high)))
        canvas.frame(self.view, limits, ("predicted mean", "observed mean"), first=first)
        if self._log:
            from matplotlib.ticker import LogLocator

            ax.set(xscale="log", yscale="log")
            for axis in (ax.xaxis, ax.yaxis):
                write_ticks(axis)
                bottom, top = axis.get_view_interval()
                if top > 5.0 * bottom:  # else none of these may be in view
                    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.minorticks_off()
        return 0.0

    def _ends(self, values: FloatArray, *, margin: float = _MARGIN) -> tuple[float, float]:
        """Ends of an axis that shows some numbers; on a logarithmic one those above 0."""
        values = values[np.isfinite(values) & ((values > 0.0) | (not self._log))]
        if not len(values):
            raise ArgumentError("a mean above 0 on a logarithmic axis", "none", "choose scale='linear'")
        low, high = np.log([values.min(), values.max()]) if self._log else (values.min(), values.max())
        around = margin * (high - low) or min(margin, 1.0) * (abs(high) or 1.0)
        low, high = low - around, high + around
        return (math.exp(low), math.exp(high)) if self._log else (float(low), float(high))


def _brief(value: float) -> str:
    """Write a prediction in a few characters, for ticks."""
    return short(value) if abs(value) < 1000.0 else f"{value:,.0f}"


class ConcentrationDisplay(CumulativeResidualsDisplay):
    """Cumulative residuals by share of exposure: concentration curve minus Lorenz curve, with their range.

    Parameters
    ----------
    curve : ConcentrationCurve
        What to draw.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The cumulative residuals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import concentration_curve
    >>> from calibrant.plots import ConcentrationDisplay
    >>> curve = concentration_curve([0, 1, 3], [1.0, 1.0, 2.0])
    >>> display = ConcentrationDisplay(curve).plot(Figure().subplots())
    >>> display.to_frame("pandas")["value"].tolist()
    [-0.25, 0.0]
    """

    _write = staticmethod(_brief)
    _line = ("prediction", "result.score"), ("Cumulative residual", "result.value")
    result: ConcentrationCurve

    def __init__(self, curve: ConcentrationCurve, *, name: str | None = None) -> None:
        super().__init__(curve, name=name)
        across = {"none": "rows", "sample_weight": "weight"}.get(curve.weighting, "exposure")
        self._words, by_row = ("prediction", across), "rows" in (across, curve.relative_to)
        self._of = f" of {curve.relative_to}" if curve.relative_to in ("predicted", "observed") else ""
        unit = f"share{self._of}" if self._of else "per row" if by_row else f"per unit of {across}"
        self._height = f"cumulative residuals, {unit}"

    def _sentences(self) -> Iterator[str]:
        attained = "" if self.result.interval is None else ", attained over the shaded predictions"
        yield (
            f"x-axis: {self._words[1]}, ordered by prediction, with some predictions above. The line is the sum of "
            "observed minus predicted up to there. Where it falls, predictions are too high; where it rises, too low. "
            f"Its range is the calibration error{attained}."
        )
        if self._of:
            yield (
                "If observed and predicted totals are equal, it is the concentration curve (share of the outcomes) "
                "minus the Lorenz curve (share of the predictions)."
            )

    @property
    def _over_rows(self) -> bool:
        return True

    @property
    def _error(self) -> str:
        write = share if self._of else significant
        return f"calibration error {write(self.result.error)}{self._of}"


def mean_displays(audit: MeanFindings) -> list[Display]:
    """Return both pictures of an audit, not yet drawn."""
    means = MeanReliabilityDisplay(audit.reliability, line=audit.isotonic, name=audit.name)
    return [means, ConcentrationDisplay(audit.concentration_curve, name=audit.name)]
