"""Several models: on one reliability diagram, and their differences with intervals, a panel for each measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.comparing.compare import Comparison, MeasureDifference, difference, interval, verdict
from calibrant.comparing.losses import MEASURES
from calibrant.curves import CumulativeResiduals, Curve, binned_curve, cumulative_residuals, local_curve
from calibrant.errors import ArgumentError
from calibrant.metrics import CutoffCalibration, cutoff_calibration
from calibrant.plots.canvas import Canvas, set_scale, write_ticks
from calibrant.plots.display import Display, Reading, positive_scores
from calibrant.plots.reliability import draw_shares, frame_diagram, stacked
from calibrant.table.bins import score_view
from calibrant.table.numbers import confidence, number, short_name
from calibrant.table.parameters import check_choice
from calibrant.table.score_table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = ("o", "s", "^", "D", "v", "P")
_POINTS = 900
_MOST_LIMITED = 4  # models whose intervals can be told apart
_PANEL, _ROW, _MARGIN = 0.56, 0.18, 0.5  # inches: a panel without rows, a row, and what is left above and below
_WIDTH, _LETTER = 5.4, 0.065  # inches: of the picture, of a letter
_LONGEST = 20  # letters of a name


class Model(NamedTuple):
    """What is drawn of one model.

    Attributes
    ----------
    curve : Curve
        Bins or local curve.
    cutoff : CutoffCalibration
        Its calibration error is in the legend.
    cumulative_residuals : CumulativeResiduals
        Its cumulative share of rows is drawn below.
    """

    curve: Curve
    cutoff: CutoffCalibration
    cumulative_residuals: CumulativeResiduals


class ComparisonDisplay(Display):
    """Several models on one reliability diagram, with their calibration errors in the legend.

    Parameters
    ----------
    models : mapping of str to Model
        What to draw of each, by name.
    name : str, optional
        Title.

    Attributes
    ----------
    lines_ : dict of str to matplotlib.lines.Line2D
        The line of each model.
    distribution_ax_ : matplotlib.axes.Axes or None
        Where the shares of rows were drawn.

    Raises
    ------
    ArgumentError
        If there is no model.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import ComparisonDisplay
    >>> scores = {"one": [0.1, 0.3, 0.9], "two": [0.4, 0.5, 0.6]}
    >>> display = ComparisonDisplay.from_predictions([0, 1, 1], scores, n_bins=1, ax=Figure().subplots())
    >>> display.to_frame("pandas")["model"].tolist()
    ['one', 'two']
    """

    def __init__(self, models: Mapping[str, Model], *, name: str | None = None) -> None:
        if not models:
            raise ArgumentError("at least one model", "none", "pass a mapping of names to scores")
        self.models, self.name = dict(models), name
        self._limited = len(models) <= _MOST_LIMITED and all(one.curve.method == "binned" for one in models.values())

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Mapping[str, npt.ArrayLike] | None = None,
        *,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        curve: Literal["binned", "local"] = "binned",
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **keywords: Any,
    ) -> Self:
        """Compute a curve, the calibration error and the distribution of the scores of each model, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n,), or mapping of str to array-like or ScoreTable
            Labels of the rows that all models scored; or of each model's own rows, by name.
        y_proba : mapping of str to array-like
            Predicted probabilities of the positive class, in [0, 1], by name. None if `y_true` holds tables.
        n_bins, strategy
            As in `calibrant.curves.binned_curve`.
        curve : {"binned", "local"}
            Which curve to draw.
        sample_weight : array-like of shape (n,) or mapping of str to array-like, optional
            Non-negative weights of the rows, or of each model's own rows.
        pos_label : scalar, optional
            The label value that counts as 1.
        name, ax, **keywords
            As in `plot`.

        Raises
        ------
        ArgumentError
            If there are no names, or labels or weights lack one.
        DataError
            If the rows cannot be used.
        """
        check_choice("curve", curve, ("binned", "local"))
        names = y_proba if y_proba is not None else y_true
        if not isinstance(names, Mapping):
            remedy = "pass {'name': scores, ...} as y_proba"
            raise ArgumentError("a mapping of names to scores", f"a {type(names).__name__}", remedy)
        models = {}
        for model in names:
            label, weight = _of(y_true, model, "labels"), _of(sample_weight, model, "weights")
            score = None if y_proba is None else y_proba[model]
            table = as_table(label, score, sample_weight=weight, pos_label=pos_label)
            line = binned_curve(table, n_bins=n_bins, strategy=strategy) if curve == "binned" else local_curve(table)
            residuals = cumulative_residuals(table, n_points=_POINTS)
            models[str(model)] = Model(line, cutoff_calibration(table), residuals)
        return cls(models, name=name).plot(ax, **keywords)

    @classmethod
    def from_estimator(
        cls, estimator: Mapping[str, Any], X: Any, y: npt.ArrayLike, *, pos_label: Any = None, **keywords: Any
    ) -> Self:
        """Draw fitted classifiers on the same data.

        Further keywords are those of `from_predictions`.

        Parameters
        ----------
        estimator : mapping of str to object with ``predict_proba``
            Fitted binary classifiers of the same two classes, by name.
        X, y, pos_label
            As in `ReliabilityDisplay.from_estimator`.
        """
        if not isinstance(estimator, Mapping):
            raise ArgumentError(
                "a mapping of names to estimators", f"a {type(estimator).__name__}", "pass {'name': estimator, ...}"
            )
        scores = {}
        for name, one in estimator.items():
            scores[name], pos_label = positive_scores(one, X, pos_label)
        return cls.from_predictions(y, scores, pos_label=pos_label, **keywords)

    @property
    def description(self) -> str:
        """The calibration error of each model."""
        errors = ", ".join(f"{name} {number(model.cutoff.value)}" for name, model in self.models.items())
        return f"Calibration errors: {errors}."

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: predicted probability; y-axis: observed rate. The closer a model's line is to the diagonal, the "
            "better it is calibrated: below the diagonal predictions are too high, above it too low. The legend gives "
            "the calibration error. Lower panel: cumulative share of rows by score; a line that rises mainly near 0 "
            "and 1 indicates sharp predictions."
        )
        if self._limited:
            yield "Vertical lines are pointwise confidence intervals of the observed rates, where chance is known."

    def columns(self) -> dict[str, Any]:
        """Return the curves, one under the other; `model` says whose."""
        return stacked("model", [(name, model.curve) for name, model in self.models.items()])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        ref_line: bool = True,
        distribution: bool = True,
        name: str | None = None,
        **keywords: Any,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default on a new figure of pyplot with a panel for the shares of rows; on axes of the
            user there is no such panel.
        ref_line : bool
            Whether to draw the diagonal of perfect calibration.
        distribution : bool
            Whether to draw the cumulative shares of rows.
        name, **keywords
            As in `Display.plot`.
        """
        size = (4.8, (5.3 if distribution else 4.4) + 0.18 * max(0, len(self.models) - 3))
        return self._plot(ax, size, beneath=distribution, ref_line=ref_line, name=name, **keywords)

    def _draw(self, canvas: Canvas, name: str | None, *, ref_line: bool = True, **keywords: Any) -> None:
        curves = [model.cumulative_residuals for model in self.models.values()]
        shares = np.concatenate([np.diff(curve.share, prepend=0.0) for curve in curves])
        view = score_view(np.concatenate([curve.score for curve in curves]), shares)
        first = canvas.series == 0
        if first:
            set_scale(canvas.ax, view)
            if canvas.beneath is not None:
                set_scale(canvas.beneath, view, "x")
            if ref_line:
                canvas.ax.plot([0.0, 1.0], [0.0, 1.0], **canvas.dashed("perfect calibration"))
        self.lines_, self.distribution_ax_ = {}, canvas.beneath
        for model, (curve, cutoff, residuals) in self.models.items():
            marker = _MARKERS[canvas.series % len(_MARKERS)]
            manner: dict[str, Any] = {"color": canvas.colour(), "linestyle": canvas.dash(), "linewidth": 1.2}
            if self._limited:
                canvas.ax.vlines(curve.score, curve.lower, curve.upper, color=manner["color"], linewidth=0.9, alpha=0.6)
            marks = {"marker": marker, "markersize": 4.5} if curve.method == "binned" else {}
            label = f"{model}, calibration error {number(cutoff.value)}"
            (line,) = canvas.ax.plot(curve.score, curve.rate, **(manner | marks | keywords | {"label": label}))
            canvas.mark(line)
            self.lines_[model] = line
            if canvas.beneath is not None:
                draw_shares(residuals, canvas.beneath, view, canvas.palette, **manner)
        rates = np.concatenate([model.curve.rate for model in self.models.values()])
        strip = frame_diagram(canvas, view, rates, first=first)
        canvas.legend(columns=1, strip=strip)


