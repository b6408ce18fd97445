"""Sections that the pages of several kinds of audits have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant.auditing import wording
from calibrant.auditing.about import about_lines
from calibrant.auditing.facts import audit_facts
from calibrant.auditing.findings import Advice, Findings
from calibrant.auditing.grades import GradeAudit
from calibrant.auditing.next_steps import NextStep, next_facts
from calibrant.auditing.segment_audit import SegmentAudit, audit_rows, sentences
from calibrant.plots.forest import GradeDisplay, SegmentDisplay, SegmentMapDisplay, pairs_of
from calibrant.report.guidance import AnyFindings, Checklist
from calibrant.report.parts import PagePart, around, fold, paragraphs, part, section, table
from calibrant.report.pictures import Picture
from calibrant.table.numbers import confidence
from calibrant.table.results import Fact, of_section

_SHOWN = 20  # segments that are not folded
# What the first screen says in other places.
_ELSEWHERE = ("verdict", "sure", "warning", "advice", "command", "python")


def about_part(audit: Any) -> PagePart | None:
    """Return what the author says of the model, if that is anything."""
    about = about_lines(audit.provenance.about)
    return around("section", "about", part("named", about))._replace(keywords={"kind": "about"}) if about else None


def verdict_part(audit: AnyFindings, *said: str) -> PagePart:
    """Return the verdict with what it means, warnings, advice with the command for it, and the first facts."""
    first = [fact for fact in audit_facts(audit) if fact.rank is not None or fact.section == "segments"]
    elsewhere = {*_ELSEWHERE, *(["where"] if isinstance(audit, Findings) else [])}  # the first thing said of events
    lines = [(fact.label, fact.value) for fact in first if fact.key not in elsewhere]
    return section(
        audit.verdict.capitalize(),
        *paragraphs(*map(sentence, said[:1]), kind="meaning"),
        *paragraphs(*map(sentence, said[1:])),
        *[part("paragraph", warning.message, "warning", "Warning") for warning in audit.warnings],
        part("paragraph", wording.advice_sentence(audit), "advice", "Advice"),
        *next_parts(audit.advice),
        part("named", lines, "lines"),
        id="verdict",
        verdict=audit.verdict,
    )


def sentence(text: str) -> str:
    """Begin with a capital, and end with a full stop."""
    return f"{text[0].upper()}{text[1:].removesuffix('.')}." if text else ""


def next_parts(advice: Advice | NextStep) -> list[PagePart]:
    """Return what to run next."""
    return [part("command", fact.label, fact.value) for fact in next_facts(advice)]


def segments_part(audit: SegmentAudit | None, name: str, id: str = "segments") -> PagePart | None:
    """Return what a page says of segments of what is named so."""
    if audit is None:
        return None
    parts = paragraphs(" ".join(sentences(audit)))
    parts.append(part("picture", "segments", Picture("Segments", SegmentDisplay(audit), name), folded=False))
    if pairs_of(audit):
        display = SegmentMapDisplay(audit)
        parts.append(part("picture", "segment-map", Picture("Map of segments", display, name), folded=False))
    heads, lines = audit_rows(audit)
    caption = f"calibration errors with bounds that hold together, with {confidence(audit.confidence_level)} confidence"
    parts += folded_table(f"Segments: {caption}", "segments", heads, lines, _SHOWN)
    return section("Segments", *parts, id=id)


def folded_table(caption: str, what: str, heads: Sequence[Any], lines: Sequence[Any], most: int) -> list[PagePart]:
    """Return a table of which so many rows are seen, and the further ones when they are unfolded."""
    parts, further = [table(caption, heads, lines[:most])], lines[most:]
    if further:
        rest = table(f"Further {what}", heads, further)
        parts.append(fold(f"{len(further)} further {what}", rest, screen=True))
    return parts


def grades_part(grades: GradeAudit | None, name: str) -> PagePart | None:
    """Return what a page says of rating grades, if there are some."""
    if grades is None:
        return None
    heads, *lines = grades.lines()
    caption = f"Rating grades: limits of the {grades.rates} that hold together, and p-values of one grade each"
    drawn = part("picture", "grades", Picture("Rating grades", GradeDisplay(grades), name), folded=False)
    return section("Rating grades", *paragraphs(*grades.sentences()), drawn, table(caption, heads, lines), id="grades")


def recalibration_part(audit: AnyFindings, gain: str = "") -> PagePart:
    """Return what recalibration achieves, with the numbers before and after."""
    effect, why = audit.recalibration, wording.words_of(audit).not_assessed
    achieved = wording.recalibration_sentence(effect, why=why, listed=False)
    caption, changes = "Before and after recalibration, on rows that it was not fitted to", None
    if lines := wording.changes(effect, wording.error_writer(audit.certificate)):
        changes = table(caption, ("Quantity", "Before", "After"), lines)
    remark = paragraphs(sentence(gain), kind="remark")
    return section("Recalibration", *paragraphs(sentence(achieved)), changes, *remark, id="recalibration")


def checklist_part(checklist: Checklist | None) -> PagePart | None:
    """Return the checklist with its answers, if one was chosen."""
    if checklist is None:
        return None
    heads = ("Item", "State", "Where", "Asked for")
    answers = table("Items, and where they are answered", heads, checklist.rows, numeric=False)
    inside = *paragraphs(f"{checklist.title}.", kind="remark"), answers
    return section("Reporting checklist", *inside, id="checklist")


def named(facts: Sequence[Fact], *sections: str) -> PagePart:
    """Return the facts of some sections by their names."""
    return part("named", [(fact.label, fact.in_full) for fact in of_section(facts, *sections)])
