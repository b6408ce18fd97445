"""Pictures of results; nothing here computes a statistic, and matplotlib is imported when a picture is drawn.

Displays work as scikit-learn's do: ``plot(ax=...)``, of reliability also ``from_predictions`` and ``from_estimator``,
and attributes that end in an underscore for what was drawn. They say `how_to_read` them, and ``to_frame`` is the table
behind the picture.
"""

from calibrant.keywords import check_package
from calibrant.plots.audit import AuditDisplay as AuditDisplay
from calibrant.plots.audit import ClassErrorDisplay as ClassErrorDisplay
from calibrant.plots.audit import ConcentrationDisplay as ConcentrationDisplay
from calibrant.plots.audit import MeanReliabilityDisplay as MeanReliabilityDisplay
from calibrant.plots.cumulative_residuals import CumulativeResidualsDisplay as CumulativeResidualsDisplay
from calibrant.plots.decisions import CostCurveDisplay as CostCurveDisplay
from calibrant.plots.decisions import DecisionCurveDisplay as DecisionCurveDisplay
from calibrant.plots.decisions import RiskCoverageDisplay as RiskCoverageDisplay
from calibrant.plots.display import Display as Display
from calibrant.plots.display import draw as draw
from calibrant.plots.forest import ForestDisplay as ForestDisplay
from calibrant.plots.forest import GradeDisplay as GradeDisplay
from calibrant.plots.forest import SegmentDisplay as SegmentDisplay
from calibrant.plots.forest import SegmentMapDisplay as SegmentMapDisplay
from calibrant.plots.models import ComparisonDisplay as ComparisonDisplay
from calibrant.plots.models import DifferenceDisplay as DifferenceDisplay
from calibrant.plots.models import Model as Model
from calibrant.plots.monitor import MonitorDisplay as MonitorDisplay
from calibrant.plots.reliability import DistributionDisplay as DistributionDisplay
from calibrant.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
from calibrant.plots.style import Palette as Palette
from calibrant.plots.style import drawing_style as drawing_style
from calibrant.plots.svg import figure_svg as figure_svg

check_package(__name__)
