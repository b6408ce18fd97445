"""Look at every row of a frame in an engine once before anything is added up, and say what is wrong.

Conditions and words are those of `calibrant.table.validation`. An engine knows no first row, so messages show a value
that tells much, and how many rows are wrong in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError
from calibrant.ingest.frame_rows import Fetch, LazyRows
from calibrant.table.fixed_point import BITS, MOST_ROWS
from calibrant.table.validation import (
    check_weight_range,
    describe_bad_labels,
    describe_bad_scores,
    describe_bad_weight,
    describe_missing_label,
    describe_no_rows,
    describe_not_numbers,
    describe_zero_weights,
    swapped_columns,
)

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["FrameColumns", "LazySummary", "checked_rows", "column_of", "need_numbers"]

_SIFT = 1021  # one in so many values is looked at to estimate how many are different; a prime
_SPREAD = 1652.0127  # makes fractions of products of score and weight vary; any number without a pattern will do
_SEVERAL = 6  # label values to name in a message
_LARGE = 2.0**41  # weights from here on are more than rows can be counted; some engines cannot round much larger ones


@dataclass(frozen=True)
class FrameColumns:
    """Names of the columns to read and what counts as positive."""

    label: str
    score: str
    weight: str | None
    pos_label: Any


@dataclass(frozen=True)
class LazySummary:
    """What one scan of the rows tells.

    Attributes
    ----------
    low, high : float
        Smallest and largest score.
    distinct : int
        About how many different scores there are; if weights are not numbers of rows, different pairs of score and
        weight.
    """

    low: float
    high: float
    distinct: int


def checked_rows(frame: nw.LazyFrame[Any], columns: FrameColumns, fetch: Fetch) -> tuple[LazyRows, LazySummary]:
    """Check the rows of a frame, which has the columns, in one scan, and say how to ask for their sums."""
    import narwhals as nw

    try:
        raw = _raw(frame, columns)
    except DataError as error:
        raise _emptiness(frame, columns, fetch) or error from None
    seen = _look(raw, fetch, weighted=columns.weight is not None)
    if not seen["rows"]:
        raise describe_no_rows()
    _refuse_scores(columns.score, seen)
    _refuse_labels(raw, columns, seen, fetch)
    rows, weights = raw.select("s", "y"), "none"
    if columns.weight is not None:
        _refuse_weights(columns.weight, seen)
        whole = not seen["broken"] and seen["weight"] < MOST_ROWS
        weights, kind = ("whole", nw.Int64) if whole else ("other", nw.Float64)
        rows = raw.filter(nw.col("w") > 0.0).select("s", "y", nw.col("w").cast(kind))
    different = _different(raw, fetch, seen, "pairs" if weights == "other" else "scores")
    return LazyRows(rows, weights, fetch), LazySummary(float(seen["s_low"]), float(seen["s_high"]), different)


def _emptiness(frame: nw.LazyFrame[Any], columns: FrameColumns, fetch: Fetch) -> DataError | None:
    """Return the error for a frame without rows, or with a column of nothing: then its type says nothing."""
    import narwhals as nw

    named = {"scores": columns.score, "labels": columns.label, "weights": columns.weight}
    used = {what: name for what, name in named.items() if name is not None}
    missing = {what: _count(column_of(name, frame).is_null()) for what, name in used.items()}
    seen = {name: values[0] for name, values in fetch(frame.select(rows=nw.len(), **missing)).items()}
    rows = int(seen["rows"])
    if not rows:
        return describe_no_rows()
    return next((_missing(what, name, rows) for what, name in used.items() if seen[what] == rows), None)


def need_numbers(name: str, kind: Any, what: str) -> None:
    """Raise a `DataError` if a column is of a type that does not hold numbers."""
    if not (kind.is_numeric() or str(kind) in {"Boolean", "Object"}):  # objects are judged one by one
        found, remedy = f"values of type {kind}", "cast the column to float first"
        raise describe_not_numbers(what, found, f"column {name}", remedy=remedy)


def _raw(frame: nw.LazyFrame[Any], columns: FrameColumns) -> nw.LazyFrame[Any]:
    """Name what is looked at: score s, label, it as a number, whether it is positive y, weight w."""
    import narwhals as nw

    types = frame.collect_schema()
    need_numbers(columns.score, types[columns.score], "scores")
    label, text = _label(column_of(columns.label, frame), types[columns.label], columns.label)
    meant = _meant(columns.pos_label, text=text)
    wanted = {
        "s": column_of(columns.score, frame).cast(nw.Float64),
        "label": label,
        "number": nw.lit(math.pi) if text else label.cast(nw.Float64),  # text is neither 0, 1 nor -1
        "y": (nw.lit(0) if meant is None else nw.when(label == meant).then(1).otherwise(0)).cast(nw.Int64),
    }
    if columns.weight is not None:
        need_numbers(columns.weight, types[columns.weight], "weights")
        wanted["w"] = column_of(columns.weight, frame).cast(nw.Float64)
    return frame.select(**wanted)


def column_of(name: str, frame: nw.LazyFrame[Any]) -> nw.Expr:
    """Return a column; Spark takes dots in a name for fields of a struct unless it is quoted."""
    import narwhals as nw

    return nw.col("`" + name.replace("`", "``") + "`" if frame.implementation.is_spark_like() else name)


def _label(label: nw.Expr, kind: Any, name: str) -> tuple[nw.Expr, bool]:
    """Return labels in a form that every engine can compare, and whether they are text."""
    import narwhals as nw

    if kind == nw.Boolean:
        return label.cast(nw.Int64), False
    if kind.is_integer():
        return label, False
    if kind.is_numeric():
        return label.cast(nw.Float64), False
    if kind in (nw.String, nw.Categorical, nw.Enum):  # a set would not find an Enum
        return label.cast(nw.String), True
    raise DataError(
        "labels that are numbers, truth values or text",
        f"values of type {kind} in column {name}",
        "make a column of 0 and 1 first",
    )


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


def _look(raw: nw.LazyFrame[Any], fetch: Fetch, *, weighted: bool) -> dict[str, Any]:
    """Count, in one scan, everything that could be wrong. A least or largest value of nothing may be anything."""
    import narwhals as nw

    s, y, label, number, w = (nw.col(name) for name in ("s", "y", "label", "number", "w"))
    wanted = {
        "rows": nw.len(),
        **_limits("s", 1.0),
        "binary": _count((s == 0.0) | (s == 1.0)),
        **_limits("number", math.inf),
        "missing": _count(label.is_null()),
        "positives": y.sum(),
        "zeros": _count(number == 0.0),
        "minus_ones": _count(number == -1.0),
        "others": _count((number != 0.0) & (number != -1.0) & (number != 1.0)),
        "rest_low": nw.when(y == 0).then(label).min(),
        "rest_high": nw.when(y == 0).then(label).max(),
    }
    if weighted:
        small = _small_weight()
        wanted |= {
            **_limits("w", math.inf),
            "weight": nw.when(_finite("w") >= 0.0).then(w).sum(),
            "broken": _count(small != small.floor()),
        }
    if not raw.implementation.is_duckdb():
        for name, (value, spread) in _sifted(weighted).items():
            wanted[name] = nw.when(_kept(spread)).then(value).n_unique()
    seen = {name: values[0] for name, values in fetch(raw.select(**wanted)).items()}
    for name in ("s", "number", "w") if weighted else ("s", "number"):
        # The limits that a Parquet file declares leave NaN out, and by them DuckDB 2.0.0 takes every test for it as
        # failed. Only a sum shows it then.
        if not seen[f"{name}_nan"] and not seen[f"{name}_infinite"] and math.isnan(seen[f"{name}_sum"] or 0.0):
            seen[f"{name}_nan"] = 1
    return seen


def _plain(name: str) -> nw.Expr:
    """Leave out NaN, by a function: engines disagree about comparisons with it."""
    import narwhals as nw

    return nw.when(~nw.col(name).is_nan()).then(nw.col(name))


def _finite(name: str) -> nw.Expr:
    import narwhals as nw

    return nw.when(_plain(name).abs() < math.inf).then(nw.col(name))


def _count(condition: nw.Expr) -> nw.Expr:
    import narwhals as nw

    return nw.when(condition).then(1).otherwise(0).sum()


def _limits(name: str, most: float) -> dict[str, nw.Expr]:
    """Count what is no number from 0 to `most`, and find the ends of the others."""
    import narwhals as nw

    finite = _finite(name)
    return {
        f"{name}_missing": _count(nw.col(name).is_null()),
        f"{name}_nan": _count(nw.col(name).is_nan()),
        f"{name}_sum": nw.col(name).sum(),
        f"{name}_infinite": _count(_plain(name).abs() == math.inf),
        f"{name}_outside": _count((finite < 0.0) | (finite > most)),
        f"{name}_least": _plain(name).min(),
        f"{name}_low": finite.min(),
        f"{name}_high": finite.max(),
    }


def _small_weight() -> nw.Expr:
    import narwhals as nw

    return nw.when((_finite("w") >= 0.0) & (_finite("w") < _LARGE)).then(nw.col("w"))


def _sifted(weighted: bool) -> Mapping[str, tuple[nw.Expr, nw.Expr]]:
    """Return what different values are counted of, and what chooses the few of them that are looked at."""
    import narwhals as nw

    score = nw.when((_finite("s") >= 0.0) & (_finite("s") <= 1.0)).then(nw.col("s"))
    found = {"scores": (score, score * (2.0**BITS / _SIFT))}
    if weighted:
        found["pairs"] = ((score + 1.0) * nw.col("w"), (score + 1.0) * _small_weight() * _SPREAD)
    return found


def _different(raw: nw.LazyFrame[Any], fetch: Fetch, seen: dict[str, Any], name: str) -> int:
    """Estimate how many different scores there are, or pairs of score and weight."""
    if name in seen:
        return int(seen[name]) * _SIFT
    # DuckDB 2.0.0 would hold all rows in memory to count, beside other things, what is different among a few.
    value, spread = _sifted(name == "pairs")[name]
    return int(fetch(raw.filter(_kept(spread)).select(different=value.n_unique()))["different"][0]) * _SIFT


def _kept(spread: nw.Expr) -> nw.Expr:
    """Keep one in so many different values: where the spread has a small fraction, or is not known."""
    import narwhals as nw

    return nw.when(spread - spread.floor() >= 1.0 / _SIFT).then(nw.lit(False)).otherwise(nw.lit(True))


def _bad(seen: dict[str, Any], name: str) -> tuple[int, float]:
    """Return how many values of a column cannot be used, and one of them: rather a number than none."""
    count = sum(int(seen[f"{name}_{kind}"]) for kind in ("nan", "infinite", "outside"))
    if seen[f"{name}_outside"]:
        low, high = (float(seen[f"{name}_{end}"]) for end in ("low", "high"))
        return count, low if low < 0.0 else high
    if seen[f"{name}_nan"]:
        return count, math.nan
    return count, math.inf if seen[f"{name}_infinite"] and seen[f"{name}_least"] != -math.inf else -math.inf


def _missing(what: str, column: str, count: int) -> DataError:
    place, remedy = f"column {column}", "drop or repair these rows, and count how many they were"
    if what == "labels":
        return describe_missing_label("an empty value", place, count)
    return describe_not_numbers(what, "an empty value", place, count, remedy if what == "scores" else None)


def _refuse_scores(column: str, seen: dict[str, Any]) -> None:
    if seen["s_missing"]:
        raise _missing("scores", column, int(seen["s_missing"]))
    count, value = _bad(seen, "s")
    if count:
        raise describe_bad_scores(value, f"column {column}", count, float(seen["s_low"]), float(seen["s_high"]))


def _refuse_labels(raw: nw.LazyFrame[Any], columns: FrameColumns, seen: dict[str, Any], fetch: Fetch) -> None:
    import narwhals as nw

    place = f"column {columns.label}"
    if seen["missing"]:
        raise _missing("labels", columns.label, int(seen["missing"]))
    if seen["number_nan"] or seen["number_infinite"]:
        count = int(seen["number_nan"] + seen["number_infinite"])
        value = math.nan if seen["number_nan"] else math.copysign(math.inf, float(seen["number_least"]))
        raise describe_missing_label(repr(value), place, count)
    if columns.pos_label is None:
        fine = not seen["others"] and not (seen["zeros"] and seen["minus_ones"])
    else:
        fine = seen["positives"] == seen["rows"] or seen["rest_low"] == seen["rest_high"]
    if fine:
        return
    values = sorted(fetch(raw.group_by("label").agg(rows=nw.len()).head(_SEVERAL))["label"].tolist())
    error = describe_bad_labels(values, columns.pos_label, met=bool(seen["positives"]))
    error = DataError(error.expected, f"{error.found} in {place}", error.remedy)
    shares = float(seen["number_low"]) >= 0.0 and float(seen["number_high"]) <= 1.0
    raise swapped_columns(error) if shares and seen["binary"] == seen["rows"] else error


def _refuse_weights(column: str, seen: dict[str, Any]) -> None:
    if seen["w_missing"]:
        raise _missing("weights", column, int(seen["w_missing"]))
    count, value = _bad(seen, "w")
    if count:
        raise describe_bad_weight(value, f"column {column}", count)
    if not seen["weight"] > 0:
        raise describe_zero_weights()
    check_weight_range(float(seen["w_high"]), float(seen["weight"]))