def _of(values: Any, name: str, what: str) -> Any:
    """Return what belongs to a model: its entry of a mapping, or what all share."""
    if not isinstance(values, Mapping):
        return values
    if name not in values:
        raise ArgumentError(f"{what} of every model", f"none of {name!r}", "use the same names everywhere")
    return values[name]


class DifferenceDisplay(Display):
    """Differences between models on the same rows, with intervals that hold together.

    Parameters
    ----------
    comparison : Comparison
        What to draw: a result of `calibrant.compare`.
    name : str, optional
        Title.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        A panel for each measure, once drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import compare
    >>> from calibrant.plots import DifferenceDisplay
    >>> y, scores = [0, 1, 0, 1], {"old": [0.3, 0.4, 0.5, 0.6], "new": [0.1, 0.8, 0.2, 0.9]}
    >>> display = DifferenceDisplay(compare(y, scores)).plot(Figure().subplots())
    >>> display.to_frame("pandas")["measure"].tolist()
    ['calibration_error', 'brier_score', 'log_loss', 'roc_auc']
    """

    def __init__(self, comparison: Comparison, *, name: str | None = None) -> None:
        super().__init__(comparison, name=name)
        self._pairs = len(comparison.differences) // len(comparison.measures)
        # Letters in front of a panel, where there are several pairs.
        labels = map(_label, comparison.differences)
        self._letters = max(map(len, labels)) if self._pairs > 1 else 0
        self.size = (_WIDTH, _MARGIN + len(comparison.measures) * (_PANEL + _ROW * self._pairs))

    @property
    def description(self) -> str:
        """Every difference, with what it says."""
        return ". ".join(f"{MEASURES[key].name}: {self._told(key)}" for key in self.result.measures) + "."

    def _told(self, key: str) -> str:
        """Every difference of a measure in words."""
        return "; ".join(
            f"{one.second} \N{MINUS SIGN} {one.first}: {difference(one)} ({interval(one)}), {verdict(one)}"
            for one in self.result.differences
            if one.measure == key
        )

    def _sentences(self) -> Iterator[str]:
        sure = confidence(self.result.confidence_level)
        yield (
            "Each point is a measure of the second model less that of the first, each line its interval; all "
            f"intervals hold together with {sure} confidence. On the shaded side of 0 the second model is better. "
            "Where a line does not reach 0, which a filled point says, one model is better beyond chance: the second "
            "if the line is blue, the first if it is orange."
        )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        canvas.ax.set_axis_off()
        # Panels in the area of the axes given, with space for their headings, ticks and names.
        height, inches = 1.0 / len(self.result.measures), _PANEL + _ROW * self._pairs
        names, low, high = self._letters * _LETTER / _WIDTH, 0.22 / inches, 0.24 / inches
        self.axes_ = []
        for row, key in enumerate(self.result.measures, 1):
            box = (0.02 + names, 1.0 - (row - low) * height, 0.95 - names, (1.0 - low - high) * height)
            panel = canvas.ax.inset_axes(box)
            self._draw_panel(canvas, panel, key, **keywords)
            self.axes_.append(panel)

    def _draw_panel(self, canvas: Canvas, ax: Axes, key: str, **keywords: Any) -> None:
        palette, differences = canvas.palette, [one for one in self.result.differences if one.measure == key]
        ends = [end for one in differences for end in (one.lower, one.upper, one.value, 0.0) if abs(end) < 2.0e300]
        low, high = min(ends), max(ends)
        reach = (high - low) or 1.0
        low, high = low - 0.06 * reach, high + 0.06 * reach
        better = (0.0, high) if MEASURES[key].larger_is_better else (low, 0.0)
        ax.axvspan(*better, color=palette.band, linewidth=0)
        ax.axvline(0.0, color=palette.muted, linewidth=0.8)
        for height, one in enumerate(differences):
            colour = {one.second: palette.blue, one.first: palette.orange}.get(one.better or "", palette.muted)
            drawn: dict[str, Any] = {"color": colour, "linewidth": 1.6} | keywords
            line = max(one.lower, low), min(one.upper, high)
            if line[0] <= line[1] and one.value == one.value:
                ax.plot(line, (height, height), **drawn, solid_capstyle="butt")
            if low <= one.value <= high:
                face = drawn["color"] if one.better is not None else palette.ground
                ax.plot([one.value], [height], "o", color=drawn["color"], markersize=5, markerfacecolor=face)
        ax.set_xlim(low, high)
        ax.set_ylim(len(differences) - 0.4, -0.6)
        labels = list(map(_label, differences))
        many = len(differences) > 1
        ax.set_yticks(range(len(labels)) if many else [], labels if many else [], parse_math=False)
        ax.tick_params(labelsize=7.5, color=palette.rule, labelcolor=palette.muted)
        ax.spines[["left", "top", "right"]].set_visible(False)
        write_ticks(ax.xaxis)
        ax.locator_params(axis="x", nbins=3)
        heading = MEASURES[key].name if many else f"{MEASURES[key].name}: {labels[0]}"
        ax.set_title(heading, loc="left", fontsize=8.5, color=palette.ink, parse_math=False, pad=3)

    def readings(self) -> Iterator[Reading]:
        """Give every difference in words."""
        for ax, key in zip(self.axes_, self.result.measures, strict=True):
            yield Reading(ax, *ax.get_xlim(), self._told(key))


def _label(one: MeasureDifference) -> str:
    first, second = (short_name(name, _LONGEST) for name in (one.first, one.second))
    return f"{second} \N{MINUS SIGN} {first}"
