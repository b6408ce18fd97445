"""What guidance asks a report for, item by item, and where the page answers it.

The items are data (templates/checklists.toml). What a page shows has names here, and an item says which of them answers
it: what is not shown is not done, unless the author says where it is, or that it does not apply.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.auditing.about import LABELS, NO_CHECKLIST
from calibrant.auditing.findings import ClassFindings, Findings, MeanFindings
from calibrant.report.view import Cell
from calibrant.table.results import joined

AnyFindings = Findings | ClassFindings | MeanFindings

_NOT_APPLICABLE = "does not apply"


class Item(NamedTuple):
    """An item, its state ("done", "not done" or "does not apply"), the section with the answer, and what to say."""

    name: str
    state: str
    section: str
    remark: str

    def cells(self, anchor: str) -> tuple[str | Cell, ...]:
        """Return the item, its state, a link to the section, and what is asked for."""
        state = Cell(self.state, kind="certified", verdict="certified") if self.state == "done" else Cell(self.state)
        where = Cell(self.section.capitalize(), href=f"#{anchor}{self.section}" if self.section else "")
        return self.name, state, where, self.remark


class Checklist(NamedTuple):
    """A checklist with the answers of a page, and the rows of its table."""

    title: str
    items: list[Item]
    references: list[str]
    rows: list[tuple[str | Cell, ...]]


@cache
def checklists() -> dict[str, Any]:
    """Return all checklists by name, as they are in the file."""
    text = (Path(__file__).parent / "templates" / "checklists.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def checklist_of(audit: AnyFindings, anchor: str = "") -> Checklist | None:
    """Return the checklist that was chosen for the report of an audit, with its answers; None if none was.

    Ids of the page begin with the anchor.
    """
    about = audit.provenance.about
    chosen = checklists().get(about.get("checklist", NO_CHECKLIST))
    if chosen is None:
        return None
    shown = _shown(audit) | {name: "about" for name in LABELS if name in about}
    items = [_answered(item, audit, shown, about.get("answers", {})) for item in chosen["items"]]
    return Checklist(chosen["title"], items, chosen["references"], [item.cells(anchor) for item in items])


def _answered(item: dict[str, Any], audit: AnyFindings, shown: dict[str, str], answers: dict[str, str]) -> Item:
    name, asked, section = item["item"], item["asks"], shown.get(item.get("shown", ""), "")
    if name in answers:
        state = _NOT_APPLICABLE if answers[name].startswith(_NOT_APPLICABLE) else "done"
        return Item(name, state, "", f"{asked}: {answers[name].removeprefix(_NOT_APPLICABLE).strip(' :,;')}")
    if audit.kind not in item.get("kinds", [audit.kind]):
        return Item(name, _NOT_APPLICABLE, "", asked)
    if section:
        return Item(name, "done", section, f"{asked}: {item['remark']}" if "remark" in item else asked)
    return Item(name, "not done", "", joined(asked, item.get("add", "")))


def _shown(audit: AnyFindings) -> dict[str, str]:
    """Return what a page shows, by the names that items have for it: the section where it is."""
    certificate = audit.certificate
    sections = {"assumptions": "assumptions", "provenance": "provenance", "rows": "verdict"}
    conditional: dict[str, tuple[Any, str]] = {
        "update": (audit.recalibration, "recalibration"),
        "tolerance": (None if certificate is None else certificate.tolerance, "verdict"),
    }
    if isinstance(audit, ClassFindings):
        sections |= {"performance": "errors" if certificate else "verdict", "plot": "reliability"}
        conditional |= {"thresholds": (audit.decision, "decisions"), "subgroups": (audit.segments, "segments")}
        conditional |= {"clusters": (audit.clusters, "verdict"), "missing": (audit.left_out, "verdict")}
    elif isinstance(audit, MeanFindings):
        sections |= {"performance": "bounds", "plot": "means", "discrimination": "discrimination"}
        conditional |= {"clusters": (audit.clusters, "verdict"), "missing": (audit.left_out, "verdict")}
        conditional |= {"subgroups": (audit.segments, "segments"), "grades": (audit.grades, "grades")}
    else:
        sections |= {"performance": "performance", "discrimination": "performance", "rows": "performance"}
        sections |= {"plot": "reliability", "benefit": "decisions"}
        conditional |= {"thresholds": (audit.decision, "decisions"), "subgroups": (audit.segments, "segments")}
        conditional |= {"clusters": (audit.clusters, "performance"), "missing": (audit.left_out, "performance")}
        conditional |= {"heterogeneity": (audit.heterogeneity, "heterogeneity"), "grades": (audit.grades, "grades")}
    return sections | {name: section for name, (part, section) in conditional.items() if part is not None}
