"""Segments with enough rows to be judged, what all results about them say, and `calibrant.find_segments`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.certificates.kinds import kind_of
from calibrant.certificates.part_table import in_unit, writer
from calibrant.certificates.question import Question
from calibrant.certificates.segments import as_far, detectable_error, judged_segments, of_mixtures
from calibrant.kinds import Kind
from calibrant.printable import visible
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.totals import CellRows, SegmentTotals
from calibrant.sources.given import segment_request, segment_totals
from calibrant.table.clusters import Clusters
from calibrant.table.numbers import (
    confidence,
    html_grid,
    interval_text,
    number,
    rows,
    share,
    short_name,
    significant,
    text_grid,
    write_lower,
)
from calibrant.table.numbers import (
    given as written,
)
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import BoundMethod, Direction
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.results import Tabular
from calibrant.table.statements import Statement

# Shares of the rows of which it is said which error would be found, and with which probability.
_SHARES, _POWER = (0.01, 0.05, 0.2), 0.8
_CHANCE = 0.05  # largest p-value of a number of positives that is called wrong, times the number of segments
_NAMED = 3  # such segments that are named
HEADS = ("Segment", "Rows", "Observed", "Predicted", "O:E", "p", "Error", "Lower", "Upper", "Where", "Verdict")
_NOT_OF_ALL = ("Upper", "Verdict")  # columns that only some results have
_ONLY_ON_PAGES = ("Observed", "Predicted", "Where")
_WIDTH = 80
Grid: TypeAlias = tuple[tuple[str, ...], list[tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class SegmentTable(Statement, Tabular):
    """Base of what is said of segments, with the fields of `Statement`; `SegmentAudit` describes the others."""

    kind: str
    lower_bound: float
    errors: str
    n: int
    n_segments: int
    n_unlisted: int
    min_rows: int
    segment: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    share: FloatArray
    observed_rate: FloatArray
    mean_predicted: FloatArray
    observed_expected: FloatArray
    p_value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    direction: npt.NDArray[Any]
    lower: FloatArray
    unit: str
    columns_of: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[str, ...], ...]

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the fields as plain data, the table of segments too: it is not a curve."""
        return super().to_dict()

    def _fields(self) -> dict[str, Any]:
        known = super()._fields()  # what was found before the table, of which a short line shows only the size
        return {name: known[name] for name in sorted(known, key=lambda name: name in SegmentTable.__annotations__)}


def level_text(table: SegmentTable) -> str:
    """Count the segments with another number of positives than predicted, and name the clearest; empty if none has."""
    other = {"either": "another number of", "too low": "more", "too high": "fewer"}[table.errors] + " positives than"
    if table.unit:
        other = {"either": "another total than", "too low": "more than", "too high": "less than"}[table.errors]
    corrected = table.p_value * table.n_segments
    off = int((corrected <= _CHANCE).sum())
    if not off:
        return ""
    named = [_level(table, i, float(corrected[i])) for i in score_order(corrected)[: min(off, _NAMED)]]
    have = f"segments {'has' if off == 1 else 'have'} {other} predicted" + " (clearest first)" * (off > 1)
    return f"{rows(off)} of {rows(table.n_segments)} {have}: {', '.join(named)}"


def _level(table: SegmentTable, i: int, corrected: float) -> str:
    """Write how many positives a segment has, and how many are predicted."""
    n, more = float(table.rows[i]), table.observed_rate[i] > table.mean_predicted[i]
    corrected_p = f"(p = {significant(corrected, digits=2)}, Bonferroni)"
    if table.unit:
        return f"{visible(table.segment[i])} has {number(float(table.observed_expected[i]))} times that {corrected_p}"
    return (
        f"{visible(table.segment[i])} has {'more' if more else 'fewer'}, {rows(round(n * table.observed_rate[i]))} "
        f"where {n * table.mean_predicted[i]:,.1f} are predicted {corrected_p}"
    )


def scores_of(table: SegmentTable, index: int) -> str:
    """Write the interval of scores where the error of a segment is found."""
    return interval_text((float(table.low[index]), float(table.high[index])))


