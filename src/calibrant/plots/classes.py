"""Pictures of an audit of several classes: small reliability diagrams, and the errors of many classes in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.auditing.class_audit import audit_classes
from calibrant.auditing.class_facts import worst_first
from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.verdict import verdict_sentence
from calibrant.curves import Curve
from calibrant.errors import ArgumentError
from calibrant.plots import layers
from calibrant.plots.audit import AuditDisplay
from calibrant.plots.canvas import Canvas, set_scale, tick_places, write_ticks
from calibrant.plots.display import Display, all_scores
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.style import LIGHT
from calibrant.printable import visible, visible_name
from calibrant.table.numbers import confidence, number
from calibrant.table.shown import short_name
from calibrant.table.visible_scores import View, score_view

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase, SubFigure

_NAME = 24  # letters of a class in a title
_LEAST_ACROSS, _ACROSS = 3, 4  # small diagrams in a row
_PANEL = (2.5, 2.3)  # inches of each


class SmallDiagram(ReliabilityDisplay):
    """The reliability diagram of one class among several: its bins, and few ticks."""

    def __init__(self, points: Curve, which: str, error: float, *, view: View) -> None:
        super().__init__(points, view=view)
        self.size = (2.6, 2.2)
        self.title, self.short_title = (f"{name}: {number(error)}" for name in (which, short_name(which, _NAME)))

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette = canvas.ax, canvas.palette
        set_scale(ax, self.view)
        ax.plot([0.0, 1.0], [0.0, 1.0], **canvas.dashed("perfect calibration"))
        assert self.points is not None
        self.line_ = layers.draw_points(self.points, ax, {"color": palette.blue, "markersize": 3.5}, "bins")
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


class ClassAuditDisplay(AuditDisplay):
    """Small reliability diagrams of the classes with the largest upper bounds, of one audit of several classes.

    Attributes
    ----------
    audit : ClassFindings
        What is drawn.
    figure_ : matplotlib.figure.Figure
        The figure, once it is drawn.
    axes_ : tuple of matplotlib.axes.Axes
        Axes of the diagrams; as many as were given.

    Examples
    --------
    >>> import calibrant
    >>> from matplotlib.figure import Figure
    >>> result = calibrant.audit([0, 1, 2, 2], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]] * 2)
    >>> result.plot(ax=Figure().subplots(1, 3))
    <ClassAuditDisplay>
    """

    def __init__(self, audit: ClassFindings) -> None:
        diagrams = small_diagrams(audit)
        across = max(_LEAST_ACROSS, min(_ACROSS, math.ceil(math.sqrt(len(diagrams)))))
        self._grid, self.view = (math.ceil(len(diagrams) / across), across), diagrams[0].view
        body = _PANEL[0] * across, _PANEL[1] * self._grid[0]
        self._prepare(audit, diagrams, visible(verdict_sentence(audit)), body)

    def _draw_body(self, body: SubFigure) -> None:
        """Draw the diagrams in a grid."""
        axes = body.subplots(*self._grid, squeeze=False).ravel()
        for display, ax in zip(self._displays, axes, strict=False):
            display.draw_on(Canvas(ax, None, own=True, palette=LIGHT))
        for ax in axes[len(self._displays) :]:
            ax.set_axis_off()
        body.supxlabel("predicted probability" + self.view.remark, fontsize=9.5)
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
    >>> from calibrant.plots import ClassErrorDisplay
    >>> y, P = [0, 1, 2, 2] * 10, [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]] * 20
    >>> display = ClassErrorDisplay.from_predictions(y, P, ax=Figure().subplots())
    >>> display.to_frame("pandas")["class"].tolist()
    ['1', '2', '0']
    """

    def __init__(self, audit: ClassFindings, *, name: str | None = None) -> None:
        self.audit, self.name = audit, name
        self.places = worst_first(audit.table)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: npt.ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        **keywords: Any,
    ) -> Self:
        """Audit the probabilities of several classes, and draw their errors.

        Parameters
        ----------
        classes : sequence, optional
            Label of each column, as in `calibrant.audit_classes`.
        sample_weight, pos_label : None
            Not supported.
        """
        if sample_weight is not None or pos_label is not None:
            remedy = "leave them out: all classes are drawn, and rows are counted"
            raise ArgumentError("neither `sample_weight` nor `pos_label`", "one of them", remedy)
        return cls(audit_classes(y_true, y_proba, classes=classes))._drawn(**keywords)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: npt.ArrayLike,
        *,
        pos_label: Any = None,
        name: str | None = None,
        **keywords: Any,
    ) -> Self:
        """Draw the errors of a fitted classifier of three or more classes; parameters as in `Display.from_estimator`.

        Parameters
        ----------
        estimator : object with ``predict_proba``
            A fitted classifier, or a pipeline that ends in one.
        pos_label : None
            Not supported: all classes are drawn.
        """
        proba, classes = all_scores(estimator, X)
        if len(classes) < 3:
            remedy = "draw calibrant.plots.ReliabilityDisplay.from_estimator: two classes have one error"
            raise ArgumentError("a classifier of three or more classes", f"classes {classes}", remedy)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, proba, classes=classes, pos_label=pos_label, name=name, **keywords)

    def columns(self) -> dict[str, Any]:
        """Return name, error and upper bound of each class, and the error that right probabilities would show."""
        table, null = self.audit.table, self.audit.null_errors
        values = {"class": table.name, "error": table.error, "upper": table.upper}
        return {name: array[self.places] for name, array in values.items()} | {"null_error": null}

    def _sentences(self) -> Iterator[str]:
        sure = confidence(self.audit.table.confidence_level)
        yield (
            "x-axis: classes, those with the largest error first; y-axis, logarithmic: calibration errors, their upper "
            f"bounds, which hold together with {sure} confidence, and the errors that as many classes would show if "
            "all probabilities were right. Each of the three is in its own order."
        )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        from matplotlib.ticker import LogLocator

        ax, palette, table = canvas.ax, canvas.palette, self.audit.table
        rank = np.arange(1, len(table.error) + 1)
        upper, error = (np.array(sorted(values.tolist(), reverse=True)) for values in (table.upper, table.error))
        manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.5, "label": "error"} | keywords
        ax.plot(rank, self.audit.null_errors, **canvas.dashed("error if all were right"))
        (self.line_,) = ax.plot(rank, error, **manner)
        ax.plot(rank, upper, color=palette.orange, linewidth=1.1, label="upper bound")
        if table.tolerance is not None:
            ax.axhline(table.tolerance, color=palette.ink, linestyle=(0, (5, 2)), linewidth=0.9, label="tolerance")
        ax.set_yscale("log")
        smallest = [float(values[values > 0.0].min(initial=1.0)) for values in (error, self.audit.null_errors)]
        highest = max(float(upper.max()), table.tolerance or 0.0)
        ax.set_ylim(max(min(smallest), 1e-3 * highest), 1.3 * highest)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
        ax.set_xlim(1, len(rank))
        ax.set_xlabel("classes, in the order of their errors")
        ax.set_ylabel("calibration error")
        canvas.legend(columns=4)
