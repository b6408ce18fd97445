"""The reliability diagram, layer by layer: observed rate by predicted probability, and the distribution of scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from calibrant.curves import (
    CumulativeResiduals,
    Curve,
    ScoreHistogram,
    binned_curve,
    isotonic_curve,
    local_curve,
    score_histogram,
)
from calibrant.errors import ArgumentError
from calibrant.metrics import CutoffCalibration
from calibrant.plots.canvas import Canvas, set_scale, tick_places, write_ticks
from calibrant.plots.display import Display, Reading, halfway, positive_scores
from calibrant.plots.style import Palette, ground_of
from calibrant.printable import visible
from calibrant.table.bins import View, score_view
from calibrant.table.numbers import confidence, rows, score_brief, share, write_interval
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Labels, Scores, Weights, as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Share of the height of axes that a strip along their lower edge takes, and the name by which it is found again.
_STRIP, _STRIP_NAME = 0.26, "calibrant-distribution"

# Scores at which a band is drawn: more than a picture has pixels.
_BAND_POINTS = 2000


class SimultaneousBand(Protocol):
    """A band from wherever: of `calibrant.certificates`, or with the same arrays."""

    @property
    def score(self) -> FloatArray:
        """Where the limits are."""

    @property
    def lower(self) -> FloatArray:
        """Lower limits."""

    @property
    def upper(self) -> FloatArray:
        """Upper limits."""

    @property
    def confidence_level(self) -> float:
        """Probability with which all hold."""


class ReliabilityDisplay(Display):
    """Reliability diagram: observed rate by predicted probability.

    Each of these results is optional, but there must be points, a line or a band.

    Parameters
    ----------
    points : Curve, optional
        Bins, drawn as points with their intervals.
    line : Curve, optional
        Drawn as a line, with a strip for its pointwise intervals if it has any.
    local : Curve, optional
        A local regression (loess), drawn as a dashed line beside the other.
    band : object with arrays `score`, `lower` and `upper`, optional
        A simultaneous band, drawn behind everything. Its `confidence_level` is named.
    worst : CutoffCalibration, optional
        Its interval is shaded.
    distribution : ScoreHistogram, optional
        Drawn below.
    name : str, optional
        What is shown.
    pos_label : scalar, optional
        Label of the positive class, for the axis.
    view : View, optional
        Stretch of scores to show; by default that of the distribution, or, without one, all of [0, 1] or where the
        scores are if they lie close together. If most are near 0, the axes are square-root scales.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D or None
        The points; if there are none, the line.
    distribution_ax_ : matplotlib.axes.Axes or None
        Where the distribution was drawn.

    Raises
    ------
    ArgumentError
        If there is nothing to draw, or the band is none.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import ReliabilityDisplay
    >>> ax = Figure().subplots()
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8], n_bins=2, ax=ax)
    >>> display.line_.get_ydata().tolist()
    [0.5, 0.5]
    >>> display.to_frame("pandas")["part"].tolist()
    ['binned', 'binned', 'isotonic', 'isotonic']
    """

    around = 0.0, 0.0
    _axes = "x-axis: predicted probability; y-axis: observed rate."
    _binned, _line = "scores", (("mean predicted probability", "shown.score"), ("Observed rate", "shown.rate"))
    _diagonal = 0.0, 1.0  # the line of perfect calibration goes from one end to the other
    _write_score, _write_rate = staticmethod(score_brief), staticmethod(share)

    def __init__(
        self,
        points: Curve | None = None,
        *,
        line: Curve | None = None,
        local: Curve | None = None,
        band: SimultaneousBand | None = None,
        worst: CutoffCalibration | None = None,
        distribution: ScoreHistogram | None = None,
        name: str | None = None,
        pos_label: Any = None,
        view: View | None = None,
    ) -> None:
        self.points, self.line, self.local = points, line, local
        self.band = None if band is None else _check_band(band)
        self.worst, self.distribution = worst, distribution
        self.name, self.pos_label = name, pos_label
        layers: list[Any] = [layer for layer in (self.points, self.line, self.band) if layer is not None]
        if not layers:
            raise ArgumentError("points, a line or a band", "none of them", "see from_predictions")
        self.shown = layers[0]
        if view is None:
            scores = np.concatenate([layer.score for layer in layers])
            view = score_view(scores) if distribution is None else distribution.view
        self.view = view
        self.beneath = distribution is not None
        self.size = _size(self.beneath)

    @classmethod
    def from_predictions(
        cls,
        y_true: Labels,
        y_proba: Scores = None,
        *,
        n_bins: int | None = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        curve: Literal["isotonic", "local"] | None = "isotonic",
        span: float = 0.15,
        degree: int = 0,
        confidence_level: float = 0.95,
        band: SimultaneousBand | None = None,
        sample_weight: Weights = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **keywords: Any,
    ) -> Self:
        """Compute bins, a curve without bins and the distribution of the scores, and draw them.

        Parameters
        ----------
        y_true, y_proba : array-like of shape (n,)
            Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
        n_bins : int or None
            Number of bins; None leaves the points out.
        strategy : {"quantile", "uniform"}
            Bins with about equally many rows, or of equal width.
        curve : {"isotonic", "local"} or None
            Which line to draw: see `calibrant.curves.isotonic_curve` and `calibrant.curves.local_curve`.
        span, degree
            Of the local curve.
        confidence_level : float
            Pointwise confidence of the intervals of bins or of the local curve, in (0, 1).
        band : object with arrays `score`, `lower` and `upper`, optional
            A simultaneous band, such as `calibrant.certificates` computes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, with which no intervals and limits are drawn; for a `count` pass a `ScoreTable`.
        pos_label : scalar, optional
            The label value that counts as 1.
        name, ax, **keywords
            As in `plot`.
        """
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        points = line = None
        if n_bins is not None:
            points = binned_curve(table, n_bins=n_bins, strategy=strategy, confidence_level=confidence_level)
        if curve == "isotonic":
            line = isotonic_curve(table)
        elif curve is not None:
            check_choice("curve", curve, ("isotonic", "local"))
            line = local_curve(table, span=span, degree=degree, confidence_level=confidence_level)
        histogram = score_histogram(table, within="data")
        display = cls(points, line=line, band=band, distribution=histogram, name=name, pos_label=pos_label)
        return display.plot(ax, **keywords)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        pos_label: Any = None,
        name: str | None = None,
        **keywords: Any,
    ) -> Self:
        """Draw the picture of a fitted classifier on data.

        Parameters
        ----------
        estimator : object with ``predict_proba``
            A fitted binary classifier, or a pipeline that ends in one.
        X, y : array-like of shape (n, d), and (n,)
            Features and labels.
        pos_label : scalar, optional
            The label value that counts as 1; by default ``estimator.classes_[1]``.
        name : str, optional
            By default the name of the estimator's class.
        **keywords
            Passed on to `from_predictions`.

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

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of a curve, whose bins are points, or of a band; not yet drawn."""
        if not isinstance(result, Curve):
            return cls(band=result)
        return cls(result) if result.method == "binned" else cls(line=result)

    def columns(self) -> dict[str, Any]:
        """Return all that is drawn of bins, line and band, one under the other; `part` says which.

        The distribution has a table of its own: ``display.distribution.to_frame()``.
        """
        parts: list[tuple[str, Curve | SimultaneousBand]]
        parts = [(layer.method, layer) for layer in (self.points, self.line, self.local) if layer is not None]
        parts += [] if self.band is None else [("band", self.band)]
        return stacked("part", parts, np.float64)

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
            Where to draw. By default on a new figure of pyplot with a panel for the distribution; on axes of the
            user the distribution lies in a strip along the lower edge. On axes that hold a diagram already, the next
            one takes another colour, and neither the dashed line nor the strip are drawn again.
        ref_line : bool
            Whether to draw the diagonal of perfect calibration.
        distribution : bool
            Whether to draw the distribution of the scores.
        name, **keywords
            As in `Display.plot`.
        """
        beneath = distribution and self.distribution is not None
        keywords |= {"ref_line": ref_line, "distribution": distribution, "name": name}
        return self._plot(ax, _size(beneath), beneath=beneath, **keywords)

    def _draw(
        self, canvas: Canvas, name: str | None, *, ref_line: bool = True, distribution: bool = True, **keywords: Any
    ) -> None:
        ax, palette, first = canvas.ax, canvas.palette, canvas.series == 0
        colour = keywords.get("color", canvas.colour())
        self.line_ = None
        if first:
            set_scale(ax, self.view)
            if ref_line:
                ax.plot(self._diagonal, self._diagonal, **canvas.dashed("perfect calibration"))
        if self.band is not None:
            draw_band(self.band, ax, palette.grey if first else colour)
        if self.line is not None and self.points is not None:
            # Beside points the line is plain; the legend says once what such lines are.
            quiet = {"color": palette.ink if first else colour, "linewidth": 1.1}
            text = f"{self.line.method} curve" + intervals_label(self.line)
            self.line_ = draw_line(self.line, ax, quiet, text if first else "_nolegend_")
        elif self.line is not None:
            own = {"color": colour, "linewidth": 1.5} | keywords
            text = canvas.label(f"{self.line.method} curve", name) + intervals_label(self.line)
            self.line_ = draw_line(self.line, ax, own, text)
        if self.local is not None:
            loess: dict[str, Any] = {"color": palette.series[2], "linewidth": 1.3, "linestyle": (0, (5, 1.5))}
            ax.plot(self.local.score, self.local.rate, label="loess (local regression)", **loess)
        if self.worst is not None:
            shade(self.worst, canvas, self.view)
        if self.points is not None:
            text = canvas.label("bins", name) + intervals_label(self.points)
            self.line_ = draw_points(self.points, ax, {"color": colour} | keywords, text)
        if self.line_ is not None:
            canvas.mark(self.line_)
        self.distribution_ax_ = None
        self.beneath = distribution and self.distribution is not None and (first or canvas.beneath is not None)
        if self.beneath and self.distribution is not None:
            self.distribution_ax_ = self._draw_distribution(self.distribution, canvas)
        # Bands, and the curve at single scores, may reach from 0 to 1 and must not squeeze what else there is to see.
        curves: list[Any] = [curve for curve in (self.points, self.local) if curve is not None]
        curves = curves or [self.line or self.band]
        heights = np.concatenate([values_of(one, name) for one in curves for name in ("rate", "lower", "upper")])
        canvas.legend(strip=self._frame(canvas, heights, first=first))

    def _frame(self, canvas: Canvas, heights: FloatArray, *, first: bool) -> float:
        """Set limits, ticks and labels; return the share of the height that a strip takes."""
        return frame_diagram(canvas, self.view, heights, first=first, pos_label=self.pos_label)

    def _draw_distribution(self, histogram: ScoreHistogram, canvas: Canvas) -> Axes:
        if canvas.beneath is not None:
            set_scale(canvas.beneath, self.view, "x")
            draw_bars(histogram, canvas.beneath, canvas.palette)
            return canvas.beneath
        ax = strip_beneath(canvas.ax)
        draw_bars(histogram, ax, canvas.palette)
        ax.set_title("positives up, negatives down", loc="left", fontsize=7, color=canvas.palette.muted, pad=1)
        ax.set_yticks([])
        ax.set_ylabel("")
        return ax

    def readings(self) -> Iterator[Reading]:
        """Give rows, mean prediction and observed rate of every bin, and the rows below."""
        if self.points is not None:
            points = self.points
            columns = (points.score, points.n, points.rate, points.lower, points.upper)
            parts = halfway(points.score, *self.ax_.get_xlim())
            for (low, high), score, n, rate, lower, upper in zip(parts, *columns, strict=True):
                limits = write_interval(rate, lower, upper, write=self._write_rate)
                chance = "" if np.isnan(lower) else f" ({limits.ends})"
                predicted, size = self._write_score(score), rows(float(n))
                text = f"bin of {size} rows: mean predicted {predicted}, observed {limits.value}"
                yield Reading(self.ax_, low, high, text + chance)
        if self.distribution is not None and self.distribution_ax_ is not None:
            yield from bar_readings(self.distribution, self.distribution_ax_)

    def _sentences(self) -> Iterator[str]:
        yield self._axes
        if self.view.square_root:
            yield "Both axes are square-root scales, which spread out small probabilities."
        if self.points is not None:
            chance = ", with its confidence interval" if intervals_label(self.points) else ""
            yield f"Each point is a bin of neighbouring {self._binned}{chance}."
        if self.line is not None:
            yield _LINES[self.line.method]
            if intervals_label(self.line):
                yield "Its strip is a pointwise confidence interval."
        if self.local is not None:
            yield "The dashed curve (loess) is a local regression on the rows with the nearest scores."
        if self.band is not None:
            yield (
                "The band behind holds at all scores simultaneously, under its assumptions and with the confidence in "
                "the legend: where the diagonal leaves it, miscalibration is significant."
            )
        yield "On the diagonal the two agree; below it predictions are too high, above it too low."
        if self.worst is not None and self.worst.interval is not None:
            yield "The shaded interval of scores attains the calibration error."
        if self.beneath:
            yield (
                "Lower panel: distribution of the scores by class, positives above zero and negatives below, each in "
                "shares of its class."
            )


