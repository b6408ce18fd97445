"""The pages of audits: of one or several, of segments, and over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calibrant.auditing import wording
from calibrant.auditing.facts import audit_facts
from calibrant.auditing.findings import ClassFindings, Findings, MeanFindings
from calibrant.auditing.index import AuditIndex
from calibrant.auditing.own_words import teller_of
from calibrant.auditing.segment_audit import SegmentAudit
from calibrant.auditing.verdict import verdict_meaning
from calibrant.errors import ArgumentError
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.audits import class_content, event_content, mean_content
from calibrant.report.guidance import AnyFindings, Checklist, checklist_of
from calibrant.report.parts import (
    Content,
    Form,
    PagePart,
    anchored,
    around,
    closing,
    deeper,
    fill_page,
    fold,
    paragraphs,
    part,
    provenance_pairs,
    section,
    spoken,
    table,
)
from calibrant.report.sections import about_part, checklist_part, segments_part, verdict_part
from calibrant.table.numbers import number, rows
from calibrant.table.results import Fact

_COMPARED = ("Name", "Verdict", "Error", "Null mean", "Upper bound", "AUC", "Brier score", "Log loss", "Advice")
_QUOTED = ("about", "checklist", "provenance")  # sections with the words of others
# What a page says of an audit, by its kind.
_CONTENT: dict[type, Callable[[Any, Sequence[Fact]], Content]] = {
    Findings: event_content,
    ClassFindings: class_content,
    MeanFindings: mean_content,
}


def render(audits: Sequence[Findings], *, title: str, note: str = "", form: Form = "html") -> str:
    """Write audits as one self-contained page, the same page for the same audits every time.

    Parameters
    ----------
    audits : sequence of Findings
        More than one starts with a table that compares them.
    title : str
        Heading of the page.
    note : str
        A sentence under the heading, such as where the scores come from.
    form : {"html", "markdown", "latex"}
        As HTML, as Markdown, in which pictures are told in words, or the tables alone as LaTeX.

    Returns
    -------
    str
        The page. Its script only shows, at the threshold that a reader chooses, numbers that it contains.

    Raises
    ------
    ArgumentError
        If there is no audit.
    """
    if not audits:
        raise ArgumentError("at least one audit", "none", "pass the results of calibrant.audit")
    above: list[PagePart] = []
    if len(audits) > 1:
        lines = [_compared(audit, f"audit-{i}") for i, audit in enumerate(audits, start=1)]
        compared = table("All audits, in the order of the sections below", _COMPARED, lines)
        above = [part("contents", [audit.name for audit in audits])]
        above += [section("Comparison", compared, id="comparison", kind="comparison")]
    return _page(audits, form, above, title=title, note=note)


def render_audit(audit: AnyFindings, form: Form, **said: str | None) -> str:
    """Write one audit as a page."""
    return _page([audit], form, (), **said)


def _page(audits: Sequence[AnyFindings], form: Form, above: Sequence[PagePart], **said: str | None) -> str:
    keys, parts = [key for audit in audits for key in audit.references], [*above]
    for i, audit in enumerate(audits, start=1):
        content = next(make for kind, make in _CONTENT.items() if isinstance(audit, kind))(audit, audit_facts(audit))
        checklist = checklist_of(audit, f"audit-{i}-")
        keys += [*content.references, *(checklist.references if checklist else ())]
        parts.append(_article(audit, content, checklist, i, len(audits)))
    heading, date = f"Calibration audit: {audits[0].name}", audits[0].provenance.date if len(audits) == 1 else None
    return fill_page(parts, form, heading, date=date, references=cite(keys), **said)


def render_segments(audit: SegmentAudit, form: Form, **said: str | None) -> str:
    """Write an audit of segments as a page."""
    verdict = audit.verdict or "no-verdict"
    data = paragraphs(f"{rows(audit.n)} rows in {rows(audit.n_segments)} segments.", kind="advice")
    parts: list[PagePart | None] = [
        section(verdict.replace("-", " ").capitalize(), *data, id="segments", verdict=verdict),
        segments_part(audit, "segments", id=""),
        *closing(audit.assumptions, None, title="Assumptions"),
    ]
    return fill_page(parts, form, "Calibration of segments", date=None, references=cite(audit.references), **said)


def render_index(index: AuditIndex, form: Form, **said: str | None) -> str:
    """Write an index of audits as a page."""
    heads, *lines = index.lines()
    marked = [[*cells, _verdict_cell(verdict), action] for *cells, verdict, action in lines]
    errors, ratios = [], []
    for one in index.entries:
        shown, error, bound, ratio = {"label": one["label"]}, one["error"], one["bound"], one["ratio"]
        shown["kind"] = one["verdict"].replace(" ", "-")
        errors.append(shown | {"value": error, "ends": [error, error if bound is None else bound]})
        ratios += [shown | {"value": ratio[0], "ends": ratio}] if ratio else []
    courses = [part("course", "O:E with its interval", ratios, [1])] if ratios else []
    courses.append(part("course", "Calibration error, up to its upper bound", errors, [0]))
    caption = (
        "Audits in the order given; error, its upper confidence bound, and observed over expected with its interval"
    )
    drawn, listed = around("box", "pair", *courses), table(caption, heads, marked)
    parts = [around("section", "audits", *paragraphs(*index.sentences()), drawn, listed)]
    return fill_page(parts, form, "Audits over time", date=None, references=(), **said)


def _verdict_cell(word: str) -> view.Cell:
    return view.Cell(word, kind=word.replace(" ", "-"), verdict=word)


def _compared(audit: Findings, anchor: str) -> list[str | view.Cell]:
    """Return the cells of an audit in the table that compares audits."""
    performance = audit.performance
    return [
        view.Cell(audit.name, href=f"#{anchor}"),
        _verdict_cell(audit.verdict),
        wording.error_range(audit),
        number(audit.cutoff.null_mean),
        wording.error_limits(audit.certificate).upper if audit.certificate else "none",
        *(number(estimate.value) for estimate in (performance.roc_auc, performance.brier, performance.log_loss)),
        view.Cell(audit.advice.action),
    ]


def _article(audit: AnyFindings, content: Content, checklist: Checklist | None, position: int, last: int) -> PagePart:
    """Everything that is said about one audit, which may be one of several on the page."""
    known, anchor, assumed = audit.provenance, f"audit-{position}", content.assumed
    inside = [
        about_part(audit),
        around("box", "first", verdict_part(audit, *content.said, verdict_meaning(audit)), content.first),
        *content.sections,
        checklist_part(checklist),
        *closing(
            known.assumptions,
            known.limitations,
            provenance_pairs(audit.name, known),
            fold("Assumptions of the single statements", part("items", assumed)) if assumed else None,
        ),
    ]
    head = [part("heading", 2, audit.name), part("back", position, last)] if last > 1 else []
    parts = [anchored(one if last == 1 else deeper(one), anchor) for one in inside if one is not None]
    quoted, told = {f"{anchor}-{id}" for id in _QUOTED}, teller_of(audit)
    parts = [one if one.given[0] in quoted else spoken(one, told) for one in parts]
    return around("article", anchor, *head, *parts)._replace(keywords={"label": audit.name})
