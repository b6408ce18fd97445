"""Where a picture is drawn: on axes of the user, or on a new figure; and the scales and ticks of these axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.errors import ArgumentError, need_package
from calibrant.plots.style import Palette, drawing_style, ground_of, palette_on
from calibrant.printable import visible
from calibrant.table.bins import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

# Marks the artist that stands for a model, so that the next one on the same axes takes another colour.
_MARK = "calibrant-series"


Inches = tuple[float, float]  # width and height of a figure

_MOST_DECIMAL = 1e15  # larger numbers at ticks have a power of ten
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

# In points, around a figure for a page: the edge, a line of labels or of ticks with their distances, a letter of
# ticks, and what is between panels.
_EDGE, _LABEL, _TICKS, _LETTER, _BETWEEN = 4.5, 15.0, 16.0, 5.4, 25.0


class Canvas(NamedTuple):
    """Axes to draw on: `beneath` is for the distribution of the scores, if there is space for it below.

    `own` says whether the figure was made for this picture, so that its margins may be used. The palette suits the
    ground.
    """

    ax: Axes
    beneath: Axes | None
    own: bool
    palette: Palette

    @property
    def series(self) -> int:
        """Number of models drawn here before."""
        return sum(line.get_gid() == _MARK for line in self.ax.lines)

    def colour(self) -> str:
        """Colour of the next model drawn here."""
        return self.palette.series[self.series % len(self.palette.series)]

    def dash(self) -> Any:
        """Dashes of the next model's line, which tell models apart without colours."""
        return _DASHES[self.series % len(_DASHES)]

    def mark(self, line: Line2D) -> None:
        """Let a line stand for a model."""
        line.set_gid(_MARK)

    def dashed(self, label: str) -> dict[str, Any]:
        """How a line is drawn that others are compared with."""
        return {"color": self.palette.muted, "linewidth": 1.0, "linestyle": (0, (4, 3)), "label": label}

    def frame(
        self, view: View, heights: tuple[float, float], labels: tuple[str, str], *, first: bool | None = None
    ) -> None:
        """Set limits, ticks and labels of a curve over a view; what was drawn before stays in view.

        `first` says whether nothing was, where the curve itself is marked already.
        """
        ax, (left, right), (bottom, top) = self.ax, view[:2], heights
        if self.series == 0 if first is None else first:
            set_scale(ax, view, "x")
        else:
            left, right = min(left, ax.get_xlim()[0]), max(right, ax.get_xlim()[1])
            bottom, top = min(bottom, ax.get_ylim()[0]), max(top, ax.get_ylim()[1])
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=labels[0] + view.remark, ylabel=labels[1])
        write_ticks(ax.xaxis, view)
        write_ticks(ax.yaxis)

    def title(self, name: str | None) -> None:
        """Write the name above a picture that has a figure to itself."""
        if self.own and name is not None:
            # Names come from the user: a dollar sign is a dollar sign, not mathematics.
            corner = {"x": 0.012, "ha": "left", "fontsize": 11, "fontweight": "bold"}
            self.ax.figure.canvas.figure.suptitle(_shortened(name, 50), parse_math=False, **corner)

    def label(self, what: str, name: str | None) -> str:
        """Say what is drawn; on axes that other models may share, say whose it is."""
        return what if self.own or name is None else _shortened(name, 28)

    def legend(self, *, height: float = 1.0, columns: int = 2, strip: float = 0.0) -> None:
        """Write the legend: above the axes of an own figure, where it hides nothing, otherwise inside the axes.

        Above axes it starts at `height`, in heights of them. Inside, it leaves the share `strip` of their height, from
        below, free.
        """
        handles, _ = self.ax.get_legend_handles_labels()
        if not handles:
            return
        models = [handle for handle in handles if _is_marked(handle)]
        handles = models + [handle for handle in handles if handle not in models][::-1]
        manner: dict[str, Any] = {"handles": handles, "labelcolor": self.palette.ink}
        if self.own:
            # From the left of the axis labels, since its labels are long.
            manner |= {"loc": "lower left", "bbox_to_anchor": (-0.15, height), "borderaxespad": 0.2}
        else:
            manner |= {"loc": "best", "bbox_to_anchor": (0.0, strip, 1.0, 1.0 - strip), "borderaxespad": 0.3}
            manner |= {"frameon": True, "facecolor": ground_of(self.ax), "edgecolor": "none", "framealpha": 0.7}
            manner |= {"fontsize": 7.5, "labelspacing": 0.3}
        for number in (columns, 1):  # one column where the legend would be wider than the figure
            legend = self.ax.legend(**manner, ncols=number if self.own else 1)
            for text in legend.get_texts():
                text.set(parse_math=False, text=visible(text.get_text()))
            if not self.own or legend.get_window_extent().width < 0.95 * self.ax.figure.bbox.width:
                break