def grid(
    found: SegmentTable, places: Iterable[int], further: Mapping[str, Sequence[str]], tolerance: float | None = None
) -> Grid:
    """Heads and rows of a table of segments; `further` has columns that only one kind of result has, by their heads."""
    heads, write = tuple(head for head in HEADS if head in further or head not in _NOT_OF_ALL), writer(found.unit)
    mean = significant if found.unit else share
    lines = [
        {
            "Segment": str(found.segment[i]),
            "Rows": rows(float(found.rows[i])),
            "Observed": mean(float(found.observed_rate[i])),
            "Predicted": mean(float(found.mean_predicted[i])),
            "O:E": number(float(found.observed_expected[i])),
            "p": significant(p, digits=2) if (p := float(found.p_value[i])) >= 0.0 else "",
            "Error": write(float(found.error[i])),
            "Lower": write_lower(float(found.lower[i]), tolerance, write=write),
            "Where": "" if math.isnan(found.high[i]) else f"{found.direction[i]} {scores_of(found, i)}",
        }
        | {head: cells[i] for head, cells in further.items()}
        for i in places
    ]
    return heads, [tuple(line[head] for head in heads) for line in lines]


def grid_text(sentences: Iterable[str], heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """Write sentences, and a table without the columns that only pages have; names are cut where it is too wide."""
    left_out = (*_ONLY_ON_PAGES, "Error") if "Upper" in heads else _ONLY_ON_PAGES  # it lies between its bounds
    printed = [i for i, head in enumerate(heads) if head not in left_out]
    cells = [[line[i] for i in printed] for line in [heads, *lines]]
    width = _WIDTH - sum(2 + max(map(len, column)) for column in list(zip(*cells, strict=True))[1:])
    cut = [[short_name(name, width), *further] for name, *further in cells]
    table = text_grid(cut, ("Verdict",))
    return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in sentences if sentence) + f"\n\n{table}"


@dataclass(frozen=True, kw_only=True)
class SegmentSearch(SegmentTable):
    """Result of `calibrant.find_segments`: one entry of each array per segment, the highest lower bound first.

    Attributes
    ----------
    claim : str
        What was found, in one sentence.
    worst : str or None
        The segment with the highest lower bound, above 0 and the tolerance; None if there is none.
    lower_bound : float
        The highest lower bound.
    n_found : int
        Segments with a lower bound above 0 and the tolerance.
    tolerance : float or None
        The tolerance asked for.
    confidence_level : float
        Probability with which all of `lower` hold together, asymptotically unless the claim leaves that out.
    n, n_segments, n_unlisted, min_rows : int
        Rows; segments searched; segments with rows, but fewer than `min_rows`, which were not.
    kind, errors, unit : str
        As in `SegmentAudit`.
    detectable : dict of str to float
        For segments with 1, 5 and 20% of the rows, and scores like those of all rows: the error in one direction that
        would have been found with a probability of about 80%. Shares with fewer than `min_rows` rows, and errors of 1
        or more, are left out; so are all if each score is 0 or 1.
    segment, rows, share, observed_rate, mean_predicted, observed_expected, p_value : ndarray
    error, low, high, direction, lower : ndarray
        As in `SegmentAudit`.
    columns_of, levels : tuple
        For each segment the names of its columns, and of its levels.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    """

    worst: str | None
    n_found: int
    tolerance: float | None
    detectable: dict[str, float]

    def __str__(self) -> str:
        errors = ", ".join(f"{number(e)} in a segment with {100 * float(of):g}%" for of, e in self.detectable.items())
        power = (
            f"Found with a probability of about 80%: an error of {errors} of the rows, if scores are like those of all."
        )
        level = f"{text}." if (text := level_text(self)) else ""
        return grid_text([*self.gaps, self.claim, level, power if errors else ""], *self._rows(5))

    def _repr_html_(self) -> str:
        return html_grid(self.claim, *self._rows(20))

    def _rows(self, most: int) -> Grid:
        """Heads and rows of the table, as it has them: those shown to be miscalibrated first."""
        return grid(self, range(min(most, self.n_segments)), {})


