"""Bounds on the calibration errors of many segments that hold together.

Each family of segments is a partition of the rows, and gets an equal part of the probability of failure. Inside it half
is divided equally among the segments listed, half by their rows: the sizes of the cells of one partition tell nothing
of the outcomes inside any of them. Derivation: docs/theory/10-segments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates.clusters import LOWER_ASYMPTOTIC, in_all
from calibrant.certificates.part import SHARES, Part
from calibrant.certificates.part_table import PartTable, in_unit, joint_verdicts, writer
from calibrant.certificates.parts import has_enough, part_of
from calibrant.certificates.question import Question
from calibrant.certificates.results import Bounds, Certificate, conclude
from calibrant.certificates.widths import asymptotic_width, brownian_width
from calibrant.distributions.binomial import level_p_values
from calibrant.distributions.mean_limits import simultaneous_width
from calibrant.errors import DataError
from calibrant.printable import visible
from calibrant.segments.columns import FEWER_ROWS, MIN_ROWS
from calibrant.segments.totals import CellRows, CellTotals, SegmentTotals
from calibrant.table.clusters import ClusteredRows
from calibrant.table.missing import LeftOut
from calibrant.table.numbers import confidence, rows, write_upper
from calibrant.table.parameters import check_method
from calibrant.table.pooling import BoolArray, FloatArray, IntArray
from calibrant.table.statements import COUNTED_ROWS, FIXED_CLASSIFIER

MIXTURE = (
    "Where segments overlap, rare levels are pooled or numbers are cut at quantiles of these rows, a segment is a "
    "mixture of levels, and what is said of it is for the shares that they have in these rows. Where these shares "
    "change, audit new rows. A level of one column that has rows enough, audited by that column alone, is no mixture."
)
_CHOSEN = (
    "Columns, depth, cuts, least number of rows, direction, tolerance and level were chosen before seeing outcomes."
)
REFERENCES = ("gao2017", "bentkus2004", "shevtsova2010", "shevtsova2013", "fan2015", "berger1982", "feller1951")
_EQUALLY = 0.5  # part of a family's share that is divided equally among its segments, the rest by their rows


class Listed(NamedTuple):
    """The segments of one family that are judged."""

    n: IntArray  # rows of each
    rows: int  # of all cells of the family, listed or not
    judged: EventCells | RowParts


class EventCells(NamedTuple):
    """Segments of independent rows with labels, of which sums tell all that bounds need."""

    totals: CellTotals
    identical: BoolArray  # whether the rows of each are identically distributed
    side: int
    method: str = "default"
    # As of a `Part`.
    assumptions: tuple[str, ...] = (COUNTED_ROWS, FIXED_CLASSIFIER, LOWER_ASYMPTOTIC.format("rows"))
    unit_words: str = ""
    scope: str = ""
    lower_proved: bool = False
    extrapolated: bool = False

    @property
    def proved(self) -> bool:
        """Whether upper bounds are."""
        return self.method == "default"

    @property
    def limit(self) -> str:
        """In what they are asymptotic; empty where they are proved."""
        return "" if self.proved else "asymptotic in the number of rows"

    @property
    def parts(self) -> Sequence[EventCells | Part]:
        """All segments together, of which the same is known."""
        return [self]

    def each(self, name: str) -> npt.NDArray[Any]:
        """Return what is seen in each segment, or known of it."""
        if name != "p_value":
            return np.asarray(getattr(self.totals, name))
        of = self.totals
        return level_p_values(of.n, of.k, of.predicted, of.equal_scores, self.side)

    def upper(self, deltas: FloatArray) -> FloatArray:
        """Return upper bounds, at most 1."""
        of = self.totals
        n, squares, fourths = (each.astype(np.float64) for each in (of.n, of.squares, of.fourths))
        squares, fourths = (np.minimum(1.0, total / n) for total in (squares, fourths))
        moments, variance = (n, squares, fourths, deltas), of.null_variance
        if self.proved:
            width = simultaneous_width(*moments, estimate=of.at_most, identical=self.identical, variance=variance)
        else:
            width = np.array([asymptotic_width(*one) for one in zip(n, squares, deltas, strict=True)])
        return np.asarray(np.minimum(1.0, of.at_most + width))

    def lower(self, deltas: FloatArray) -> FloatArray:
        """Return asymptotic lower bounds, over all intervals of scores."""
        of = self.totals
        variance = np.maximum(of.brier, of.null_variance)
        each = zip(of.n.tolist(), variance.tolist(), deltas.tolist(), strict=True)
        return np.asarray(np.maximum(0.0, of.value - np.array([brownian_width(*one) for one in each])))


class RowParts(NamedTuple):
    """Segments whose bounds need their rows."""

    parts: Sequence[Part]

    def each(self, name: str) -> npt.NDArray[Any]:
        """Return an attribute of each part, or of where its error is found."""
        return np.array([getattr(part if hasattr(part, name) else part.seen, name) for part in self.parts])

    def upper(self, deltas: FloatArray) -> FloatArray:
        """Return upper bounds, each of which fails with its own probability."""
        return np.array([part.upper(delta) for part, delta in zip(self.parts, deltas.tolist(), strict=True)])

    def lower(self, deltas: FloatArray) -> FloatArray:
        """Return lower bounds, at least 0."""
        return np.array([part.lower(delta) for part, delta in zip(self.parts, deltas.tolist(), strict=True)])


def confidence_shares(families: Sequence[Listed]) -> FloatArray:
    """Part of a probability of failure that each segment of all families gets; they add up to at most 1."""
    used = [family for family in families if len(family.n)]
    parts = [_EQUALLY / len(of.n) + (1.0 - _EQUALLY) * of.n / of.rows for of in used]
    return np.asarray(np.concatenate(parts) / len(families))


def detectable_error(n: float, variance: float, mean_score: float, delta: float, power: float) -> float:
    """Error of a segment of n rows whose lower bound is above 0 with a probability of about `power`.

    Parameters
    ----------
    n : float
        Rows of the segment.
    variance, mean_score : float
        Mean of s (1 - s), or Brier score, and mean of s in the segment.
    delta, power : float
        Probability of failure of the lower bound; probability that it is above 0.
    """
    from calibrant.distributions.brownian import normal_quantile

    # The error itself adds to the Brier score, which the width is made of: e = q sqrt((variance + a e) / n).
    unit = brownian_width(1.0, 1.0, delta) + normal_quantile(power)
    half = 0.5 * unit * unit * abs(1.0 - 2.0 * mean_score) / n
    return half + math.sqrt(half * half + unit * unit * variance / n)


class Judged(NamedTuple):
    """The segments with enough rows, of all families."""

    kind: str  # what was predicted
    n: int  # rows, also of segments that are not judged
    families: list[Listed]
    columns: dict[str, npt.NDArray[Any]]  # what is said of each segment, whatever is claimed
    names: list[tuple[str, ...]]  # of each segment, the names of its columns
    levels: list[tuple[str, ...]]  # of each segment, the names of its levels
    min_rows: int
    mixed: bool  # whether some rows of a segment are not taken for identically distributed
    errors: str  # which count
    least: EventCells | Part  # of which least is known of all that are judged
    limit: str  # in which upper bounds hold; empty where they are proved
    left_out: LeftOut | None
    set_aside: tuple[str, ...]  # names of those with too few rows

    @property
    def unit(self) -> str:
        """Unit of errors; empty of labels."""
        return self.least.unit_words

    @property
    def lower_proved(self) -> bool:
        """Whether lower bounds are: bets at rates that other rows decide are proved for draws that are alike."""
        return self.least.lower_proved and not self.mixed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold."""
        return (*self.least.assumptions, _CHOSEN, *((MIXTURE,) if self.mixed else ()))

    def bounds(self, which: Literal["upper", "lower"], deltas: FloatArray | float) -> FloatArray:
        """Bounds on the calibration errors of all segments, each failing with its own probability."""
        numbers = [len(family.n) for family in self.families]
        parts = np.split(np.broadcast_to(deltas, sum(numbers)), np.cumsum(numbers)[:-1])
        each = zip(self.families, parts, strict=True)
        return np.concatenate([getattr(family.judged, which)(part) for family, part in each])

    def fields(self, lower: FloatArray, order: npt.NDArray[np.intp] | None = None) -> dict[str, Any]:
        """Return the fields of a `SegmentTable` that say no more than the lower bounds do, in an order of segments."""
        order = np.arange(len(lower)) if order is None else order
        return {
            "kind": self.kind,
            "lower_bound": float(lower.max()),
            "errors": self.errors,
            "n": self.n,
            "n_segments": len(lower),
            "n_unlisted": len(self.set_aside),
            "left_out": self.left_out,
            "min_rows": self.min_rows,
            **{name: values[order] for name, values in self.columns.items() if name != "contribution"},
            "lower": lower[order],
            "columns_of": tuple(self.names[i] for i in order),
            "levels": tuple(self.levels[i] for i in order),
            "unit": self.unit,
            "assumptions": self.assumptions,
        }


