"""The page of an audit of predicted means."""

from __future__ import annotations

from functools import partial

from calibrant.auditing import mean_facts
from calibrant.auditing.about import about_lines
from calibrant.auditing.facts import audit_facts
from calibrant.auditing.mean_findings import MeanFindings
from calibrant.auditing.verdict import verdict_meaning
from calibrant.auditing.wording import advice_sentence
from calibrant.certificates.mean_results import SHARES, unit_of_error
from calibrant.plots.mean_audit import mean_displays
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.guidance import checklist_of
from calibrant.report.page import Form, fill_page, segment_part
from calibrant.report.pictures import Picture
from calibrant.table.numbers import amount, confidence
from calibrant.table.results import of_section

# What the first screen says in other places.
_ELSEWHERE = ("verdict", "warning", "advice", "command", "python")


def render_mean_audit(audit: MeanFindings, form: Form = "html") -> str:
    """Write an audit of predicted means as one self-contained page, under the title and the note of its provenance.

    Parameters
    ----------
    audit : MeanFindings
        What `calibrant.audit_means` returned.
    form : {"html", "markdown", "latex"}
        As HTML, as Markdown, in which pictures are told in words, or the tables alone as LaTeX.

    Returns
    -------
    str
        The page, the same for the same audit every time.
    """
    known, facts, certificate = audit.provenance, audit_facts(audit), audit.certificate
    checklist = checklist_of(audit)
    meaning, effect = verdict_meaning(audit), mean_facts.recalibration_sentence(audit)
    picture = partial(Picture, of_what=audit.name, anchor="means")
    of_total = certificate.relative_to in SHARES
    names = ("Observed and predicted means", "Cumulative residuals")
    shown = zip(names, mean_displays(audit), (_means_described(audit), _residuals_described(audit)), strict=True)
    return fill_page(
        "mean_audit.j2",
        form,
        title=known.title or f"Calibration audit: {audit.name}",
        note=known.note or "",
        byline=known,
        audit=audit,
        about=about_lines(known.about),
        checklist=checklist,
        verdict=audit.verdict,
        meaning=f"{meaning[0].upper()}{meaning[1:]}",
        advice=advice_sentence(audit),
        headline=[(fact.label, fact.value) for fact in of_section(facts, "headline") if fact.key not in _ELSEWHERE],
        pictures=[picture(*one) for one in shown],
        unit=("as a share " if of_total else "") + unit_of_error(certificate.relative_to, audit.weighting),
        sure=confidence(certificate.confidence_level),
        sides=[fact.cells for fact in of_section(facts, "sides")],
        claims=[certificate.too_high.sentence, certificate.too_low.sentence],
        segments=None if audit.segments is None else segment_part(audit.segments, audit.name, "means"),
        measures=[fact.cells for fact in of_section(facts, "measures")],
        test=[fact.value for fact in facts if fact.key == "test"][-1:],
        effect=f"{effect[0].upper()}{effect[1:]}.",
        changes=mean_facts.changes(audit),
        provenance=view.provenance(audit.name, known),
        references=cite([*audit.references, *(checklist.references if checklist else ())]),
    )


def _means_described(audit: MeanFindings) -> str:
    """What the picture of means shows, for readers who do not see it."""
    curve = audit.reliability
    ends = [f"{amount(curve.rate[i])} at a mean prediction of {amount(curve.score[i])}" for i in (0, -1)]
    return f"In {len(curve.score)} bins the observed mean goes from {ends[0]} to {ends[1]}."


def _residuals_described(audit: MeanFindings) -> str:
    """What the cumulative residuals show."""
    said = mean_facts.band_sentence(audit)
    return f"The sums of observed less predicted range over {mean_facts.error_text(audit)}: {said}."