class DistributionDisplay(Display):
    """Histogram of the scores by class, positives above zero and negatives below.

    Parameters
    ----------
    result : ScoreHistogram
        Rows of each class in bins of the score.
    name : str, optional
        What is shown.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import score_histogram
    >>> from calibrant.plots import DistributionDisplay
    >>> counts = score_histogram([0, 1, 1], [0.2, 0.6, 0.9], n_bins=2)
    >>> display = DistributionDisplay(counts).plot(Figure().subplots())
    >>> display.to_frame("pandas")["positives"].tolist()
    [0.0, 2.0]
    """

    result: ScoreHistogram
    size = (4.8, 2.6)
    _line = ("score", "result.edges"), ("Positives", "result.positives")

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: score; y-axis: share of the rows of each class in a bin, positives above zero and negatives "
            "below, on one scale."
        )

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        view = self.result.view
        set_scale(canvas.ax, view, "x")
        draw_bars(self.result, canvas.ax, canvas.palette, **keywords)
        canvas.ax.set_xlim(view.limits())
        write_ticks(canvas.ax.xaxis, view)
        canvas.ax.set_xlabel("score" + view.remark)

    def readings(self) -> Iterator[Reading]:
        """Give the rows of every bin."""
        return bar_readings(self.result, self.ax_)


