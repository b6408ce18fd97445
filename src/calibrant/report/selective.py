"""The page of selective decisions: which cases may be decided without review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from calibrant.clock import utc_now
from calibrant.decisions.selections import BinarySelection, Selections
from calibrant.decisions.selective import Selection, percent
from calibrant.plots import RiskCoverageDisplay
from calibrant.references import cite
from calibrant.report.parts import Form, PagePart, around, closing, fill_page, fold, paragraphs, part, section, table
from calibrant.report.pictures import Picture
from calibrant.report.view import cutoffs
from calibrant.table.numbers import share
from calibrant.version import __version__

TITLE = "Which cases may be decided without review?"
AnySelection: TypeAlias = Selection | Selections | BinarySelection

_MOST_SHOWN = 12  # groups and targets with a picture of their own; the table has all


def render_selective(
    result: AnySelection,
    form: Form,
    *,
    command: str | None = None,
    **said: str | None,
) -> str:
    """Write which cases may be decided without review as one page, and the command that made it.

    It is dated, as `calibrant.audit` dates its results; all else is the same for the same result.
    """
    lines: list[tuple[str, ...]] = []
    if isinstance(result, Selection):
        parts, together = {"": result}, []
    elif isinstance(result, BinarySelection):
        parts, together = sides(result), result.lines()
    else:
        lines, together = result.table(), [result.claim]
        first = result.selections[:_MOST_SHOWN]
        parts = {", ".join(filter(None, [one.group, percent(one.target_error)])): one for one in first}
    now = utc_now()
    provenance = {"Date": now, "Command": command, "Version": f"calibrant {__version__}"}
    content: list[PagePart | None] = []
    if together:
        listed = table("Cut-offs by group and target", lines[0], lines[1:]) if lines else None
        content.append(section("Together", *paragraphs(*together), listed, id="together"))
    for one in selection_parts(parts, "cut-off"):
        verdict = "certified" if one.selection.accepted else "undecided"
        text = section(one.heading, *one.lines, id=one.picture.anchor, verdict=verdict)
        drawn = section(one.picture.name, part("picture", "risk-coverage", one.picture), quiet=True)
        content += [around("box", "first", text, drawn), cutoff_table(one.selection)]
    known = [(name, value) for name, value in provenance.items() if value]
    content += closing(result.assumptions, None, known, title="Assumptions")
    return fill_page(content, form, TITLE, date=now, references=cite(result.references), **said)


class _CutOff(NamedTuple):
    """What a page says of one cut-off."""

    selection: Selection
    heading: str
    lines: list[PagePart]
    picture: Picture


def sides(both: BinarySelection) -> dict[str, Selection]:
    """Return both sides by what they are called on a page."""
    return {"Called positive": both.yes, "Called negative": both.no}


def selection_parts(selections: Mapping[str, Selection], anchor: str) -> Iterator[_CutOff]:
    """Yield what a page says of each cut-off; the anchor, unique on the page, starts its ids."""
    for i, (name, one) in enumerate(selections.items(), start=1):
        decided = f"{share(one.coverage)} may be decided without review" if one.accepted else "Nothing is certified"
        heading = f"{name}: {decided[0].lower()}{decided[1:]}" if name else decided
        picture = Picture("Risk and coverage", RiskCoverageDisplay(one), name or TITLE, f"{anchor}-{i}")
        yield _CutOff(one, heading, paragraphs(*one.lines(), *one.remarks()), picture)


def cutoff_table(selection: Selection) -> PagePart:
    """Return some cut-offs with what they decide."""
    heads = ("Score", "Coverage", "Decided", "Wrong", "Allowed", "Certified")
    return fold("Numbers behind the picture", table("Some cut-offs", heads, cutoffs(selection.curve)), screen=True)
