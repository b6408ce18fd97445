"""The picture of an audit: reliability diagram and cumulative residuals side by side, under the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.auditing.verdict import verdict_sentence
from calibrant.errors import ArgumentError, need_package
from calibrant.plots.canvas import Inches, pyplot_figure
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decisions import CostCurveDisplay, DecisionCurveDisplay
from calibrant.plots.display import Display
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.printable import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Heights in inches, and how many letters of the verdict are less wide than the figure.
_WIDTH, _HEADER, _BODY, _LINE = 11.4, 0.6, 4.4, 0.2
_LETTERS = 150


class AuditDisplay:
    """Reliability diagram with the distribution of scores, and cumulative residuals, of one audit.

    Attributes
    ----------
    audit : Findings
        What is drawn.
    figure_ : matplotlib.figure.Figure
        The figure, once it is drawn.
    axes_ : tuple of matplotlib.axes.Axes
        Axes of the reliability diagram and of the cumulative residuals; the first alone, if only one was given.

    Examples
    --------
    >>> import calibrant
    >>> from matplotlib.figure import Figure
    >>> result = calibrant.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])
    >>> result.plot(ax=Figure().subplots(1, 2))
    <AuditDisplay>
    """

    figure_: Figure
    axes_: tuple[Axes, ...]

    def __init__(self, audit: Findings) -> None:
        self._prepare(audit, [reliability_of(audit), cumulative_residuals_of(audit)], verdict_sentence(audit))

    def _prepare(self, audit: Any, displays: Sequence[Display], verdict: str, body: Inches = (_WIDTH, _BODY)) -> None:
        """Take what is drawn in a body of so many inches, under a verdict."""
        self.audit, self._displays, self._body = audit, displays, body
        self._verdict = fill(verdict, int(_LETTERS * body[0] / _WIDTH))
        self._header = _HEADER + _LINE * self._verdict.count("\n")
        self.size = (body[0], self._header + body[1])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def from_result(cls, result: Any) -> Self:
        """Return the display of an audit, not yet drawn."""
        return cls(result)

    def own_figure(self) -> Figure:
        """Draw the picture on a figure that pyplot does not know."""
        need_package("matplotlib", "calibrant[report]")
        from matplotlib.figure import Figure

        figure = Figure(figsize=self.size, layout="constrained")
        self._compose(figure)
        return figure

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or two of them, optional
            Where to draw: the reliability diagram on the first axes, the cumulative residuals on the second, if there
            is one. By default on a new figure of pyplot, under the verdict, so that notebooks and ``pyplot.show`` show
            it and ``pyplot.savefig`` saves it.

        Returns
        -------
        AuditDisplay
            Itself.
        """
        if ax is None:
            with pyplot_figure(self.size, LIGHT.ground) as figure:
                self.figure_, self.axes_ = figure, self._compose(figure)
            return self
        axes: list[Any] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if not 1 <= len(axes) <= len(self._displays):
            expected = f"one to {len(self._displays)} axes"
            raise ArgumentError(expected, f"{len(axes)}", "pass one of plt.subplots()'s axes, or several")
        for display, given in zip(self._displays, axes, strict=False):
            display.plot(given)
        self.axes_ = tuple(axes)
        self.figure_ = axes[0].figure.canvas.figure
        return self

    def _compose(self, figure: Figure) -> tuple[Axes, ...]:
        """Draw verdict and pictures on an empty figure; return the axes of the pictures."""
        with drawing_style():
            header, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[self._header, self._body[1]])[:, 0]
            # Names come from the user: a dollar sign is a dollar sign, not mathematics.
            plain: dict[str, Any] = {"x": 0.012, "parse_math": False}
            name = shorten(visible(self.audit.name), 90)
            header.text(y=1.0 - 0.06 / self._header, s=name, fontsize=13, weight="bold", va="top", **plain)
            muted = {"color": LIGHT.muted, "va": "bottom"} | plain
            header.text(y=0.04 / self._header, s=self._verdict, fontsize=10, **muted)
            self._draw_body(body)
        return tuple(display.ax_ for display in self._displays)

    def _draw_body(self, body: SubFigure) -> None:
        """Draw the pictures side by side."""
        panels = body.subfigures(1, len(self._displays), squeeze=False, wspace=0.03)[0]
        for display, panel in zip(self._displays, panels, strict=True):
            display.draw_panel(panel)


def reliability_of(audit: Findings) -> ReliabilityDisplay:
    """Return the reliability diagram of an audit, not yet drawn."""
    return ReliabilityDisplay(
        audit.reliability,
        line=audit.isotonic,
        local=audit.local,
        band=audit.band if audit.band is not None and audit.band.consistent else None,
        worst=audit.cutoff,
        distribution=audit.histogram,
        name=audit.name,
    )


def cumulative_residuals_of(audit: Findings) -> CumulativeResidualsDisplay:
    """Return the cumulative residuals of an audit, not yet drawn."""
    return CumulativeResidualsDisplay(audit.cumulative_residuals, cutoff=audit.cutoff, name=audit.name)


def decisions_of(audit: Findings) -> DecisionCurveDisplay:
    """Return the decision curve of an audit, not yet drawn."""
    return DecisionCurveDisplay(audit.decision_curve, view=audit.histogram.view, name=audit.name)


def costs_of(audit: Findings) -> CostCurveDisplay | None:
    """Return the cost curve of an audit, not yet drawn; None if recalibration was not assessed."""
    judged = audit.recalibration
    if judged is None or judged.costs is None:
        return None
    return CostCurveDisplay(judged.costs, view=audit.histogram.view, name=audit.name)
