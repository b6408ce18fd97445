"""Differences between models with their intervals, one panel for each measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

from calibrant.comparing.compare import compare
from calibrant.comparing.losses import MEASURES
from calibrant.comparing.results import ComparisonFindings, MeasureDifference
from calibrant.comparing.wording import difference, interval, verdict
from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import ModelsDisplay
from calibrant.plots.readings import Reading
from calibrant.plots.style import Palette, write_ticks
from calibrant.table.numbers import confidence
from calibrant.table.shown import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL, _ROW, _MARGIN = 0.56, 0.18, 0.5  # inches: a panel without rows, a row, and what is left above and below
_LETTER, _MOST_LETTERS = 0.065, 26  # inches of a letter; with longer names panels stand one below the other
_LONGEST = 20  # letters of a name


class DifferenceDisplay(ModelsDisplay):
    """Differences between models on the same rows, with intervals that hold together.

    Parameters
    ----------
    comparison : ComparisonFindings
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
    >>> from calibrant.plots import DifferenceDisplay
    >>> y, scores = [0, 1, 0, 1], {"old": [0.3, 0.4, 0.5, 0.6], "new": [0.1, 0.8, 0.2, 0.9]}
    >>> display = DifferenceDisplay.from_predictions(y, scores, ax=Figure().subplots())
    >>> display.to_frame("pandas")["measure"].tolist()
    ['calibration_error', 'brier_score', 'log_loss', 'roc_auc']
    """

    def __init__(self, comparison: ComparisonFindings, *, name: str | None = None) -> None:
        self.comparison, self.name = comparison, name
        self._pairs = len(comparison.differences) // len(comparison.measures)
        # Letters in front of a panel, where there are several pairs.
        labels = map(_label, comparison.differences)
        self._letters = max(map(len, labels)) if self._pairs > 1 else 0
        self._columns = 2 if self._letters <= _MOST_LETTERS else 1
        rows = -(-len(comparison.measures) // self._columns)
        self.size = (7.6, _MARGIN + rows * (_PANEL + _ROW * self._pairs))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Mapping[str, npt.ArrayLike] | None = None,
        *,
        costs: Any = None,
        clusters: Any = None,
        guarantee: Guarantee = "ordinary",
        confidence_level: float = 0.95,
        sample_weight: Any = None,
        pos_label: Any = None,
        **keywords: Any,
    ) -> Self:
        """Compare models, and draw the differences; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        y_proba : mapping of str to array-like
            Predicted probabilities of the positive class, in [0, 1], by the name of the model.
        costs, clusters, guarantee, confidence_level
            As in `calibrant.compare`.
        sample_weight : None
            A comparison takes no weights.
        """
        if sample_weight is not None:
            raise ArgumentError("no `sample_weight`", "weights", "repeat rows that stand for several")
        asked = {"costs": costs, "clusters": clusters, "pos_label": pos_label}
        comparison = compare(y_true, y_proba, guarantee=guarantee, confidence_level=confidence_level, **asked)
        return cls(comparison)._drawn(**keywords)

    def _sentences(self) -> Iterator[str]:
        sure = confidence(self.comparison.confidence_level)
        yield (
            "Each point is a measure of the second model less that of the first, each line its interval; all "
            f"intervals hold together with {sure} confidence. On the shaded side of 0 the second model is better. "
            "Where a line does not reach 0, which a filled point says, one model is better beyond chance: the second "
            "if the line is blue, the first if it is orange."
        )

    def columns(self) -> dict[str, Any]:
        """Return the differences, one entry per measure and pair."""
        return self.comparison.columns()

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        canvas.ax.set_axis_off()
        measures, columns = self.comparison.measures, self._columns
        rows = -(-len(measures) // columns)
        self.axes_ = []
        for i, key in enumerate(measures):
            row, column = i % rows, i // rows
            # Panels in the area of the axes given, with space for their headings, ticks and names.
            height, width = 1.0 / rows, 1.0 / columns
            inches = _PANEL + _ROW * self._pairs
            names = self._letters * _LETTER / (self.size[0] / columns) * width
            low, high = 0.22 / inches, 0.24 / inches
            box = (column * width + 0.02 + names, 1.0 - (row + 1 - low) * height, width - 0.05 - names)
            panel = canvas.ax.inset_axes((*box, (1.0 - low - high) * height))
            self._draw_panel(canvas, panel, key, **keywords)
            self.axes_.append(panel)

    def _draw_panel(self, canvas: Canvas, ax: Axes, key: str, **keywords: Any) -> None:
        palette, differences = canvas.palette, [one for one in self.comparison.differences if one.measure == key]
        ends = [end for one in differences for end in (one.lower, one.upper, one.value, 0.0) if abs(end) < 2.0e300]
        low, high = min(ends), max(ends)
        reach = (high - low) or 1.0
        low, high = low - 0.06 * reach, high + 0.06 * reach
        better = (0.0, high) if MEASURES[key].larger_is_better else (low, 0.0)
        ax.axvspan(*better, color=palette.band, linewidth=0)
        ax.axvline(0.0, color=palette.muted, linewidth=0.8)
        for height, one in enumerate(differences):
            drawn: dict[str, Any] = {"color": self._colour(one, palette), "linewidth": 1.6} | keywords
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
        ax.set_yticks(range(len(differences)) if many else [], labels if many else [], parse_math=False)
        ax.tick_params(labelsize=7.5, color=palette.rule, labelcolor=palette.muted)
        ax.spines[["left", "top", "right"]].set_visible(False)
        write_ticks(ax.xaxis)
        heading = MEASURES[key].name if many else f"{MEASURES[key].name}: {labels[0]}"
        ax.set_title(heading, loc="left", fontsize=8.5, color=palette.ink, parse_math=False, pad=3)

    def _colour(self, one: MeasureDifference, palette: Palette) -> str:
        return str({one.second: palette.blue, one.first: palette.orange}.get(one.better or "", palette.muted))

    def readings(self) -> Iterator[Reading]:
        """Give every difference in words."""
        for ax, key in zip(self.axes_, self.comparison.measures, strict=True):
            differences = [one for one in self.comparison.differences if one.measure == key]
            text = "; ".join(
                f"{one.second} \N{MINUS SIGN} {one.first}: {difference(one)} ({interval(one)}), {verdict(one)}"
                for one in differences
            )
            yield Reading(ax, *ax.get_xlim(), text)


def _label(one: MeasureDifference) -> str:
    first, second = (short_name(name, _LONGEST) for name in (one.first, one.second))
    return f"{second} \N{MINUS SIGN} {first}"