def judged_segments(found: SegmentTotals, min_rows: int, question: Question) -> Judged:
    """Keep the segments with enough rows, and say what is known of each."""
    check_method(question.bound_method, of="segments", instead="fix it before you look, or ask without segments")
    names: list[tuple[str, ...]] = []
    levels: list[tuple[str, ...]] = []
    labels: list[str] = []
    set_aside: list[str] = []
    listed = []
    for family, totals in zip(found.families, found.totals, strict=True):
        cells = np.flatnonzero(totals.n >= max(1, min_rows))
        rows_in = {cell: totals[cell] for cell in cells.tolist()} if isinstance(totals, CellRows) else {}
        if rows_in:
            cells = np.array([cell for cell, of in rows_in.items() if has_enough(of, question)], dtype=np.intp)
        set_aside += family.labels(np.setdiff1d(np.flatnonzero(totals.n > 0), cells))
        listed.append((family, totals, cells, rows_in))
        labels += family.labels(cells)
        levels += family.levels(cells)
        names += [tuple(column.name for column in family.columns)] * len(cells)
    if not labels:
        most = max(int(totals.n.max(initial=0)) for totals in found.totals)
        fewer = "" if most < min_rows else ", whose clusters are worth fewer than five"
        raise DataError(
            f"a segment with at least {min_rows} rows (`min_rows`)", f"at most {most} rows in one{fewer}", FEWER_ROWS
        )
    # The least probability of failure that a segment may have.
    delta = question.delta / (6.0 * len(labels) * len(listed))
    clustered = (one for *_, rows_in in listed for one in rows_in.values() if isinstance(one, ClusteredRows))
    families, seen, together = [], [], in_all(clustered)
    for family, totals, cells, rows_in in listed:
        judged: EventCells | RowParts
        if isinstance(totals, CellRows):
            judged = RowParts([part_of(rows_in[cell], question, delta, together) for cell in cells.tolist()])
        else:
            judged = EventCells(
                totals.pick(cells), family.identical[cells] & (len(listed) == 1), question.side, question.bound_method
            )
        families.append(Listed(totals.n[cells], found.n * found.times, judged))
        seen.append(_columns(judged, totals.n[cells], found))
    columns = {name: np.concatenate([each[name] for each in seen]) for name in seen[0]}
    stated = [part for family in families for part in family.judged.parts]
    least = next((part for part in stated if not part.proved), stated[0])
    mixed = len(families) > 1 or not all(bool(of.identical[cells].all()) for of, _, cells, _ in listed)
    return Judged(
        kind="amount" if least.unit_words else "classes" if found.times > 1 else "event",
        n=found.n,
        families=families,
        columns={"segment": np.array(labels), **columns},
        names=names,
        levels=levels,
        set_aside=tuple(set_aside),
        min_rows=min_rows,
        mixed=mixed,
        errors=found.direction,
        least=least,
        limit=least.limit or ("asymptotic where segments are mixtures" if mixed and least.lower_proved else ""),
        left_out=found.left_out,
    )


