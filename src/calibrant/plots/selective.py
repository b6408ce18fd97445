"""Selective risk by coverage, beside what is allowed: which cases may be decided without review."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from calibrant.auditing.selective import selective
from calibrant.decisions.selective import Selection, percent
from calibrant.errors import ArgumentError
from calibrant.plots.canvas import Canvas
from calibrant.plots.display import Display
from calibrant.table.numbers import given
from calibrant.table.visible_scores import View

_TOP = 3.0  # of the picture, in target errors


class RiskCoverageDisplay(Display):
    """Share of errors among the cases decided, by the share of cases decided, with what is allowed and certified.

    Parameters
    ----------
    selection : Selection
        What to draw: a result of `calibrant.selective`.
    name : str, optional
        What is shown.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The selective risk.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.plots import RiskCoverageDisplay
    >>> correct, score, ax = [1] * 190 + [0] * 10, [0.9] * 150 + [0.6] * 50, Figure().subplots()
    >>> display = RiskCoverageDisplay.from_predictions(correct, score, ax=ax)
    >>> display.to_frame("pandas")["coverage"].tolist()
    [0.75, 1.0]
    """

    def __init__(self, selection: Selection, *, name: str | None = None) -> None:
        self.selection, self.name = selection, name

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any = None,
        *,
        target_error: float = 0.05,
        confidence_level: float = 0.95,
        sample_weight: None = None,
        pos_label: Any = None,
        **keywords: Any,
    ) -> Self:
        """Find the cut-off, and draw it; other parameters as in `Display.from_predictions`.

        Parameters
        ----------
        y_true, y_proba : array-like of shape (n,)
            Whether each decision was right, and its score, or a `ScoreTable`.
        target_error, confidence_level
            As in `calibrant.selective`.
        sample_weight : None
            Decisions are counted: a `ScoreTable` may be made with a `count`.
        """
        if sample_weight is not None:
            raise ArgumentError("no `sample_weight`", "weights", "pass a ScoreTable made with `count`")
        asked: dict[str, Any] = {"target_error": target_error, "confidence_level": confidence_level}
        return cls(selective(y_true, y_proba, pos_label=pos_label, **asked))._drawn(**keywords)  # type: ignore[arg-type]

    def _sentences(self) -> Iterator[str]:
        yield (
            "x-axis: coverage, the share of the rows that a cut-off decides, the highest scores first. y-axis: "
            f"selective risk, the share of these that is wrong, up to {_TOP:g} times the target (dashed). A cut-off is "
            "certified where the risk is at or below what is allowed (grey), a line that depends on the number of rows "
            "alone: the thick stretches. The marked one decides most. Limits of the risk at one cut-off are not shown: "
            "the certificate is about all of them at once."
        )

    def columns(self) -> dict[str, Any]:
        """Return the curve, one entry per cut-off."""
        return self.selection.columns()

    def _draw(self, canvas: Canvas, name: str | None, **keywords: Any) -> None:
        ax, selection, curve = canvas.ax, self.selection, self.selection.curve
        coverage, risk = np.append(0.0, curve.coverage), np.append(curve.selective_risk[0], curve.selective_risk)
        allowed = np.where(curve.allowed_errors < 0, np.nan, curve.allowed_errors / curve.accepted)
        if canvas.series == 0:
            ax.axhline(selection.target_error, **canvas.dashed(f"target {percent(selection.target_error)}"))
        steps: dict[str, Any] = {"color": canvas.palette.grey, "drawstyle": "steps-pre"}
        ax.plot(coverage, np.append(np.nan, allowed), label="allowed", linewidth=1.3, **steps)
        manner: dict[str, Any] = steps | {"color": canvas.colour(), "linewidth": 1.3}
        label = canvas.label("selective risk", name)
        (self.line_,) = ax.plot(coverage, risk, **(manner | keywords | {"label": label}))
        if curve.certified.any():
            certified = np.append(np.nan, np.where(curve.certified, curve.selective_risk, np.nan))
            ax.plot(coverage, certified, label="certified", **(manner | {"linewidth": 4.0}))
        top = min(1.0, _TOP * selection.target_error)
        if selection.threshold is not None:
            at, low = selection.coverage, selection.coverage < 0.3  # words on its left would leave the axes
            ax.plot([at, at], [selection.selective_risk, top], color=canvas.palette.rule, linewidth=1.0)
            ax.plot(at, selection.selective_risk, "o", color=manner["color"], markersize=7)
            text = f" {given(selection.threshold)} and {selection.decided.removeprefix('at or ')} "
            ax.text(at, top, text, ha="left" if low else "right", va="top", fontsize=9)
        canvas.frame(View(-0.01, 1.01), (-0.02 * top, top), ("coverage", "selective risk"))
        canvas.mark(self.line_)
        canvas.legend()
