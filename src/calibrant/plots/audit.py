"""Pictures of audits under their verdict, and those of predicted means by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from calibrant.auditing.class_facts import worst_first
from calibrant.auditing.findings import ClassFindings, Findings, MeanFindings
from calibrant.auditing.own_words import teller_of
from calibrant.auditing.verdict import verdict_sentence
from calibrant.certificates import PartTable
from calibrant.curves import ConcentrationCurve, Curve, MeanCurve, binned_means, isotonic_means
from calibrant.errors import ArgumentError, need_package
from calibrant.plots.canvas import Canvas, pyplot_figure, set_scale, tell_texts, tick_places, write_ticks
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decisions import CostCurveDisplay, DecisionCurveDisplay
from calibrant.plots.display import Display
from calibrant.plots.reliability import ReliabilityDisplay, draw_points, values_of
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.printable import visible, visible_name
from calibrant.table.bins import View, score_view
from calibrant.table.numbers import confidence, number, share, short, short_name, significant
from calibrant.table.outcome_table import Outcomes, as_outcome_table
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Scores, Weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase, SubFigure

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


# Heights in inches, and how many letters of the verdict are less wide than the figure.
_WIDTH, _HEADER, _BODY, _LINE = 11.4, 0.6, 4.4, 0.2
_LETTERS = 150
_LEAST_ACROSS, _ACROSS = 3, 4  # small diagrams in a row
_PANEL = (2.5, 2.3)  # inches of each
_NAME = 24  # letters of a class in a title


class AuditDisplay:
    """Pictures of one audit under its verdict.

    Of probabilities these are the reliability diagram with the distribution of scores, and the cumulative residuals; of
    predicted means what was observed along the predictions, and the cumulative residuals; of several classes small
    reliability diagrams of those with the largest upper bounds.

    Attributes
    ----------
    audit : Findings, MeanFindings or ClassFindings
        What is drawn.
    figure_ : matplotlib.figure.Figure
        The figure, once it is drawn.
    axes_ : tuple of matplotlib.axes.Axes
        Axes of the pictures; as many as were given.

    Examples
    --------
    >>> import calibrant
    >>> from matplotlib.figure import Figure
    >>> result = calibrant.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])
    >>> result.plot(ax=Figure().subplots(1, 2))
    <AuditDisplay>
    """

    figure_: Figure
    axes_: tuple[Axes, ...]

    def __init__(self, audit: Findings | MeanFindings | ClassFindings) -> None:
        self.audit, self._body, self._across = audit, (_WIDTH, _BODY), 2
        self._displays: Sequence[Any]
        if isinstance(audit, ClassFindings):
            self._displays = small_diagrams(audit)
            self._across = max(_LEAST_ACROSS, min(_ACROSS, math.ceil(math.sqrt(len(self._displays)))))
            self._body = _PANEL[0] * self._across, _PANEL[1] * math.ceil(len(self._displays) / self._across)
        elif isinstance(audit, MeanFindings):
            self._displays = mean_displays(audit)
        else:
            self._displays = [reliability_of(audit), cumulative_residuals_of(audit)]
        self._verdict = fill(visible(verdict_sentence(audit)), int(_LETTERS * self._body[0] / _WIDTH))
        self._header = _HEADER + _LINE * self._verdict.count("\n")
        self.size = (self._body[0], self._header + self._body[1])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of an audit, not yet drawn."""
        return cls(result)

    def own_figure(self) -> Figure:
        """Draw the picture on a figure that pyplot does not know."""
        need_package("matplotlib", "calibrant[report]")
        from matplotlib.figure import Figure

        figure = Figure(figsize=self.size, layout="constrained")
        self._compose(figure)
        return figure

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or several of them, optional
            Where to draw: the first picture on the first axes, the second on the second, if there is one, and so on. By
            default on a new figure of pyplot, under the verdict, so that notebooks and ``pyplot.show`` show
            it and ``pyplot.savefig`` saves it.

        Returns
        -------
        AuditDisplay
            Itself.
        """
        if ax is None:
            with pyplot_figure(self.size, LIGHT.ground) as figure:
                self.figure_, self.axes_ = figure, self._compose(figure)
            return self
        axes: list[Any] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if not 1 <= len(axes) <= len(self._displays):
            expected = f"one to {len(self._displays)} axes"
            raise ArgumentError(expected, f"{len(axes)}", "pass one of plt.subplots()'s axes, or several")
        for display, given in zip(self._displays, axes, strict=False):
            display.plot(given)
            tell_texts(given, teller_of(self.audit))
        self.axes_ = tuple(axes)
        self.figure_ = axes[0].figure.canvas.figure
        return self

    def _compose(self, figure: Figure) -> tuple[Axes, ...]:
        """Draw verdict and pictures on an empty figure; return the axes of the pictures."""
        with drawing_style():
            header, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[self._header, self._body[1]])[:, 0]
            # Names come from the user: a dollar sign is a dollar sign, not mathematics.
            plain: dict[str, Any] = {"x": 0.012, "parse_math": False}
            name = shorten(visible(self.audit.name), 90)
            header.text(y=1.0 - 0.06 / self._header, s=name, fontsize=13, weight="bold", va="top", **plain)
            muted = {"color": LIGHT.muted, "va": "bottom"} | plain
            header.text(y=0.04 / self._header, s=self._verdict, fontsize=10, **muted)
            self._draw_body(body)
        tell_texts(figure, teller_of(self.audit))
        return tuple(display.ax_ for display in self._displays)

    def _draw_body(self, body: SubFigure) -> None:
        """Draw the pictures side by side, or those of classes in a grid."""
        if isinstance(self.audit, ClassFindings):
            draw_grid(self._displays, body, self._across)
            return
        panels = body.subfigures(1, len(self._displays), squeeze=False, wspace=0.03)[0]
        for display, panel in zip(self._displays, panels, strict=True):
            display.draw_panel(panel)


def reliability_of(audit: Findings) -> ReliabilityDisplay:
    """Return the reliability diagram of an audit, not yet drawn."""
    return ReliabilityDisplay(
        audit.reliability,
        line=audit.isotonic,
        local=audit.local,
        band=audit.band if audit.band is not None and audit.band.consistent else None,
        worst=audit.cutoff,
        distribution=audit.histogram,
        name=audit.name,
    )


def cumulative_residuals_of(audit: Findings) -> CumulativeResidualsDisplay:
    """Return the cumulative residuals of an audit, not yet drawn."""
    return CumulativeResidualsDisplay(audit.cumulative_residuals, cutoff=audit.cutoff, name=audit.name)


def decisions_of(audit: Findings) -> DecisionCurveDisplay:
    """Return the decision curve of an audit, not yet drawn."""
    return DecisionCurveDisplay(audit.decision_curve, view=audit.histogram.view, name=audit.name)


def costs_of(audit: Findings) -> CostCurveDisplay | None:
    """Return the cost curve of an audit, not yet drawn; None if recalibration was not assessed."""
    judged = audit.recalibration
    if judged is None or judged.costs is None:
        return None
    return CostCurveDisplay(judged.costs, view=audit.histogram.view, name=audit.name)


class SmallDiagram(ReliabilityDisplay):
    """The reliability diagram of one class among several: its bins, and few ticks."""

    def __init__(self, points: Curve, which: str, error: float, *, view: View) -> None:
        super().__init__(points, view=view)
        self.size = (2.6, 2.2)
        self.title, self.short_title = (f"{name}: {number(error)}" for name in (which, short_name(which, _NAME)))

    @property
    def description(self) -> str:
        """The class, its error, and where its line goes."""
        return f"Error of {self.title}. {super().description}"

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette = canvas.ax, canvas.palette
        set_scale(ax, self.view)
        ax.plot([0.0, 1.0], [0.0, 1.0], **canvas.dashed("perfect calibration"))
        assert self.points is not None
        self.line_ = draw_points(self.points, ax, {"color": palette.blue, "markersize": 3.5}, "bins")
        limits = self.view.limits()
        places = tick_places(*limits, self.view)
        ticks = [0.0, 0.5, 1.0] if self.view == (0.0, 1.0, False) else places[::2]
        if self.view.square_root and places[-1] not in ticks:
            ticks.append(places[-1])
        ax.set(xlim=limits, ylim=limits)
        for axis in (ax.xaxis, ax.yaxis):
            write_ticks(axis)
            axis.set_ticks(ticks)

    def draw_on(self, canvas: Canvas, *, name: str | None = None, **keywords: Any) -> None:
        """Draw under the title, which a page has outside of the drawing."""
        super().draw_on(canvas, **keywords)
        manner: dict[str, Any] = {"loc": "left", "fontsize": 8.5, "color": canvas.palette.ink}
        canvas.ax.set_title(self.short_title, parse_math=False, **manner)

    def draw_panel(self, figure: FigureBase) -> None:
        """Draw on a part of a figure, without the title."""
        super().draw_on(Canvas(figure.subplots(), None, own=True, palette=LIGHT))


def small_diagrams(audit: ClassFindings) -> list[SmallDiagram]:
    """Return the reliability diagrams of an audit, on shared axes, the class with the largest upper bound first."""
    curves, table = audit.reliability, audit.table
    view = score_view(*(np.concatenate([getattr(curve, name) for curve in curves]) for name in ("score", "n")))
    view = view._replace(low=0.0, high=max(view.high, *(float(curve.rate.max()) for curve in curves)))
    return [
        SmallDiagram(curve, f"class {visible_name(table.name[i])}", float(table.error[i]), view=view)
        for i, curve in zip(audit.shown, curves, strict=True)
    ]


def draw_grid(diagrams: Sequence[SmallDiagram], body: SubFigure, across: int) -> None:
    """Draw small diagrams in a grid, so many in a row."""
    axes = body.subplots(math.ceil(len(diagrams) / across), across, squeeze=False).ravel()
    for display, ax in zip(diagrams, axes, strict=False):
        display.draw_on(Canvas(ax, None, own=True, palette=LIGHT))
    for ax in axes[len(diagrams) :]:
        ax.set_axis_off()
    body.supxlabel("predicted probability" + diagrams[0].view.remark, fontsize=9.5)
    body.supylabel("observed rate", fontsize=9.5)


class ClassErrorDisplay(Display):
    """Errors of all classes with their upper bounds, the largest first, beside what right probabilities would show.

    Parameters
    ----------
    audit : ClassFindings
        What to draw.
    name : str, optional
        Title.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The errors.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import audit
    >>> from calibrant.plots import ClassErrorDisplay
    >>> y, P = [0, 1, 2, 2] * 10, [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]] * 20
    >>> display = ClassErrorDisplay(audit(y, P)).plot(Figure().subplots())
    >>> display.to_frame("pandas")["class"].tolist()
    ['1', '2', '0']
    """

    _line = ("rank of a class", "rank"), ("Error", "error")

    def __init__(self, audit: ClassFindings, *, name: str | None = None) -> None:
        super().__init__(audit, name=name)
        self.rank, self.error = np.arange(1.0, len(audit.table.error) + 1.0), _decreasing(audit.table.error)
        self.places = worst_first(audit.table)

    def columns(self) -> dict[str, Any]:
        """Return name, error and upper bound of each class, and the error that right probabilities would show."""
        table, null = self.result.table, self.result.null_errors
        values = {"class": table.name, "error": table.error}
        values |= {"upper": table.upper} if isinstance(table, PartTable) else {}
        sorted_values = {name: array[self.places] for name, array in values.items()}
        return sorted_values | ({"null_error": null} if len(null) else {})

    def _sentences(self) -> Iterator[str]:
        table = self.result.table
        shown = ["calibration errors"]
        if isinstance(table, PartTable):
            shown.append(
                f"their upper bounds, which hold together with {confidence(table.confidence_level)} confidence"
            )
        if len(self.result.null_errors):
            shown.append("the errors that as many classes would show if all probabilities were right")
        yield (
            f"x-axis: classes, those with the largest error first; y-axis, logarithmic: {', and '.join(shown)}. Each "
            "is in its own order."
        )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        from matplotlib.ticker import LogLocator

        ax, palette, table, null = canvas.ax, canvas.palette, self.result.table, self.result.null_errors
        rank, error = self.rank, self.error
        manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.5, "label": "error"} | keywords
        if len(null):
            ax.plot(rank, null, **canvas.dashed("error if all were right"))
        (self.line_,) = ax.plot(rank, error, **manner)
        highest = float(error[0])
        if isinstance(table, PartTable):
            ax.plot(rank, _decreasing(table.upper), color=palette.orange, linewidth=1.1, label="upper bound")
            highest = max(float(table.upper.max()), table.tolerance or 0.0)
            if table.tolerance is not None:
                dashes: dict[str, Any] = {"linestyle": (0, (5, 2)), "linewidth": 0.9}
                ax.axhline(table.tolerance, color=palette.ink, label="tolerance", **dashes)
        ax.set_yscale("log")
        smallest = [float(values[values > 0.0].min(initial=1.0)) for values in (error, null)]
        ax.set_ylim(max(min(smallest), 1e-3 * highest), 1.3 * highest)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
        ax.set_xlim(1, len(rank))
        ax.set_xlabel("classes, in the order of their errors")
        ax.set_ylabel("calibration error")
        canvas.legend(columns=4)


def _decreasing(values: FloatArray) -> FloatArray:
    return np.array(sorted(values.tolist(), reverse=True))