_LINES = {
    "binned": "The line joins bins of neighbouring scores.",
    "isotonic": "The line is the isotonic fit to the outcomes, which needs no bins.",
    "local": "The curve is a local regression on the rows with the nearest scores, which needs no bins.",
}


def _size(beneath: bool) -> tuple[float, float]:
    return (4.8, 5.3) if beneath else (4.8, 4.4)


def _check_band(band: SimultaneousBand) -> SimultaneousBand:
    see = "see calibrant.certificates.isotonic_band"
    if isinstance(band, Curve):
        actual = "a curve, whose intervals are pointwise"
        raise ArgumentError("a simultaneous band", actual, f"draw it as points or line, or {see}")
    arrays = [np.asarray(getattr(band, name, None)) for name in ("score", "lower", "upper")]
    if any(array.dtype.kind != "f" or array.ndim != 1 or array.shape != arrays[0].shape for array in arrays):
        raise ArgumentError(
            "a band with arrays score, lower and upper of equal length", f"a {type(band).__name__}", see
        )
    return band


def draw_points(curve: Curve, ax: Axes, manner: dict[str, Any], label: str) -> Line2D:
    """Draw bins as points with their intervals; return the points."""
    reach = np.nan_to_num(np.array([curve.rate - curve.lower, curve.upper - curve.rate]))
    usual: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5, "elinewidth": 1.3, "zorder": 3}
    usual |= {"markeredgecolor": ground_of(ax), "markeredgewidth": 0.7}
    drawn = ax.errorbar(curve.score, curve.rate, yerr=np.maximum(reach, 0.0), **(usual | manner | {"label": label}))
    return drawn.lines[0]