@contextmanager
def prepare_canvas(ax: Axes | None, size: Inches, *, beneath: bool = False) -> Iterator[Canvas]:
    """Provide axes within calibrant's style: those of the user, or a new figure of so many inches.

    Axes of the user get the colour of their figure as ground and small type, so that the words fit; their frame and its
    colours stay. None makes a figure of pyplot with the user's ground, so that notebooks and ``pyplot.show`` show it,
    with a second panel if `beneath`.
    """
    need_package("matplotlib", "calibrant[report]")
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt
        from matplotlib import rcParams

        ground = rcParams["figure.facecolor"]
        palette = palette_on(ground)
        # Chooses the backend if that is open. A notebook turns on that figures are shown then; were it inside a style,
        # leaving the style would turn it off again.
        plt.draw_if_interactive()  # type: ignore[no-untyped-call]
        with drawing_style(palette), pyplot_figure(size, ground) as figure:
            canvas = Canvas(*panels(figure, beneath=beneath), own=True, palette=palette)
            # Set now, since matplotlib sets the style of ticks when they are first shown: in the user's settings again.
            for panel in figure.axes:
                panel.tick_params(which="both", labelsize=8.5, color=palette.rule, labelcolor=palette.muted)
            yield canvas
    elif isinstance(ax, Axes):
        palette = palette_on(ground_of(ax))
        with drawing_style(palette):
            ax.set_facecolor(ground_of(ax))
            ax.tick_params(labelsize=8.5)
            for label in (ax.xaxis.label, ax.yaxis.label):
                label.set_fontsize(9.5)
            yield Canvas(ax, None, own=False, palette=palette)
    else:
        raise ArgumentError("ax to be matplotlib axes", f"a {type(ax).__name__}", "pass one of plt.subplots()'s axes")


@contextmanager
def pyplot_figure(size: Inches, ground: Any) -> Iterator[Figure]:
    """Make a figure of pyplot, of so many inches. If drawing fails it is closed: pyplot would show it, half drawn."""
    need_package("matplotlib", "calibrant[report]")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=size, facecolor=ground, layout="constrained")
    try:
        yield figure
    except Exception:
        plt.close(figure)
        raise


def panels(figure: FigureBase, *, beneath: bool) -> tuple[Axes, Axes | None]:
    """Make the axes of a picture on a figure, with a lower panel for the distribution of the scores if `beneath`."""
    if not beneath:
        return figure.subplots(), None
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.8, 1.0])
    return upper, lower


def _shortened(name: str, most: int) -> str:
    name = visible(name)
    return shorten(name, most, placeholder=" ...") if len(name.split()) > 1 else name[:most]


def _is_marked(handle: Any) -> bool:
    """Whether an entry of the legend stands for a model; points with intervals are a container of their points."""
    artist = handle[0] if isinstance(handle, tuple) else handle
    return bool(artist.get_gid() == _MARK)


def tick_places(low: float, high: float, view: View) -> list[float]:
    """Round numbers between two limits, on the axis of a view."""
    if view.square_root:
        return _spread_out(low, high)
    slack = 1e-9 * (high - low)
    ticks = _locator().tick_values(low, high)
    return [float(tick) for tick in ticks if low - slack <= tick <= high + slack]


