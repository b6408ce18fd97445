"""Selective decisions: above which score cases may be decided without review, and how many rows it takes to know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any, NamedTuple

import numpy as np

from calibrant.distributions.binomial import (
    WalkBoundary,
    clopper_pearson,
    walk_boundary,
)
from calibrant.errors import ArgumentError
from calibrant.table.numbers import given, share, significant
from calibrant.table.parameters import check_between
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, distinct_numbers
from calibrant.table.results import Count, Drawable, Report, Result, Tabular
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.statements import INDEPENDENT, Sampling, Statement, weighting

_CURVE_POINTS = 1000
_DRAWN = "One row of each cluster is counted, drawn at random by a seed made of all rows"

_LEAST_TARGET = 1e-15  # which three times its inverse of rows without an error would show


@dataclass(frozen=True)
class SelectiveCutoff(Result):
    """What is decided without review from a cut-off on.

    Attributes
    ----------
    threshold : float
        The score, with as few digits, but at least four, as decide the same rows.
    accepted, errors : float
        Rows decided, and how many of them wrongly.
    allowed_errors : float
        Most errors among so many rows for which the cut-off is certified; -1 if none is few enough.
    """

    threshold: float
    accepted: Count
    errors: Count
    allowed_errors: Count


@dataclass(frozen=True)
class AllRows(Result):
    """What all rows of clusters show at a cut-off, where one row of each cluster was drawn and counted.

    Attributes
    ----------
    n, accepted, errors : float
        Rows; those decided at the cut-off; those decided wrongly. None are decided without a cut-off.
    """

    n: Count
    accepted: Count
    errors: Count


@dataclass(frozen=True, eq=False)
class RiskCoverageCurve(Tabular):
    """Selective risk against coverage, from the most confident cases on; at most about 1,000 of the cut-offs.

    Attributes
    ----------
    threshold : ndarray of float64
        Cut-offs: scores of rows.
    coverage, selective_risk : ndarray of float64
        Share of the rows that is decided, and the share of these that is wrong.
    accepted, errors, allowed_errors : ndarray of int64
        As in `SelectiveCutoff`.
    certified : ndarray of bool
        Whether `errors` is at most `allowed_errors`.
    """

    threshold: FloatArray
    coverage: FloatArray
    selective_risk: FloatArray
    accepted: IntArray
    errors: IntArray
    allowed_errors: IntArray
    certified: BoolArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection(Statement, Drawable, Report):
    """Cases that may be decided without review at a certified error; result of `calibrant.selective`.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    target_error : float
        Largest acceptable share of errors among the cases decided without review.
    decided : {"at or above", "at or below"}
        Which side of the threshold is decided.
    threshold : float or None
        The certified cut-off from which most cases are decided; None if no cut-off is certified.
    n, accepted, errors : float
        Rows; those decided; those decided wrongly. With clusters one row of each, drawn at random.
    coverage, selective_risk : float
        Share of the rows that is decided, and the share of these that is wrong, NaN if none is decided.
    coverage_lower, coverage_upper : float
        Clopper-Pearson interval of the population's share at this cut-off, at the same level: approximate, since the
        cut-off was chosen by the same rows, and apart from the claim.
    allowed_errors : float
        Most errors for which so many rows are certified; -1 if none is few enough.
    certified : int
        Certified cut-offs among the scores. The claim holds at all of them at once.
    certified_ranges : tuple of (float, float)
        Ends of runs of certified cut-offs: every score between them is one.
    next_cutoff : SelectiveCutoff or None
        The first cut-off beyond `threshold`, which fails; without a threshold the one that fails by fewest errors. None
        if all rows are decided.
    needed_rows : int
        Rows without an error beyond a cut-off that certify it; if more than `n`, as many rows would be needed.
    curve : RiskCoverageCurve
        Risk, what is allowed and what is certified by coverage.
    group : str or None
        Which rows it is about, if not about all.
    all_rows : AllRows or None
        With clusters: the same of all rows.
    warnings : tuple of DataWarning
        Signs that scores are not what they are taken for.
    """

    _display, _page = "plots.decisions.RiskCoverageDisplay", "report.selective.render_selective"

    target_error: float
    decided: str
    threshold: float | None
    n: Count
    accepted: Count
    errors: Count
    coverage: float
    coverage_lower: float
    coverage_upper: float
    selective_risk: float
    allowed_errors: Count
    certified: int
    certified_ranges: tuple[tuple[float, float], ...]
    next_cutoff: SelectiveCutoff | None
    needed_rows: int
    curve: RiskCoverageCurve
    group: str | None = None
    all_rows: AllRows | None = None
    warnings: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.lines(), *self.remarks(), *self.assumptions[:2]])

    def remarks(self) -> list[str]:
        """Say which rows were left out, and what they look like that are not what they are taken for."""
        of = "" if self.group is None else f" ({self.group})"
        return self.gaps + [f"Warning{of}: {warning.message}" for warning in self.warnings]

    def columns(self) -> dict[str, Any]:
        """Return the curve by the names of its arrays."""
        return dict(self.curve.columns())

    def lines(self) -> list[str]:
        """Say in a few lines what may be decided, what is claimed of it, and which cut-off fails."""
        side, unit, lines = self.decided.removeprefix("at or "), self.unit, []
        if (beyond := self.next_cutoff) is not None:
            wrong = f"{beyond.errors:,.0f} of {beyond.accepted:,.0f} were wrong"
            enough = f"{beyond.allowed_errors:,.0f} allowed" if beyond.allowed_errors >= 0 else "too few rows"
            lines.append(
                f"The next cut-off, {given(beyond.threshold)} and {side}, is not certified: {wrong} ({enough})."
            )
        if self.threshold is None:
            first = f"No case may be decided without review at a target error of {percent(self.target_error)}."
            if self.certified:  # but not beside the other side of a pair
                return [first, "None of the certified cut-offs is one together with what else is asked."]
            needed = f"It takes at least {self.needed_rows:,} {unit} beyond a cut-off, without an error among them"
            if self.all_rows is not None:
                lines.insert(0, f"{_DRAWN}; there are {self.all_rows.n:,.0f} rows.")
            return [first, f"{needed}; there are {self.n:,.0f} {unit} in all.", *lines, *self._plan()]
        decided = f"scores of {given(self.threshold)} and {side}, {self.accepted:,.0f} of {self.n:,.0f} {unit}"
        wrong = f"{self.errors:,.0f} were wrong ({share(self.selective_risk)})"
        about = f"about {share(self.coverage_lower)} to {share(self.coverage_upper)}"
        drawn = []
        if (rows := self.all_rows) is not None:
            such = f"{rows.accepted:,.0f} have such scores, {rows.errors:,.0f} wrong"
            drawn = [f"{_DRAWN}; of {rows.n:,.0f} rows {such} ({share(rows.errors / max(rows.accepted, 1))})."]
        others = "No other cut-off is certified, not even a stricter one."
        if self.certified > 1:
            others = f"All {self.certified:,} certified cut-offs hold together; not every stricter one is among them."
        return [
            f"May be decided without review: {decided} ({share(self.coverage)}).",
            f"Of these {wrong}; the claim allows {self.allowed_errors:,.0f}.",
            *drawn,
            self.claim,
            others,
            f"Share of such cases: {about} (the choice of the cut-off not allowed for).",
            *lines,
        ]

    @property
    def unit(self) -> str:
        """What is counted."""
        return "rows" if self.all_rows is None else "clusters"

    def _plan(self) -> list[str]:
        """Say how to plan for the cut-off that fails by fewest errors, if its risk is as low as it seems."""
        beyond = self.next_cutoff
        risk = "1" if beyond is None else f"{beyond.errors / beyond.accepted:.3g}"
        if beyond is None or float(risk) >= self.target_error:
            return []
        asked = f"target_error={given(self.target_error)}, confidence_level={given(self.confidence_level)}"
        given_to = f"risk={risk}, coverage={beyond.accepted / self.n:.3g}, {asked}"
        return [f'In Python, calibrant.plan("selective", {given_to}) says how many rows would certify them.']


class Cutoffs(NamedTuple):
    """All cut-offs, from the most confident on: one entry for each score of a table."""

    below: bool  # whether cases at or below the threshold are decided, not those at or above it
    threshold: FloatArray
    following: FloatArray  # the first score that is not decided; NaN if there is none
    accepted: IntArray
    errors: IntArray
    allowed: IntArray
    boundary: WalkBoundary
    target_error: float
    delta: float

    @classmethod
    def of(cls, table: ScoreTable, target_error: float, delta: float, *, below: bool = False) -> Cutoffs:
        """Count rows and errors beyond each score: negatives at or above it, or positives at or `below` it.

        Of a cell only its end is a cut-off: the rows beyond it are known, and what is said of them holds.
        """
        need_counts(table, "errors are counted among rows")
        columns = table.n, table.k, table.high, table.low
        if not below:
            columns = table.n[::-1], table.negatives[::-1], table.low[::-1], table.high[::-1]
        n, errors, threshold, next_begins = columns
        accepted, following = np.cumsum(n), np.append(next_begins[1:], math.nan)
        boundary = walk_boundary(int(accepted[-1]), target_error, delta)
        counts = accepted, np.cumsum(errors), boundary.allowed(accepted)
        return cls(below, threshold, following, *counts, boundary, target_error, delta)

    @property
    def certified(self) -> BoolArray:
        """Which cut-offs are certified, all of them at once."""
        return np.asarray(self.errors <= self.allowed)

    def at(self, i: int) -> SelectiveCutoff:
        """Return one of them."""
        counts = (int(values[i]) for values in (self.accepted, self.errors, self.allowed))
        return SelectiveCutoff(self._rounded(float(self.threshold[i]), float(self.following[i])), *counts)

    def _rounded(self, score: float, following: float) -> float:
        """Return a cut-off with as few digits as decide the same rows, but four: between scores counts are equal."""
        for digits in range(4, 17):
            rounded = float(significant(score, ROUND_CEILING if self.below else ROUND_FLOOR, digits=digits))
            if score <= rounded < following or following < rounded <= score:
                return rounded
        return score

    @property
    def passing(self) -> IndexArray:
        """Numbers of the certified cut-offs, after -1 for none."""
        return np.append(-1, np.flatnonzero(self.certified))

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Ends of runs of certified cut-offs, the lower first."""
        edges = np.flatnonzero(np.diff(self.certified, prepend=False, append=False)).reshape(-1, 2)
        ends = self.threshold[edges[:, 0]].tolist(), self.threshold[edges[:, 1] - 1].tolist()
        return tuple(zip(*(ends if self.below else ends[::-1]), strict=True))

    def curve(self, chosen: int) -> RiskCoverageCurve:
        """Return the curve at scores spread evenly over coverage, and at one that was chosen."""
        spread = np.searchsorted(self.accepted, np.linspace(1, self.accepted[-1], _CURVE_POINTS))
        at = distinct_numbers(spread, np.array([chosen]))
        accepted, errors = self.accepted[at], self.errors[at]
        return RiskCoverageCurve(
            threshold=self.threshold[at],
            coverage=accepted / self.accepted[-1],
            selective_risk=errors / accepted,
            accepted=accepted,
            errors=errors,
            allowed_errors=self.allowed[at],
            certified=self.certified[at],
        )


