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
    clusters, segments, recalibrated = audit.sample.clusters, audit.segments, audit.recalibration is not None
    compared = "" if segments is None else f"calibration in {segments.n_segments} segments"
    no_segments = "all rows only; name columns by which groups are made" if segments is None else ""
    no_costs = "" if audit.decision else "no costs were given"
    no_interval = "at a threshold, with an interval, if costs are given" if no_costs else ""
    heterogeneity, update = ("", "", "no clusters were given"), ("", "", "too few rows to assess it")
    if clusters is not None:
        heterogeneity = "performance", "intervals allow for clusters", "clusters are not compared with each other"
    if recalibrated:
        update = "recalibration", "cross-validated", ""
    return [
        Item("STRATOS", "discrimination: area under the ROC curve", "performance"),
        Item("STRATOS", "calibration plot with a smooth curve", "reliability", "loess, isotonic curve and bins"),
        Item("STRATOS", "clinical utility: net benefit, decision curve", "decisions", missing=no_interval),
        Item("STRATOS", "distribution of the predictions by outcome", "reliability", "lower panel"),
        Item("TRIPOD+AI 10", "justification of the sample size", missing="see calibrant plan"),
        Item("TRIPOD+AI 12d, 23b", "heterogeneity across clusters", *heterogeneity),
        Item("TRIPOD+AI 12e", "measures and plots used", "performance"),
        Item("TRIPOD+AI 12f, 24", "updating of the model (recalibration) and its effect", *update),
        Item("TRIPOD+AI 15", "thresholds for decisions", "" if no_costs else "decisions", missing=no_costs),
        Item("TRIPOD+AI 21", "number of participants and of events", "performance"),
        Item(
            "TRIPOD+AI 23a",
            "performance with confidence intervals, also in subgroups",
            *("performance", compared, no_segments),
        ),
    ]
