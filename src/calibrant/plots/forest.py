"""Forest plots: a number with its limits for each of many clusters, rating grades or segments; and maps of segments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from calibrant.auditing.grades import GradeAudit
from calibrant.auditing.segment_audit import SegmentAudit, notable
from calibrant.errors import ArgumentError
from calibrant.metrics import BetweenClusters
from calibrant.plots.canvas import Canvas, write_ticks
from calibrant.plots.display import Display
from calibrant.printable import visible
from calibrant.table.numbers import rows, short_name
from calibrant.table.parameters import check_count
from calibrant.table.pooling import FloatArray

_NAME = 38  # letters of a name
_IDEAL = {"O:E": 1.0, "Calibration slope": 1.0, "Calibration intercept": 0.0}
_SMALL = 0.05  # a rate of a grade below which the axis is logarithmic
_MOST = 30  # segments drawn
_WRITTEN = 12  # columns of a map up to which errors are written into it


def draw_limits(
    canvas: Canvas, names: Iterable[str], lower: Any, upper: Any, colours: Sequence[str], letters: int = _NAME
) -> FloatArray:
    """Draw a line from limit to limit for each name, from the top; return the heights of these lines."""
    ax, labels = canvas.ax, [short_name(str(name), letters) for name in names]
    heights = np.arange(len(labels), dtype=np.float64)
    ax.hlines(heights, lower, upper, colors=colours, linewidth=1.1)
    ax.set_yticks(heights, labels=labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    return heights


class ForestDisplay(Display):
    """A number in each cluster, such as a hospital, as a forest plot.

    Parameters
    ----------
    between : BetweenClusters
        What to draw, such as ``calibrant.audit(...).heterogeneity.roc_auc``.
    most : int
        Clusters drawn: those with the most rows.
    name : str, optional
        Title.

    Attributes
    ----------
    points_ : matplotlib.collections.PathCollection
        The number in each cluster drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.metrics import cluster_heterogeneity
    >>> from calibrant.plots import ForestDisplay
    >>> y, p, ward = [0, 0, 0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 60, list("abcdef") * 40
    >>> between = cluster_heterogeneity(y, p, ward).observed_expected
    >>> display = ForestDisplay(between).plot(Figure().subplots())
    >>> sorted(display.to_frame("pandas")["cluster"])
    ['a', 'b', 'c', 'd', 'e', 'f']
    """

    result: BetweenClusters

    def __init__(self, between: BetweenClusters, *, most: int = 40, name: str | None = None) -> None:
        if not len(between.value):
            raise ArgumentError("a cluster with the measure", "none", "it needs 10 rows of either class in a cluster")
        super().__init__(between, name=name)
        largest = sorted(range(len(between.n)), key=lambda i: -between.n[i])[:most]
        self.places = sorted(largest, key=lambda i: -between.value[i])
        self.size = (5.4, 1.5 + 0.2 * len(self.places))

    def columns(self) -> dict[str, Any]:
        """Return the numbers of the clusters drawn, from the top."""
        return {name: values[self.places] for name, values in self.result.columns().items()}

    @property
    def description(self) -> str:
        """What is said of all clusters together."""
        return " ".join(self.result.sentences())

    def _sentences(self) -> Iterator[str]:
        yield (
            f"x-axis: {self.result.measure} in each cluster with its interval, cut at the frame. Below, the mean "
            "of clusters with its interval, and where a new cluster lies, about. Dashed: the ideal, or the mean."
        )
        if left := len(self.result.value) - len(self.places):
            yield f"{left} clusters with fewer rows are not drawn."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        between, ax, palette, shown = self.result, canvas.ax, canvas.palette, self.columns()
        mean, ideal = between.mean, _IDEAL.get(between.measure, between.mean.value)
        value = np.array([*shown["value"], mean.value])
        lower = np.array([*shown["lower"], mean.lower, between.prediction[0]])
        upper = np.array([*shown["upper"], mean.upper, between.prediction[1]])
        # Wide intervals are cut, so that a few small clusters do not take the picture.
        seen = np.array([*value, ideal, *lower[-2:], *upper[-2:], np.median(lower), np.median(upper)])
        low, high = np.min(seen[np.isfinite(seen)]), np.max(seen[np.isfinite(seen)])
        margin = 0.06 * (high - low) or 0.1
        colours = [palette.blue] * len(self.places) + [palette.orange] * 2
        starts, ends = np.clip([lower, upper], low - margin, high + margin)
        heights = draw_limits(canvas, [*shown["cluster"], "Mean", "New cluster"], starts, ends, colours, letters=24)
        manner: dict[str, Any] = {"c": colours[:-1], "s": 18, "zorder": 3} | keywords
        self.points_ = ax.scatter(np.clip(value, low - margin, high + margin), heights[:-1], **manner)
        ax.axvline(ideal, color=palette.ink, linestyle=(0, (5, 2)), linewidth=0.9)
        ax.set(xlim=(low - margin, high + margin), xlabel=between.measure)
        write_ticks(ax.xaxis)


class GradeDisplay(Display):
    """The PD, or predicted mean, of each rating grade, what was observed, and the limits of all true rates or means.

    Parameters
    ----------
    audit : GradeAudit
        What to draw.
    name : str, optional
        Title.

    Attributes
    ----------
    points_ : matplotlib.collections.PathCollection
        Observed rates.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import audit
    >>> from calibrant.plots import GradeDisplay
    >>> found = audit([0, 1] * 100, [0.1, 0.5] * 100, grade=["A", "B"] * 100)
    >>> display = GradeDisplay(found.grades).plot(Figure().subplots())
    >>> display.to_frame("pandas")["grade"].tolist()
    ['A', 'B']
    """

    result: GradeAudit

    def __init__(self, audit: GradeAudit, *, name: str | None = None) -> None:
        super().__init__(audit, name=name)
        self.size = (5.4, 1.4 + 0.24 * len(audit.grades["grade"]))

    @property
    def description(self) -> str:
        """Which grades are off."""
        return self.result.off_sentence()

    def _sentences(self) -> Iterator[str]:
        rate, predicted = self._words()
        yield (
            f"x-axis: {rate}. The point of a grade is that observed; the line through it are the limits of the true "
            f"one, which hold for all grades together; the upright stroke is the {predicted}. Orange: it is off. On a "
            "logarithmic axis 0 is at the left end."
        )

    def _words(self) -> tuple[str, str]:
        return ("default rate", "PD") if self.result.kind == "event" else ("mean", "prediction")

    def columns(self) -> dict[str, Any]:
        """Return the table of grades."""
        return self.result.grades

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, table, amounts = canvas.ax, canvas.palette, self.result.grades, self.result.kind == "amount"
        shown = np.array([table[column] for column in ("mean_predicted", "observed_rate", "lower", "upper")])
        points = shown[:2]
        most, least = float(points.max()), float(points.min(where=points > 0.0, initial=points.max()))
        right = 1.1 * float(shown.max(where=np.isfinite(shown), initial=most)) or 1.0
        shown = np.clip(shown, -2.0 * right, 2.0 * right)  # where there is no limit the line leaves the picture
        logarithmic = 0.0 < least < _SMALL * (most if amounts else 1.0) and float(points.min()) >= 0.0
        left = 0.5 * least if logarithmic else min(0.0, 1.1 * float(points.min()))
        pd, rate, lower, upper = np.maximum(shown, left)
        colours = [palette.orange if verdict else palette.blue for verdict in table["verdict"]]
        heights = draw_limits(canvas, table["grade"], lower, upper, colours)
        manner: dict[str, Any] = {"color": colours, "s": 24, "label": "Observed", "zorder": 3, "clip_on": False}
        self.points_ = ax.scatter(rate, heights, **(manner | keywords))
        stroke: dict[str, Any] = {"color": palette.ink, "markersize": 11, "markeredgewidth": 1.6, "clip_on": False}
        ax.plot(pd, heights, "|", label=self._words()[1], **stroke)
        ax.set(xscale="log" if logarithmic else "linear", xlim=(left, right))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.6g}" if amounts else f"{100.0 * value:.6g}%")
        ax.xaxis.set_minor_formatter("")
        ax.set_xlabel(self._words()[0].capitalize())
        canvas.legend(columns=3)


class _AuditDisplay(Display):
    """What pictures of an audit of segments have in common."""

    result: SegmentAudit
    places: list[int]  # of the segments drawn

    def columns(self) -> dict[str, Any]:
        """Return what the audit says of the segments drawn."""
        return {name: values[self.places] for name, values in self.result.columns().items()}


class SegmentDisplay(_AuditDisplay):
    """The calibration error of each segment with its bounds, which hold together.

    Parameters
    ----------
    audit : SegmentAudit
        What to draw.
    most : int
        Segments drawn: refuted ones first, then those with the highest lower bounds.
    name : str, optional
        Title.

    Attributes
    ----------
    points_ : list of matplotlib.lines.Line2D
        The error of each segment drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant import audit
    >>> from calibrant.plots import SegmentDisplay
    >>> by = {"sex": ["F", "M"] * 100}
    >>> display = SegmentDisplay(audit([0, 1] * 100, [0.5] * 200, by=by).segments).plot(Figure().subplots())
    >>> display.to_frame("pandas")["segment"].tolist()
    ['sex = F', 'sex = M']
    """

    def __init__(self, audit: SegmentAudit, *, most: int = _MOST, name: str | None = None) -> None:
        check_count("most", most, 1, "how many segments to draw")
        super().__init__(audit, name=name)
        self.places = notable(audit)[:most]
        self.size = (5.4, 1.2 + 0.2 * len(self.places))

    @property
    def description(self) -> str:
        """Which segments are shown."""
        shown = f"{rows(len(self.places))} of {rows(self.result.n_segments)} segments with their errors and bounds"
        return f"{shown}, the highest lower bounds first; {self.result.bound_text()}. The table has the numbers."

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: calibration error of a segment, with its lower and upper bound; all bounds hold together. Dotted: "
            "no segment listed is off by more."
        )
        if self.result.tolerance is not None:
            yield "Dashed: the tolerance. Certified segments lie left of it with their bounds, refuted ones right."
        left = self.result.n_segments - len(self.places)
        if left > 0:
            yield f"{left} further segments are in the table."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        audit, ax, palette = self.result, canvas.ax, canvas.palette
        colour = {"refuted": palette.orange, "certified": palette.blue}
        mark = {"refuted": "D", "certified": "o", "undecided": "s"}
        self.points_ = []
        # No upper bound is above that of all; where there is none, lines end at the edge.
        ends = np.array([audit.bound, audit.tolerance or 0.0, *audit.error, *audit.upper])
        most = 1.04 * max(float(ends[np.isfinite(ends)].max()), 1e-9)
        verdicts = [str(audit.verdicts[i]) for i in self.places]
        shades = [colour.get(verdict, palette.muted if verdict else palette.blue) for verdict in verdicts]
        upper = np.minimum(audit.upper[self.places], most)
        draw_limits(canvas, audit.segment[self.places], audit.lower[self.places], upper, shades)
        for height, (i, verdict, shade) in enumerate(zip(self.places, verdicts, shades, strict=True)):
            label = verdict.capitalize() if verdict and verdict not in verdicts[:height] else None
            manner: dict[str, Any] = {"color": shade, "marker": mark.get(verdict, "o"), "markersize": 4.5}
            manner |= {"linestyle": "none", "label": label} | keywords
            (point,) = ax.plot([audit.error[i]], [height], **manner)
            self.points_.append(point)
        if audit.tolerance is not None:
            ax.axvline(audit.tolerance, color=palette.ink, linestyle=(0, (5, 2)), linewidth=0.9, label="Tolerance")
        if audit.bound < math.inf:
            ax.axvline(audit.bound, color=palette.muted, linestyle=":", linewidth=1.1, label="Bound for all")
        ax.set_xlim(0.0, most)
        write_ticks(ax.xaxis)
        ax.locator_params(axis="x", nbins=4)  # long names leave little of the width
        error = f"Calibration error, {audit.unit}" if audit.unit else "Calibration error"
        ax.set_xlabel(error + ("" if audit.errors == "either" else f", predictions {audit.errors}"))
        canvas.legend(columns=4, height=1.0)


class SegmentMapDisplay(_AuditDisplay):
    """The calibration errors of the segments of two columns as a map: the levels of one by those of the other.

    Parameters
    ----------
    audit : SegmentAudit
        Made with ``depth=2``.
    columns : pair of str, optional
        Which columns; by default those of the segment with the highest lower bound, or upper bound if there is none.
    name : str, optional
        Title.

    Attributes
    ----------
    image_ : matplotlib.collections.QuadMesh
        The map. Segments with too few rows are left empty.

    Raises
    ------
    ArgumentError
        If the audit has no segments of these two columns.

    Examples
    --------
    >>> from calibrant import audit
    >>> from calibrant.plots import SegmentMapDisplay
    >>> by = {"sex": ["F", "M"] * 200, "town": ["a"] * 200 + ["b"] * 200}
    >>> SegmentMapDisplay(audit([0, 1] * 200, [0.5] * 400, by=by, depth=2).segments).pair
    ('sex', 'town')
    """

    def __init__(self, audit: SegmentAudit, *, columns: tuple[str, str] | None = None, name: str | None = None) -> None:
        there = pairs_of(audit)
        if not there:
            raise ArgumentError("an audit of pairs of columns", "one of single columns", "audit with `depth=2`")
        if columns is not None and tuple(columns) not in there:
            listed = ", ".join(map(str, there))
            raise ArgumentError(f"one of the pairs {listed}", repr(columns), "name two columns in this order")
        super().__init__(audit, name=name)
        self.pair = tuple(columns) if columns is not None else there[0]
        self.places = [i for i, names in enumerate(audit.columns_of) if names == self.pair]
        self.down, self.across = (self._levels(name, side) for side, name in enumerate(self.pair))
        # The longer side downwards, where names take less space.
        self.turned = len(self.across) > len(self.down)
        if self.turned:
            self.down, self.across = self.across, self.down
        # Not narrower than other pictures: a page that gives all the same width would magnify its text.
        width = max(5.4, 2.4 + 0.42 * len(self.across))
        self.size = (width, 1.2 + 0.28 * len(self.down) + 0.05 * max(map(len, self.across)))

    @property
    def description(self) -> str:
        """Which columns the map has."""
        return f"Calibration errors by {self.pair[0]} and {self.pair[1]}. The table has the numbers."

    def _levels(self, name: str, side: int) -> list[str]:
        """Levels of one of the two columns that are in the map, in the order of its own segments."""
        audit = self.result
        used = dict.fromkeys(audit.levels[i][side] for i in self.places)
        own = [levels[0] for names, levels in zip(audit.columns_of, audit.levels, strict=True) if names == (name,)]
        return [level for level in own if level in used] + [level for level in used if level not in own]

    def _sentences(self) -> Iterator[str]:
        yield (
            "Calibration error of each pair of levels, in percentage points: the bluer, the larger. + predictions "
            "too low, \N{MINUS SIGN} too high. Framed: with a lower bound above "
            + ("0." if self.result.tolerance is None else "the tolerance: refuted.")
        )
        yield "Empty: too few rows to be judged."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgba
        from matplotlib.patches import Rectangle

        audit, ax, palette = self.result, canvas.ax, canvas.palette
        errors = np.full((len(self.down), len(self.across)), np.nan)
        # One colour, as light as the words on it need: pages have its counterpart for dark grounds.
        shades = LinearSegmentedColormap.from_list("errors", [to_rgba(palette.blue, a) for a in (0.04, 0.5)])
        written = len(self.across) <= _WRITTEN
        top = max(float(audit.error[self.places].max()), 1e-9)
        decimals = max(0, 1 - math.floor(math.log10(100.0 * top)))  # two significant digits of the largest
        for i in self.places:
            down, across = audit.levels[i][::-1] if self.turned else audit.levels[i]
            y, x = self.down.index(down), self.across.index(across)
            errors[y, x] = audit.error[i]
            if audit.lower[i] > (audit.tolerance or 0.0):
                ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=palette.orange, lw=1.6))
            if written:
                sign = {"too low": "+", "too high": "\N{MINUS SIGN}"}.get(str(audit.direction[i]), "")
                text = f"{sign}{100.0 * audit.error[i]:.{decimals}f}"
                ax.text(x, y, text, ha="center", va="center", fontsize=8.5, color=palette.ink)
        manner: dict[str, Any] = {
            "cmap": shades,
            "vmin": 0.0,
            "vmax": top,
            "edgecolors": palette.ground,
            "linewidth": 1.0,
        }
        edges = (np.arange(n + 1) - 0.5 for n in errors.shape[::-1])
        self.image_ = ax.pcolormesh(*edges, errors, **(manner | keywords))
        ax.invert_yaxis()
        columns, lines = ([short_name(level, _NAME) for level in levels] for levels in (self.across, self.down))
        ax.set_xticks(range(len(columns)), labels=columns, rotation=90, parse_math=False)
        ax.set_yticks(range(len(lines)), labels=lines, parse_math=False)
        down, across = self.pair[::-1] if self.turned else self.pair
        ax.set_xlabel(visible(across), parse_math=False)
        ax.set_ylabel(visible(down), parse_math=False)


def pairs_of(audit: SegmentAudit) -> list[tuple[str, str]]:
    """Pairs of columns of an audit, that of the most notable segment first."""
    pairs = [audit.columns_of[i] for i in notable(audit) if len(audit.columns_of[i]) == 2]
    return [(first, second) for first, second in dict.fromkeys(pairs)]