def intervals_label(curve: Curve) -> str:
    """Words for the legend about intervals; none where there are none."""
    return f" with {confidence(curve.confidence_level)} intervals" if np.isfinite(curve.lower).any() else ""


def draw_line(curve: Curve, ax: Axes, manner: dict[str, Any], label: str) -> Line2D:
    """Draw a curve as a line, with a strip for its pointwise intervals; a curve of one point as that point."""
    if len(curve.score) == 1:
        return draw_points(curve, ax, manner, label)
    if np.isfinite(curve.lower).any():
        ax.fill_between(curve.score, curve.lower, curve.upper, color=manner["color"], alpha=0.18, linewidth=0)
    (line,) = ax.plot(curve.score, curve.rate, **(manner | {"label": label}))
    return line


def stacked(heading: str, layers: Sequence[tuple[str, Curve | SimultaneousBand]], dtype: Any = None) -> dict[str, Any]:
    """Return the columns of layers one under the other, and whose they are; NaN where a layer has no such column."""
    columns: dict[str, Any] = {heading: np.repeat([name for name, _ in layers], [len(one.score) for _, one in layers])}
    for name in ("score", "rate", "lower", "upper", "n"):
        columns[name] = np.concatenate([values_of(layer, name) for _, layer in layers], dtype=dtype)
    return columns


