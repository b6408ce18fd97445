"""What all displays share: they are made from a result, are drawn, and have a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from io import BytesIO
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from calibrant.errors import ArgumentError, DataError, need_package
from calibrant.plots.canvas import Canvas, Inches, panels, prepare_canvas, set_margins
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.table.numbers import amount, rows
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Drawable, frame_of
from calibrant.upward import resolve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

# On a telephone a page shows a picture at about this part of its usual width, so that its type stays legible.
_NARROWER = 0.875
_DPI = 110  # in notebooks


class Reading(NamedTuple):
    """What is said of a stretch of the x-axis, from `low` to `high`."""

    ax: Axes
    low: float
    high: float
    text: str


class Display(ABC):
    """A picture of finished numbers, in scikit-learn's manner.

    Made from a result at hand, as by its method `plot`; `ReliabilityDisplay` and `ComparisonDisplay` also by
    `from_predictions` and `from_estimator`.

    Attributes
    ----------
    result : object
        What is drawn, of those made from one result.
    name : str or None
        What is shown, for the title of a figure of its own or the legend of shared axes.
    ax_ : matplotlib.axes.Axes
        Axes with the picture, once it is drawn.
    figure_ : matplotlib.figure.Figure
        Figure that contains them.
    """

    name: str | None
    ax_: Axes
    figure_: Figure
    size = (4.8, 3.8)  # inches of a figure of its own
    # What is across, and the height of the line that is described, each with where it is.
    _line: tuple[tuple[str, str], tuple[str, str]]
    beneath = False  # whether such a figure has a second panel below
    # Points that marks take above the axes and at their right, where that and the ticks are all there is around them.
    around: tuple[float, float] | None = None

    def __init__(self, result: Any, *, name: str | None = None) -> None:
        self.result, self.name = result, name

    @property
    def how_to_read(self) -> str:
        """A few sentences on how to read this picture, for its caption."""
        return " ".join(self._sentences())

    @property
    def description(self) -> str:
        """What the picture shows, for those who do not see it: the ends of its line, and how high and low it is."""
        (across, x), (height, y) = ((words, attrgetter(path)(self)) for words, path in self._line)
        some = np.isfinite(y)
        x, y = x[: len(y)][some], y[some]
        if not len(y):
            return f"{height} by {across}."
        lowest, highest = int(y.argmin()), int(y.argmax())
        marks = {highest: " (highest)", lowest: " (lowest)"} if lowest != highest else {}
        places = sorted({0, lowest, highest, len(y) - 1})
        listed = (f"{amount(y[i])} at {amount(x[i])}{marks.get(i, '')}" for i in places)
        return f"{height} by {across}, at {rows(len(y))} point{'s' * (len(y) > 1)}: {', '.join(listed)}."

    @abstractmethod
    def _sentences(self) -> Iterator[str]:
        """What `how_to_read` says, sentence by sentence."""

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table behind the picture, by name: those of the result."""
        return dict(self.result.columns())

    def readings(self) -> Iterator[Reading]:
        """Give what a page says where a reader points at the picture, once it is drawn; by default nothing."""
        return iter(())

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **keywords: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot.
        name : str, optional
            Replaces the name given before.
        **keywords
            Of matplotlib, for the line, points or bars of what is shown: ``color``, ``linewidth`` ...
        """
        return self._plot(ax, self.size, beneath=self.beneath, name=name, **keywords)

    def _plot(self, ax: Axes | None, size: Inches, *, beneath: bool, name: str | None = None, **keywords: Any) -> Self:
        """Draw on axes of the user or a new figure, which has a second panel if `beneath`."""
        name = self.name if name is None else name
        with prepare_canvas(ax, size, beneath=beneath) as canvas:
            self.draw_on(canvas, name=name, **keywords)
            canvas.title(name)
        return self

    def own_figure(self) -> Figure:
        """Draw the picture for a page: without its title, on a figure that pyplot does not know."""
        width, height = self.size
        with drawing_style():
            from matplotlib.figure import Figure

            figure = Figure(figsize=(_NARROWER * width, height), layout="constrained" if self.around is None else None)
            self.draw_panel(figure)
            if self.around is not None:
                set_margins(figure, *self.around)
        return figure

    def draw_panel(self, figure: FigureBase) -> None:
        """Draw the picture on a part of a figure, within the style."""
        self.draw_on(Canvas(*panels(figure, beneath=self.beneath), own=True, palette=LIGHT))

    def draw_on(self, canvas: Canvas, *, name: str | None = None, **keywords: Any) -> None:
        """Draw where everything is prepared; keywords are those of `plot`."""
        self._draw(canvas, name, **keywords)
        self.ax_, self.figure_ = canvas.ax, canvas.ax.figure.canvas.figure

    @abstractmethod
    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        """Draw on a canvas; the name is for the legend of shared axes."""

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of a result at hand, not yet drawn."""
        return cls(result)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the numbers that are drawn as a dataframe.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose dataframe. By default the first of them that is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            One row per point.
        """
        return frame_of(self.columns(), backend)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{'' if self.name is None else f' {self.name!r}'}>"


def draw(result: Drawable, ax: Axes | None = None, **keywords: Any) -> Display:
    """Draw a result; the same as its method ``plot``.

    Parameters
    ----------
    result : Drawable
        Curve, Band, ScoreHistogram, CumulativeResiduals, MeanCurve, ConcentrationCurve, CostCurve, NetBenefit,
        SegmentAudit, GradeAudit, BetweenClusters, Comparison, Selection or MonitorHistory.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default on a new figure of pyplot, so that notebooks show it.
    **keywords
        Passed on to the ``plot`` method of the display.

    Returns
    -------
    Display
        With `ax_`, `figure_`, `how_to_read` and ``to_frame``.

    Raises
    ------
    ArgumentError
        If there is no picture of such a thing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import cumulative_residuals
    >>> from calibrant.plots import draw
    >>> draw(cumulative_residuals([0, 1], [0.25, 0.75]), Figure().subplots())
    <CumulativeResidualsDisplay>
    """
    display: Display = _display_of(result)
    return display.plot(ax, **keywords)


def picture_html(result: Any, description: str) -> str:
    """Return the picture of a result as an element of HTML that needs no file beside it, or what to install for it."""
    try:
        need_package("matplotlib", "calibrant[report]")
    except ArgumentError as error:  # a notebook shows the table beside it all the same
        return f"<p>No picture without matplotlib; {escape(error.remedy)}.</p>"
    buffer, figure = BytesIO(), _display_of(result).own_figure()
    with drawing_style():
        figure.savefig(buffer, format="png", dpi=_DPI)
    picture = b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{description}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _display_of(result: Any) -> Any:
    """Return the display of a result, not yet drawn."""
    name = getattr(type(result), "_display", None)
    if name is None:
        expected = "a result that has a picture, such as an audit, a comparison or a curve"
        raise ArgumentError(expected, f"a {type(result).__name__}", "see calibrant.plots")
    return resolve(name).from_result(result)


def halfway(places: FloatArray, low: float, high: float) -> Iterator[tuple[float, float]]:
    """Divide the stretch from `low` to `high` half way between increasing places, one part for each."""
    edges = np.concatenate([[low], 0.5 * (places[1:] + places[:-1]), [high]]).tolist()
    return pairwise(edges)


def positive_scores(estimator: Any, X: Any, pos_label: Any = None) -> tuple[FloatArray, Any]:
    """Return an estimator's probabilities of the positive class, and the label of that class."""
    if not hasattr(estimator, "predict_proba"):
        remedy = "calibrate its scores first (calibrant.calibrators), or pass probabilities to from_predictions"
        raise ArgumentError("an estimator with predict_proba", f"a {type(estimator).__name__} without it", remedy)
    proba, classes = np.asarray(estimator.predict_proba(X)), list(getattr(estimator, "classes_", ()))
    if proba.ndim != 2 or proba.shape[1] != 2 or len(classes) != 2:
        raise ArgumentError(
            "a binary classifier with two columns of probabilities",
            f"probabilities of shape {proba.shape} and classes {classes}",
            "pass the column of one class to from_predictions, or draw all classes: calibrant.audit(y, proba).plot()",
        )
    if pos_label is None:
        pos_label = classes[1]
    elif pos_label not in classes:
        raise DataError(f"pos_label to be one of the classes {classes}", repr(pos_label), "check its spelling and type")
    return np.asarray(proba[:, classes.index(pos_label)], dtype=np.float64), pos_label
