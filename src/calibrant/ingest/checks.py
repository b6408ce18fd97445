"""Look at every row once before anything is computed, and say what is wrong with which.

The conditions and the words are those of `calibrant.table.validation`; here they are aggregates of one scan. Only when
a condition fails is the file asked again, in its own order, for the first row that breaks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from calibrant.errors import DataError
from calibrant.ingest.formats import quote_text
from calibrant.ingest.source import Source
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.validation import (
    check_weight_range,
    describe_bad_labels,
    describe_bad_scores,
    describe_bad_weight,
    describe_missing_cluster,
    describe_missing_label,
    describe_no_rows,
    describe_not_numbers,
    describe_zero_weights,
    swapped_columns,
)

__all__ = ["Columns", "Summary", "check", "check_scores"]

# Of the rows of a source, or of one of its files, the SELECT that names their columns s, w, positive and so on.
_Shape = Callable[[Source], str]

_LOOK = 100_000  # rows looked at to name label values in a message


def _count(condition: str) -> str:
    return f"count(*) FILTER (WHERE {condition})"


# NaN is above every number for DuckDB, so one condition finds it too; NULL is left out.
_SCORE_AGGREGATES = {
    "score_text": _count("score_raw IS NOT NULL AND s IS NULL"),
    "score_bad": _count("NOT (s >= 0 AND s <= 1)"),
}


@dataclass(frozen=True)
class Columns:
    """The columns to read and what counts as positive; `clusters` are read only where rows are kept apart."""

    label: str
    score: str
    weight: str | None
    pos_label: Any
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """What one scan tells.

    Attributes
    ----------
    sql : str
        A SELECT of the columns s (score, DOUBLE), positive (BOOLEAN), with weights w (DOUBLE), with clusters c (VARCHAR).
    distinct : int
        About how many different scores there are.
    pairs : int
        About how many different pairs of score and weight; 0 without weights.
    low, high : float
        Smallest and largest score.
    weights : {"none", "whole", "other"}
        Whether rows have weights, and whether these are numbers of rows.
    shape : callable
        Returns such a SELECT for another one of the columns of the source.
    """

    sql: str
    distinct: int
    pairs: int
    low: float
    high: float
    weights: str
    shape: Callable[[str], str]

    @property
    def weight(self) -> str:
        """The column of weights, as it follows others in a SELECT from `sql`: whole numbers are integers there."""
        return {"none": "", "whole": ", CAST(w AS BIGINT) AS w", "other": ", w"}[self.weights]


def check(source: Source, columns: Columns) -> Summary:
    """Check labels, scores and weights in one scan.

    A `DataError` names the column, the first row that cannot be used and how many there are; a `SourceError` says that
    a column does not exist or the file is damaged.
    """
    shape: _Shape = partial(_rows_sql, columns=columns)
    sql = shape(source)
    names, expressions = zip(*_aggregates(columns).items(), strict=True)
    values = source.rows(f"SELECT {', '.join(expressions)} FROM ({sql})")[0]
    seen = dict(zip(names, values, strict=True))
    if not seen["rows"]:
        raise describe_no_rows(source.name)
    source.expect(seen["rows"])
    if seen["score_missing"]:
        place, _ = _first(source, shape, columns.score, "score_raw IS NULL", "score_raw")
        remedy = "drop or repair these rows, and count how many they were"
        raise describe_not_numbers("scores", "an empty value", place, seen["score_missing"], remedy)
    _refuse_bad_scores(source, columns.score, shape, seen)
    _check_labels(source, columns, shape, seen)
    if seen.get("cluster_missing"):
        place, _ = _first(source, shape, " and ".join(columns.clusters), "c IS NULL", "c")
        raise describe_missing_cluster("an empty value", place, seen["cluster_missing"])
    weights = "none" if columns.weight is None else _check_weights(source, columns, shape, seen)
    return Summary(
        sql=sql,
        distinct=int(seen["distinct"]),
        pairs=int(seen.get("pairs", 0)),
        low=float(seen["low"]),
        high=float(seen["high"]),
        weights=weights,
        shape=lambda rows: _rows_sql(source, columns, rows),
    )


def check_scores(source: Source, score: str) -> None:
    """Check one column of scores, in which values may be missing; errors are those of `check`."""

    def shape(source: Source) -> str:
        return f"SELECT {_score_columns(source, score)} FROM ({source.sql})"

    names, expressions = zip(*_SCORE_AGGREGATES.items(), strict=True)
    values = source.rows(f"SELECT {', '.join(expressions)} FROM ({shape(source)})")[0]
    _refuse_bad_scores(source, score, shape, dict(zip(names, values, strict=True)))


def _score_columns(source: Source, score: str) -> str:
    column = source.column(score)
    return f"{column} AS score_raw, {_as_number(column, source.kind(score))} AS s"


def _rows_sql(source: Source, columns: Columns, rows: str | None = None) -> str:
    label = source.column(columns.label)
    kind = source.kind(columns.label)
    number = _as_number(label, kind, words=columns.pos_label is None)
    parts = [
        _score_columns(source, columns.score),
        f"{label} AS label_raw",
        f"{number} AS label_number",
        f"{_missing_label(label, number, kind, columns.pos_label)} AS label_missing",
        f"coalesce({_is_positive(label, number, kind, columns.pos_label)}, false) AS positive",
    ]
    if columns.weight is not None:
        weight = source.column(columns.weight)
        parts += [f"{weight} AS weight_raw", f"{_as_number(weight, source.kind(columns.weight))} AS w"]
    if columns.clusters:
        named = [f"CAST({source.column(name)} AS VARCHAR)" for name in columns.clusters]
        # Columns that name the cluster together are joined by a character that text does not hold; some may be empty.
        joined = " || chr(31) || ".join(f"coalesce({name}, '')" for name in named)
        parts.append(f"CASE WHEN coalesce({', '.join(named)}) IS NOT NULL THEN {joined} END AS c")
    return f"SELECT {', '.join(parts)} FROM ({rows or source.sql})"


def _as_number(column: str, kind: str, *, words: bool = False) -> str:
    """Cast without failing: text that is no number becomes NULL. float32 becomes float64 before anything else."""
    if kind == "number":
        return f"CAST({column} AS DOUBLE)"
    if kind == "boolean":
        return f"CAST(CAST({column} AS TINYINT) AS DOUBLE)"
    # A bare TRY_CAST is moved by DuckDB 2.0.0 into its CSV reader, where it is no longer allowed to fail.
    number = f"TRY_CAST(nullif(CAST({column} AS VARCHAR), '') AS DOUBLE)"
    if not words:
        return number
    word = f"lower(trim(CAST({column} AS VARCHAR)))"
    return f"coalesce({number}, CASE {word} WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END)"


def _missing_label(label: str, number: str, kind: str, pos_label: Any) -> str:
    # With pos_label a text may be the name of a class, even "nan".
    nan_counts = kind == "number" or pos_label is None
    return f"({label} IS NULL OR coalesce(isnan({number}), false))" if nan_counts else f"({label} IS NULL)"


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
    wanted = {
        "rows": "count(*)",
        "score_missing": _count("score_raw IS NULL"),
        **_SCORE_AGGREGATES,
        "low": "min(s)",
        "high": "max(s)",
        "distinct": "approx_count_distinct(s)",
        "label_missing": _count("label_missing"),
    }
    if columns.pos_label is None:
        wanted |= {
            "label_other": _count("label_number IS NULL OR label_number NOT IN (-1, 0, 1)"),
            "zeros": _count("label_number = 0"),
            "minus_ones": _count("label_number = -1"),
        }
    else:
        # The rest is one class if it is one text, or one number written in several ways.
        rest, text = "FILTER (WHERE NOT positive)", "trim(CAST(label_raw AS VARCHAR))"
        wanted |= {
            "positives": _count("positive"),
            "one_text": f"coalesce(min({text}) {rest} = max({text}) {rest}, true)",
            "one_number": f"coalesce(min(label_number) {rest} = max(label_number) {rest}, false)",
            "no_number": _count("NOT positive AND label_number IS NULL"),
        }
    if columns.clusters:
        wanted["cluster_missing"] = _count("c IS NULL")
    if columns.weight is not None:
        wanted |= {
            "weight_missing": _count("weight_raw IS NULL"),
            "weight_text": _count("weight_raw IS NOT NULL AND w IS NULL"),
            "weight_bad": _count("NOT (w >= 0 AND isfinite(w))"),
            "weight_sum": "sum(w) FILTER (WHERE isfinite(w))",
            "weight_largest": "max(w) FILTER (WHERE isfinite(w))",
            "weight_broken": _count("w <> floor(w)"),
            "pairs": "approx_count_distinct(hash(s, w))",
        }
    return wanted


def _refuse_bad_scores(source: Source, column: str, shape: _Shape, seen: dict[str, Any]) -> None:
    if seen["score_text"]:
        place, value = _first(source, shape, column, "score_raw IS NOT NULL AND s IS NULL", "score_raw")
        raise describe_not_numbers("scores", repr(value), place, seen["score_text"], _comma_remedy(value))
    if seen["score_bad"]:
        place, value = _first(source, shape, column, "NOT (s >= 0 AND s <= 1)", "s")
        low, high = source.rows(f"SELECT min(s), max(s) FROM ({shape(source)}) WHERE isfinite(s)")[0]
        low, high = (math.nan, math.nan) if low is None else (low, high)
        raise describe_bad_scores(value, place, seen["score_bad"], low, high)


def _check_labels(source: Source, columns: Columns, shape: _Shape, seen: dict[str, Any]) -> None:
    if seen["label_missing"]:
        place, value = _first(source, shape, columns.label, "label_missing", "label_raw")
        shown = "an empty value" if value is None else repr(value)
        raise describe_missing_label(shown, place, seen["label_missing"])
    if columns.pos_label is None:
        fine = not seen["label_other"] and not (seen["zeros"] and seen["minus_ones"])
        met = False
    else:
        fine = seen["one_text"] or (seen["one_number"] and not seen["no_number"])
        met = bool(seen["positives"])
    if fine:
        return
    error = describe_bad_labels(_label_values(source, shape(source)), columns.pos_label, met=met)
    error = DataError(error.expected, f"{error.found} in column {columns.label} of {source.name}", error.remedy)
    binary = "bool_and(s = 0 OR s = 1) AND bool_and(coalesce(label_number >= 0 AND label_number <= 1, false))"
    if source.rows(f"SELECT {binary} FROM ({shape(source)})")[0][0]:
        error = swapped_columns(error)
    raise error


def _check_weights(source: Source, columns: Columns, shape: _Shape, seen: dict[str, Any]) -> str:
    column = str(columns.weight)
    if seen["weight_missing"]:
        place, _ = _first(source, shape, column, "weight_raw IS NULL", "weight_raw")
        raise describe_not_numbers("weights", "an empty value", place, seen["weight_missing"])
    if seen["weight_text"]:
        place, value = _first(source, shape, column, "w IS NULL", "weight_raw")
        raise describe_not_numbers("weights", repr(value), place, seen["weight_text"], _comma_remedy(value))
    if seen["weight_bad"]:
        place, value = _first(source, shape, column, "NOT (w >= 0 AND isfinite(w))", "w")
        raise describe_bad_weight(value, place, seen["weight_bad"])
    if not seen["weight_sum"] > 0:
        raise describe_zero_weights()
    check_weight_range(seen["weight_largest"], seen["weight_sum"])
    return "whole" if not seen["weight_broken"] and seen["weight_sum"] < MOST_ROWS else "other"


def _comma_remedy(value: Any) -> str | None:
    try:
        float(str(value).replace(",", "."))
    except ValueError:
        return None
    return "write a point, not a comma, before the decimals"


def _first(source: Source, shape: _Shape, column: str, condition: str, value: str) -> tuple[str, Any]:
    """Find the first row that meets a condition, which there is: its place in words, and the value there."""
    source.in_order()
    for file in source.parts or (source,):
        rows = source.rows(
            f"SELECT row, value FROM (SELECT row_number() OVER () AS row, {value} AS value, {condition} AS bad "
            f"FROM ({shape(file)})) WHERE bad LIMIT 1"
        )
        if rows:
            break
    row, found = rows[0]
    return f"row {row} of column {column} in {file.name}", found


def _label_values(source: Source, sql: str) -> list[Any]:
    """Different label values in order of appearance: of the first rows, or of all if those show too few."""
    source.in_order()
    numbered = f"SELECT row_number() OVER () AS row, label_raw FROM ({sql})"
    query = "SELECT label_raw FROM ({}) GROUP BY label_raw ORDER BY min(row) LIMIT 6"
    values = [value for (value,) in source.rows(query.format(f"{numbered} LIMIT {_LOOK}"))]
    if len(values) < 6:
        values = [value for (value,) in source.rows(query.format(numbered))]
    return values if source.typed else [_plain(value) for value in values]


def _plain(text: str) -> Any:
    """Show numbers in a text file as numbers."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