def _columns(judged: EventCells | RowParts, n: IntArray, found: SegmentTotals) -> dict[str, npt.NDArray[Any]]:
    """Return what is seen in the segments of one family, whatever is claimed."""
    each, share = judged.each, n / found.n
    return {
        "rows": n,
        "share": share,
        "observed_rate": each("observed"),
        "mean_predicted": each("predicted"),
        "observed_expected": each("ratio"),
        "p_value": each("p_value"),
        "error": each("value"),
        "contribution": each("value") * (share if found.unit is None else each("unit") / found.unit),
        "low": each("low"),
        "high": each("high"),
        "direction": np.array(["", "too low", "too high"])[each("sign")],
    }


def of_mixtures(*, mixed: bool) -> str:
    """Say so where rows of a segment are not taken for identically distributed."""
    return ", as long as each segment has the same mixture of levels as in these rows" if mixed else ""


def as_far(errors: str) -> str:
    """Say so where predictions that are off one way alone count."""
    return "" if errors == "either" else f", as far as predictions are {errors}"


def certify_segments(found: SegmentTotals, question: Question, min_rows: int) -> Certificate:
    """Certificate of rows that were added up by segment: what is said of all of them is said of the worst."""
    judged, table = segment_table(found, question, min_rows)
    estimate = float(table.error.max())
    return conclude(
        question,
        Bounds(estimate, table.bound, table.lower_bound, table.bound - estimate),
        kind=judged.kind,
        certifies=not judged.least.extrapolated,
        n=judged.n,
        unit=judged.unit or None,
        parts=table,
        left_out=judged.left_out,
        claim=table.claim,
        assumptions=judged.assumptions,
        references=REFERENCES,
    )


