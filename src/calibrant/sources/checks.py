"""What makes rows unusable: one order of checks and one wording, whatever engine looks at the rows.

One scan tells whether all rows can be used; only if some cannot, a second counts each fault, and the engine is asked
for one row that has it. `LazyColumns` gives columns the shape that is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw

from calibrant.cells.frame_rows import Seen
from calibrant.errors import COLUMN, DataError
from calibrant.sources.columns import REST, Fault, FileColumns, LazyColumns, NumberColumn
from calibrant.sources.formats import quote_name
from calibrant.sources.schema import AMOUNTS, Schema
from calibrant.sources.source import Source
from calibrant.table import row_errors
from calibrant.table.missing import LeftOut, Moments
from calibrant.table.row_errors import OFF_BY_ROUNDING, ScoreRange
from calibrant.table.rules import RowRule, WeightSums, is_broken
from calibrant.table.table_sums import BITS, MOST_ROWS

_SIFT = 1021  # one in so many values is looked at to estimate how many are different; a prime
_SPREAD = 1652.0127  # makes fractions of products of score and weight vary; any number without a pattern will do
_LARGE = 2.0**41  # weights from here on are more than rows can be counted

_OF_DUCKDB = {"len": "count", "n_unique": "approx_count_distinct", "mean": "avg", "var": "var_samp"}

_ORDER = ("score", "label", "cluster", "weight", "chance")  # of errors

Totals = dict[str, tuple[str, "nw.Expr"]]  # what is added up of the rows, and how: a function of an expression


def _totals(columns: LazyColumns, wanted: Totals, *, every: bool = False) -> dict[str, Any]:
    """Add up rows that are not left out, or every one; a total of nothing may be anything."""

    def query(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        if not columns.approximate:
            return rows.select(**{name: getattr(value, function)() for name, (function, value) in wanted.items()})
        listed = rows.select(
            **{name: nw.lit(1) if how == "len" else value for name, (how, value) in wanted.items()}
        ).to_native()
        added = ", ".join(f'{_OF_DUCKDB.get(how, how)}("{name}") AS "{name}"' for name, (how, _) in wanted.items())
        totals: nw.LazyFrame[Any] = nw.from_native(listed.aggregate(added))
        return totals

    return {name: values[0] for name, values in columns.ask(query, every=every).items()}


def _score_range(columns: LazyColumns, name: str) -> ScoreRange:
    """Look at the finite scores in a column of the shape, of which there are some."""
    s = _finite(name)
    below, above = s < -OFF_BY_ROUNDING, s > 1.0 + OFF_BY_ROUNDING
    counts = {"n": s == s, "inside": ~(below | above), "between": (s > 0.0) & (s < 1.0), "whole": ~is_broken(s)}  # noqa: PLR0124
    ends = {"low": ("min", s), "below": ("max", nw.when(below).then(s))}
    ends |= {"above": ("min", nw.when(above).then(s)), "high": ("max", s)}
    return ScoreRange(**_totals(columns, {key: _rows_of(condition) for key, condition in counts.items()} | ends))


def _rows_of(condition: nw.Expr) -> tuple[str, nw.Expr]:
    return "count", nw.when(condition).then(1)


def _finite(name: str) -> nw.Expr:
    """Leave out what is not finite, NaN by a function: engines disagree about whether it is more than a number."""
    value = nw.col(name)
    return nw.when(~value.is_nan() & (value.abs() < math.inf)).then(value)


def _faults(columns: LazyColumns) -> list[Fault]:
    """Return all that may be wrong with rows but that labels are not two classes, in the order of messages."""
    schema, faults = columns.schema, []
    for key, (what, name, rules) in columns.numbers.items():
        raw, number = nw.col(f"{key}_raw"), nw.col(key)
        faults.append(Fault(what, name, raw.is_null(), f"{key}_raw", "missing"))
        faults.append(Fault(what, name, ~raw.is_null() & number.is_null(), f"{key}_raw", "text"))
        named = number.is_null()
        for rule in rules:
            broken = rule.broken(number)
            faults.append(Fault(what, name, broken & ~named, key, rule))
            named |= broken
    if columns.labelled:
        faults.append(Fault("label", schema.outcome, nw.col("label_missing"), "label_raw", "missing"))
    if schema.cluster:
        faults.append(Fault("cluster", " and ".join(schema.cluster), nw.col("c").is_null(), "c", "missing"))
    return faults


def inspect(rows: LazyColumns, *, estimated: bool = True) -> Seen:
    """Check labels, scores, weights and clusters in one scan; where rows are left out, after one that counts these.

    A `DataError` tells all faults at once, with a row that has each and how many there are. How many scores are
    different is `estimated`, or else taken for the number of rows; pairs of score and weight are estimated always.
    """
    left_out = _count_left_out(rows) if rows.schema.drops else None
    rows.need_types()
    totals = look_at(rows, estimated=estimated)
    if not totals["fit"]:
        _refuse(rows, totals)
    return seen_of(rows, totals, estimated=estimated)._replace(left_out=left_out)


def look_at(rows: LazyColumns, *, estimated: bool = True) -> dict[str, Any]:
    """Return what one scan tells of rows, and whether all are "fit"."""
    seen = _totals(rows, _wanted(rows, estimated=estimated))
    if not seen["n"]:
        raise row_errors.describe_no_rows(rows.name)
    return seen | {"fit": not seen["unfit"] and _two_classes(seen)}


def seen_of(rows: LazyColumns, totals: Mapping[str, Any], *, estimated: bool = True) -> Seen:
    """Return the same of rows that all are fit."""
    schema = rows.schema
    others: tuple[str, ...] = ()
    if totals.get("rest"):
        others = (str(totals["rest_low"]),) if _one_class(totals) else rows.other_labels()
        row_errors.refuse_unknown(others, schema.pos_label, _place(rows))
    n, weights, sums = int(totals["n"]), "none", None
    if schema.weighting is not None:
        parts = (float(totals[f"weight_{part}"] or 0.0) for part in ("total", "squares", "low", "high"))
        sums = WeightSums(int(totals["weights"]), *parts)
        sums.check()
        weights = "whole" if not totals["broken"] and sums.total < MOST_ROWS else "other"
        if schema.count is not None:
            if weights == "other":
                raise row_errors.describe_too_many_rows(sums.total)
            sums = None
    distinct = _different(rows, totals, weights, estimated=estimated)
    return Seen(n, weights, distinct, others, float(totals["low"]), float(totals["high"]), sums)


def _wanted(rows: LazyColumns, *, estimated: bool) -> Totals:
    """Return what tells whether all rows can be used, and what is to be known of them if they can."""
    schema = rows.schema
    s, number = nw.col("s"), nw.col("number")
    fit = (s >= schema.limits[0]) & (s <= schema.limits[1])
    aggregates: Totals = {"n": ("len", nw.col("y")), "low": ("min", s), "high": ("max", s)}
    if schema.pos_label is None:
        fit &= (number == 0.0) | (number == 1.0)
    else:
        fit &= ~nw.col("label_missing")
        text, of_rest = nw.when(REST).then(nw.col("text")), nw.when(REST).then(number)
        aggregates |= {"positives": ("sum", nw.col("y")), "unknown": _rows_of(nw.col("label_unknown"))}
        aggregates |= {"rest": _rows_of(REST), "rest_low": ("min", text), "rest_high": ("max", text)}
        aggregates |= {"numbers": ("count", of_rest), "number_low": ("min", of_rest), "number_high": ("max", of_rest)}
    if schema.cluster:
        fit &= ~nw.col("c").is_null()
    if schema.chance is not None:
        chance = nw.col("h")
        fit &= (chance > 0.0) & (chance >= (schema.smallest_chance or 0.0)) & (chance <= 1.0)
    for key in rows.numbers:
        if key.startswith("m"):
            fit &= (nw.col(key) >= 0.0) & (nw.col(key) <= 1.0)
    if schema.weighting is not None:
        w = nw.col("w")
        fit &= (w >= 0.0) & (w < math.inf)
        positive = nw.when(w > 0.0).then(w)
        aggregates |= {
            "weights": ("count", positive),
            "weight_total": ("sum", positive),
            "broken": _rows_of(is_broken(w)),
        }
        aggregates |= {"weight_squares": ("sum", positive * positive)}
        aggregates |= {"weight_low": ("min", positive), "weight_high": ("max", positive)}
        if schema.count is not None:
            fit &= ~is_broken(w)
    aggregates["unfit"] = "sum", nw.when(fit).then(0).otherwise(1)
    if estimated:
        values = {"scores": s} | ({} if schema.weighting is None else {"pairs": (s + 1.0) * nw.col("w")})
        if not rows.approximate:
            values = {name: nw.when(looked_at).then(value) for name in values for value, looked_at in [_values(name)]}
        aggregates |= {name: ("n_unique", value) for name, value in values.items()}
    return aggregates


def _two_classes(seen: Mapping[str, Any]) -> bool:
    """Whether labels beside the positive one, if it was named, may count as 0."""
    return "positives" not in seen or _one_class(seen) or bool(seen["positives"] and not seen["unknown"])


def _one_class(seen: Mapping[str, Any]) -> bool:
    """Whether the others are one class: if they are one text, or one number written in several ways."""
    if not seen["rest"] or seen["rest_low"] == seen["rest_high"]:
        return True
    return bool(seen["rest"] == seen["numbers"] and seen["number_low"] == seen["number_high"])


def _values(name: str) -> tuple[nw.Expr, nw.Expr]:
    """Return scores, or what tells pairs of score and weight, and which of them are looked at: one in so many."""
    score = nw.when((_finite("s") >= 0.0) & (_finite("s") <= 1.0)).then(nw.col("s"))
    value, spread = score, score * (2.0**BITS / _SIFT)
    if name == "pairs":
        w = nw.col("w")
        small = nw.when((_finite("w") >= 0.0) & (_finite("w") < _LARGE)).then(w)
        value, spread = (score + 1.0) * w, (score + 1.0) * small * _SPREAD
    # Where the spread has a small fraction, or is not known.
    return value, nw.when(spread - spread.floor() >= 1.0 / _SIFT).then(nw.lit(False)).otherwise(nw.lit(True))


def _different(rows: LazyColumns, seen: Mapping[str, Any], weights: str, *, estimated: bool) -> int:
    """Estimate how many different scores there are, or pairs of score and weight."""
    name = "pairs" if weights == "other" else "scores"
    if estimated:
        return int(seen[name]) * (1 if rows.approximate else _SIFT)
    if name == "scores":
        return int(seen["n"])
    value, looked_at = _values(name)
    return int(rows.ask(lambda frame: frame.filter(looked_at).select(pairs=value.n_unique()))["pairs"][0]) * _SIFT


def _refuse(rows: LazyColumns, seen: Mapping[str, Any]) -> None:
    """Raise the error about all that is wrong with rows, if something is."""
    schema = rows.schema
    number, s = nw.col("number"), nw.col("s")
    odd = ~nw.col("label_missing") & (number.is_null() | ~number.is_in([-1.0, 0.0, 1.0]))
    conditions = {"other": odd, "zeros": number == 0.0, "below": number == -1.0}
    conditions |= {"binary": (s == 0.0) | (s == 1.0), "shares": (number >= 0.0) & (number <= 1.0)}
    faults = _faults(rows)
    counts = _counts(rows, faults, conditions)
    errors = list(_errors(rows, faults, counts))
    if schema.pos_label is None:
        two_classes = not (counts["other"] or (counts["zeros"] and counts["below"]))
    else:
        two_classes = _two_classes(seen)
    if not two_classes:
        where, count = _place(rows), 1
        if schema.pos_label is None and counts["other"]:
            where, _ = rows.example(Fault("label", schema.outcome, odd, "label_raw", "other"))
            count = int(counts["other"])
        met = bool(seen.get("positives"))
        error = row_errors.describe_bad_labels(rows.label_values(), schema.pos_label, met=met, place=where, count=count)
        error.fill(COLUMN, quote_name(schema.outcome))
        swapped = counts["binary"] == counts["shares"] == seen["n"]
        errors.append(("label", row_errors.swapped_columns(error) if swapped else error))
    if errors:
        ordered = [error for what in _ORDER for of, error in errors if of == what]
        raise row_errors.all_of(ordered)


def _place(rows: LazyColumns) -> str:
    return f"column {rows.schema.outcome}" + (f" of {rows.name}" if rows.name else "")


def check_numbers(columns: LazyColumns) -> None:
    """Raise the error about the faults that columns of numbers and clusters have, if they have some."""
    faults = _faults(columns)
    errors = [error for _, error in _errors(columns, faults, _counts(columns, faults))]
    if errors:
        raise row_errors.all_of(errors)


def check_column(source: Source, name: str, rules: Sequence[RowRule]) -> None:
    """Check one column of scores of which values may be missing."""
    schema = Schema(name, None, missing="drop", call=AMOUNTS)
    check_numbers(FileColumns(source, schema, {"s": NumberColumn("score", name, rules)}))


def _counts(
    rows: LazyColumns, faults: Sequence[Fault], conditions: Mapping[str, nw.Expr] | None = None
) -> dict[str, Any]:
    named = {f"fault{i}": fault.condition for i, fault in enumerate(faults)} | dict(conditions or {})
    return _totals(rows, {name: _rows_of(condition) for name, condition in named.items()})


def _errors(rows: LazyColumns, faults: Sequence[Fault], counts: Mapping[str, Any]) -> Iterator[tuple[str, DataError]]:
    """Yield what each of the faults is of that rows have, and its error."""
    for i, fault in enumerate(faults):
        what, count = fault.what, int(counts[f"fault{i}"])
        if not count:
            continue
        location, value = rows.example(fault)
        if fault.rule == "missing":
            empty = rows.empty if value is None else repr(value)
            yield what, row_errors.describe_missing(what, location, count, empty)
            continue
        if isinstance(fault.rule, str):
            error = row_errors.describe_not_numbers(f"{what}s", value, location, count)
        else:
            remedy = fault.rule.remedy
            remedy = remedy if isinstance(remedy, str) else remedy(_score_range(rows, fault.value))
            error = DataError(fault.rule.expected, row_errors.and_more(repr(value), location, count), remedy)
        error.fill(COLUMN, quote_name(fault.column))
        yield what, error


def _count_left_out(rows: LazyColumns) -> LeftOut:
    """Count, in one scan, the rows that are left out, and compare the scores of those with and without an outcome."""
    schema = rows.schema
    gaps, s = [nw.col(f"gap{i}") for i in range(len(schema.causes))], nw.col("s")
    scored = ~gaps[1] & (s >= schema.limits[0]) & (s <= schema.limits[1])
    aggregates: Totals = {"n_read": ("count", nw.col("y")), "n": _rows_of(nw.col("left_out"))}
    aggregates |= {f"gap{i}": _rows_of(gap) for i, gap in enumerate(gaps)}
    for group, of in (("known", ~gaps[0]), ("unknown", gaps[0])):
        score = nw.when(scored & of).then(s)
        aggregates |= {f"{group}_{how}": (how, score) for how in ("count", "mean", "var")}
    seen = _totals(rows, aggregates, every=True)
    causes = {cause: seen[f"gap{i}"] for i, cause in enumerate(schema.causes)}
    groups = ((seen[f"{group}_{how}"] for how in ("count", "mean", "var")) for group in ("known", "unknown"))
    moments = [Moments.of(*group) for group in groups]
    left_out = LeftOut.of(seen["n"], seen["n_read"], causes, *moments)
    if left_out.n and left_out.n == left_out.n_read:
        raise row_errors.describe_all_left_out(str(left_out), rows.name)
    return left_out