def select(cutoffs: Cutoffs, chosen: int, sampling: Sampling = INDEPENDENT, **further: Any) -> Selection:
    """Describe the cut-off that was chosen among those that are certified, -1 for none; with `further` fields."""
    n, confidence = int(cutoffs.accepted[-1]), 1.0 - cutoffs.delta
    excess = cutoffs.errors - cutoffs.allowed
    nearest = len(excess) - 1 - int(np.argmin(excess[::-1]))
    if chosen >= 0:
        failing = (np.flatnonzero(excess[chosen + 1 :] > 0)[:1] + chosen + 1).tolist()
    else:
        failing = [nearest] if (excess > 0).all() else []
    cutoff = SelectiveCutoff(math.nan, 0, 0, -1) if chosen < 0 else cutoffs.at(chosen)
    target, capped = percent(cutoffs.target_error), sampling.cap is not None
    lower, upper = clopper_pearson(np.array([n]), np.array([cutoff.accepted]), confidence)
    scored = f"the cases that will score {given(cutoff.threshold)} or {'less' if cutoffs.below else 'more'} are wrong"
    where = f", where {weighting(1.0)}" if capped else ""
    claim = f"{sampling.sure(confidence)}, at most {target} of {scored}{where}."
    drawn = (f"{_DRAWN}.",) if capped else ()
    return Selection(
        claim="Nothing is claimed: no cut-off is certified." if chosen < 0 else claim,
        confidence_level=confidence,
        assumptions=(*sampling.assumptions("the target error and the confidence level"), *drawn),
        references=("geifman2017", "angelopoulos2025", "clopper1934"),
        target_error=cutoffs.target_error,
        decided="at or below" if cutoffs.below else "at or above",
        threshold=None if chosen < 0 else cutoff.threshold,
        n=n,
        accepted=cutoff.accepted,
        errors=cutoff.errors,
        coverage=cutoff.accepted / n,
        coverage_lower=float(lower[0]),
        coverage_upper=float(upper[0]),
        selective_risk=cutoff.errors / cutoff.accepted if cutoff.accepted else math.nan,
        allowed_errors=cutoff.allowed_errors,
        certified=int(cutoffs.certified.sum()),
        certified_ranges=cutoffs.ranges(),
        next_cutoff=next(map(cutoffs.at, failing), None),
        needed_rows=cutoffs.boundary.first,
        curve=cutoffs.curve(nearest if chosen < 0 else chosen),
        **further,
    )


def target_errors(target_error: float | Sequence[float]) -> list[float]:
    """Return one or several targets as a list, checked."""
    targets = target_error if isinstance(target_error, (tuple, list)) else (target_error,)
    if not targets:
        raise ArgumentError("at least one `target_error`", "none", "pass for example 0.05")
    checked = [check_between("target_error", target, 0.0, 1.0) for target in targets]
    if min(checked) < _LEAST_TARGET:
        remedy = "no number of rows shows a smaller one"
        raise ArgumentError(f"`target_error` of at least {_LEAST_TARGET:g}", f"{min(checked):g}", remedy)
    return checked


def percent(target: float) -> str:
    """Write a share that somebody chose, with all its digits."""
    return f"{given(float(f'{100.0 * target:.12g}'))}%"
