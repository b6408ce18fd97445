"""What a result shows, written once: text, page, notebook and Markdown choose among its facts, and lay them out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from calibrant.table.numbers import signed, write_interval
from calibrant.table.results import Estimate


class Fact(NamedTuple):
    """A sentence, or a number with its limits, under a label.

    Attributes
    ----------
    key, label : str
        Its name for programs and for readers.
    value : str
        The number as written, or the sentence.
    lower, upper : str
        Limits of the number as written; the first alone says why there are none, if that is to be said.
    method : str
        How the limits were found.
    note : str
        What to make of it, for forms that have the space.
    section : str
        Where it belongs.
    rank : int
        Where lines are too many, those of the highest rank are cut first; those of rank 0 never are.
    """

    key: str
    label: str
    value: str
    lower: str = ""
    upper: str = ""
    method: str = ""
    note: str = ""
    section: str = ""
    rank: int = 0

    @property
    def ends(self) -> str:
        """The limits alone."""
        return " to ".join(filter(None, [self.lower, self.upper]))

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Label, value, limits and note: the cells of a row of a table."""
        return self.label, self.value, self.ends + (f" ({self.method})" if self.method else ""), self.note

    def with_limits(self, before: str = "") -> str:
        """Write the number with its limits in brackets, after words about these."""
        return f"{self.value} ({before}{self.ends})" if self.lower else self.value


def estimated(key: str, label: str, estimate: Estimate, section: str, note: str = "") -> Fact:
    """Write an estimate; without an interval where chance is not known."""
    note = joined(note, estimate.note)
    if math.isnan(estimate.lower):
        return Fact(key, label, signed(estimate.value), note=note, section=section)
    written = write_interval(estimate.value, estimate.lower, estimate.upper, write=signed)
    return Fact(key, label, *written, estimate.method, note, section)


def joined(*parts: str) -> str:
    """Join the parts of a sentence that are not empty."""
    return "; ".join(filter(None, parts))


def of_section(facts: Iterable[Fact], *sections: str) -> list[Fact]:
    """Choose the facts of some sections, in the order in which they stand."""
    return [fact for fact in facts if fact.section in sections]
