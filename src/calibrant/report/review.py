"""What pages say of cases that may be decided without review: of selective decisions, and of an audit with a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.decisions.selections import BinarySelection
from calibrant.decisions.selective import Selection
from calibrant.plots import RiskCoverageDisplay
from calibrant.report import view
from calibrant.report.pictures import Picture
from calibrant.table.numbers import share

TITLE = "Which cases may be decided without review?"


def sides(both: BinarySelection) -> dict[str, Selection]:
    """Return both sides by what they are called on a page."""
    return {"Called positive": both.yes, "Called negative": both.no}


def selection_parts(selections: Mapping[str, Selection], anchor: str) -> list[dict[str, Any]]:
    """Return what a page says of each cut-off; the anchor, unique on the page, starts its ids."""
    return [_part(name, one, f"{anchor}-{i}") for i, (name, one) in enumerate(selections.items(), start=1)]


def _part(name: str, one: Selection, anchor: str) -> dict[str, Any]:
    decided = f"{share(one.coverage)} may be decided without review" if one.accepted else "Nothing is certified"
    described = f"If all rows were decided, {share(one.curve.selective_risk[-1])} would be wrong."
    return {
        "verdict": "certified" if one.accepted else "undecided",
        "heading": f"{name}: {decided[0].lower()}{decided[1:]}" if name else decided,
        "lines": [*one.lines(), *one.remarks()],
        "picture": Picture("Risk and coverage", RiskCoverageDisplay(one), described, name or TITLE, anchor),
        "cutoffs": view.cutoffs(one.curve),
    }
