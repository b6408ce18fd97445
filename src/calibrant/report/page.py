"""Put the page of audits together, and fill the templates of all pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from calibrant.auditing import wording
from calibrant.auditing.about import about_lines
from calibrant.auditing.facts import audit_facts
from calibrant.auditing.findings import Findings
from calibrant.auditing.index import AuditIndex
from calibrant.auditing.next_steps import next_facts
from calibrant.auditing.segment_audit import SegmentAudit, audit_rows, bound_text, sentences
from calibrant.auditing.verdict import verdict_meaning
from calibrant.errors import ArgumentError, need_package
from calibrant.plots.segments import SegmentDisplay, SegmentMapDisplay, pairs_of
from calibrant.plots.style import DARK, LIGHT
from calibrant.printable import visible, visible_lines
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.guidance import checklist_of
from calibrant.report.latex import as_latex, latex_columns
from calibrant.report.pictures import Picture, forests, pictures
from calibrant.report.review import selection_parts, sides
from calibrant.table.numbers import confidence, number, rows, write_upper
from calibrant.table.results import of_section
from calibrant.version import __version__

# How a page is written.
Form: TypeAlias = Literal["html", "markdown", "latex"]

_SHOWN = 20  # segments that are not folded
# What the first screen says in other places.
_ELSEWHERE = ("verdict", "where", "warning", "advice", "command", "python")


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
    keys = [key for audit in audits for key in (*audit.references, *audit.decision_curve.references)]
    sections = [_section(audit, position) for position, audit in enumerate(audits, start=1)]
    for section in sections:
        keys += section["checklist"].references if section["checklist"] else ()
    return fill_page(
        "page.j2",
        form,
        title=title,
        note=note,
        byline=audits[0].provenance if len(audits) == 1 else None,
        references=cite(keys),
        comparison=[_compared(audit, f"audit-{position}") for position, audit in enumerate(audits, start=1)],
        sections=sections,
    )


def render_audit(audit: Findings, form: Form = "html") -> str:
    """Write one audit as a page, under the title and the note of its provenance."""
    known = audit.provenance
    title = known.title or f"Calibration audit: {audit.name}"
    return render([audit], title=title, note=known.note or "", form=form)


def render_segments(audit: SegmentAudit, form: Form = "html") -> str:
    """Write an audit of segments as a page."""
    return fill_page(
        "segment_page.j2",
        form,
        title="Calibration of segments",
        note="",
        byline=None,
        verdict=audit.verdict or "no-verdict",
        data=f"{rows(audit.n)} rows in {rows(audit.n_segments)} segments.",
        segments=segment_part(audit, "segments", "audit"),
        assumptions=audit.assumptions,
        references=cite(audit.references),
    )


def render_index(index: AuditIndex, form: Form = "html") -> str:
    """Write an index of audits as a page."""
    heads, *lines = index.lines()
    marked = [[*cells, _verdict_cell(verdict), action] for *cells, verdict, action in lines]
    content: dict[str, Any] = {"byline": None, "references": [], "index": index, "heads": heads, "lines": marked}
    return fill_page("index.j2", form, title="Audits over time", note="", **content)


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


def _section(audit: Findings, position: int) -> dict[str, Any]:
    """Everything the template says about one audit."""
    anchor, facts = f"audit-{position}", audit_facts(audit)
    decision, meaning, plain = audit.decision, verdict_meaning(audit), wording.plain_sentence(audit)
    sure = confidence(audit.performance.roc_auc.confidence_level)
    costs = "whatever a false positive and a false negative cost"
    if decision is not None:
        costs = f"where a false positive costs {decision.false_positive_cost:g} and a false negative "
        costs += f"{decision.false_negative_cost:g}"

    def named(*sections: str) -> list[tuple[str, str]]:
        return [(fact.label, fact.value) for fact in of_section(facts, *sections) if fact.key not in _ELSEWHERE]

    def numbers(section: str) -> dict[str, Any]:
        return view.estimates(of_section(facts, section), sure)

    gain = wording.auto_gain(audit.recalibration)
    return {
        "place": position,
        "anchor": anchor,
        "audit": audit,
        "verdict": audit.verdict,
        "plain": f"{plain[0].upper()}{plain[1:]}.",
        "meaning": f"{meaning[0].upper()}{meaning[1:]}",
        "advice": wording.advice_sentence(audit),
        "band": wording.band_sentence(audit),
        "headline": named("headline", "segments"),
        **{section: named(section) for section in ("calibration", "data", "between", "clusters", "effect")},
        **{section: numbers(section) for section in ("performance", "unseen", "costs")},
        "measures": [(fact.label, fact.value, fact.note) for fact in of_section(facts, "measures")],
        "gain": f"{gain[0].upper()}{gain[1:]}." if gain else "",
        "costs_caption": f"Mean cost per case, {costs}",
        "decisions": view.decisions(audit),
        "cost_curve": view.cost_curve_rows(audit),
        "intervals": not np.isnan(audit.reliability.lower).all(),
        "pictures": pictures(audit, anchor),
        "forests": forests(audit, anchor),
        "segments": None if audit.segments is None else segment_part(audit.segments, audit.name, anchor),
        "review": None if audit.selective is None else selection_parts(sides(audit.selective), f"{anchor}-cut-off"),
        "bins": view.bins(audit.reliability),
        "histogram": view.histogram(audit.histogram),
        "residuals": view.residual_points(audit.cumulative_residuals),
        "about": about_lines(audit.provenance.about),
        "checklist": checklist_of(audit, f"{anchor}-"),
        "assumptions": view.assumptions(audit),
        "provenance": view.provenance(audit.name, audit.provenance),
        "cells": wording.cells_sentence(audit),
    }


def segment_part(audit: SegmentAudit, name: str, anchor: str) -> dict[str, Any]:
    """Return what a page says of segments of what is named so; the anchor, unique on the page, starts its ids."""
    picture = partial(Picture, of_what=name, anchor=anchor)
    forest = SegmentDisplay(audit, name=name)
    described = (
        f"{rows(len(forest.places))} of {rows(audit.n_segments)} segments with their errors and bounds, the "
        f"highest lower bounds first; {bound_text(audit)}. The table has the numbers."
    )
    chart = None
    if pairs_of(audit):
        display = SegmentMapDisplay(audit, name=name)
        said = f"Calibration errors by {display.pair[0]} and {display.pair[1]}. The table has the numbers."
        chart = picture("Map of segments", display, said)
    heads, lines = audit_rows(audit)
    sure = confidence(audit.confidence_level)
    return {
        "sentences": " ".join(sentences(audit)),
        "caption": f"calibration errors with bounds that hold together, with {sure} confidence",
        "forest": picture("Segments", forest, described),
        "map": chart,
        "heads": heads,
        "first": lines[:_SHOWN],
        "further": lines[_SHOWN:],
    }


def fill_page(template: str, form: Form, *, title: str, note: str, **content: Any) -> str:
    """Fill a template of a page; all pages of a form share their head, their pieces and their foot."""
    page = (
        _environment(form)
        .get_template(template)
        .render(
            form=form,
            title=title,
            title_css=_css_text(title),
            note=note,
            version=__version__,
            light=LIGHT.by_name(),
            dark=DARK.by_name(),
            **content,
        )
    )
    return page if form == "html" else _tidy(page)


@cache
def _environment(form: Form) -> Any:
    """Return where templates are found, and compiled once."""
    need_package("jinja2", "calibrant[report]")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        finalize=_WRITERS[form],
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    environment.filters.update(upper_limit=write_upper, confidence=confidence, code=_as_code, next_facts=next_facts)
    environment.globals.update(latex_columns=latex_columns)
    return environment


def _as_html(value: Any) -> Any:
    """Write characters that steer, in names from outside, as their escapes; what a template wrote stays as it is."""
    if isinstance(value, view.Cell):
        value = value.text
    return visible_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _as_markdown(value: Any) -> Any:
    """Escape what Markdown would take for more than words; what a template wrote stays as it is."""
    from markupsafe import Markup

    if hasattr(value, "__html__"):
        return value
    words = visible(" ".join(str(value).split()))
    words = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", words))
    return Markup(re.sub(r"([\\`*_\[\]|~#])", r"\\\1", words))


_WRITERS: dict[Form, Callable[[Any], Any]] = {"html": _as_html, "markdown": _as_markdown, "latex": as_latex}


def _as_code(text: str) -> Any:
    """Write a command as code in Markdown, within more backticks than it has in a row."""
    from markupsafe import Markup

    text = visible_lines(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return Markup(f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}")


def _tidy(text: str) -> str:
    """Take away the spaces and the empty lines that templates leave."""
    lines = "\n".join(line.strip() for line in text.splitlines())
    return re.sub(r"(?<=\|)\n+(?=\|)", "\n", re.sub(r"\n{3,}", "\n\n", lines)).strip() + "\n"


def _css_text(text: str) -> str:
    """Write a text so that it can stand between quotation marks in a style sheet."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " .,:-") else f"\\{ord(c):x} " for c in text)
