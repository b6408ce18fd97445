"""From a result to its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.auditing.segment_audit import SegmentAudit
from calibrant.certificates import Band
from calibrant.comparing import ComparisonFindings
from calibrant.curves import CumulativeResiduals, Curve, Histogram
from calibrant.decisions import CostCurve, NetBenefit
from calibrant.errors import ArgumentError
from calibrant.monitoring import MonitorHistory
from calibrant.plots.cost import CostCurveDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decision_curve import DecisionCurveDisplay
from calibrant.plots.differences import DifferenceDisplay
from calibrant.plots.display import Display
from calibrant.plots.distribution import DistributionDisplay
from calibrant.plots.monitor import MonitorDisplay
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.segments import SegmentDisplay
from calibrant.table.results import Drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]


def draw(result: Drawable, ax: Axes | None = None, **keywords: Any) -> Display:
    """Draw a result; the same as its method ``plot``.

    Parameters
    ----------
    result : Drawable
        Curve, Band, Histogram, CumulativeResiduals, CostCurve, NetBenefit, SegmentAudit, Comparison or MonitorHistory.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default on a new figure of pyplot, so that notebooks show it.
    **keywords
        Passed on to the ``plot`` method of the display.

    Returns
    -------
    Display
        With `ax_`, `figure_`, `how_to_read` and ``to_frame``.

    Raises
    ------
    ArgumentError
        If there is no picture of such a thing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from calibrant.curves import cumulative_residuals
    >>> from calibrant.plots import draw
    >>> draw(cumulative_residuals([0, 1], [0.25, 0.75]), Figure().subplots())
    <CumulativeResidualsDisplay>
    """
    return _display(result).plot(ax, **keywords)


def _display(result: Any) -> Display:
    match result:
        case Curve(kind="binned"):
            return ReliabilityDisplay(result)
        case Curve():
            return ReliabilityDisplay(line=result)
        case Band():
            return ReliabilityDisplay(band=result)
        case Histogram():
            return DistributionDisplay(result)
        case CumulativeResiduals():
            return CumulativeResidualsDisplay(result)
        case CostCurve():
            return CostCurveDisplay(result)
        case NetBenefit():
            return DecisionCurveDisplay(result)
        case SegmentAudit():
            return SegmentDisplay(result)
        case ComparisonFindings():
            return DifferenceDisplay(result)
        case MonitorHistory():
            return MonitorDisplay(result)
    raise ArgumentError(
        "a curve, band, histogram, cumulative residuals, cost curve, net benefit, audit of segments, comparison or the "
        "history of a monitor",
        f"a {type(result).__name__}",
        "see calibrant.plots",
    )
