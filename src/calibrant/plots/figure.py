"""The pictures of an audit, each with the results that it shows, not yet drawn."""

from __future__ import annotations

from calibrant.auditing.findings import Findings
from calibrant.plots.cost import CostCurveDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decision_curve import DecisionCurveDisplay
from calibrant.plots.reliability import ReliabilityDisplay

__all__ = ["costs_of", "cumulative_residuals_of", "decisions_of", "reliability_of"]


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
