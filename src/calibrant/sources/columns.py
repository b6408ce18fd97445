"""The columns that an engine holds, those of files and queries too, in one shape, and what makes rows unusable.

`LazyColumns` gives them the shape that is looked at:

- ``s_raw`` and ``s``: scores as they stand, and as numbers, NULL where they are none; with weights ``w_raw`` and ``w``;
  and so on for each column of numbers;
- ``label_raw``, ``text`` and ``number``: labels as they stand, in a form to compare them, and as numbers;
- ``y``: 1 where they are positive, else 0; ``label_missing`` and ``label_unknown``: whether there is none, or a word
  for none;
- with clusters ``c``; ``by0``, ``by1`` and so on as they are; ``gap0``, ``gap1`` and so on: whether the row lacks what
  `Schema.causes` lists; ``left_out``: whether it is left out for that.

There is one order of checks and one wording, whatever engine looks at the rows. One scan tells whether all rows can be
used; only if some cannot, a second counts each fault, and the engine is asked for one row that has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, NamedTuple, TypeVar

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import Fetch, Seen, fetch_arrays
from calibrant.errors import COLUMN, DataError
from calibrant.sources.formats import quote_name
from calibrant.sources.schema import AMOUNTS, CLASSES, Schema
from calibrant.sources.source import Source, as_number
from calibrant.table import row_errors
from calibrant.table.missing import LeftOut, Moments, words_for_missing
from calibrant.table.row_errors import OFF_BY_ROUNDING, OTHERS, ScoreRange
from calibrant.table.rules import ANY_NUMBER, COUNTS, WEIGHTS, RowRule, WeightSums, chance_rules, is_broken, score_rules
from calibrant.table.table_sums import BITS, MOST_ROWS

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_NO_NUMBER = "[^-+.0-9eE ]|^[^0-9]*$"  # a character that stands in no number, or no digit
_LOOK = 100_000  # rows looked at to name label values in a message

Frame = TypeVar("Frame", nw.DataFrame[Any], nw.LazyFrame[Any])
Query = Callable[["nw.LazyFrame[Any]"], "nw.LazyFrame[Any]"]
REST = (nw.col("y") == 0) & ~nw.col("label_missing")  # with another label than the positive one that was named


class NumberColumn(NamedTuple):
    """A column of numbers: what it holds, such as "score", its name, and what its values have to be.

    Values within the `limits` meet the rules, but that counts are whole numbers.
    """

    what: str
    name: str
    rules: Sequence[RowRule]
    limits: tuple[float, float] = ANY_NUMBER


class Fault(NamedTuple):
    """A condition that rows with a fault meet, and how the error shows it."""

    what: str  # "score", "label", "cluster" or another column of numbers
    column: str  # where it is, as users call it
    condition: nw.Expr
    value: str  # the column of the shape that is shown
    rule: RowRule | str  # "missing" and "text" are no rules for numbers


def numbers_of(schema: Schema) -> dict[str, NumberColumn]:
    """Return the columns of numbers beside labels, by their names in the shape."""
    numbers = {"s": NumberColumn("score", schema.prediction, score_rules(schema.limits), schema.limits)}
    if schema.weighting is not None:
        rules = WEIGHTS if schema.count is None else COUNTS
        numbers["w"] = NumberColumn("weight", schema.weighting, rules, (0.0, ANY_NUMBER[1]))
    if schema.chance is not None:
        least = schema.smallest_chance or math.ulp(0.0)
        numbers["h"] = NumberColumn("chance", schema.chance, chance_rules(schema.smallest_chance), (least, 1.0))
    others = [name for name in schema.predictions if name != schema.prediction]
    return numbers | {f"m{i}": NumberColumn("score", name, score_rules(), (0.0, 1.0)) for i, name in enumerate(others)}


def column_of(name: str, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.Expr:
    """Return a column; Spark takes dots in a name for fields of a struct unless it is quoted."""
    return nw.col("`" + name.replace("`", "``") + "`" if frame.implementation.is_spark_like() else name)


def count_of(condition: nw.Expr) -> nw.Expr:
    """Count the rows that meet a condition."""
    return nw.when(condition).then(1).otherwise(0).sum()


def need_numbers(frame: Frame, name: str, what: str, fetch: Callable[[Frame], Any]) -> None:
    """Raise a `DataError` if a column is of a type that does not hold numbers: of text, about one that is none.

    Objects are judged one by one later.
    """
    kind, remedy = (
        frame.collect_schema()[name],
        "cast the column to float first, and what is no number to a missing value",
    )
    if kind.is_numeric() or str(kind) in {"Boolean", "Object"}:
        return
    if kind in _TEXT:
        text = column_of(name, frame).cast(nw.String)
        others = fetch(frame.filter(text.str.contains(_NO_NUMBER)).select(text=text).head(1))["text"]
        if len(others):
            raise row_errors.describe_not_numbers(what, str(others[0]), f"column {name}", missing=remedy)
    raise DataError(f"numbers as {what}", f"values of type {kind} in column {name}", remedy)


class LazyColumns:
    """Columns of a frame in an engine; `fetch` runs a query there.

    An engine knows no first row, so messages show a value that tells much, and how many rows are wrong in the same way.
    """

    name = ""  # what messages call the file; empty for a frame
    trims = False  # whether text is compared without the spaces around it, and may hold numbers

    def __init__(
        self, frame: nw.LazyFrame[Any], schema: Schema, fetch: Fetch, numbers: Mapping[str, NumberColumn] | None = None
    ) -> None:
        self.frame = frame
        self.schema = schema
        self.fetch = fetch
        self.numbers = numbers_of(schema) if numbers is None else numbers
        self.labelled = schema.call not in (AMOUNTS, CLASSES)  # 0 and 1, or so
        self.approximate = frame.implementation.is_duckdb()  # estimates in small memory how many values are different
        self.empty = "an empty value or nan" if self.approximate else "an empty value"

    @cached_property
    def types(self) -> Any:
        """The type of each column."""
        return self.frame.collect_schema()

    def kind(self, name: str) -> str:
        """Tell whether a column holds a "number", a "boolean", "text" or something else."""
        kind = self.types[name]
        if kind.is_numeric():
            return "number"
        return "boolean" if kind == nw.Boolean else "text" if kind in _TEXT else "other"

    def raw(self, name: str) -> nw.Expr:
        """Return a column as it stands."""
        return column_of(name, self.frame)

    def number(self, name: str) -> nw.Expr:
        """Return a column as numbers; nothing where it is of a type that holds none."""
        if self.kind(name) not in ("number", "boolean"):
            return nw.lit(None, dtype=nw.Float64)
        number = self.raw(name).cast(nw.Float64)
        # The limits that a Parquet file declares leave NaN out, and by them DuckDB 2.0.0 takes every test for it as
        # failed, of a function that increases too; but not of this one.
        return nw.when(~number.exp().is_nan()).then(number) if self.approximate else number

    def label(self) -> dict[str, nw.Expr]:
        """Return labels as they are shown, and as they are compared; of a type that cannot be used, they are empty."""
        name = self.schema.outcome
        kind, raw = self.kind(name), self.raw(name)
        if kind == "text":  # a set would not find an Enum
            label = raw.cast(nw.String)
        elif kind == "boolean":
            label = raw.cast(nw.Int64)
        else:
            label = raw if self.types[name].is_integer() else self.number(name)
        return {"label_raw": label, "text": label}

    def shown(self, name: str) -> nw.Expr:
        """Return a column of numbers as messages show it."""
        return self.number(name)

    def shaped(self, frame: nw.LazyFrame[Any] | None = None, *also: str) -> nw.LazyFrame[Any]:
        """Give columns their shape, those of another frame of the same columns, which may have others beside them."""
        schema = self.schema
        shape: dict[str, nw.Expr] = {}
        for key, column in self.numbers.items():
            shape |= {f"{key}_raw": self.shown(column.name), key: self.number(column.name)}
        if self.labelled:
            shape |= self._labels()
        shape |= {f"by{i}": self.raw(name) for i, name in enumerate(schema.by)}
        shape |= {name: nw.col(name) for name in (*also, *(["c"] if schema.cluster else []))}
        gaps = self._gaps() if schema.drops else []
        shape |= {f"gap{i}": gap for i, gap in enumerate(gaps)}
        return (self.frame if frame is None else frame).select(**shape, left_out=reduce(or_, gaps, nw.lit(False)))

    @cached_property
    def rows(self) -> nw.LazyFrame[Any]:
        """The rows that are not left out, in their shape."""
        return self.shaped().filter(~nw.col("left_out")) if self.schema.drops else self.shaped()

    def _labels(self) -> dict[str, nw.Expr]:
        outcome, pos_label = self.schema.outcome, self.schema.pos_label
        kind, raw, number = self.kind(outcome), self.raw(outcome), self.number(outcome)
        shape = self.label()
        text, named = shape["text"], pos_label is not None
        # With pos_label a text may be the name of a class, even "nan"; or seem to stand for a missing outcome.
        missing, unknown = raw.is_null(), nw.lit(False)
        if kind == "text" and named:
            unknown = _is_word(raw.cast(nw.String), words_for_missing(pos_label))
        elif kind != "text" or self.trims:
            odd = number.is_nan() if self.trims else number.is_nan() | (number.abs() == math.inf)
            missing |= odd.fill_null(kind != "text")
        positive = [nw.lit(False)] if named or kind != "text" or self.trims else []
        value = _as_float(pos_label, kind == "boolean") if named else 1.0
        if value is not None and (kind != "text" or self.trims):
            positive.append(number == value)
        if kind == "text" and named:
            name = str(pos_label).strip() if self.trims else str(pos_label)
            folded = isinstance(pos_label, bool) and self.trims
            positive.append(text.str.to_lowercase() == name.lower() if folded else text == name)
        y = nw.when(reduce(or_, positive, nw.lit(False))).then(1).otherwise(0).cast(nw.Int64)
        return shape | {"number": number, "y": y, "label_missing": missing, "label_unknown": unknown}

    def _gaps(self) -> list[nw.Expr]:
        """Return the conditions that rows meet which lack something, in the order of `Schema.causes`."""
        causes = self.schema.causes.values()
        return [reduce(and_, (self._missing(name, words) for name in names)) for names, words in causes]

    def _missing(self, name: str, words: frozenset[str]) -> nw.Expr:
        """Return where a column has no value."""
        kind, missing = self.kind(name), self.raw(name).is_null()
        if kind == "number":
            return self.number(name).is_null() | self.number(name).is_nan()
        return missing | _is_word(self.raw(name).cast(nw.String), words) if kind == "text" else missing

    def ask(self, query: Query, *, every: bool = False) -> Mapping[str, Any]:
        """Return the columns that a query finds of the rows that are not left out, or of every one."""
        return self.fetch(query(self.shaped() if every else self.rows))

    def need_types(self) -> None:
        """Raise a `DataError` if a column is of a type that cannot be used."""
        frame = self.frame.filter(~reduce(or_, self._gaps())) if self.schema.drops else self.frame
        try:
            for what, name in self.schema.of_rows.items():
                if what != "label":
                    need_numbers(frame, name, f"{what}s", self.fetch)
            self._need_labels()
        except DataError as error:
            raise self._emptiness(frame) or error from None

    def _need_labels(self) -> None:
        name = self.schema.outcome
        if self.kind(name) == "other":
            given = f"values of type {self.types[name]} in column {name}"
            raise DataError("labels that are numbers, truth values or text", given, "make a column of 0 and 1 first")

    def _emptiness(self, frame: nw.LazyFrame[Any]) -> DataError | None:
        """Return the error for a frame without rows, or with a column of nothing: then its type says nothing."""
        used = self.schema.of_rows
        missing = {what: count_of(self.raw(name).is_null()) for what, name in used.items()}
        seen = {name: values[0] for name, values in self.fetch(frame.select(rows=nw.len(), **missing)).items()}
        rows = int(seen["rows"])
        if not rows:
            return row_errors.describe_no_rows()
        empty = [what for what in used if seen[what] == rows]
        return row_errors.describe_missing(empty[0], f"column {used[empty[0]]}", rows) if empty else None

    def example(self, fault: Fault) -> tuple[str, Any]:
        """Return where a row has that fault, in words, and the value there, rather a number than none."""
        value = nw.col("number" if fault.what == "label" else fault.value)
        query = {"known": value.count(), "low": value.min(), "high": value.max()}
        seen = {name: of[0] for name, of in self.ask(lambda rows: rows.filter(fault.condition).select(**query)).items()}
        where = f"column {fault.column}"
        if not seen["known"]:
            return where, None
        return where, float(seen["low"] if seen["low"] < 0.0 else seen["high"])

    def label_values(self) -> list[Any]:
        """Return a few different labels."""
        return self._few("label_raw", ~nw.col("label_raw").is_null())

    def other_labels(self) -> tuple[str, ...]:
        """Return a few of the labels that count as 0 beside the positive one that was named."""
        return tuple(map(str, self._few("text", REST)))

    def _few(self, name: str, condition: nw.Expr) -> list[Any]:
        """Return a few different values, the first in increasing order."""
        few = self.ask(lambda rows: rows.filter(condition).select(name).unique().sort(name).head(OTHERS))
        return list(np.asarray(few[name]).tolist())


def _is_word(text: nw.Expr, words: frozenset[str]) -> nw.Expr:
    """Whether a text is one of some words, in small letters or capitals and with spaces around it or not."""
    return text.str.strip_chars().str.to_lowercase().is_in(sorted(words))


def _as_float(pos_label: Any, of_truth: bool) -> float | None:
    """Return the number that positive labels are; None if that is none."""
    words = {"true": 1.0, "false": 0.0}
    if of_truth and str(pos_label).strip().lower() in words:
        return words[str(pos_label).strip().lower()]
    try:
        value = float(pos_label)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(value) else value


class FileColumns(LazyColumns):
    """Columns of files or of the result of a query, whose text may hold numbers, and whose rows have an order."""

    trims = True

    def __init__(self, source: Source, schema: Schema, numbers: Mapping[str, NumberColumn] | None = None) -> None:
        self.source = source
        self._names = list(schema.names)
        super().__init__(self._opened(source.sql, schema), schema, fetch_arrays, numbers)
        self.name, self.empty = source.name, "an empty value"

    def _opened(self, rows: str, schema: Schema, *also: str) -> nw.LazyFrame[Any]:
        """Return all columns as they stand and as numbers, named by their places, and clusters."""
        source, parts = self.source, []
        for i, name in enumerate(self._names):
            column, kind = source.column(name), source.kind(name)
            words = name == schema.outcome and schema.pos_label is None
            parts.append(f"{column} AS r{i}, {as_number(column, kind, words=words)} AS n{i}")
        if schema.cluster:
            parts.append(f"nullif({source.joined(schema.cluster)}, '') AS c")
        return nw.from_native(source.relation(f"SELECT {', '.join([*parts, *also])} FROM ({rows})"))

    def sql(self, part: Source | None = None, *, every: bool = False) -> str:
        """Return a SELECT of the rows that are not left out, or of every one, perhaps of one file, in their shape."""
        rows = self.shaped(None if part is None else self._opened(part.sql, self.schema))
        kept_rows = rows.filter(~nw.col("left_out")) if self.schema.drops and not every else rows
        return str(kept_rows.to_native().sql_query())

    @staticmethod
    def join_clusters(rows: str) -> str:
        """Return what joins the `number` of their cluster to rows of a SELECT: from 0, in the order of the names."""
        different = f"SELECT DISTINCT c FROM ({rows}) WHERE c IS NOT NULL"
        return (
            f" LEFT JOIN (SELECT c, row_number() OVER (ORDER BY c) - 1 AS number FROM ({different})) AS names USING (c)"
        )

    def kind(self, name: str) -> str:
        """See `LazyColumns`; what is neither a number nor a boolean is looked at as text."""
        return self.source.kind(name)

    def raw(self, name: str) -> nw.Expr:
        """See `LazyColumns`."""
        return nw.col(f"r{self._names.index(name)}")

    def number(self, name: str) -> nw.Expr:
        """See `LazyColumns`."""
        return nw.col(f"n{self._names.index(name)}")

    def label(self) -> dict[str, nw.Expr]:
        """See `LazyColumns`."""
        raw = self.raw(self.schema.outcome)
        return {"label_raw": raw, "text": raw.cast(nw.String).str.strip_chars()}

    def shown(self, name: str) -> nw.Expr:
        """See `LazyColumns`."""
        return self.raw(name)

    def ask(self, query: Query, *, every: bool = False) -> Mapping[str, Any]:
        """See `LazyColumns`; values may be missing."""
        return self.source.run(lambda: _listed(query(self.shaped() if every else self.rows)))

    def need_types(self) -> None:
        """See `LazyColumns`: of all types but numbers text is made."""

    def example(self, fault: Fault) -> tuple[str, Any]:
        """Find the first row with the fault, in the order of the files."""
        source = self.source
        source.in_order()
        value = nw.col(fault.value).alias("value")

        def first(file: Source) -> dict[str, list[Any]]:
            frame = self._opened(file.sql, self.schema, "row_number() OVER () AS row")
            rows = self.shaped(frame, "row").filter(fault.condition, ~nw.col("left_out"))
            return source.run(lambda: _listed(rows.select("row", value).head(1)))

        firsts = ((file, first(file)) for file in source.parts or (source,))
        file, seen = next((file, seen) for file, seen in firsts if seen["row"])
        return f"row {seen['row'][0]} of column {fault.column} in {file.name}", seen["value"][0]

    def label_values(self) -> list[Any]:
        """Return different values in order of appearance: of the first rows, or of all if those show too few."""
        source = self.source
        source.in_order()
        numbered = f"SELECT row_number() OVER () AS row, label_raw FROM ({self.sql()}) WHERE NOT label_missing"
        query = "SELECT label_raw FROM ({}) GROUP BY label_raw ORDER BY min(row) LIMIT " + str(OTHERS)
        values = [value for (value,) in source.rows(query.format(f"{numbered} LIMIT {_LOOK}"))]
        if len(values) < OTHERS:
            values = [value for (value,) in source.rows(query.format(numbered))]
        return values if source.typed else [_plain(value) for value in values]


def _listed(frame: nw.LazyFrame[Any]) -> dict[str, list[Any]]:
    answer = frame.to_native()
    names, listed = answer.columns, answer.fetchall()
    return {name: [row[i] for row in listed] for i, name in enumerate(names)}


def _plain(text: str) -> Any:
    """Show numbers in a text file as numbers."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
    for key, (what, name, rules, _) in columns.numbers.items():
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
    limits = [(nw.col(key), *column.limits) for key, column in rows.numbers.items()]
    fit = reduce(and_, ((value >= low) & (value <= high) for value, low, high in limits))
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
    if schema.weighting is not None:
        w = nw.col("w")
        positive = nw.when(w > 0.0).then(w)
        aggregates |= {"weights": ("count", positive), "broken": _rows_of(is_broken(w))}
        aggregates |= {"weight_total": ("sum", positive), "weight_squares": ("sum", positive * positive)}
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


def check_column(source: Source, name: str, rules: Sequence[RowRule]) -> FileColumns:
    """Check one column of scores of which values may be missing."""
    schema = Schema(name, None, missing="drop", call=AMOUNTS)
    columns = FileColumns(source, schema, {"s": NumberColumn("score", name, rules)})
    check_numbers(columns)
    return columns


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
