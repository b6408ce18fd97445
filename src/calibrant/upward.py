"""What results reach in layers above their own, such as their pictures and pages: by name, from one table.

No import statement points up, not even inside a function, and what is missing harms only those who ask for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Name -> its module in the package.
MODULE_OF = {
    "Columns": "sources.protocol",
    "open_frame": "sources.frames",
    "class_scores_of": "sources.class_rows",
    "read_outcomes": "sources.outcome_rows",
    "table_of_chunks": "sources.chunks",
    "AuditDisplay": "plots.audit",
    "ClassAuditDisplay": "plots.classes",
    "ConcentrationDisplay": "plots.means",
    "CostCurveDisplay": "plots.decisions",
    "CumulativeResidualsDisplay": "plots.cumulative_residuals",
    "DecisionCurveDisplay": "plots.decisions",
    "DifferenceDisplay": "plots.models",
    "DistributionDisplay": "plots.reliability",
    "ForestDisplay": "plots.forest",
    "GradeDisplay": "plots.grades",
    "MeanAuditDisplay": "plots.mean_audit",
    "MeanReliabilityDisplay": "plots.means",
    "MonitorDisplay": "plots.monitor",
    "ReliabilityDisplay": "plots.reliability",
    "RiskCoverageDisplay": "plots.selective",
    "SegmentDisplay": "plots.segments",
    "check_report": "report.files",
    "checklists": "report.guidance",
    "converter_of": "export.onnx_classifier",
    "draw": "plots.display",
    "picture_html": "plots.display",
    "render_audit": "report.page",
    "render_class_audit": "report.classes",
    "render_comparison": "report.models",
    "render_index": "report.page",
    "render_mean_audit": "report.means",
    "render_monitor": "report.monitor",
    "render_segments": "report.page",
    "render_selective": "report.selective",
    "set_shapes": "export.onnx_estimators",
    "write_report": "report.files",
}


def resolve(name: str) -> Any:
    """Return what has this name in a layer above."""
    return getattr(import_module(f"calibrant.{MODULE_OF[name]}"), name)
