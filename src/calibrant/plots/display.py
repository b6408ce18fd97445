"""What all displays share: they are made from predictions, an estimator or a result, are drawn, and have a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from inspect import signature
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.errors import ArgumentError, DataError, need_package
from calibrant.plots.canvas import Canvas, Inches, panels, prepare_canvas
from calibrant.plots.margins import set_margins
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Drawable, frame_of
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
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

    Made by `from_predictions` or `from_estimator`, or from results at hand.

    Attributes
    ----------
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
    beneath = False  # whether such a figure has a second panel below
    # Points that marks take above the axes and at their right, where that and the ticks are all there is around them.
    around: tuple[float, float] | None = None

    @property
    def how_to_read(self) -> str:
        """A few sentences on how to read this picture, for its caption."""
        return " ".join(self._sentences())

    @abstractmethod
    def _sentences(self) -> Iterator[str]:
        """What `how_to_read` says, sentence by sentence."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Columns of the table behind the picture, by name."""

    def readings(self) -> Iterator[Reading]:
        """Give what a page says where a reader points at the picture, once it is drawn; by default nothing."""
        return iter(())

    def __init_subclass__(cls) -> None:
        for name in {"from_predictions", "plot"} & set(vars(cls)):
            _share_parameters(getattr(cls, name), getattr(Display, name))

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

    def _drawn(self, ax: Axes | None = None, *, name: str | None = None, **keywords: Any) -> Self:
        """Take the name, and draw."""
        self.name = name
        return self.plot(ax, **keywords)

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
    @abstractmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any = None,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute what is shown from labels and scores, and draw it.

        Every display takes these parameters, and some of its own.

        Parameters
        ----------
        y_true : array-like of shape (n,) or ScoreTable
            Labels, or a table that holds labels and scores.
        y_proba : array-like of shape (n,)
            Predicted probabilities of the positive class, in [0, 1].
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, with which no intervals and limits are drawn; for a `count` pass a `ScoreTable`.
        pos_label : scalar, optional
            The label value that counts as 1.
        name : str, optional
            What is shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure of pyplot, so that notebooks show it.
        **keywords
            Passed on to `plot`.

        Returns
        -------
        Display
            Already drawn.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, or there is nothing to draw.
        DataError
            If the rows cannot be used.
        """

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of a result at hand, not yet drawn."""
        return cls(result)  # type: ignore[call-arg]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, pos_label: Any = None, name: str | None = None, **keywords: Any
    ) -> Self:
        """Draw the picture of a fitted classifier on data.

        Parameters
        ----------
        estimator : object with ``predict_proba``
            A fitted binary classifier, or a pipeline that ends in one.
        X : array-like of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels.
        pos_label : scalar, optional
            The label value that counts as 1; by default ``estimator.classes_[1]``.
        name : str, optional
            By default the name of the estimator's class.
        **keywords
            Passed on to `from_predictions`: ``sample_weight``, ``ax`` ...

        Returns
        -------
        Display
            Already drawn.

        Raises
        ------
        ArgumentError
            If the estimator has no ``predict_proba`` or not two classes.
        DataError
            If the labels or scores cannot be used, or the estimator does not know the label.
        """
        y_proba, pos_label = positive_scores(estimator, X, pos_label)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, y_proba, pos_label=pos_label, name=name, **keywords)

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


def split_rows(
    y_true: Labels, y_proba: Scores, *, sample_weight: Weights = None, pos_label: Any = None, **drawing: Any
) -> tuple[ScoreTable, dict[str, Any]]:
    """Return the table of what `Display.from_predictions` is given, and the keywords that are about drawing."""
    return as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label), drawing


def halfway(places: FloatArray, low: float, high: float) -> Iterator[tuple[float, float]]:
    """Divide the stretch from `low` to `high` half way between increasing places, one part for each."""
    edges = np.concatenate([[low], 0.5 * (places[1:] + places[:-1]), [high]]).tolist()
    return pairwise(edges)


def _share_parameters(method: Any, of_all: Any) -> None:
    """Let the signature of a method of one display name the parameters that all displays take, after its own."""
    function = getattr(method, "__func__", method)
    own = signature(function)
    *first, keywords = own.parameters.values()
    others = {"y_proba", "pos_label"} if "y_pred" in own.parameters else set()  # which predicted means do not have
    further = [p for name, p in signature(of_all).parameters.items() if name not in own.parameters.keys() | others]
    function.__signature__ = own.replace(parameters=[*first, *further, keywords])


def all_scores(estimator: Any, X: Any) -> tuple[FloatArray, list[Any]]:
    """Return an estimator's probabilities of all classes, and their labels in the order of the columns."""
    if not hasattr(estimator, "predict_proba"):
        remedy = "calibrate its scores first (calibrant.calibrators), or pass probabilities to from_predictions"
        raise ArgumentError("an estimator with predict_proba", f"a {type(estimator).__name__} without it", remedy)
    return np.asarray(estimator.predict_proba(X)), list(getattr(estimator, "classes_", ()))


def positive_scores(estimator: Any, X: Any, pos_label: Any = None) -> tuple[FloatArray, Any]:
    """Return an estimator's probabilities of the positive class, and the label of that class."""
    proba, classes = all_scores(estimator, X)
    if proba.ndim != 2 or proba.shape[1] != 2 or len(classes) != 2:
        raise ArgumentError(
            "a binary classifier with two columns of probabilities",
            f"probabilities of shape {proba.shape} and classes {classes}",
            "pass the column of one class to from_predictions, or draw all classes by ClassErrorDisplay",
        )
    if pos_label is None:
        pos_label = classes[1]
    elif pos_label not in classes:
        raise DataError(f"pos_label to be one of the classes {classes}", repr(pos_label), "check its spelling and type")
    return np.asarray(proba[:, classes.index(pos_label)], dtype=np.float64), pos_label
