"""What reporting guidance for clinical prediction models asks for, and where the page has it, wholly or in part."""

from __future__ import annotations

from typing import NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.report.view import Cell
from calibrant.table.results import joined

# Keys of `calibrant.references`.
GUIDES = ("collins2024", "vancalster2025")


class Item(NamedTuple):
    """An item of a guideline, what it asks for, the section that answers it, and what is to be added.

    An item without a section is not answered on the page. One of which something is `missing` is answered in part.
    """

    guide: str
    asked: str
    section: str = ""
    remark: str = ""
    missing: str = ""

    def cells(self, anchor: str) -> tuple[str, Cell | str, str]:
        """Return its guide, a link to the section, and what is asked for."""
        where: Cell | str = "not here"
        if self.section:
            part, verdict = ("in part: ", "") if self.missing else ("", "certified")
            where = Cell(f"{part}{self.section.capitalize()}", href=f"#{anchor}-{self.section}", verdict=verdict)
        return self.guide, where, joined(self.asked, self.remark, self.missing)


def guidance(audit: Findings) -> list[Item]:
    """Return the items about the performance of a model; the others of these guidelines describe the study."""
    segments = audit.segments
    compared = "" if segments is None else f"calibration in {segments.n_segments} segments"
    no_segments = "all rows only; name columns by which groups are made" if segments is None else ""
    thresholds, no_costs, no_interval = "decisions", "", ""
    if audit.decision is None:
        thresholds, no_costs = "", "no costs were given"
        no_interval = "at a threshold, with an interval, if costs are given"
    heterogeneity = Item("TRIPOD+AI 12d, 23b", "heterogeneity across clusters", missing="no clusters were given")
    if audit.sample.clusters is not None:
        heterogeneity = heterogeneity._replace(
            section="performance",
            remark="intervals allow for clusters",
            missing="clusters are not compared with each other",
        )
    asked = "updating of the model (recalibration) and its effect"
    update = Item("TRIPOD+AI 12f, 24", asked, missing="too few rows to assess it")
    if audit.recalibration is not None:
        update = Item("TRIPOD+AI 12f, 24", asked, "recalibration", "cross-validated")
    return [
        Item("STRATOS", "discrimination: area under the ROC curve", "performance"),
        Item("STRATOS", "calibration plot with a smooth curve", "reliability", "loess, isotonic curve and bins"),
        Item("STRATOS", "clinical utility: net benefit, decision curve", "decisions", missing=no_interval),
        Item("STRATOS", "distribution of the predictions by outcome", "reliability", "lower panel"),
        Item("TRIPOD+AI 10", "justification of the sample size", missing="see calibrant plan"),
        heterogeneity,
        Item("TRIPOD+AI 12e", "measures and plots used", "performance"),
        update,
        Item("TRIPOD+AI 15", "thresholds for decisions", thresholds, missing=no_costs),
        Item("TRIPOD+AI 21", "number of participants and of events", "performance"),
        Item(
            "TRIPOD+AI 23a",
            "performance with confidence intervals, also in subgroups",
            section="performance",
            remark=compared,
            missing=no_segments,
        ),
    ]
