"""Several models on one reliability diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.curves import CumulativeResiduals, Curve, binned_curve, cumulative_residuals, local_curve
from calibrant.errors import ArgumentError
from calibrant.metrics import CutoffCalibration, cutoff_calibration
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import ModelsDisplay
from calibrant.plots.distribution import draw_shares
from calibrant.plots.layers import draw_diagonal, frame_diagram
from calibrant.plots.style import set_scale
from calibrant.table.arguments import as_table
from calibrant.table.numbers import number
from calibrant.table.parameters import check_choice
from calibrant.table.visible_scores import score_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
_POINTS = 900


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


class ComparisonDisplay(ModelsDisplay):
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
        **keywords: Any,
    ) -> Self:
        """Compute a curve, the calibration error and the distribution of the scores of each model, and draw them.

        Other parameters are as in `Display.from_predictions`.

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
            raise ArgumentError(
                "a mapping of names to scores", f"a {type(names).__name__}", "pass {'name': scores, ...} as y_proba"
            )
        models = {}
        for model in names:
            table = as_table(
                _of(y_true, model, "labels"),
                None if y_proba is None else y_proba[model],
                sample_weight=_of(sample_weight, model, "weights"),
                pos_label=pos_label,
            )
            line = binned_curve(table, n_bins=n_bins, strategy=strategy) if curve == "binned" else local_curve(table)
            residuals = cumulative_residuals(table, n_points=_POINTS)
            models[str(model)] = Model(line, cutoff_calibration(table), residuals)
        return cls(models)._drawn(**keywords)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: predicted probability; y-axis: observed rate. The closer a model's line is to the diagonal, the "
            "better it is calibrated: below the diagonal predictions are too high, above it too low. The legend gives "
            "the calibration error. Lower panel: cumulative share of rows by score; a line that rises mainly near 0 "
            "and 1 indicates sharp predictions."
        )

    def columns(self) -> dict[str, Any]:
        """Return the curves, one under the other; `model` says whose."""
        curves = [model.curve for model in self.models.values()]
        columns: dict[str, Any] = {"model": np.repeat(list(self.models), [len(curve.score) for curve in curves])}
        for name in ("score", "rate", "lower", "upper", "n"):
            columns[name] = np.concatenate([getattr(curve, name) for curve in curves])
        return columns

    def plot(
        self, ax: Axes | None = None, *, ref_line: bool = True, distribution: bool = True, **keywords: Any
    ) -> Self:
        """Draw the diagram; other parameters as in `Display.plot`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default on a new figure of pyplot with a panel for the shares of rows; on axes of the
            user there is no such panel.
        ref_line : bool
            Whether to draw the diagonal of perfect calibration.
        distribution : bool
            Whether to draw the cumulative shares of rows.
        """
        size = (4.8, (5.3 if distribution else 4.4) + 0.18 * max(0, len(self.models) - 3))
        return self._plot(ax, size, beneath=distribution, ref_line=ref_line, **keywords)

    def _draw(self, canvas: Canvas, name: str | None, *, ref_line: bool = True, **keywords: Any) -> None:
        curves = [model.cumulative_residuals for model in self.models.values()]
        shares = np.concatenate([np.diff(curve.share, prepend=0.0) for curve in curves])
        view = score_view(np.concatenate([curve.score for curve in curves]), shares)
        first = canvas.series == 0
        if first:
            set_scale(canvas.ax, view)
            if canvas.beneath is not None:
                set_scale(canvas.beneath, view, "x")
        if ref_line and first:
            draw_diagonal(canvas)
        self.lines_, self.distribution_ax_ = {}, canvas.beneath
        for model, (curve, cutoff, residuals) in self.models.items():
            dash, marker = (kinds[canvas.series % len(kinds)] for kinds in (_DASHES, _MARKERS))
            manner: dict[str, Any] = {"color": canvas.colour(), "linestyle": dash, "linewidth": 1.2}
            marks = {"marker": marker, "markersize": 4.5} if curve.kind == "binned" else {}
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
