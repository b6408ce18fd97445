"""Predicted and observed default rates of rating grades, with limits that hold together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from calibrant.auditing.grades import GradeAudit, audit_grades
from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display
from calibrant.table.shown import short_name

_NAME, _SMALL = 38, 0.05  # letters of a name; a rate below which the axis is logarithmic


class GradeDisplay(Display):
    """The PD of each rating grade, its observed default rate, and the limits of all default rates.

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
    >>> from calibrant.plots import GradeDisplay
    >>> grade, ax = ["A", "B"] * 100, Figure().subplots()
    >>> display = GradeDisplay.from_predictions([0, 1] * 100, [0.1, 0.5] * 100, grade=grade, ax=ax)
    >>> display.to_frame("pandas")["grade"].tolist()
    ['A', 'B']
    """

    def __init__(self, audit: GradeAudit, *, name: str | None = None) -> None:
        self.audit, self.name, self.size = audit, name, (5.4, 1.4 + 0.24 * len(audit.grades["grade"]))

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any = None, *, grade: Any = None, sample_weight: Any = None, **keywords: Any
    ) -> Self:
        """Audit grades and draw them.

        Parameters
        ----------
        grade
            As in `calibrant.audit_grades`.
        sample_weight : None
            Weights are not supported.
        """
        if sample_weight is not None:
            raise ArgumentError("rows without weights", "`sample_weight`", "leave it out: grades count obligors")
        return cls(audit_grades(y_true, y_proba, grade, pos_label=keywords.pop("pos_label", None)))._drawn(**keywords)

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: default rate. The point of a grade is its observed rate; the line through it are the limits of "
            "its true rate, which hold for all grades together; the upright stroke is its PD. Orange: the PD is off. "
            "On a logarithmic axis 0 is at the left end."
        )

    def columns(self) -> dict[str, Any]:
        """Return the table of grades."""
        return self.audit.grades

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, palette, table = canvas.ax, canvas.palette, self.audit.grades
        shown = np.array([table[column] for column in ("mean_predicted", "observed_rate", "lower", "upper")])
        least = float(shown[:2].min(where=shown[:2] > 0.0, initial=1.0))
        left = 0.5 * least if least < _SMALL else 0.0
        pd, rate, lower, upper = np.maximum(shown, left)
        heights = np.arange(len(pd))
        colours = [palette.orange if verdict else palette.blue for verdict in table["verdict"]]
        ax.hlines(heights, lower, upper, colors=colours, linewidth=1.1)
        manner: dict[str, Any] = {"color": colours, "s": 24, "label": "Observed", "zorder": 3, "clip_on": False}
        self.points_ = ax.scatter(rate, heights, **(manner | keywords))
        ax.plot(pd, heights, "|", color=palette.ink, markersize=11, markeredgewidth=1.6, clip_on=False, label="PD")
        ax.set(xscale="log" if left else "linear", xlim=(left, 1.1 * float(upper.max())), ylim=(len(pd) - 0.4, -0.6))
        ax.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.6g}%")
        ax.xaxis.set_minor_formatter("")
        ax.set_yticks(heights, labels=[short_name(grade, _NAME) for grade in table["grade"]], parse_math=False)
        ax.set_xlabel("Default rate")
        canvas.legend(columns=3)
