"""A number in each cluster with its interval, their mean, and where a new cluster lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.metrics import BetweenClusters, cluster_heterogeneity
from calibrant.plots.canvas import Canvas, write_ticks
from calibrant.plots.display import Display
from calibrant.table.parameters import check_choice
from calibrant.table.shown import short_name

_NAME = 24  # letters of a name
_IDEAL = {"O:E": 1.0, "Calibration slope": 1.0, "Calibration intercept": 0.0}


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
    >>> from calibrant.plots import ForestDisplay
    >>> y, p, ward = [0, 0, 0, 1] * 60, [0.1, 0.2, 0.3, 0.4] * 60, list("abcdef") * 40
    >>> display = ForestDisplay.from_predictions(y, p, clusters=ward, ax=Figure().subplots())
    >>> sorted(display.to_frame("pandas")["cluster"])
    ['a', 'b', 'c', 'd', 'e', 'f']
    """

    def __init__(self, between: BetweenClusters, *, most: int = 40, name: str | None = None) -> None:
        if not len(between.value):
            raise ArgumentError("a cluster with the measure", "none", "it needs 10 rows of either class in a cluster")
        self.between, self.name = between, name
        largest = sorted(range(len(between.n)), key=lambda i: -between.n[i])[:most]
        self.places = sorted(largest, key=lambda i: -between.value[i])
        self.size = (5.4, 1.5 + 0.2 * len(self.places))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any = None,
        *,
        clusters: Any = None,
        measure: str = "observed_expected",
        sample_weight: None = None,
        pos_label: Any = None,
        **keywords: Any,
    ) -> Self:
        """Compare clusters and draw them, see `calibrant.metrics.cluster_heterogeneity`.

        Parameters
        ----------
        clusters : sequence of length n
            The cluster of each row.
        measure : {"observed_expected", "calibration_intercept", "calibration_slope", "roc_auc"}
            What is drawn.
        sample_weight : None
            Rows are counted.
        """
        if sample_weight is not None:
            raise ArgumentError("no `sample_weight`", "weights", "repeat rows that stand for several")
        measures = cluster_heterogeneity(y_true, y_proba, clusters, pos_label=pos_label)
        return cls(vars(measures)[check_choice("measure", measure, tuple(vars(measures)))])._drawn(**keywords)

    def columns(self) -> dict[str, Any]:
        """Return the numbers of the clusters drawn, from the top."""
        return {name: values[self.places] for name, values in self.between.columns().items()}

    def _sentences(self) -> Iterator[str]:
        yield (
            f"x-axis: {self.between.measure} in each cluster with its interval, cut at the frame. Below, the mean "
            "of clusters with its interval, and where a new cluster lies, about. Dashed: the ideal, or the mean."
        )
        if left := len(self.between.value) - len(self.places):
            yield f"{left} clusters with fewer rows are not drawn."

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        between, ax, palette, shown = self.between, canvas.ax, canvas.palette, self.columns()
        mean, ideal = between.mean, _IDEAL.get(between.measure, between.mean.value)
        value = np.array([*shown["value"], mean.value])
        lower = np.array([*shown["lower"], mean.lower, between.prediction[0]])
        upper = np.array([*shown["upper"], mean.upper, between.prediction[1]])
        # Wide intervals are cut, so that a few small clusters do not take the picture.
        seen = np.array([*value, ideal, *lower[-2:], *upper[-2:], np.median(lower), np.median(upper)])
        low, high = np.min(seen[np.isfinite(seen)]), np.max(seen[np.isfinite(seen)])
        margin, heights = 0.06 * (high - low) or 0.1, np.arange(len(value) + 1)
        colours = [palette.blue] * len(self.places) + [palette.orange] * 2
        starts, ends = np.clip([lower, upper], low - margin, high + margin)
        ax.hlines(heights, starts, ends, colors=colours, linewidth=1.2)
        manner: dict[str, Any] = {"c": colours[:-1], "s": 18, "zorder": 3} | keywords
        self.points_ = ax.scatter(np.clip(value, low - margin, high + margin), heights[:-1], **manner)
        ax.axvline(ideal, color=palette.ink, linestyle=(0, (5, 2)), linewidth=0.9)
        names = [short_name(str(one), _NAME) for one in shown["cluster"]]
        ax.set_yticks(heights, labels=[*names, "Mean", "New cluster"], parse_math=False)
        ax.set(ylim=(heights[-1] + 0.6, -0.6), xlim=(low - margin, high + margin), xlabel=between.measure)
        write_ticks(ax.xaxis)
