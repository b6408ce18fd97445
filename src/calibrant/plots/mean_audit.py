"""Picture of an audit of predicted means: what was observed along the predictions, and the cumulative residuals."""

from __future__ import annotations

from calibrant.auditing.mean_findings import MeanFindings
from calibrant.auditing.verdict import verdict_sentence
from calibrant.plots.audit import AuditDisplay
from calibrant.plots.display import Display
from calibrant.plots.means import ConcentrationDisplay, MeanReliabilityDisplay


class MeanAuditDisplay(AuditDisplay):
    """Observed means by prediction, and cumulative residuals, of one audit of predicted means.

    Attributes
    ----------
    audit : MeanFindings
        What is drawn.
    figure_ : matplotlib.figure.Figure
        The figure, once it is drawn.
    axes_ : tuple of matplotlib.axes.Axes
        Axes of both pictures; the first alone, if only one was given.

    Examples
    --------
    >>> import calibrant
    >>> from matplotlib.figure import Figure
    >>> result = calibrant.audit_means([0.0, 1.0, 2.0, 5.0] * 100, [1.0, 1.0, 3.0, 3.0] * 100)
    >>> result.plot(ax=Figure().subplots(1, 2))
    <MeanAuditDisplay>
    """

    def __init__(self, audit: MeanFindings) -> None:
        self._prepare(audit, mean_displays(audit), verdict_sentence(audit))


def mean_displays(audit: MeanFindings) -> list[Display]:
    """Return both pictures of an audit, not yet drawn."""
    means = MeanReliabilityDisplay(audit.reliability, line=audit.isotonic, name=audit.name)
    return [means, ConcentrationDisplay(audit.concentration_curve, name=audit.name)]