def write_ticks(axis: Axis, view: View | None = None) -> None:
    """Write few ticks, as plain decimals without an offset; where a view has a square-root axis, for its limits now."""
    from matplotlib.ticker import FuncFormatter

    if view is not None and view.square_root:
        axis.set_ticks(_spread_out(*axis.get_view_interval()))
    else:
        axis.set_major_locator(_locator())
    axis.set_major_formatter(FuncFormatter(_decimal))


def set_scale(ax: Axes, view: View, axes: str = "xy") -> None:
    """Give axes the scale of a view."""
    if view.square_root:
        for axis in axes:
            set_ = ax.set_xscale if axis == "x" else ax.set_yscale
            set_("function", functions=(view.to_axis, view.from_axis))


def _spread_out(low: float, high: float) -> list[float]:
    """0, and 1, 2 or 5 times powers of ten, as far apart on a square-root axis as their labels need."""
    gap, above = 0.13 * math.sqrt(high), math.inf
    ticks: list[float] = []
    for power in range(math.floor(math.log10(high)), -9, -1):
        for step in (5, 2, 1):
            at = math.sqrt(value := step * 10.0**power)
            if low <= value <= high and gap <= min(at, above - at):
                ticks, above = [value, *ticks], at
    return [0.0, *ticks] if low <= 0.0 else ticks


def _locator() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])


def _decimal(value: float, _: int | None = None) -> str:
    if abs(value) >= _MOST_DECIMAL:
        return f"{value:g}".replace("-", "\N{MINUS SIGN}")
    return np.format_float_positional(round(value, 12) + 0.0, trim="-").replace("-", "\N{MINUS SIGN}")


def set_margins(figure: Figure, above: float, beside: float) -> None:
    """Leave as much around the axes of a figure as ticks, labels and legend take.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With axes, or two above each other; with labels at the left and at the bottom, and a legend above or none.
    above, beside : float
        Points that other marks take over the axes, and at their right.
    """
    width, height = 72.0 * figure.get_size_inches()
    axes, legend = figure.axes, figure.axes[0].get_legend()
    left = _EDGE + _LABEL + 8.0 + _LETTER * max(len(label) for ax in axes for _, label in _tick_labels(ax.yaxis))
    *_, (last, label) = _tick_labels(axes[-1].xaxis)
    right = _EDGE + max(beside, 0.5 * _LETTER * len(label) - (1.0 - last) * (width - left))
    top = _EDGE + above + (0.0 if legend is None else 2.0 + 72.0 / figure.dpi * legend.get_window_extent().height)
    bottom = _EDGE + _LABEL + _TICKS
    share = _BETWEEN / (height - top - bottom)
    figure.subplots_adjust(
        left / width, bottom / height, 1.0 - right / width, 1.0 - top / height, hspace=2.0 * share / (1.0 - share)
    )
    if legend is not None:
        over = axes[0].get_position().height * height
        legend.set_bbox_to_anchor(((_EDGE - left) / (width - left - right), 1.0 + above / over), axes[0].transAxes)


def _tick_labels(axis: Axis) -> list[tuple[float, str]]:
    """Labels of the ticks in view, with their places as shares of the axis."""
    places = axis.get_majorticklocs()
    labels = axis.get_major_formatter().format_ticks(places.tolist())
    low, high = axis.get_transform().transform(axis.get_view_interval())
    shares = (axis.get_transform().transform(places) - low) / (high - low)
    return [
        (share, label) for share, label in zip(shares.tolist(), labels, strict=True) if -1e-9 <= share <= 1.0 + 1e-9
    ]


def tell_texts(drawn: Figure | Axes, told: Callable[[str], str]) -> None:
    """Write all texts of a figure, or on axes, in words that `told` changes, those of ticks too."""
    if told is str:
        return
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for axis in drawn.findobj(Axis):
        if isinstance(axis.get_major_locator(), FixedLocator):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            if (words := [*map(told, labels)]) != labels:
                axis.set_ticklabels(words, parse_math=False)
    for text in drawn.findobj(Text):
        if (written := told(text.get_text())) != text.get_text():
            text.set(text=written, parse_math=False)
