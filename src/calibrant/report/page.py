"""Put the page together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.auditing import wording
from calibrant.auditing.cluster_wording import unseen_sentence
from calibrant.auditing.error_wording import error_limits, error_range, plain_sentence
from calibrant.auditing.findings import Findings
from calibrant.errors import ArgumentError, need_package
from calibrant.plots.style import DARK, LIGHT
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.decisions import HEADS, decisions
from calibrant.report.guidance import GUIDES, guidance
from calibrant.report.pictures import pictures
from calibrant.report.segments import segments
from calibrant.table.numbers import confidence, number, share, write_upper
from calibrant.version import __version__

__all__ = ["fill_page", "render", "render_audit"]


def render(audits: Sequence[Findings], *, title: str, note: str = "") -> str:
    """Write audits as one self-contained HTML page, the same page for the same audits every time.

    Parameters
    ----------
    audits : sequence of Findings
        More than one starts with a table that compares them.
    title : str
        Heading of the page.
    note : str
        A sentence under the heading, such as where the scores come from.

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
    return fill_page(
        "page.html.j2",
        title=title,
        note=note,
        byline=audits[0].provenance if len(audits) == 1 else None,
        decision_heads=HEADS,
        references=cite([*keys, *GUIDES]),
        sections=[_section(audit, place) for place, audit in enumerate(audits, start=1)],
    )


def render_audit(audit: Findings) -> str:
    """Write one audit as a page, under the title and the note of its provenance."""
    known = audit.provenance
    return render([audit], title=known.title or f"Calibration audit: {audit.name}", note=known.note or "")


def _section(audit: Findings, place: int) -> dict[str, Any]:
    """Everything the template says about one audit."""
    anchor = f"audit-{place}"
    return {
        "place": place,
        "anchor": anchor,
        "audit": audit,
        "verdict": wording.verdict_word(audit),
        "plain": plain_sentence(audit),
        "meaning": wording.verdict_meaning(audit),
        "advice": wording.advice_sentence(audit),
        "band": wording.band_sentence(audit),
        "error": error_range(audit),
        "brief": view.in_brief(audit),
        "calibration": view.calibration(audit),
        "performance": view.performance(audit),
        "sample": view.sample(audit),
        "unseen": view.unseen(audit),
        "unseen_sentence": unseen_sentence(audit),
        "decisions": decisions(audit),
        "costs_facts": view.cost_facts(audit),
        "recalibration": view.recalibration(audit),
        "gain": wording.gain_sentence(audit),
        "further": view.further(audit),
        "costs": view.costs(audit),
        "intervals": not np.isnan(audit.reliability.lower).all(),
        "pictures": pictures(audit, anchor),
        "segments": segments(audit, anchor),
        "bins": view.bins(audit.reliability),
        "histogram": view.histogram(audit.histogram),
        "residuals": view.residual_points(audit.cumulative_residuals),
        "guidance": guidance(audit),
        "assumptions": view.assumptions(audit),
        "provenance": view.provenance(
            audit.name, audit.provenance, unit="Rows" if audit.sample.weights == "rows" else "Total weight"
        ),
        "cells": wording.cells_sentence(audit),
    }


def fill_page(template: str, *, title: str, note: str, **content: Any) -> str:
    """Fill a template of a page; all pages share their head, style and footer."""
    need_package("jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, upper_limit=write_upper, share=share, confidence=confidence)
    environment.filters["error_limits"] = error_limits
    return environment.get_template(template).render(
        title=title,
        title_css=_css_text(title),
        note=note,
        version=__version__,
        light=LIGHT.by_name(),
        dark=DARK.by_name(),
        **content,
    )


def _css_text(text: str) -> str:
    """Write a text so that it can stand between quotation marks in a style sheet."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " .,:-") else f"\\{ord(c):x} " for c in text)
