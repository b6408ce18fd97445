"""The picture of an audit: reliability diagram and cumulative residuals side by side, under the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import verdict_sentence
from calibrant.errors import ArgumentError, need_package
from calibrant.plots.canvas import pyplot_figure
from calibrant.plots.figure import cumulative_residuals_of, reliability_of
from calibrant.plots.style import LIGHT, drawing_style
from calibrant.printable import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["AuditDisplay"]

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
        self.audit = audit

    def __repr__(self) -> str:
        return "<AuditDisplay>"

    @classmethod
    def from_result(cls, result: Findings) -> Self:
        """Return the display of an audit, not yet drawn."""
        return cls(result)

    def own_figure(self) -> Figure:
        """Draw the picture on a figure that pyplot does not know."""
        need_package("matplotlib")
        from matplotlib.figure import Figure

        figure = Figure(figsize=(_WIDTH, _height(self.audit)), layout="constrained")
        _compose(self.audit, figure)
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
        displays: list[Any] = [reliability_of(self.audit), cumulative_residuals_of(self.audit)]
        if ax is None:
            with pyplot_figure((_WIDTH, _height(self.audit)), LIGHT.ground) as figure:
                self.figure_, self.axes_ = figure, _compose(self.audit, figure)
            return self
        axes: list[Any] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if not 1 <= len(axes) <= len(displays):
            raise ArgumentError("one or two axes", f"{len(axes)}", "pass one of plt.subplots()'s axes, or two")
        for display, place in zip(displays, axes, strict=False):
            display.plot(place)
        self.axes_ = tuple(axes)
        self.figure_ = axes[0].figure.canvas.figure
        return self


def _height(audit: Findings) -> float:
    return _header(_verdict(audit)) + _BODY


def _verdict(audit: Findings) -> str:
    return fill(verdict_sentence(audit), _LETTERS)


def _header(verdict: str) -> float:
    return _HEADER + _LINE * verdict.count("\n")


def _compose(audit: Findings, figure: Figure) -> tuple[Axes, Axes]:
    """Draw verdict and both pictures on an empty figure; return the axes of the pictures."""
    with drawing_style():
        verdict = _verdict(audit)
        height = _header(verdict)
        header, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[height, _BODY])[:, 0]
        # Names come from the user: a dollar sign is a dollar sign, not mathematics.
        title = {"fontsize": 13, "weight": "bold", "va": "top", "parse_math": False}
        header.text(0.012, 1.0 - 0.06 / height, shorten(visible(audit.name), 90), **title)
        header.text(0.012, 0.04 / height, verdict, fontsize=10, color=LIGHT.muted, va="bottom", parse_math=False)
        left, right = body.subfigures(1, 2, wspace=0.03)
        reliability, residuals = reliability_of(audit), cumulative_residuals_of(audit)
        reliability.draw_panel(left)
        residuals.draw_panel(right)
    return reliability.ax_, residuals.ax_
