"""Look at every row of a source once before anything is computed, and say what is wrong with which.

The conditions of `calibrant.sources.faults` are aggregates of one scan here. Only when one of them fails is the source
asked again, in its own order, for the first row that has the fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from calibrant.errors import DataError
from calibrant.sources.faults import other_labels, refuse, refuse_values, weights_of
from calibrant.sources.formats import quote_text
from calibrant.sources.protocol import Columns
from calibrant.sources.source import Source, as_number
from calibrant.table.missing import NOT_KNOWN, Intake, LeftOut, Moments, words_for_missing
from calibrant.table.row_errors import OTHERS, describe_all_left_out
from calibrant.table.rules import PROBABILITIES
from calibrant.table.score_hints import OFF_BY_ROUNDING, ScoreRange
from calibrant.table.weights import WeightSums

# Of the rows of a source, or of one of its files, the SELECT that names their columns s, w, positive and so on.
_Shape = Callable[[Source], str]

_LOOK = 100_000  # rows looked at to name label values in a message

# The condition that rows with a fault meet, and the column that is shown of the first of them. NaN is above every
# number for DuckDB, so comparisons find it too; NULL is left out.
_FAULTS = {
    "score_missing": ("score_raw IS NULL", "score_raw"),
    "score_text": ("score_raw IS NOT NULL AND s IS NULL", "score_raw"),
    "score_nan": ("isnan(s)", "s"),
    "score_bad": ("NOT isnan(s) AND NOT in_range", "s"),
    "label_missing": ("label_missing", "label_raw"),
    "label_other": ("NOT label_missing AND (label_number IS NULL OR label_number NOT IN (-1, 0, 1))", "label_raw"),
    "label_unknown": ("label_unknown", "label_raw"),
    "cluster_missing": ("c IS NULL", "c"),
    "weight_missing": ("weight_raw IS NULL", "weight_raw"),
    "weight_text": ("weight_raw IS NOT NULL AND w IS NULL", "weight_raw"),
    "weight_nan": ("isnan(w)", "w"),
    "weight_bad": ("NOT isnan(w) AND NOT (w >= 0 AND isfinite(w))", "w"),
    "weight_broken": ("w <> floor(w)", "w"),
}


_REST = "NOT positive AND NOT label_missing"  # rows with another label than the positive one that was named

# What is asked of the positive weights w of some rows, see `faults.weights_of`.
WEIGHT_SUMS = {
    f"weight_{what}": f"{aggregate} FILTER (WHERE w > 0 AND isfinite(w))"
    for what, aggregate in {
        "rows": "count(*)",
        "sum": "sum(w)",
        "squares": "sum(w * w)",
        "least": "min(w)",
        "high": "max(w)",
    }.items()
}

# What is asked for even if nothing is wrong.
_ALWAYS = {"rows", "score_low", "score_high", "distinct", "weight_broken", "pairs", *WEIGHT_SUMS}


def _count(condition: str) -> str:
    return f"count(*) FILTER (WHERE {condition})"


def _counts(faults: Iterable[str]) -> dict[str, str]:
    return {fault: _count(_FAULTS[fault][0]) for fault in faults}


@dataclass(frozen=True)
class Summary:
    """What one scan tells."""

    # A SELECT of the columns s (score, DOUBLE), positive (BOOLEAN), with weights w (DOUBLE), with clusters c (VARCHAR);
    # by0, by1 and so on as they are.
    sql: str
    shape: Callable[[str], str]  # returns such a SELECT for another one of the columns of the source
    weights: str  # "none", "whole" or "other", see `LazyRows`
    distinct: int  # see `CheckedRows`
    intake: Intake
    low: float = 0.0
    high: float = 1.0
    sums: WeightSums | None = None  # of weights that count no rows
    copied: bool = False  # whether `sql` is of a table, not of text that is parsed whenever it is asked

    @property
    def weight(self) -> str:
        """The column of weights, as it follows others in a SELECT from `sql`: whole numbers are integers there."""
        return {"none": "", "whole": ", CAST(w AS BIGINT) AS w", "other": ", w"}[self.weights]


def check(source: Source, columns: Columns) -> Summary:
    """Check labels, scores and weights in one scan; where rows are to be left out, after one that counts these.

    A `DataError` names the column, the first row that cannot be used and how many there are; a `SourceError` says that
    a column does not exist or the file is damaged.
    """
    shape: _Shape = partial(_rows_sql, columns=columns)
    sql = _kept(shape(source))
    left_out = _left_out(source, shape(source), columns) if columns.drops else None
    seen = _seen(source, sql, columns)
    if seen["rows"]:
        source.runner.expect(seen["rows"], "rows")
    elif left_out is not None and left_out.n:
        raise describe_all_left_out(str(left_out), source.name)
    inspected = InspectedSource(source, shape)
    weights = refuse(seen, columns, inspected)
    for model in columns.models:
        if model != columns.score:
            check_scores(source, model, complete=True, drops=columns.drops)
    others = other_labels(seen, columns, inspected)
    distinct = int(seen["pairs" if weights == "other" else "distinct"])
    low, high = float(seen["score_low"]), float(seen["score_high"])
    sums = None if columns.weight is None else weights_of(seen)
    return Summary(sql, _shape_of(source, columns), weights, distinct, Intake(left_out, others), low, high, sums)


def summary_of_fit(source: Source, columns: Columns, distinct: int) -> Summary:
    """Return what a scan tells of rows that all are fit, with weights that are whole numbers if there are any."""
    shape = _shape_of(source, columns)
    return Summary(shape(source.sql), shape, "none" if columns.weighting is None else "whole", distinct, Intake())


def check_scores(
    source: Source,
    score: str,
    *,
    complete: bool = False,
    drops: bool = False,
    limits: tuple[float, float] = PROBABILITIES,
) -> None:
    """Check one column of scores, in which values may be missing unless it is to be `complete`, as `check` does."""
    faults = ("score_missing",) * complete + ("score_nan", "score_text", "score_bad")
    _check_column(source, score, faults, drops=drops, limits=limits)


def check_numbers(source: Source, name: str, what: str, *, drops: bool = False) -> None:
    """Check that one column has a number in every row, or in those with a value; `what` says of which kind."""
    try:
        _check_column(source, name, ("score_missing", "score_nan", "score_text"), drops=drops)
    except DataError as error:
        raise error.but(expected=f"numbers as {what}") from None


def _check_column(
    source: Source,
    name: str,
    faults: tuple[str, ...],
    *,
    drops: bool = False,
    limits: tuple[float, float] = PROBABILITIES,
) -> None:
    def shape(source: Source) -> str:
        gap = gap_of(source.column(name), source.kind(name)) if drops else "false"
        return f"SELECT {_score_columns(source, name, limits)}, {gap} AS left_out FROM ({source.sql})"

    counts = _scanned(source, _kept(shape(source)), _counts(faults))
    refuse_values(faults, counts, name, InspectedSource(source, shape))


def _shape_of(source: Source, columns: Columns) -> Callable[[str], str]:
    return lambda rows: _kept(_rows_sql(source, columns, rows))


def _kept(rows: str) -> str:
    """Return a SELECT of those of some rows that are not left out."""
    return f"SELECT * FROM ({rows}) WHERE NOT left_out"


def _is_word(column: str, words: frozenset[str]) -> str:
    return f"lower(trim(CAST({column} AS VARCHAR))) IN ({', '.join(map(quote_text, sorted(words)))})"


def _gaps(source: Source, columns: Columns) -> list[str]:
    """Return the conditions that rows meet which lack something, in the order of `Columns.causes`."""
    return [" AND ".join(_gap(source, name, words) for name in names) for names, words in columns.causes.values()]


def _gap(source: Source, name: str, words: frozenset[str]) -> str:
    return gap_of(source.column(name), source.kind(name), words)


def gap_of(column: str, kind: str, words: frozenset[str] = NOT_KNOWN) -> str:
    """Return the condition that rows meet which lack a value in one column, of a kind that `Source.kind` tells."""
    if kind == "number":
        return f"coalesce(isnan(CAST({column} AS DOUBLE)), true)"
    return f"({column} IS NULL)" if kind == "boolean" else f"coalesce({_is_word(column, words)}, true)"


def _left_out(source: Source, rows: str, columns: Columns) -> LeftOut:
    """Count, in one scan, the rows that are left out, and compare the scores of those with and without an outcome."""
    gaps = [f"gap{i}" for i in range(len(columns.causes))]
    scored = "WHERE NOT gap1 AND in_range"
    where = [f"FILTER ({scored} AND {outcome})" for outcome in ("NOT gap0", "gap0")]
    moments = [f"count(*) {rows_}, avg(s) {rows_}, var_samp(s) {rows_}" for rows_ in where]
    listed = ", ".join([_count("left_out"), "count(*)", *map(_count, gaps), *moments])
    n, n_read, *counts = source.rows(f"SELECT {listed} FROM ({rows})")[0]
    causes = dict(zip(columns.causes, counts, strict=False))
    return LeftOut.of(n, n_read, causes, Moments.of(*counts[-6:-3]), Moments.of(*counts[-3:]))


def _seen(source: Source, sql: str, columns: Columns) -> dict[str, Any]:
    """Count all faults: by one condition that fit rows meet, and one by one only if some rows do not."""
    aggregates = _aggregates(columns)
    if columns.pos_label is None:
        fit = ["in_range AND label_number IN (0, 1)"]
        fit += ["w >= 0 AND isfinite(w)"] if columns.weighting is not None else []
        fit += ["c IS NOT NULL"] if columns.clusters else []
        other = {name: aggregate for name, aggregate in aggregates.items() if name in _ALWAYS}
        other["unfit"] = _count(f"NOT coalesce({' AND '.join(fit)}, false)")
        seen = _scanned(source, sql, other)
        if not seen["unfit"]:
            return dict.fromkeys(aggregates, 0) | seen
    return _scanned(source, sql, aggregates)


def _scanned(source: Source, sql: str, aggregates: dict[str, str]) -> dict[str, Any]:
    values = source.rows(f"SELECT {', '.join(aggregates.values())} FROM ({sql})")[0]
    return dict(zip(aggregates, values, strict=True))


def _score_columns(source: Source, score: str, limits: tuple[float, float] = PROBABILITIES) -> str:
    column, (low, high) = source.column(score), limits
    number = as_number(column, source.kind(score))
    return f"{column} AS score_raw, {number} AS s, {number} >= {low!r} AND {number} <= {high!r} AS in_range"


def _rows_sql(source: Source, columns: Columns, rows: str | None = None) -> str:
    label = source.column(columns.label)
    kind = source.kind(columns.label)
    number = as_number(label, kind, words=columns.pos_label is None)
    parts = [
        _score_columns(source, columns.score, columns.limits),
        f"{label} AS label_raw",
        f"{number} AS label_number",
        f"{_missing_label(label, number, kind, columns.pos_label)} AS label_missing",
        f"{_unknown_label(label, kind, columns.pos_label)} AS label_unknown",
        f"coalesce({_is_positive(label, number, kind, columns.pos_label)}, false) AS positive",
    ]
    if columns.weighting is not None:
        weight = source.column(columns.weighting)
        parts += [f"{weight} AS weight_raw", f"{as_number(weight, source.kind(columns.weighting))} AS w"]
    if columns.clusters:
        parts.append(f"{source.joined(columns.clusters)} AS c")
    parts += [f"{source.column(name)} AS by{i}" for i, name in enumerate(columns.by)]
    parts += [f"{as_number(source.column(name), source.kind(name))} AS m{i}" for i, name in enumerate(columns.models)]
    gaps = _gaps(source, columns) if columns.drops else []
    parts += [f"{gap} AS gap{i}" for i, gap in enumerate(gaps)] + [f"{' OR '.join(gaps) or 'false'} AS left_out"]
    return f"SELECT {', '.join(parts)} FROM ({rows or source.sql})"


def _missing_label(label: str, number: str, kind: str, pos_label: Any) -> str:
    # With pos_label a text may be the name of a class, even "nan".
    nan_counts = kind == "number" or pos_label is None
    return f"({label} IS NULL OR coalesce(isnan({number}), false))" if nan_counts else f"({label} IS NULL)"


def _unknown_label(label: str, kind: str, pos_label: Any) -> str:
    """Tell where a label, beside a positive one that was named, seems to stand for a missing outcome."""
    if pos_label is None or kind != "text":
        return "false"
    return f"coalesce({_is_word(label, words_for_missing(pos_label))}, false)"


def _is_positive(label: str, number: str, kind: str, pos_label: Any) -> str:
    if pos_label is None:
        return f"{number} = 1"
    name = str(pos_label).strip()
    if isinstance(pos_label, bool) or kind == "boolean":
        same = f"lower(trim(CAST({label} AS VARCHAR))) = {quote_text(name.lower())}"
    else:
        same = f"trim(CAST({label} AS VARCHAR)) = {quote_text(name)}"
    try:
        value = float(pos_label)
    except (TypeError, ValueError):
        return same
    return same if math.isnan(value) else f"({same} OR {number} = {quote_text(repr(value))}::DOUBLE)"


def _aggregates(columns: Columns) -> dict[str, str]:
    used = {"score", "label"} | ({"weight"} if columns.weighting is not None else set())
    used |= {"cluster"} if columns.clusters else set()
    unasked = "label_unknown" if columns.pos_label is None else "label_other"
    faults = (fault for fault in _FAULTS if fault.split("_")[0] in used and fault != unasked)
    aggregates = {"rows": "count(*)", **_counts(faults)}
    aggregates |= {"score_low": "min(s)", "score_high": "max(s)", "distinct": "approx_count_distinct(s)"}
    if columns.pos_label is None:
        aggregates |= {"zeros": _count("label_number = 0"), "minus_ones": _count("label_number = -1")}
    else:
        # The rest is one class if it is one text, or one number written in several ways.
        rest, text = f"FILTER (WHERE {_REST})", "trim(CAST(label_raw AS VARCHAR))"
        one_text = f"coalesce(min({text}) {rest} = max({text}) {rest}, true)"
        one_number = f"coalesce(min(label_number) {rest} = max(label_number) {rest}, false)"
        no_number = _count(f"{_REST} AND label_number IS NULL")
        one_class = f"{one_text} OR ({one_number} AND {no_number} = 0)"
        aggregates |= {"positives": _count("positive"), "one_class": one_class, "rest_low": f"min({text}) {rest}"}
    if columns.weighting is not None:
        aggregates |= WEIGHT_SUMS | {"pairs": "approx_count_distinct(hash(s, w))"}
    return aggregates


class InspectedSource:
    """Rows of a source, which is asked for what errors show, see `faults.InspectedRows`."""

    def __init__(self, source: Source, shape: _Shape) -> None:
        self.name = source.name
        self._source = source
        self._shape = shape
        self._rows = f"({_kept(shape(source))})"

    def example(self, fault: str, column: str) -> tuple[str, Any]:
        """Find the first row with the fault, in the order of the files."""
        condition, value = _FAULTS[fault]
        self._source.in_order()
        for file in self._source.parts or (self._source,):
            rows = self._source.rows(
                f"SELECT row, value FROM (SELECT row_number() OVER () AS row, {value} AS value, "
                f"NOT left_out AND ({condition}) AS bad FROM ({self._shape(file)})) WHERE bad LIMIT 1"
            )
            if rows:
                break
        row, example = rows[0]
        return f"row {row} of column {column} in {file.name}", example

    def score_range(self) -> ScoreRange:
        """Look at the finite scores."""
        below, above = f"s < {-OFF_BY_ROUNDING}", f"s > {1.0 + OFF_BY_ROUNDING}"
        counts = map(_count, (f"NOT ({below} OR {above})", "s > 0 AND s < 1", "s = floor(s)"))
        ends = f"min(s), max(s) FILTER (WHERE {below}), min(s) FILTER (WHERE {above}), max(s)"
        listed = ", ".join(["count(*)", *counts, ends])
        return ScoreRange(*self._source.rows(f"SELECT {listed} FROM {self._rows} WHERE isfinite(s)")[0])

    def look_swapped(self) -> bool:
        """Return whether labels and scores may have changed places."""
        in_range = "bool_and(coalesce(label_number >= 0 AND label_number <= 1, false))"
        return bool(self._source.rows(f"SELECT bool_and(s = 0 OR s = 1) AND {in_range} FROM {self._rows}")[0][0])

    def label_values(self) -> list[Any]:
        """Return different values in order of appearance: of the first rows, or of all if those show too few."""
        self._source.in_order()
        numbered = f"SELECT row_number() OVER () AS row, label_raw FROM {self._rows} WHERE NOT label_missing"
        query = "SELECT label_raw FROM ({}) GROUP BY label_raw ORDER BY min(row) LIMIT 6"
        values = [value for (value,) in self._source.rows(query.format(f"{numbered} LIMIT {_LOOK}"))]
        if len(values) < 6:
            values = [value for (value,) in self._source.rows(query.format(numbered))]
        return values if self._source.typed else [_plain(value) for value in values]

    def other_labels(self) -> tuple[str, ...]:
        """Return a few of the labels that count as 0 beside the positive one that was named, in increasing order."""
        rest = f"SELECT trim(CAST(label_raw AS VARCHAR)) AS label FROM {self._rows} WHERE {_REST}"
        query = f"{rest} GROUP BY label ORDER BY label"
        return tuple(label for (label,) in self._source.rows(f"{query} LIMIT {OTHERS}"))


def _plain(text: str) -> Any:
    """Show numbers in a text file as numbers."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
