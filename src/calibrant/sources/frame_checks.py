"""Look at every row of a frame in an engine once before anything is added up, and say what is wrong.

Rows that lack something may be left out before, and are counted where they are; in memory too.
An engine knows no first row, so messages show a value that tells much, and how many rows are wrong in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import CheckedRows, Fetch, LazyRows
from calibrant.errors import DataError
from calibrant.sources.faults import other_labels, refuse, weights_of
from calibrant.sources.protocol import Columns
from calibrant.table import row_errors
from calibrant.table.fixed_point import BITS
from calibrant.table.missing import Intake, LeftOut, Moments, words_for_missing
from calibrant.table.score_hints import OFF_BY_ROUNDING, ScoreRange

Frame = TypeVar("Frame", nw.DataFrame[Any], nw.LazyFrame[Any])

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_NO_NUMBER = "[^-+.0-9eE ]|^[^0-9]*$"  # a character that stands in no number, or no digit
_SIFT = 1021  # one in so many values is looked at to estimate how many are different; a prime
_SPREAD = 1652.0127  # makes fractions of products of score and weight vary; any number without a pattern will do
_LARGEST_WHOLE = 2.0**53  # beyond it all floats are whole
_MOST_LABELS = 1000  # of which the first are named
_LARGE = 2.0**41  # weights from here on are more than rows can be counted; some engines cannot round much larger ones


def column_of(name: str, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.Expr:
    """Return a column; Spark takes dots in a name for fields of a struct unless it is quoted."""
    return nw.col("`" + name.replace("`", "``") + "`" if frame.implementation.is_spark_like() else name)


def is_word(text: nw.Expr, words: frozenset[str]) -> nw.Expr:
    """Whether a text is one of some words, in small letters or capitals and with spaces around it or not."""
    return text.str.strip_chars().str.to_lowercase().is_in(sorted(words))


def find_gaps(frame: nw.LazyFrame[Any], columns: Columns, fetch: Fetch) -> tuple[nw.Expr, LeftOut]:
    """Return the condition that rows meet which lack something, and count them in one scan; `fetch` runs a query."""
    gaps = [reduce(and_, (_missing(frame, name, words) for name in names)) for names, words in columns.causes.values()]
    gap, kind = reduce(or_, gaps), frame.collect_schema()[columns.score]
    aggregates = {"n_read": nw.len(), "n": count_of(gap)} | {f"gap{i}": count_of(one) for i, one in enumerate(gaps)}
    if kind.is_numeric():
        score = column_of(columns.score, frame).cast(nw.Float64)
        inside = (score >= columns.limits[0]) & (score <= columns.limits[1]) & ~gaps[1]
        for group, of in (("known", ~gaps[0]), ("unknown", gaps[0])):
            scored = nw.when(inside & of).then(score)
            aggregates[f"{group}_n"] = count_of(inside & of)
            aggregates |= {f"{group}_mean": scored.mean(), f"{group}_var": scored.var()}
    counted = {name: values[0] for name, values in fetch(frame.select(**aggregates)).items()}
    groups = ([counted.get(f"{group}_{what}") for what in ("n", "mean", "var")] for group in ("known", "unknown"))
    known, unknown = (Moments.of(*group) for group in groups)
    causes = {cause: counted[f"gap{i}"] for i, cause in enumerate(columns.causes)}
    left_out = LeftOut.of(counted["n"], counted["n_read"], causes, known, unknown)
    if left_out.n and left_out.n == left_out.n_read:
        raise row_errors.describe_all_left_out(str(left_out))
    return gap, left_out


def _missing(frame: nw.LazyFrame[Any], name: str, words: frozenset[str]) -> nw.Expr:
    """Return where a column has no value."""
    value, kind = column_of(name, frame), frame.collect_schema()[name]
    if kind.is_float():
        return value.is_null() | value.is_nan()
    if kind in _TEXT:
        return value.is_null() | is_word(value.cast(nw.String), words)
    return value.is_null()


def count_of(condition: nw.Expr) -> nw.Expr:
    """Count the rows that meet a condition."""
    return nw.when(condition).then(1).otherwise(0).sum()


def checked_rows(frame: nw.LazyFrame[Any], columns: Columns, fetch: Fetch, *, handed_over: bool) -> CheckedRows:
    """Check the rows of a frame, which has the columns, in one scan, and say how to ask for their sums.

    How many scores are different is estimated if rows can be `handed_over` or have weights that are not numbers of
    rows. Else it is left to the scan that adds up all rows: beside the checks it would cost as much as they do.
    """
    try:
        raw = _raw(frame, columns, fetch)
    except DataError as error:
        raise _emptiness(frame, columns, fetch) or error from None
    seen = _look(raw, columns, fetch, sifted=handed_over)
    inspected = InspectedFrame(raw, seen, fetch)
    weights = refuse(seen, columns, inspected)
    others = other_labels(seen, columns, inspected)
    named = ["s", "y", *(f"by{i}" for i in range(len(columns.by)))]
    rows = raw.select(*named)
    if weights != "none":
        kind = nw.Int64 if weights == "whole" else nw.Float64
        rows = raw.filter(nw.col("w") > 0.0).select(*named, nw.col("w").cast(kind))
    different = int(seen["rows"])
    if handed_over or weights == "other":
        different = _different(raw, fetch, seen, "pairs" if weights == "other" else "scores")
    low, high = float(seen["score_low"]), float(seen["score_high"])
    sums = None if columns.weight is None else weights_of(seen)
    return CheckedRows(LazyRows(rows, weights, fetch), different, None, Intake(others=others), low, high, sums)


def _emptiness(frame: nw.LazyFrame[Any], columns: Columns, fetch: Fetch) -> DataError | None:
    """Return the error for a frame without rows, or with a column of nothing: then its type says nothing."""
    used = columns.of_rows
    missing = {what: count_of(column_of(name, frame).is_null()) for what, name in used.items()}
    seen = {name: values[0] for name, values in fetch(frame.select(rows=nw.len(), **missing)).items()}
    rows = int(seen["rows"])
    if not rows:
        return row_errors.describe_no_rows()
    empty = [what for what in used if seen[what] == rows]
    return row_errors.describe_missing(empty[0], f"column {used[empty[0]]}", rows) if empty else None


def holds_numbers(kind: Any) -> bool:
    """Whether a column of a type may hold numbers; objects are judged one by one."""
    return kind.is_numeric() or str(kind) in {"Boolean", "Object"}


def need_numbers(frame: Frame, name: str, what: str, fetch: Callable[[Frame], Any]) -> None:
    """Raise a `DataError` if a column is of a type that does not hold numbers: of text, about one that is none."""
    kind = frame.collect_schema()[name]
    if holds_numbers(kind):
        return
    if kind in _TEXT:
        text = column_of(name, frame).cast(nw.String)
        others = fetch(frame.filter(text.str.contains(_NO_NUMBER)).select(text=text).head(1))["text"]
        if len(others):
            raise row_errors.describe_not_numbers(what, str(others[0]), f"column {name}")
    remedy = "cast the column to float first, and what is no number to a missing value"
    raise DataError(f"numbers as {what}", f"values of type {kind} in column {name}", remedy)


def _raw(frame: nw.LazyFrame[Any], columns: Columns, fetch: Fetch) -> nw.LazyFrame[Any]:
    """Name what is looked at: score s, label, it as a number, whether it is positive y, weight w."""
    types = frame.collect_schema()
    need_numbers(frame, columns.score, "scores", fetch)
    label, text = _label(column_of(columns.label, frame), types[columns.label], columns.label)
    meant = _meant(columns.pos_label, text=text)
    aggregates = {
        "s": column_of(columns.score, frame).cast(nw.Float64),
        "label": label,
        "number": nw.lit(math.pi) if text else label.cast(nw.Float64),  # text is neither 0, 1 nor -1
        "y": (nw.lit(0) if meant is None else nw.when(label == meant).then(1).otherwise(0)).cast(nw.Int64),
    }
    if columns.weighting is not None:
        need_numbers(frame, columns.weighting, "weights", fetch)
        aggregates["w"] = column_of(columns.weighting, frame).cast(nw.Float64)
    aggregates |= {f"by{i}": column_of(name, frame) for i, name in enumerate(columns.by)}
    return frame.select(**aggregates)


def _label(label: nw.Expr, kind: Any, name: str) -> tuple[nw.Expr, bool]:
    """Return labels in a form that every engine can compare, and whether they are text."""
    if kind == nw.Boolean:
        return label.cast(nw.Int64), False
    if kind.is_integer():
        return label, False
    if kind.is_numeric():
        return label.cast(nw.Float64), False
    if kind in _TEXT:  # a set would not find an Enum
        return label.cast(nw.String), True
    other_type = f"values of type {kind} in column {name}"
    raise DataError("labels that are numbers, truth values or text", other_type, "make a column of 0 and 1 first")


def _meant(pos_label: Any, *, text: bool) -> Any:
    """Return what positive labels are equal to; None if no label of such a column can be positive."""
    if pos_label is None:
        return None if text else 1
    if text:
        return str(pos_label)
    value = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else None


def _look(raw: nw.LazyFrame[Any], columns: Columns, fetch: Fetch, *, sifted: bool) -> dict[str, Any]:
    """Count, in one scan, everything that could be wrong. A least or largest value of nothing may be anything."""
    weighted, finite = columns.weighting is not None, _finite("number")
    s, y, label, number = (nw.col(name) for name in ("s", "y", "label", "number"))
    aggregates = {
        "rows": nw.len(),
        **_limits("score", "s", *columns.limits),
        "binary": count_of((s == 0.0) | (s == 1.0)),
        **_limits("label", "number", -math.inf, math.inf),
        "label_missing": count_of(label.is_null()),
        "positives": y.sum(),
        "zeros": count_of(number == 0.0),
        "minus_ones": count_of(number == -1.0),
        "label_other": count_of((finite != 0.0) & (finite != -1.0) & (finite != 1.0) & ~label.is_null()),
        "rest_low": nw.when(y == 0).then(label).min(),
        "rest_high": nw.when(y == 0).then(label).max(),
    }
    if raw.collect_schema()["label"] == nw.String and columns.pos_label is not None:
        aggregates["label_unknown"] = count_of(is_word(label, words_for_missing(columns.pos_label)))
    if weighted:
        small, weight = _small_weight(), nw.when(_finite("w") > 0.0).then(_finite("w"))
        aggregates |= {**_limits("weight", "w", 0.0, math.inf), "weight_broken": count_of(small != small.floor())}
        aggregates |= {"weight_rows": count_of(weight > 0.0), "weight_squares": (weight * weight).sum()}
        aggregates |= {"weight_least": weight.min()}
    if sifted and not raw.implementation.is_duckdb():
        for name in ("scores", "pairs") if weighted else ("scores",):
            value, looked_at = _sifted(name)
            aggregates[name] = nw.when(looked_at).then(value).n_unique()
    seen = {name: values[0] for name, values in fetch(raw.select(**aggregates)).items()}
    for name in ("score", "label", "weight") if weighted else ("score", "label"):
        # The limits that a Parquet file declares leave NaN out, and by them DuckDB 2.0.0 takes every test for it as
        # failed. Only a sum shows it then.
        if not seen[f"{name}_nan"] and not seen[f"{name}_infinite"] and math.isnan(seen[f"{name}_sum"] or 0.0):
            seen[f"{name}_nan"] = 1
        seen[f"{name}_bad"] = seen[f"{name}_infinite"] + seen[f"{name}_outside"]
    seen["label_bad"] += seen["label_nan"]
    seen["one_class"] = seen["positives"] == seen["rows"] or seen["rest_low"] == seen["rest_high"]
    seen.setdefault("label_unknown", 0)
    return seen


def _finite(name: str) -> nw.Expr:
    """Leave out what is not finite, NaN by a function: engines disagree about whether it is more than a number."""
    value = nw.col(name)
    # In two steps: DuckDB 2.0.0 may decide both conditions of one by the limits that a Parquet file declares.
    number = nw.when(~value.is_nan()).then(value)
    return nw.when(number.abs() < math.inf).then(value)


def _limits(name: str, column: str, least: float, most: float) -> dict[str, nw.Expr]:
    """Count what is no number from `least` to `most` in a column, and find the ends of the others."""
    value, finite = nw.col(column), _finite(column)
    limits = {
        "missing": count_of(value.is_null()),
        "nan": count_of(value.is_nan()),
        "sum": value.sum(),
        "infinite": count_of(value.abs() == math.inf),
        "bottomless": count_of(value == -math.inf),
        "outside": count_of((finite < least) | (finite > most)),
        "low": finite.min(),
        "high": finite.max(),
    }
    return {f"{name}_{what}": limit for what, limit in limits.items()}


def _small_weight() -> nw.Expr:
    return nw.when((_finite("w") >= 0.0) & (_finite("w") < _LARGE)).then(nw.col("w"))


def _sifted(name: str) -> tuple[nw.Expr, nw.Expr]:
    """Return scores, or what tells pairs of score and weight, and which of them are looked at: one in so many."""
    score = nw.when((_finite("s") >= 0.0) & (_finite("s") <= 1.0)).then(nw.col("s"))
    value, spread = score, score * (2.0**BITS / _SIFT)
    if name == "pairs":
        value, spread = (score + 1.0) * nw.col("w"), (score + 1.0) * _small_weight() * _SPREAD
    # Where the spread has a small fraction, or is not known.
    return value, nw.when(spread - spread.floor() >= 1.0 / _SIFT).then(nw.lit(False)).otherwise(nw.lit(True))


def _different(raw: nw.LazyFrame[Any], fetch: Fetch, seen: dict[str, Any], name: str) -> int:
    """Estimate how many different scores there are, or pairs of score and weight."""
    if name in seen:
        return int(seen[name]) * _SIFT
    # DuckDB 2.0.0 would hold all rows in memory to count, beside other things, what is different among a few.
    value, looked_at = _sifted(name)
    return int(fetch(raw.filter(looked_at).select(different=value.n_unique()))["different"][0]) * _SIFT


class InspectedFrame:
    """Rows of which everything was counted, and what errors show of them, see `faults.InspectedRows`."""

    name = ""

    def __init__(self, raw: nw.LazyFrame[Any], seen: Mapping[str, Any], fetch: Fetch) -> None:
        self._raw = raw
        self._seen = seen
        self._fetch = fetch

    def example(self, fault: str, column: str) -> tuple[str, float | None]:
        """Return one of the values that cannot be used: rather a number than none."""
        what, kind = fault.split("_")
        if kind in ("missing", "other"):
            return f"column {column}", None
        seen = {name.removeprefix(f"{what}_"): value for name, value in self._seen.items()}
        if kind == "nan" or (what == "label" and seen["nan"]):
            return f"column {column}", math.nan
        low, high = (seen["low"], seen["high"]) if seen["outside"] else (-math.inf, math.inf)
        below = low < 0.0 if seen["outside"] else seen["bottomless"]
        return f"column {column}", float(low if below else high)

    def score_range(self) -> ScoreRange:
        """Look at the finite scores."""
        s = _finite("s")
        below, above = s < -OFF_BY_ROUNDING, s > 1.0 + OFF_BY_ROUNDING
        narrow = s.clip(-_LARGEST_WHOLE, _LARGEST_WHOLE)  # engines round down to integers, which end somewhere
        aggregates = {
            "n": s.count(),
            "inside": count_of(~(below | above)),
            "between": count_of((s > 0.0) & (s < 1.0)),
            "whole": count_of(narrow == narrow.floor()),
            "low": s.min(),
            "below": nw.when(below).then(s).max(),
            "above": nw.when(above).then(s).min(),
            "high": s.max(),
        }
        return ScoreRange(**{name: values[0] for name, values in self._fetch(self._raw.select(**aggregates)).items()})

    def look_swapped(self) -> bool:
        """Return whether labels and scores may have changed places."""
        seen = self._seen
        shares = float(seen["label_low"]) >= 0.0 and float(seen["label_high"]) <= 1.0
        return bool(shares and seen["binary"] == seen["rows"])

    def label_values(self) -> list[Any]:
        """Return a few different labels, in increasing order."""
        named = self._raw.filter(~nw.col("label").is_null())
        labels = self._fetch(named.group_by("label").agg(rows=nw.len()).head(row_errors.OTHERS))
        return sorted(labels["label"].tolist())

    def other_labels(self) -> tuple[str, ...]:
        """Return a few of the labels that count as 0 beside the positive one that was named, in increasing order."""
        rest = self._raw.filter(nw.col("y") == 0).group_by("label").agg(rows=nw.len()).head(_MOST_LABELS)
        return tuple(map(str, sorted(self._fetch(rest)["label"].tolist())[: row_errors.OTHERS]))
