"""The reliability diagram: observed rate by predicted probability, and the distribution of the scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from calibrant.curves import Curve, ScoreHistogram, binned_curve, isotonic_curve, local_curve, score_histogram
from calibrant.errors import ArgumentError
from calibrant.metrics import CutoffCalibration
from calibrant.plots import layers
from calibrant.plots.canvas import Canvas, set_scale, write_ticks
from calibrant.plots.display import Display, Reading, halfway, split_rows
from calibrant.plots.layers import SimultaneousBand, intervals_label
from calibrant.table.numbers import rows, score_brief, share, write_interval
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Labels, Scores
from calibrant.table.visible_scores import View, score_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    _binned = "scores"
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
        scores = [layer.score for layer in (self.points, self.line, self.band) if layer is not None]
        if not scores:
            raise ArgumentError("points, a line or a band", "none of them", "see from_predictions")
        if view is None:
            view = score_view(np.concatenate(scores)) if distribution is None else distribution.view
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
        **keywords: Any,
    ) -> Self:
        """Compute bins, a curve without bins and the distribution of the scores, and draw them.

        Other parameters are as in `Display.from_predictions`.

        Parameters
        ----------
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
        """
        table, drawing = split_rows(y_true, y_proba, **keywords)
        points = line = None
        if n_bins is not None:
            points = binned_curve(table, n_bins=n_bins, strategy=strategy, confidence_level=confidence_level)
        if curve == "isotonic":
            line = isotonic_curve(table)
        elif curve is not None:
            check_choice("curve", curve, ("isotonic", "local"))
            line = local_curve(table, span=span, degree=degree, confidence_level=confidence_level)
        histogram = score_histogram(table, within="data")
        display = cls(points, line=line, band=band, distribution=histogram, pos_label=keywords.get("pos_label"))
        return display._drawn(**drawing)

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of a curve, whose bins are points, or of a band; not yet drawn."""
        if not isinstance(result, Curve):
            return cls(band=result)
        return cls(result) if result.kind == "binned" else cls(line=result)

    def columns(self) -> dict[str, Any]:
        """Return all that is drawn of bins, line and band, one under the other; `part` says which.

        The distribution has a table of its own: ``display.distribution.to_frame()``.
        """
        parts: list[tuple[str, Curve | SimultaneousBand]]
        parts = [(layer.kind, layer) for layer in (self.points, self.line, self.local) if layer is not None]
        parts += [] if self.band is None else [("band", self.band)]
        return layers.stacked("part", parts, np.float64)

    def plot(
        self, ax: Axes | None = None, *, ref_line: bool = True, distribution: bool = True, **keywords: Any
    ) -> Self:
        """Draw the diagram; other parameters as in `Display.plot`.

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
        """
        beneath = distribution and self.distribution is not None
        keywords |= {"ref_line": ref_line, "distribution": distribution}
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
            layers.draw_band(self.band, ax, palette.grey if first else colour)
        if self.line is not None and self.points is not None:
            # Beside points the line is plain; the legend says once what such lines are.
            quiet = {"color": palette.ink if first else colour, "linewidth": 1.1}
            text = f"{self.line.kind} curve" + intervals_label(self.line)
            self.line_ = layers.draw_line(self.line, ax, quiet, text if first else "_nolegend_")
        elif self.line is not None:
            own = {"color": colour, "linewidth": 1.5} | keywords
            text = canvas.label(f"{self.line.kind} curve", name) + intervals_label(self.line)
            self.line_ = layers.draw_line(self.line, ax, own, text)
        if self.local is not None:
            loess: dict[str, Any] = {"color": palette.series[2], "linewidth": 1.3, "linestyle": (0, (5, 1.5))}
            ax.plot(self.local.score, self.local.rate, label="loess (local regression)", **loess)
        if self.worst is not None:
            layers.shade(self.worst, canvas, self.view)
        if self.points is not None:
            text = canvas.label("bins", name) + intervals_label(self.points)
            self.line_ = layers.draw_points(self.points, ax, {"color": colour} | keywords, text)
        if self.line_ is not None:
            canvas.mark(self.line_)
        self.distribution_ax_ = None
        self.beneath = distribution and self.distribution is not None and (first or canvas.beneath is not None)
        if self.beneath and self.distribution is not None:
            self.distribution_ax_ = self._draw_distribution(self.distribution, canvas)
        # Bands, and the curve at single scores, may reach from 0 to 1 and must not squeeze what else there is to see.
        curves: list[Any] = [curve for curve in (self.points, self.local) if curve is not None]
        curves = curves or [self.line or self.band]
        heights = np.concatenate([layers.values_of(one, name) for one in curves for name in ("rate", "lower", "upper")])
        canvas.legend(strip=self._frame(canvas, heights, first=first))

    def _frame(self, canvas: Canvas, heights: FloatArray, *, first: bool) -> float:
        """Set limits, ticks and labels; return the share of the height that a strip takes."""
        return layers.frame_diagram(canvas, self.view, heights, first=first, pos_label=self.pos_label)

    def _draw_distribution(self, histogram: ScoreHistogram, canvas: Canvas) -> Axes:
        if canvas.beneath is not None:
            set_scale(canvas.beneath, self.view, "x")
            layers.draw_bars(histogram, canvas.beneath, canvas.palette)
            return canvas.beneath
        ax = layers.strip_beneath(canvas.ax)
        layers.draw_bars(histogram, ax, canvas.palette)
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
            yield from layers.bar_readings(self.distribution, self.distribution_ax_)

    def _sentences(self) -> Iterator[str]:
        yield self._axes
        if self.view.square_root:
            yield "Both axes are square-root scales, which spread out small probabilities."
        if self.points is not None:
            chance = ", with its confidence interval" if intervals_label(self.points) else ""
            yield f"Each point is a bin of neighbouring {self._binned}{chance}."
        if self.line is not None:
            yield _LINES[self.line.kind]
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
    histogram : ScoreHistogram
        Rows of each class in bins of the score.
    name : str, optional
        What is shown.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import DistributionDisplay
    >>> ax = Figure().subplots()
    >>> display = DistributionDisplay.from_predictions([0, 1, 1], [0.2, 0.6, 0.9], n_bins=2, ax=ax)
    >>> display.to_frame("pandas")["positives"].tolist()
    [0.0, 2.0]
    """

    size = (4.8, 2.6)

    def __init__(self, histogram: ScoreHistogram, *, name: str | None = None) -> None:
        self.histogram, self.name = histogram, name

    @classmethod
    def from_predictions(cls, y_true: Labels, y_proba: Scores = None, *, n_bins: int = 40, **keywords: Any) -> Self:
        """Count the rows in bins, and draw them; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        n_bins : int
            Number of bins. They divide [0, 1], or where the scores are if they lie close together; the bins are
            narrower towards 0 if most scores are near 0.
        """
        table, drawing = split_rows(y_true, y_proba, **keywords)
        return cls(score_histogram(table, n_bins=n_bins, within="data"))._drawn(**drawing)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: score; y-axis: share of the rows of each class in a bin, positives above zero and negatives "
            "below, on one scale."
        )

    def columns(self) -> dict[str, Any]:
        """Return the bins: their ends, and positives and negatives in them."""
        return self.histogram.columns()

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        view = self.histogram.view
        set_scale(canvas.ax, view, "x")
        layers.draw_bars(self.histogram, canvas.ax, canvas.palette, **keywords)
        canvas.ax.set_xlim(view.limits())
        write_ticks(canvas.ax.xaxis, view)
        canvas.ax.set_xlabel("score" + view.remark)

    def readings(self) -> Iterator[Reading]:
        """Give the rows of every bin."""
        return layers.bar_readings(self.histogram, self.ax_)


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
