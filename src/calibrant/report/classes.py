"""The page of an audit of several classes."""

from __future__ import annotations

from functools import partial
from typing import Any

from calibrant.auditing import class_facts
from calibrant.auditing.about import about_lines
from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.facts import audit_facts
from calibrant.auditing.verdict import verdict_meaning
from calibrant.auditing.wording import advice_sentence
from calibrant.decisions import ClassConfusion
from calibrant.plots.classes import ClassErrorDisplay, small_diagrams
from calibrant.printable import visible_name
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.guidance import checklist_of
from calibrant.report.page import Form, fill_page
from calibrant.report.pictures import Picture
from calibrant.table.numbers import confidence, interval_text, number, share
from calibrant.table.results import of_section

_SHOWN, _MOST = 30, 300  # classes of the table that are not folded, and that are on the page at all
# Classes of a matrix of all pairs, standard deviations that are marked in it, and rows that are written.
_PAIRS, _FAR, _VISIBLE = 12, 3.0, 0.05
# What the first screen says in other places.
_ELSEWHERE = ("verdict", "sure", "warning", "advice", "command", "python")


def render_class_audit(audit: ClassFindings, form: Form = "html") -> str:
    """Write an audit of several classes as one self-contained page, under the title and the note of its provenance.

    Parameters
    ----------
    audit : ClassFindings
        What `calibrant.audit` returned.
    form : {"html", "markdown", "latex"}
        As HTML, as Markdown, in which pictures are told in words, or the tables alone as LaTeX.

    Returns
    -------
    str
        The page, the same for the same audit every time.
    """
    known, facts, checklist = audit.provenance, audit_facts(audit), checklist_of(audit)
    picture = partial(Picture, of_what=audit.name)
    meaning, plain = verdict_meaning(audit), class_facts.sure_sentence(audit)
    heads, *lines = class_facts.class_grid(audit, _MOST)
    statements: tuple[Any, ...] = (audit.certificate, audit.table, audit.test, audit.decision)
    errors = None
    if len(audit.shown) < len(audit.table.name):
        errors = picture("Errors of all classes", ClassErrorDisplay(audit), _errors_described(audit), anchor="errors")
    return fill_page(
        "class_audit.j2",
        form,
        title=known.title or f"Calibration audit: {audit.name}",
        note=known.note or "",
        byline=known,
        audit=audit,
        about=about_lines(known.about),
        checklist=checklist,
        plain=f"{plain[0].upper()}{plain[1:]}.",
        meaning=f"{meaning[0].upper()}{meaning[1:]}",
        advice=advice_sentence(audit),
        headline=[(fact.label, fact.value) for fact in of_section(facts, "headline") if fact.key not in _ELSEWHERE],
        diagrams=[
            picture(f"Reliability diagram {i}", display, _diagram_described(audit, i), anchor="class")
            for i, display in enumerate(small_diagrams(audit))
        ],
        together=class_facts.together(audit),
        heads=heads,
        lines=[_marked(line, heads) for line in lines[:_SHOWN]],
        further=[_marked(line, heads) for line in lines[_SHOWN:]],
        left=len(audit.table.name) - _MOST,
        errors=errors,
        notions=[fact.cells for fact in class_facts.notion_facts(audit)],
        test=[fact.value for fact in facts if fact.key == "test"][-1:],
        p_values=[(name, f"{p:.4g}") for name, p in getattr(audit.test, "p_values", {}).items()],
        bins_sure=confidence(audit.reliability[0].confidence_level),
        sure=confidence(audit.certificate.confidence_level),
        matrix=_matrix(audit.confusion),
        effect=class_facts.recalibration_sentence(audit),
        changes=class_facts.changes(audit),
        provenance=view.provenance(audit.name, known),
        assumptions=list(dict.fromkeys(sentence for part in statements if part for sentence in part.assumptions)),
        references=cite([*audit.references, *(checklist.references if checklist else ())]),
    )


def _matrix(confusion: ClassConfusion | None) -> list[list[str | view.Cell]]:
    """Write observed less expected rows of each pair of classes, if these are few; what is far off is marked."""
    if confusion is None or len(confusion.classes) > _PAIRS:
        return []
    names = [*map(visible_name, confusion.classes)]
    lines: list[list[str | view.Cell]] = [["Predicted", *names]]
    gaps = confusion.observed - confusion.expected
    for name, line, deviations in zip(names, gaps, confusion.standardised, strict=True):
        kinds = ["more" if value > _FAR else "fewer" if value < -_FAR else "" for value in deviations]
        cells = [f"{gap:+.1f}" if abs(gap) >= _VISIBLE else "" for gap in line.tolist()]
        lines.append([name, *(view.Cell(cell, kind=kind) for cell, kind in zip(cells, kinds, strict=True))])
    return lines


def _marked(line: list[str], heads: list[str]) -> list[str | view.Cell]:
    """Give the verdict of a class, if there is one, its colour."""
    if heads[-1] != "Verdict":
        return list(line)
    return [*line[:-1], view.Cell(line[-1], kind=line[-1], verdict=line[-1])]


def _diagram_described(audit: ClassFindings, place: int) -> str:
    """What a small diagram shows, for readers who do not see it."""
    table, i, curve = audit.table, audit.shown[place], audit.reliability[place]
    name, where = visible_name(table.name[i]), ""
    if table.direction[i] != "none":
        where = f": probabilities {interval_text((float(table.low[i]), float(table.high[i])))} are {table.direction[i]}"
    return (
        f"Class {name}: error {number(float(table.error[i]))}{where}. In {len(curve.score)} bins the observed rate "
        f"goes from {share(curve.rate[0])} at a mean probability of {number(curve.score[0])} to "
        f"{share(curve.rate[-1])} at {number(curve.score[-1])}."
    )


def _errors_described(audit: ClassFindings) -> str:
    """What the picture of the errors of all classes shows."""
    error, null = audit.table.error, audit.null_errors
    return (
        f"The errors of {len(error):,} classes go from {number(float(error.max()))} down to "
        f"{number(float(error.min()))}. If all probabilities were right, the largest would be about "
        f"{number(float(null[0]))} and the smallest {number(float(null[-1]))}."
    )
