"""Pictures of results; nothing here computes a statistic, and matplotlib is imported when a picture is drawn.

Displays work as scikit-learn's do: ``from_predictions``, ``from_estimator``, ``plot(ax=...)``, and attributes that end
in an underscore for what was drawn. They say `how_to_read` them, and ``to_frame`` is the table behind the picture.
"""

from calibrant.keywords import check_package
from calibrant.plots.audit import AuditDisplay
from calibrant.plots.classes import ClassAuditDisplay, ClassErrorDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay
from calibrant.plots.decisions import CostCurveDisplay, DecisionCurveDisplay
from calibrant.plots.display import Display, draw
from calibrant.plots.forest import ForestDisplay
from calibrant.plots.grades import GradeDisplay
from calibrant.plots.mean_audit import MeanAuditDisplay
from calibrant.plots.means import ConcentrationDisplay, MeanReliabilityDisplay
from calibrant.plots.models import ComparisonDisplay, DifferenceDisplay, Model
from calibrant.plots.monitor import MonitorDisplay
from calibrant.plots.reliability import DistributionDisplay, ReliabilityDisplay
from calibrant.plots.segments import SegmentDisplay, SegmentMapDisplay
from calibrant.plots.selective import RiskCoverageDisplay
from calibrant.plots.style import Palette, drawing_style
from calibrant.plots.svg import figure_svg

__all__ = [
    "AuditDisplay",
    "ClassAuditDisplay",
    "ClassErrorDisplay",
    "ComparisonDisplay",
    "ConcentrationDisplay",
    "CostCurveDisplay",
    "CumulativeResidualsDisplay",
    "DecisionCurveDisplay",
    "DifferenceDisplay",
    "Display",
    "DistributionDisplay",
    "ForestDisplay",
    "GradeDisplay",
    "MeanAuditDisplay",
    "MeanReliabilityDisplay",
    "Model",
    "MonitorDisplay",
    "Palette",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SegmentDisplay",
    "SegmentMapDisplay",
    "draw",
    "drawing_style",
    "figure_svg",
]

check_package(__name__)
