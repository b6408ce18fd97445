"""Several selective decisions that hold together: for several targets and groups, and of both kinds, yes and no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.decisions.selective import Cutoffs, Selection, percent, select, target_errors
from calibrant.distributions.binomial import binomial_limits, rows_without_error
from calibrant.errors import ArgumentError
from calibrant.table.numbers import given, share, text_grid
from calibrant.table.results import Count, Report, Result
from calibrant.table.score_table import ScoreTable
from calibrant.table.statements import INDEPENDENT, Statement


@dataclass(frozen=True, kw_only=True, eq=False)
class Selections(Statement, Report):
    """Certified cut-offs for several targets or groups, which hold together; result of `calibrant.selective`.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`;
        of all together.
    selections : tuple of Selection
        One for each target, of each group. Their confidence levels are their own, and higher.
    """

    _page = "report.selective.render_selective"

    selections: tuple[Selection, ...]

    @classmethod
    def of(cls, selections: Sequence[Selection], confidence_level: float) -> Selections:
        """Put together what holds together with this probability."""
        claim = "The claims of all cut-offs hold together with probability at least"
        first = selections[0]
        return cls(
            claim=f"{claim} {given(confidence_level)}.",
            confidence_level=confidence_level,
            assumptions=first.assumptions,
            references=first.references,
            selections=tuple(selections),
        )

    def __str__(self) -> str:
        remarks = dict.fromkeys(remark for one in self.selections for remark in one.remarks())
        return "\n".join([text_grid(self.table()), self.claim, *remarks, *self.assumptions[:2]])

    def table(self) -> list[tuple[str, ...]]:
        """Write the cut-offs as lines of a table, the first its heading."""
        counted = self.selections[0].unit
        heads = ("group", "target error", "certified from", counted, "coverage", "wrong", "allowed")
        grouped = any(one.group is not None for one in self.selections)
        return [line[1 - grouped :] for line in (heads, *map(_line, self.selections))]


def _line(one: Selection) -> tuple[str, ...]:
    counts = ("", "") if one.threshold is None else (f"{one.errors:,.0f}", f"{one.allowed_errors:,.0f}")
    decided = "none" if one.threshold is None else given(one.threshold)
    return one.group or "", percent(one.target_error), decided, f"{one.n:,.0f}", share(one.coverage), *counts


def target_pair(target_error: float | Sequence[float]) -> tuple[float, float]:
    """Return the targets of cases called positive and of those called negative, which are one if one is given."""
    targets = target_errors(target_error)
    if len(targets) > 2:
        remedy = "pass that among cases called positive, then that among cases called negative"
        raise ArgumentError("one or two numbers as `target_error`", f"{len(targets)}", remedy)
    return targets[0], targets[-1]


def groups_share(tables: Mapping[str | None, ScoreTable], delta: float) -> dict[str | None, float]:
    """Share a probability of failure among groups: half of it equally, half of it by their rows."""
    n = sum(table.total for table in tables.values())
    return {name: delta * (0.5 / len(tables) + 0.5 * table.total / n) for name, table in tables.items()}


@dataclass(frozen=True)
class MissedPositives(Result):
    """What is claimed of the positives that a "no" without review misses.

    Attributes
    ----------
    target : float
        Largest acceptable share of the positives.
    positives, missed, allowed : float
        Positives; those that are missed; how many may be. -1 if there are too few positives for any cut-off.
    needed_positives : int
        Positives that it takes for a cut-off below all of them.
    """

    target: float
    positives: Count
    missed: Count
    allowed: Count
    needed_positives: int


@dataclass(frozen=True, kw_only=True, eq=False)
class BinarySelection(Statement, Report):
    """Cases that may be called positive or negative without review; result of `calibrant.selective_binary`.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`;
        of everything together.
    yes, no : Selection
        What is called positive, and what is called negative. Their confidence levels are their own, and higher.
    review, review_share : float
        Rows that are left for review, and their share; 0 if none is.
    missed : MissedPositives or None
        What holds of positives that are called negative, if it was asked.
    """

    _page = "report.selective.render_selective"

    yes: Selection
    no: Selection
    review: Count
    review_share: float
    missed: MissedPositives | None

    def __str__(self) -> str:
        sides = {"yes": self.yes.lines(), "no": self.no.lines()}
        lines = [f'"{name}": {line}' for name, side in sides.items() for line in side]
        return "\n".join([*self.lines(), *lines, *self.yes.remarks(), *self.assumptions[:2]])

    def lines(self) -> list[str]:
        """Say what is left for review, and what holds of both sides together."""
        lines = [f"Left for review: {self.review:,.0f} of {self.yes.n:,.0f} rows ({share(self.review_share)})."]
        if (missed := self.missed) is not None:
            limit = f"at most {percent(missed.target)} of the positives of the population are called negative"
            needed = f"it takes {missed.needed_positives:,} to call a case negative"
            claimed = f"{missed.allowed:,.0f} allowed; {limit}" if missed.allowed >= 0 else needed
            lines.append(f"Missed: {missed.missed:,.0f} of {missed.positives:,.0f} positives; {claimed}.")
        return [*lines, self.claim]


def select_both(
    table: ScoreTable, targets: tuple[float, float], missed: float | None, delta: float, **further: Any
) -> BinarySelection:
    """Decide as many cases as certified cut-offs of both sides allow together, each at its share of delta.

    No case is decided both ways. Where several pairs of cut-offs decide as many, that of fewest errors is chosen.
    """
    part = delta / (2.0 if missed is None else 3.0)
    yes, no = Cutoffs.of(table, targets[0], part), Cutoffs.of(table, targets[1], part, below=True)
    lower, positives = no.passing, None
    if missed is not None:
        # Below the lowest cut-off that would miss too many lie so few of the positives with probability `part` at most.
        count = np.array([int(table.positives)])
        allowed = int(binomial_limits(count, missed, np.array([part]))[0])
        lower = lower[lower < np.searchsorted(no.errors, allowed + 1)]
    upper = yes.passing
    below = lower[np.searchsorted(lower, len(table) - 2 - upper, side="right") - 1]
    decided, errors = (
        np.append(0, one)[upper + 1] + np.append(0, other)[below + 1]
        for one, other in ((yes.accepted, no.accepted), (yes.errors, no.errors))
    )
    best = int(np.argmin(np.where(decided == decided.max(), errors, np.inf)))
    one, other = (select(cutoffs, int(at[best]), **further) for cutoffs, at in ((yes, upper), (no, below)))
    if missed is not None:
        positives = MissedPositives(missed, int(count[0]), other.errors, allowed, rows_without_error(missed, part))
    review = int(table.total - decided[best])
    level = 1.0 - delta
    return BinarySelection(
        claim=f"{INDEPENDENT.sure(level)}, all of this holds together.",
        confidence_level=level,
        assumptions=one.assumptions,
        references=one.references,
        yes=one,
        no=other,
        review=review,
        review_share=review / table.total,
        missed=positives,
    )