def values_of(layer: Curve | SimultaneousBand, name: str) -> npt.NDArray[Any]:
    """Return the values of a layer, NaN where it has no such column."""
    return np.asarray(getattr(layer, name, np.full(len(layer.score), np.nan)))


def draw_band(band: SimultaneousBand, ax: Axes, colour: str) -> None:
    """Draw a simultaneous band.

    Between two scores it has the lower limit of the left one and the upper limit of the right one, which is right for
    curves that do not fall. Of very many scores some are drawn; that makes the band a little wider.
    """
    drawn = np.linspace(0, len(band.score) - 1, min(len(band.score), _BAND_POINTS)).astype(np.intp)
    score, lower, upper = (np.asarray(values)[drawn] for values in (band.score, band.lower, band.upper))
    score, lower, upper = np.repeat(score, 3)[1:-1], np.repeat(lower, 3)[:-2], np.repeat(upper, 3)[2:]
    label = f"simultaneous {confidence(band.confidence_level)} band"
    ax.fill_between(score, lower, upper, label=label, facecolor=(colour, 0.25), edgecolor=(colour, 0.6), linewidth=0.6)


def shade(cutoff: CutoffCalibration, canvas: Canvas, view: View) -> None:
    """Shade the interval of scores that attains the calibration error."""
    if cutoff.interval is None:
        return
    low, high = cutoff.interval
    colour = canvas.palette.orange
    label = f"mean predicted {share(cutoff.mean_predicted)}, observed {share(cutoff.observed_rate)}"
    # The edge keeps an interval visible that is narrower than a pixel.
    left = max(low, view.limits()[0])
    canvas.ax.axvspan(left, high, facecolor=(colour, 0.12), edgecolor=(colour, 0.5), linewidth=0.8, label=label)


def draw_bars(histogram: ScoreHistogram, ax: Axes, palette: Palette, **keywords: Any) -> None:
    """Draw the shares of both classes by bin, positives above zero and negatives below, on one scale."""
    from matplotlib.collections import PolyCollection

    across = np.column_stack([histogram.edges[:-1], histogram.edges[1:]]).repeat(2, axis=1)
    up, down = _shares(histogram)
    for heights, colour in ((up, palette.blue), (-down, palette.grey)):
        manner: dict[str, Any] = {"color": colour, "edgecolor": ground_of(ax), "linewidth": 0.4} | keywords
        manner["facecolor"] = manner.pop("color")  # which would colour edges too
        # All bars as one: each by itself, they took a third of the time of the whole diagram.
        ax.add_collection(PolyCollection(list(np.dstack([across, np.outer(heights, [0.0, 1.0, 1.0, 0.0])])), **manner))
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    most, least = float(up.max()), float(down.max())
    ax.set_ylim(-1.05 * (least or 0.05 * most), 1.05 * (most or 0.05 * least))
    tick = _round_down(0.6 * max(most, least))
    ax.set_yticks([height for height in (-tick, 0.0, tick) if -least <= height <= most])
    ax.yaxis.set_major_formatter(lambda height, _: f"{100.0 * abs(height):g}%")
    ax.set_ylabel("share of class")
    _remark(ax, "positives up, negatives down", palette)


def bar_readings(histogram: ScoreHistogram, ax: Axes) -> Iterator[Reading]:
    """Give the rows of each bin that is not empty."""
    columns = (histogram.edges[:-1], histogram.edges[1:], histogram.positives, histogram.negatives, *_shares(histogram))
    for low, high, positives, negatives, up, down in zip(*(column.tolist() for column in columns), strict=True):
        if positives or negatives:
            of_classes = (
                f"{rows(positives)} positives ({share(up)} of them), {rows(negatives)} negatives ({share(down)})"
            )
            yield Reading(ax, low, high, f"scores {score_brief(low)} to {score_brief(high)}: {of_classes}")


