"""Errors of segments with their bounds, and of pairs of columns as a map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.auditing.segment_audit import SegmentAudit, audit_segments, notable
from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas, write_ticks
from calibrant.plots.display import Display
from calibrant.printable import visible
from calibrant.table.parameters import check_count
from calibrant.table.shown import short_name

_MOST = 30  # segments drawn
_NAME = 38  # letters of a name
_WRITTEN = 12  # columns of a map up to which errors are written into it


class _AuditDisplay(Display):
    """What pictures of an audit of segments have in common."""

    places: list[int]  # of the segments drawn
    _depth = 1

    def __init__(self, audit: SegmentAudit, *, name: str | None = None) -> None:
        self.audit, self.name = audit, name

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: npt.ArrayLike | None = None,
        *,
        by: Any = None,
        depth: int | None = None,
        tolerance: float | None = None,
        sample_weight: None = None,
        pos_label: Any = None,
        **keywords: Any,
    ) -> Self:
        """Audit segments and draw them; parameters are those of `calibrant.audit_segments`.

        Parameters
        ----------
        by : mapping of str to array-like
            Columns that make segments.
        depth : {1, 2}, optional
            As there; by default 1, of a map 2.
        tolerance
            As there.
        sample_weight : None
            Weights are not supported.
        """
        if sample_weight is not None:
            raise ArgumentError("rows without weights", "`sample_weight`", "leave it out: segments count rows")
        depth = cls._depth if depth is None else depth
        audit = audit_segments(y_true, y_proba, by=by, depth=depth, tolerance=tolerance, pos_label=pos_label)
        return cls(audit)._drawn(**keywords)

    def columns(self) -> dict[str, Any]:
        """Return what the audit says of the segments drawn."""
        return {name: values[self.places] for name, values in self.audit.columns().items()}


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
    >>> from calibrant.plots import SegmentDisplay
    >>> by = {"sex": ["F", "M"] * 100}
    >>> display = SegmentDisplay.from_predictions([0, 1] * 100, [0.5] * 200, by=by, ax=Figure().subplots())
    >>> display.to_frame("pandas")["segment"].tolist()
    ['sex = F', 'sex = M']
    """

    def __init__(self, audit: SegmentAudit, *, most: int = _MOST, name: str | None = None) -> None:
        check_count("most", most, 1, "how many segments to draw")
        super().__init__(audit, name=name)
        self.places = notable(audit)[:most]
        self.size = (5.4, 1.2 + 0.2 * len(self.places))

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: calibration error of a segment, with its lower and upper bound; all bounds hold together. Dotted: "
            "no segment listed is off by more."
        )
        if self.audit.tolerance is not None:
            yield "Dashed: the tolerance. Certified segments lie left of it with their bounds, refuted ones right."
        left = self.audit.n_segments - len(self.places)
        if left > 0:
            yield f"{left} further segments are in the table."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        audit, ax, palette = self.audit, canvas.ax, canvas.palette
        colour = {"refuted": palette.orange, "certified": palette.blue}
        mark = {"refuted": "D", "certified": "o", "undecided": "s"}
        self.points_ = []
        # No upper bound is above that of all; where there is none, lines end at the edge.
        ends = np.array([audit.bound, audit.tolerance or 0.0, *audit.error, *audit.upper])
        most = 1.04 * max(float(ends[np.isfinite(ends)].max()), 1e-9)
        verdicts = [str(audit.verdicts[i]) for i in self.places]
        for height, (i, verdict) in enumerate(zip(self.places, verdicts, strict=True)):
            shade = colour.get(verdict, palette.muted if verdict else palette.blue)
            label = verdict.capitalize() if verdict and verdict not in verdicts[:height] else None
            bounds = [audit.lower[i], min(audit.upper[i], most)]
            ax.plot(bounds, [height, height], color=shade, linewidth=1.1, solid_capstyle="butt")
            manner: dict[str, Any] = {"color": shade, "marker": mark.get(verdict, "o"), "markersize": 4.5}
            manner |= {"linestyle": "none", "label": label} | keywords
            (point,) = ax.plot([audit.error[i]], [height], **manner)
            self.points_.append(point)
        if audit.tolerance is not None:
            ax.axvline(audit.tolerance, color=palette.ink, linestyle=(0, (5, 2)), linewidth=0.9, label="Tolerance")
        if audit.bound < math.inf:
            ax.axvline(audit.bound, color=palette.muted, linestyle=":", linewidth=1.1, label="Bound for all")
        names = [short_name(str(audit.segment[i]), _NAME) for i in self.places]
        ax.set_yticks(range(len(names)), labels=names, parse_math=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
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
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import SegmentMapDisplay
    >>> by = {"sex": ["F", "M"] * 200, "town": ["a"] * 200 + ["b"] * 200}
    >>> display = SegmentMapDisplay.from_predictions([0, 1] * 200, [0.5] * 400, by=by, ax=Figure().subplots())
    >>> display.pair
    ('sex', 'town')
    """

    _depth = 2

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

    def _levels(self, name: str, side: int) -> list[str]:
        """Levels of one of the two columns that are in the map, in the order of its own segments."""
        audit = self.audit
        used = dict.fromkeys(audit.levels[i][side] for i in self.places)
        own = [levels[0] for names, levels in zip(audit.columns_of, audit.levels, strict=True) if names == (name,)]
        return [level for level in own if level in used] + [level for level in used if level not in own]

    def _sentences(self) -> Iterator[str]:
        yield (
            "Calibration error of each pair of levels, in percentage points: the bluer, the larger. + predictions "
            "too low, \N{MINUS SIGN} too high. Framed: with a lower bound above "
            + ("0." if self.audit.tolerance is None else "the tolerance: refuted.")
        )
        yield "Empty: too few rows to be judged."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgba
        from matplotlib.patches import Rectangle

        audit, ax, palette = self.audit, canvas.ax, canvas.palette
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
