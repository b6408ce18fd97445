"""The page of a comparison of models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from calibrant.auditing.about import about_lines
from calibrant.comparing.losses import MEASURES
from calibrant.comparing.results import Comparison, comparison_facts
from calibrant.plots import ComparisonDisplay, DecisionCurveDisplay, DifferenceDisplay, Model
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.page import Form, fill_page
from calibrant.report.pictures import Picture
from calibrant.table.numbers import confidence, number, signed
from calibrant.table.results import of_section


def render_comparison(comparison: Comparison, form: Form = "html") -> str:
    """Write a comparison of models as one self-contained page, the same for the same comparison every time.

    Parameters
    ----------
    comparison : Comparison
        What `calibrant.compare` returned.
    form : {"html", "markdown", "latex"}
        As HTML, as Markdown, in which pictures are told in words, or the tables alone as LaTeX.

    Returns
    -------
    str
        The page.
    """
    provenance, models = comparison.provenance, comparison.models
    facts = list(comparison_facts(comparison))
    headline = of_section(facts, "headline")
    sentences = [fact.value for fact in headline if fact.key == "verdict"]
    decided = [one.better is not None for one in comparison.differences]
    undecided = any(one.better is None and not one.equal for one in comparison.differences)
    picture = partial(Picture, of_what=comparison.name, anchor="comparison")
    errors = ", ".join(f"{name} {number(model.cutoff.value)}" for name, model in models.items())
    (first, curve), *others = [(name, model.decision_curve) for name, model in models.items()]
    decisions = DecisionCurveDisplay(curve, name=first, beside=dict(others))
    diagram = ComparisonDisplay(
        {name: Model(model.reliability, model.cutoff, model.cumulative_residuals) for name, model in models.items()}
    )
    return fill_page(
        "models.j2",
        form,
        title=provenance.title or f"Comparison: {', '.join(models)}",
        note=provenance.note or "",
        byline=provenance,
        about=about_lines(provenance.about),
        verdict="certified" if any(decided) else "undecided",
        heading="Decided" if any(decided) and not undecided else "Decided in part" if any(decided) else "Undecided",
        sentences=sentences,
        remarks=[f"{fact.label}: {fact.value}" for fact in headline if fact.key != "verdict"],
        sure=confidence(comparison.confidence_level),
        differences=[fact.cells for fact in of_section(facts, "differences")],
        measure_heads=["Model", *(MEASURES[key].name for key in comparison.measures)],
        measures=[(name, *_measures(comparison, name)) for name in models],
        pictures={
            "differences": picture("Differences", DifferenceDisplay(comparison), " ".join(sentences)),
            "reliability": picture("Reliability diagram", diagram, f"Calibration errors: {errors}."),
            "decisions": picture("Decision curves", decisions, "Net benefit of each model by threshold."),
        },
        assumptions=provenance.assumptions,
        limitations=provenance.limitations,
        provenance=view.provenance(comparison.name, provenance, what="Compared"),
        references=cite(comparison.references),
    )


def _measures(comparison: Comparison, name: str) -> Iterator[str]:
    """Yield the measures of a model, with its ranks where there are more than two."""
    for key in comparison.measures:
        rank = f" ({comparison.ranks[key][name]})" if len(comparison.models) > 2 else ""
        yield signed(comparison.models[name].measures[key]) + rank