def _shares(histogram: ScoreHistogram) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Share of the positives and of the negatives in each bin; 0 for a class without rows."""
    up, down = (rows / (rows.sum() or 1.0) for rows in (histogram.positives, histogram.negatives))
    return up, down


def draw_shares(residuals: CumulativeResiduals, ax: Axes, view: View, palette: Palette, **keywords: Any) -> None:
    """Draw the cumulative share of rows by score."""
    manner: dict[str, Any] = {"color": palette.blue, "linewidth": 1.3, "drawstyle": "steps-post"} | keywords
    ax.plot([view.low, *residuals.score, view.high], [0.0, *residuals.share, 1.0], **manner)
    ax.set_ylim(0.0, 1.03)
    ax.set_yticks([0.0, 0.5, 1.0], ["0%", "50%", "100%"])
    ax.set_ylabel("rows")
    _remark(ax, "cumulative share of rows", palette)
    ax.grid(axis="y", color=palette.rule, linewidth=0.5)


def _remark(ax: Axes, text: str, palette: Palette) -> None:
    ax.set_title(text, loc="left", fontsize=8.5, color=palette.muted, pad=3)


def _round_down(height: float) -> float:
    """Largest of 1, 2, 5, 10, 20, ... that is not above the height."""
    power = 10.0 ** np.floor(np.log10(height))
    return float(max(step for step in (1.0, 2.0, 5.0) if step * power <= height * (1.0 + 1e-9)) * power)


def strip_beneath(ax: Axes) -> Axes:
    """Make a strip along the lower edge of the axes, as wide as they are."""
    # The space above the bars is for a remark.
    strip = ax.inset_axes((0.0, 0.0, 1.0, 0.75 * _STRIP), sharex=ax, zorder=1.5)
    strip.set_label(_STRIP_NAME)
    strip.spines[:].set_visible(False)
    strip.tick_params(bottom=False, labelbottom=False)
    return strip


def frame_diagram(canvas: Canvas, view: View, heights: FloatArray, *, first: bool, pos_label: Any = None) -> float:
    """Set limits, ticks and labels; a diagram that was there before (unless `first`) stays in view.

    `view` is the stretch of scores to show; `heights` are shares that must be in view, NaN is passed over. Returns the
    share of the height of the axes that a strip along their lower edge takes.
    """
    ax, beneath = canvas.ax, canvas.beneath
    strip = any(child.get_label() == _STRIP_NAME for child in ax.child_axes)
    if not first:
        view = view._replace(square_root=ax.get_xscale() == "function")
    left, right = view.limits()
    bottom, top = _heights(heights, view)
    if not first:
        before = _stretched(ax.get_ylim(), view, 1.0 - _STRIP) if strip else ax.get_ylim()
        left, right = min(left, ax.get_xlim()[0]), max(right, ax.get_xlim()[1])
        bottom, top = min(bottom, before[0]), max(top, before[1])
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    write_ticks(ax.xaxis, view)
    write_ticks(ax.yaxis, view)
    if strip:
        ax.set_ylim(_stretched((bottom, top), view, 1.0 / (1.0 - _STRIP)))
        # No tick stands beside the strip, where heights are no shares.
        ax.yaxis.set_ticks(tick_places(bottom, top, view))
    of = "" if pos_label in (None, 1, True) else f" ({visible(str(pos_label))})"
    ax.set_ylabel(f"observed rate{of}", parse_math=False)
    (beneath or ax).set_xlabel("predicted probability" + view.remark)
    if beneath is not None:
        beneath.set_xlim(left, right)
        write_ticks(beneath.xaxis, view)
        ax.tick_params(labelbottom=False)
    return _STRIP if strip else 0.0


def _stretched(limits: tuple[float, float], view: View, times: float) -> tuple[float, float]:
    """Limits so many times as far apart on the axis of a view, with the same upper end."""
    bottom, top = view.to_axis(limits)
    return float(view.from_axis(top - times * (top - bottom))), limits[1]


def _heights(heights: FloatArray, view: View) -> tuple[float, float]:
    """Vertical limits: [0, 1] if scores are wide apart, otherwise what contains the rates and the diagonal."""
    if (view.low, view.high) == (0.0, 1.0):
        return view.limits()
    everything = np.append(heights, [view.low, view.high])
    return view._replace(low=float(np.nanmin(everything)), high=float(np.nanmax(everything))).limits()
