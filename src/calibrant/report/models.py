"""The page of a comparison of models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from calibrant.comparing.compare import Comparison, comparison_facts
from calibrant.comparing.losses import MEASURES
from calibrant.plots import ComparisonDisplay, DecisionCurveDisplay, DifferenceDisplay, Model
from calibrant.references import cite
from calibrant.report.parts import (
    Form,
    around,
    closing,
    fill_page,
    paragraphs,
    part,
    provenance_pairs,
    section,
    table,
)
from calibrant.report.pictures import Picture
from calibrant.report.sections import about_part
from calibrant.table.numbers import confidence, signed
from calibrant.table.results import of_section


def render_comparison(comparison: Comparison, form: Form, **said: str | None) -> str:
    """Write a comparison of models as one page, the same for the same comparison every time."""
    provenance, models = comparison.provenance, comparison.models
    facts = list(comparison_facts(comparison))
    headline = of_section(facts, "headline")
    sentences = [fact.value for fact in headline if fact.key == "verdict"]
    decided = [one.better is not None for one in comparison.differences]
    undecided = any(one.better is None and not one.equal for one in comparison.differences)
    picture = partial(Picture, of_what=comparison.name)
    (first, curve), *others = [(name, model.decision_curve) for name, model in models.items()]
    decisions = DecisionCurveDisplay(curve, name=first, beside=dict(others))
    diagram = ComparisonDisplay(
        {name: Model(model.reliability, model.cutoff, model.cumulative_residuals) for name, model in models.items()}
    )
    heading = "Decided" if any(decided) and not undecided else "Decided in part" if any(decided) else "Undecided"
    sure = confidence(comparison.confidence_level)
    caption = (
        "Differences on the same rows, with intervals that hold together, and how many rows would decide, were the "
        "difference what it seems"
    )
    heads, lines = ("Measure", "Difference", f"{sure} interval", "Better"), of_section(facts, "differences")
    ranks = "; in brackets the rank: one more than the number of models that are better beyond chance"
    measures = table(
        "Measures of each model" + ranks * (len(models) > 2),
        ["Model", *(MEASURES[key].name for key in comparison.measures)],
        [(name, *_measures(comparison, name)) for name in models],
    )
    drawn = [
        part("picture", "reliability", picture("Reliability diagram", diagram)),
        part("picture", "decisions", picture("Decision curves", decisions)),
    ]
    parts = [
        about_part(comparison),
        section(
            heading,
            *paragraphs(*sentences, kind="meaning"),
            *paragraphs(*(f"{fact.label}: {fact.value}." for fact in headline if fact.key != "verdict"), kind="advice"),
            verdict="certified" if any(decided) else "undecided",
        ),
        section(
            "Differences",
            *paragraphs(f"All intervals hold together with {sure} confidence. They are asymptotic."),
            part("picture", "differences", picture("Differences", DifferenceDisplay(comparison))),
            table(caption, heads, [fact.cells for fact in lines], numeric=False),
            id="differences",
        ),
        section("Measures of each model", around("box", "pair", *drawn), measures, id="measures"),
        *closing(
            [*provenance.assumptions, *provenance.limitations],
            None,
            provenance_pairs(comparison.name, provenance, what="Compared"),
            title="What this assumes, and does not show",
        ),
    ]
    heading, references = f"Comparison: {', '.join(models)}", cite(comparison.references)
    return fill_page(parts, form, heading, date=provenance.date, references=references, **said)


def _measures(comparison: Comparison, name: str) -> Iterator[str]:
    """Yield the measures of a model, with its ranks where there are more than two."""
    for key in comparison.measures:
        rank = f" ({comparison.ranks[key][name]})" if len(comparison.models) > 2 else ""
        yield signed(comparison.models[name].measures[key]) + rank