def find_segments(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    by: Any,
    kind: Kind | str | None = None,
    classes: Sequence[Any] | None = None,
    exposure: npt.ArrayLike | str | None = None,
    weight: npt.ArrayLike | str | None = None,
    limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    pos_label: Any = None,
    count: npt.ArrayLike | str | None = None,
    chance: npt.ArrayLike | str | None = None,
    smallest_chance: float | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    missing: Literal["raise", "drop"] = "raise",
    depth: int | None = None,
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    method: BoundMethod = "default",
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> SegmentSearch:
    """Search all segments of columns, and of pairs of columns, for the one that is shown to be off by most.

    All rows are used to find it and to judge it: the lower bounds of all segments hold together, so they hold for the
    one that stands out.

    Parameters
    ----------
    data, prediction, outcome, kind, classes, exposure, weight, limits, relative_to, pos_label, count, chance, \
smallest_chance, cluster, missing, direction
        As in `calibrant.audit`; every class is judged in every segment.
    by, cuts, min_rows
        Columns that make segments, where to cut numbers, and rows that a segment needs, as in `calibrant.certify`.
    depth : {1, 2}, optional
        With 2, also the segments of every pair of columns; by default where there are two columns.
    tolerance : float, optional
        Error up to which a segment is not looked for, of labels in (0, 1); by default 0.
    confidence_level : float
        Probability with which all lower bounds hold together, in (0, 1).
    method : {"default", "asymptotic"}
        Which lower bounds, where there are several, see `calibrant.certify`.

    Returns
    -------
    SegmentSearch
        Print it, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Raises
    ------
    DataError
        If the rows cannot be used, or a column names no segments.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    A segment of m rows is found with a probability of about ``Phi(e sqrt(m / B) - q)``, for an error e in one
    direction, the Brier score B inside it, which grows with the error, and q the quantile of the range of a Brownian
    motion at ``delta / K`` for K segments. Derivation: docs/theory/10-segments.md.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Feller (1951). The Annals of Mathematical Statistics.

    Examples
    --------
    >>> import calibrant
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, sex, branch = rng.uniform(size=20_000), rng.choice(["F", "M"], 20_000), rng.integers(8, size=20_000)
    >>> y = rng.uniform(size=20_000) < np.where((sex == "F") & (branch == 3), 0.8 * p, p)
    >>> calibrant.find_segments(y, p, by={"sex": sex, "branch": branch}).worst
    'sex = F, branch = 3'
    """
    given = dict(locals())
    which, request = kind_of(find_segments, given), segment_request(by, depth, direction, min_rows, cuts)
    asked: dict[str, Any] = {"tolerance": tolerance, "direction": direction, "confidence_level": confidence_level}
    question = Question(**asked, method=method, most_tolerance=math.inf if which.base == "amount" else 1.0)
    family_totals = segment_totals(which, request, given)
    judged, least_error = judged_segments(family_totals, min_rows, question), tolerance or 0.0
    n_segments = len(judged.names)
    delta = (1.0 - confidence_level) / n_segments
    lower = judged.bounds("lower", delta)
    order = score_order(-lower, -judged.columns["error"] * np.sqrt(judged.columns["rows"]))
    n_found, most = int((lower > least_error).sum()), float(lower.max())
    worst = str(judged.columns["segment"][order[0]]) if n_found else None
    more = f" by more than {written(least_error)}{in_unit(judged.unit)}" if least_error else ""
    claim = f"None of {rows(n_segments)} segments is shown to be off{more} in an interval of scores{as_far(direction)}."
    if worst is not None:  # else it is no statement about the population, so none of confidence
        off = f"off{more}" if more else "miscalibrated"
        others = f", {rows(n_found)} of {rows(n_segments)} are shown to be {off}" if n_found > 1 else ""
        sure = f"with {confidence(confidence_level)} confidence{'' if judged.lower_proved else ' (asymptotic)'}"
        sure += f"{judged.least.scope}{of_mixtures(mixed=judged.mixed)}"
        least = f"{write_lower(most, tolerance, write=writer(judged.unit))}{in_unit(judged.unit)}"
        claim = f"The segment {worst} is off by at least {least}{others}{as_far(direction)}, {sure}."
    return SegmentSearch(
        **judged.fields(lower, order),
        claim=claim,
        worst=worst,
        n_found=n_found,
        tolerance=tolerance,
        confidence_level=confidence_level,
        detectable=_detectable(family_totals, min_rows, delta),
        references=("gao2017", "feller1951", "anderson1955"),
    )


def _detectable(family_totals: SegmentTotals, min_rows: int, delta: float) -> dict[str, float]:
    """Return the errors that would be found in segments with some shares of the rows, of those that are searched."""
    whole = family_totals.totals[0]  # the cells of one family are all rows
    if isinstance(whole, CellRows):
        return {}
    squares, rise, fall = (float(each.sum()) for each in (whole.squares, whole.rise, whole.fall))
    n_residuals = family_totals.n * family_totals.times  # of all classes
    variance = max(squares, rise + fall - squares) / n_residuals
    mean_score = (family_totals.k - rise + fall) / n_residuals
    if variance <= 0.0:
        return {}
    sizes = {f"{share:g}": family_totals.n * share for share in _SHARES if family_totals.n * share >= min_rows}
    errors = {share: detectable_error(n, variance, mean_score, delta, _POWER) for share, n in sizes.items()}
    return {share: error for share, error in errors.items() if error < 1.0}
