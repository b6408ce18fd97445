"""The columns that an engine holds, those of files and queries too, in the shape that `calibrant.sources.checks` reads.

Its columns are

- ``s_raw`` and ``s``: scores as they stand, and as numbers, NULL where they are none; with weights ``w_raw`` and ``w``;
  and so on for each column of numbers;
- ``label_raw``, ``text`` and ``number``: labels as they stand, in a form to compare them, and as numbers;
- ``y``: 1 where they are positive, else 0; ``label_missing`` and ``label_unknown``: whether there is none, or a word
  for none;
- with clusters ``c``; ``by0``, ``by1`` and so on as they are; ``gap0``, ``gap1`` and so on: whether the row lacks what
  `Schema.causes` lists; ``left_out``: whether it is left out for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, NamedTuple, TypeVar

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import Fetch, fetch_arrays
from calibrant.errors import DataError
from calibrant.sources.schema import AMOUNTS, CLASSES, Schema
from calibrant.sources.source import Source, as_number
from calibrant.table import row_errors
from calibrant.table.missing import words_for_missing
from calibrant.table.row_errors import OTHERS
from calibrant.table.rules import COUNTS, WEIGHTS, RowRule, chance_rules, score_rules

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_NO_NUMBER = "[^-+.0-9eE ]|^[^0-9]*$"  # a character that stands in no number, or no digit
_LOOK = 100_000  # rows looked at to name label values in a message

Frame = TypeVar("Frame", nw.DataFrame[Any], nw.LazyFrame[Any])
Query = Callable[["nw.LazyFrame[Any]"], "nw.LazyFrame[Any]"]
REST = (nw.col("y") == 0) & ~nw.col("label_missing")  # with another label than the positive one that was named


class NumberColumn(NamedTuple):
    """A column of numbers: what it holds, such as "score", its name, and what its values have to be."""

    what: str
    name: str
    rules: Sequence[RowRule]


class Fault(NamedTuple):
    """A condition that rows with a fault meet, and how the error shows it."""

    what: str  # "score", "label", "cluster" or another column of numbers
    column: str  # where it is, as users call it
    condition: nw.Expr
    value: str  # the column of the shape that is shown
    rule: RowRule | str  # "missing" and "text" are no rules for numbers


def numbers_of(schema: Schema) -> dict[str, NumberColumn]:
    """Return the columns of numbers beside labels, by their names in the shape."""
    numbers = {"s": NumberColumn("score", schema.prediction, score_rules(schema.limits))}
    if schema.weighting is not None:
        numbers["w"] = NumberColumn("weight", schema.weighting, WEIGHTS if schema.count is None else COUNTS)
    if schema.chance is not None:
        numbers["h"] = NumberColumn("chance", schema.chance, chance_rules(schema.smallest_chance))
    others = [name for name in schema.predictions if name != schema.prediction]
    return numbers | {f"m{i}": NumberColumn("score", name, score_rules()) for i, name in enumerate(others)}


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
    kind = frame.collect_schema()[name]
    if kind.is_numeric() or str(kind) in {"Boolean", "Object"}:
        return
    if kind in _TEXT:
        text = column_of(name, frame).cast(nw.String)
        others = fetch(frame.filter(text.str.contains(_NO_NUMBER)).select(text=text).head(1))["text"]
        if len(others):
            raise row_errors.describe_not_numbers(what, str(others[0]), f"column {name}")
    remedy = "cast the column to float first, and what is no number to a missing value"
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
