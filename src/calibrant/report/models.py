"""The page of a comparison of models."""

from __future__ import annotations

from functools import partial

from calibrant.comparing.losses import MEASURES
from calibrant.comparing.results import Comparison, comparison_facts, verdict_sentences
from calibrant.plots import ComparisonDisplay, DifferenceDisplay, Model
from calibrant.references import cite
from calibrant.report import view
from calibrant.report.page import Form, fill_page
from calibrant.report.pictures import Picture, drawn
from calibrant.report.view import Row
from calibrant.table.facts import of_section
from calibrant.table.numbers import confidence, number, signed


def render_comparison(comparison: Comparison, form: Form = "html") -> str:
    """Write a comparison of models as one self-contained page, the same for the same comparison every time.

    Parameters
    ----------
    comparison : Comparison
        What `calibrant.compare` returned.
    form : {"html", "markdown"}
        As HTML, or as Markdown, in which pictures are told in words.

    Returns
    -------
    str
        The page.
    """
    found = comparison.provenance
    facts = list(comparison_facts(comparison))
    decided = [one.better is not None for one in comparison.differences]
    return fill_page(
        "models.j2",
        form,
        title=found.title or f"Comparison: {', '.join(comparison.models)}",
        note=found.note or "",
        byline=found,
        verdict="certified" if any(decided) else "undecided",
        heading="Decided" if all(decided) else "Decided in part" if any(decided) else "Undecided",
        sentences=[fact.value for fact in facts if fact.key == "verdict"],
        data=facts[-1].value,
        sure=confidence(comparison.confidence_level),
        differences=[fact.cells for fact in of_section(facts, "differences")],
        measure_heads=["Model", *(MEASURES[key].name for key in comparison.measures)],
        measures=_measures(comparison),
        pictures=_pictures(comparison),
        assumptions=found.assumptions,
        limitations=found.limitations,
        provenance=view.provenance(comparison.name, found, what="Compared"),
        references=cite(comparison.references),
    )


def _measures(comparison: Comparison) -> list[Row]:
    """Return the measures of every model, with its rank where there are more than two."""
    found: list[Row] = []
    for name, model in comparison.models.items():
        cells = [signed(model.measures[key]) for key in comparison.measures]
        if len(comparison.models) > 2:
            ranks = [comparison.ranks[key][name] for key in comparison.measures]
            cells = [f"{cell} ({rank})" for cell, rank in zip(cells, ranks, strict=True)]
        found.append((name, *cells))
    return found


def _pictures(comparison: Comparison) -> dict[str, Picture]:
    models = {
        name: Model(model.reliability, model.cutoff, model.cumulative_residuals)
        for name, model in comparison.models.items()
    }
    errors = ", ".join(f"{name} {number(model.cutoff.value)}" for name, model in comparison.models.items())
    picture = partial(drawn, of_what=comparison.name, anchor="comparison")
    return {
        "differences": picture("Differences", DifferenceDisplay(comparison), " ".join(verdict_sentences(comparison))),
        "reliability": picture("Reliability diagram", ComparisonDisplay(models), f"Calibration errors: {errors}."),
    }