def segment_table(found: SegmentTotals, question: Question, min_rows: int = MIN_ROWS) -> tuple[Judged, PartTable]:
    """Judge the segments of rows that were added up, with bounds that hold together."""
    delta, judged = 1.0 - question.confidence_level, judged_segments(found, min_rows, question)
    columns, shares = dict(judged.columns), confidence_shares(judged.families)
    # The worst segment is one fixed segment, and its own bound fails with probability at most this: their number does
    # not matter (intersection-union).
    bound = float(judged.bounds("upper", SHARES[0] * delta).max())
    # Both hold together with what is said of the worst segment, so that caps all of them.
    upper = np.minimum(judged.bounds("upper", SHARES[1] * delta * shares), bound)
    lower = judged.bounds("lower", SHARES[2] * delta * shares)
    for other in ("observed_expected", "p_value", "contribution"):
        del columns[other]
    error, mean = columns["error"], columns["mean_predicted"]
    relative = np.divide(error, mean, out=np.full(len(mean), math.nan), where=(mean > 0.0) & (not judged.unit))
    return judged, PartTable(
        claim=_claim(judged, upper, bound, question),
        confidence_level=question.confidence_level,
        tolerance=question.tolerance,
        bound=bound,
        lower_bound=float(lower.max()),
        name=columns.pop("segment"),
        direction=np.where((way := columns.pop("direction")) == "", "none", way),
        **columns,  # type: ignore[arg-type]
        relative_error=relative,
        lower=lower,
        upper=upper,
        **joint_verdicts(lower, upper, bound, question.tolerance, certifies=not judged.least.extrapolated),
        lower_proved=judged.lower_proved,
        unit=judged.unit,
        count_bounds={},
        min_rows=min_rows,
        set_aside=judged.set_aside,
    )


def _claim(judged: Judged, upper: FloatArray, bound: float, question: Question) -> str:
    """Say how far no segment is off."""
    n, least, tolerance = len(upper), judged.min_rows, question.tolerance
    which = f"the {rows(n)} segments listed" if n > 1 else "the one segment listed"
    if bound == math.inf:
        without = judged.columns["segment"][np.isinf(upper)]
        others = f" and {rows(len(without) - 1)} more" if len(without) > 1 else ""
        return (
            f"No limit is stated of {which}: of {visible(without[0])}{others} there is none. Pass the largest outcome "
            "that there can be, limits=(0, M)."
        )
    most = f"{write_upper(bound, tolerance, write=writer(judged.unit))}{in_unit(judged.unit)}"
    return (
        f"None of {which} (at least {rows(least)} row{'s' if least > 1 else ''} each) is off by more than {most}"
        f"{as_far(question.direction)}, with {confidence(question.confidence_level)} confidence"
        f"{f' ({judged.limit})' if judged.limit else ''}{judged.least.scope}{of_mixtures(mixed=judged.mixed)}."
    )
