"""What reporting guidance for clinical prediction models asks for, and where the page has it, wholly or in part."""

from __future__ import annotations

from typing import NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.report.view import Cell
from calibrant.table.facts import joined

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
    stratos, tripod = "STRATOS", "TRIPOD+AI {}".format
    segments, recalibrated = audit.segments, audit.recalibration is not None
    return [
        Item(stratos, "discrimination: area under the ROC curve", "performance"),
        Item(stratos, "calibration plot with a smooth curve", "reliability", "loess, isotonic curve and bins"),
        Item(
            stratos,
            "clinical utility: net benefit, decision curve",
            "decisions",
            missing="" if audit.decision else "at a threshold, with an interval, if costs are given",
        ),
        Item(stratos, "distribution of the predictions by outcome", "reliability", "lower panel"),
        Item(tripod("10"), "justification of the sample size", missing="see calibrant plan"),
        Item(
            tripod("12d, 23b"),
            "heterogeneity across clusters",
            "" if audit.sample.clusters is None else "performance",
            "" if audit.sample.clusters is None else "intervals allow for clusters",
            "no clusters were given" if audit.sample.clusters is None else "clusters are not compared with each other",
        ),
        Item(tripod("12e"), "measures and plots used", "performance"),
        Item(
            tripod("12f, 24"),
            "updating of the model (recalibration) and its effect",
            "recalibration" if recalibrated else "",
            "cross-validated" if recalibrated else "",
            "" if recalibrated else "too few rows to assess it",
        ),
        Item(
            tripod("15"),
            "thresholds for decisions",
            "decisions" if audit.decision else "",
            missing="" if audit.decision else "no costs were given",
        ),
        Item(tripod("21"), "number of participants and of events", "performance"),
        Item(
            tripod("23a"),
            "performance with confidence intervals, also in subgroups",
            "performance",
            "" if segments is None else f"calibration in {segments.n_segments} segments",
            "all rows only; name columns by which groups are made" if segments is None else "",
        ),
    ]
