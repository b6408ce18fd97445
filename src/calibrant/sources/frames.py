"""Dataframes of any library: those in memory as arrays, those in an engine by aggregations that run there."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import Arrays, LazyRows, Seen, fetch_arrays
from calibrant.cells.slices import Slices
from calibrant.errors import ArgumentError, CalibrantError, DataError, SourceError
from calibrant.segments.columns import describe_dates
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources import engine
from calibrant.sources.columns import LazyColumns, column_of, inspect, need_numbers
from calibrant.sources.engine import UnfitRowsError
from calibrant.sources.rows import ArrayRows, EngineColumn, Rows
from calibrant.sources.schema import Schema
from calibrant.sources.source import describe_no_column
from calibrant.table.clusters import Repeated, identifiers, repeated_of
from calibrant.table.missing import EMPTY, Intake, missing_values
from calibrant.table.row_errors import describe_no_rows
from calibrant.table.rules import column_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows

_BATCH = 1 << 20  # rows
_INTERRUPTED = "Query interrupted"  # what DuckDB says in place of a KeyboardInterrupt


def open_frame(frame: Any, schema: Schema) -> ArrayRows | EngineRows:
    """Take the columns out of a frame in memory, whose values are checked later; leave those of an engine there."""
    opened = _opened(frame, schema)
    return _taken_out(opened, schema) if isinstance(opened, nw.DataFrame) else EngineRows(opened, schema)


class EngineRows(Rows):
    """Rows of a frame in an engine: checked there in one scan, and added up by aggregations."""

    schema: Schema

    def __init__(self, frame: nw.LazyFrame[Any], schema: Schema) -> None:
        self._frame = frame
        self._columns = LazyColumns(frame, schema, _asked)
        self.schema = schema

    @cached_property
    def checked(self) -> Seen:
        """What one scan tells of the rows.

        How many scores are different is estimated if rows can be handed over or have weights that are not numbers of
        rows. Else it is left to the scan that adds up all rows: beside the checks it would cost as much as they do.
        """
        return inspect(self._columns, estimated=_batches(self._frame) is not None)

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return self._in_memory.intake if "_in_memory" in vars(self) else self.checked.intake

    def table(self) -> ScoreTable:
        """See `Rows`; rows are checked while they are added up, if that can be."""
        columns = self._columns
        with _adding_up(self._frame.implementation):
            if "checked" not in vars(self) and engine.may_be_fit(columns) and not self.schema.by:
                unchecked = engine.unchecked_rows(columns)
                slices = _slices(unchecked)
                read = None if slices is None else engine.read_if_fit(unchecked, slices, self.schema, lambda _: None)
                if read is not None:
                    table, self.checked = read
                    return table
            rows = engine.checked_rows(columns, self.checked)
            return engine.table_of_checked(rows, self.checked, _slices(rows))

    def arrays(self) -> ArrayRows:
        """See `Rows`."""
        return self._in_memory

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        names = request.names(self.schema.by)
        frame, fetch = engine.checked_rows(self._columns, self.checked).frame, self._columns.fetch
        kinds = frame.collect_schema()
        columns = [
            EngineColumn(f"by{i}", name, kinds[f"by{i}"].is_numeric(), kinds[f"by{i}"].is_float())
            for i, name in enumerate(names, request.beside)
        ]
        for column in columns:
            frame = frame.with_columns(_dates_as_text(column, kinds[column.key]))
        with _adding_up(self._frame.implementation):
            return engine.segments_of_engine(frame, fetch, columns, request)

    @property
    def repeated(self) -> Repeated | None:
        """See `Rows`."""
        frame, schema = self._frame, self.schema
        names = [] if schema.cluster else identifiers(names_of_frame(frame), schema.names)
        if not names:
            return None
        counts = {f"n{i}": column_of(name, frame).n_unique() for i, name in enumerate(names)}
        asked = _asked(frame.select(rows=nw.len(), **counts))
        return repeated_of({name: int(asked[f"n{i}"][0]) for i, name in enumerate(names)}, int(asked["rows"][0]))

    @cached_property
    def _in_memory(self) -> ArrayRows:
        return _taken_out(_collected(self._frame, self.schema), self.schema)


def _dates_as_text(column: EngineColumn, kind: Any) -> nw.Expr:
    """Return a column of segments in which dates are text, as in files; durations are refused."""
    value = nw.col(column.key)
    if kind == nw.Date:
        return value.dt.to_string("%Y-%m-%d")
    if kind == nw.Datetime and kind.time_zone is None:
        text = value.dt.to_string("%Y-%m-%d %H:%M:%S")
        return nw.when(text.str.ends_with(" 00:00:00")).then(text.str.slice(0, 10)).otherwise(text)
    if kind in (nw.Datetime, nw.Time, nw.Duration):
        raise describe_dates(column.name, "times or durations")
    return value


def in_memory(frame: Any, schema: Schema) -> nw.DataFrame[Any]:
    """Return a frame in memory that has the columns; those of an engine are taken out of it."""
    opened = _opened(frame, schema)
    return opened if isinstance(opened, nw.DataFrame) else _collected(opened, schema)


def _collected(frame: nw.LazyFrame[Any], schema: Schema) -> nw.DataFrame[Any]:
    listed = [column_of(name, frame).alias(name) for name in schema.names]
    with _failing(frame.implementation):  # once: an engine need not keep the order of the rows
        return frame.select(*listed).collect()


def as_frame(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a dataframe of any library as narwhals reads it."""
    from narwhals.exceptions import DuplicateError

    try:
        opened: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError:
        expected = "a dataframe: pandas, Polars, PyArrow, DuckDB, PySpark or another that narwhals reads"
        given = f"a {type(frame).__module__}.{type(frame).__name__}".replace("builtins.", "")
        remedy = "pass columns of it to ScoreTable.from_scores, or chunks to ScoreTable.from_chunks"
        raise DataError(expected, given, remedy) from None
    except DuplicateError:
        given = "a name that is there twice"
        raise DataError("different names of columns", given, "give the columns different names") from None
    return opened


def _opened(frame: Any, schema: Schema) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a frame that narwhals reads and that has each of the columns once."""
    opened = as_frame(frame)
    there = names_of_frame(opened)
    for what, name in (("outcome", schema.outcome), ("prediction", schema.prediction), ("weight", schema.weighting)):
        if not isinstance(name, Hashable) or (name is None and what != "weight"):
            raise ArgumentError(f"`{what}` to name a column", repr(name), f"choose among {', '.join(map(str, there))}")
    for name in schema.names:
        # DuckDB takes the first of the names that differ in case alone.
        asked = str(name).lower()
        alike = [other for other in there if other.lower() == asked] if opened.implementation.is_duckdb() else []
        if name in there and len(set(alike)) > 1:
            given = f"{' and '.join(map(repr, alike))}, which DuckDB takes for one"
            raise DataError(f"one column {name!r}", given, "rename one")
        if there.count(name) == 1:
            continue
        if name in there:
            given = f"{there.count(name)} of that name"
            raise DataError(f"one column {name!r}", given, "give the columns different names")
        raise DataError(*describe_no_column(name, there))
    return opened


def names_of_frame(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> list[str]:
    """Return all names of columns, also those that are there twice, which narwhals leaves out."""
    if frame.implementation.is_duckdb() or frame.implementation.is_spark_like():
        return list(frame.to_native().columns)
    with _failing(frame.implementation):
        return list(frame.collect_schema())


def _taken_out(frame: nw.DataFrame[Any], schema: Schema) -> ArrayRows:
    """Take columns out of a frame in memory, without the rows that are to be left out."""
    if not len(frame):
        raise describe_no_rows()
    for what, name in schema.of_rows.items():
        if what != "label" and frame[name].null_count() < len(frame):
            need_numbers(frame, name, f"{what}s", _listed)
    columns: dict[str, Any] = {role: frame[name].to_numpy() for role, name in schema.numbers.items()}
    label, score = columns.pop("label"), columns.pop(schema.call.prediction)
    rows = ArrayRows(
        label,
        score,
        clusters=clusters_of(frame, schema.cluster),
        by={name: frame[name].to_native() for name in schema.by},
        pos_label=schema.pos_label,
        schema=schema,
        scores={name: frame[name].to_numpy() for name in schema.predictions} | {schema.prediction: score},
        limits=schema.limits,
        smallest_chance=schema.smallest_chance,
        **columns,
    )
    rows = rows.without_gaps() if schema.drops else rows
    names = [] if schema.cluster else identifiers(frame.columns, schema.names)
    counted = [frame[name] for name in names]
    if rows.places is not None:
        counted = [column[rows.places.tolist()] for column in counted]
    values = {column.name: column.n_unique() for column in counted}
    return replace(rows, repeated=repeated_of(values, len(rows.label)))


def clusters_of(frame: nw.DataFrame[Any], names: Sequence[str]) -> Any:
    """Return what names the cluster of each row: values of one column, or tuples; None where all of them are empty."""
    listed = [frame[name].to_list() for name in names]
    if len(listed) < 2:
        return listed[0] if listed else None
    gaps = [missing_values(column_values(values, name), EMPTY) for name, values in zip(names, listed, strict=True)]
    empty = np.logical_and.reduce(gaps).tolist()
    return [None if gap else row for row, gap in zip(zip(*listed, strict=True), empty, strict=True)]


def _listed(frame: nw.DataFrame[Any]) -> dict[str, Any]:
    return {name: frame[name].to_list() for name in frame.columns}


def _asked(frame: nw.LazyFrame[Any]) -> Arrays:
    with _failing(frame.implementation):
        return fetch_arrays(frame)


def _batches(frame: nw.LazyFrame[Any]) -> Callable[[], Iterator[CleanRows]] | None:
    """Return a way to have rows in arrays, a batch at a time, if the engine has one."""
    native, kind = frame.to_native(), frame.implementation
    batches: Callable[[Any], Iterator[Arrays]]
    if kind.is_polars() and hasattr(native, "collect_batches"):
        batches = _batches_of_polars
    elif kind.is_duckdb():
        batches = engine.read_batches
    else:
        return None

    def rows() -> Iterator[CleanRows]:
        with _failing(kind):
            for columns in batches(native):
                yield CleanRows(columns["y"], columns["s"], columns.get("w"))

    return rows


def _slices(rows: LazyRows) -> Slices | None:
    """Return ways to have rows as often as needed, if their engine hands them over."""
    with _failing(rows.frame.implementation):  # DuckDB 1 looks into files already here
        batches = _batches(rows.handed_over())
    return None if batches is None else Slices(batches, rows.fetch_rows)


def _batches_of_polars(native: Any) -> Iterator[Arrays]:
    for batch in native.collect_batches(chunk_size=_BATCH, maintain_order=False, engine="streaming"):
        yield {name: batch[name].to_numpy() for name in batch.columns}


@contextmanager
def _failing(kind: nw.Implementation) -> Iterator[None]:
    """Turn whatever an engine raises into one sentence."""
    try:
        yield
    except (MemoryError, UnfitRowsError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        failure = f"an error of {_name_of(kind)}: {_gist(str(error)) or type(error).__name__}"
        remedy = "run the query that makes the dataframe by itself to see all of the error"
        raise SourceError("a dataframe of which all rows can be read", failure, remedy) from None


@contextmanager
def _adding_up(kind: nw.Implementation) -> Iterator[None]:
    """Say what to do where narwhals refuses an aggregation that an engine lacks, which it does before it is run."""
    try:
        yield
    except CalibrantError:
        raise
    except (ValueError, NotImplementedError) as error:
        expected = "a dataframe whose engine can add up the rows of each score"
        failure = f"one of {_name_of(kind)}: {_gist(str(error)) or type(error).__name__}"
        remedy = "collect it to a dataframe of pandas or Polars, or write it to Parquet and name the file"
        raise SourceError(expected, failure, remedy) from error


def _name_of(kind: nw.Implementation) -> str:
    return str(kind.value).replace("_", " ").capitalize()


def _gist(text: str) -> str:
    """Return the line that tells most; an engine that runs Python shows its traceback first."""
    _, _, trace = text.partition("Traceback (most recent call last):")
    lines = re.findall(r"^\S.*$", trace, flags=re.MULTILINE) or re.findall(r"^\s*(\S.*)$", text, flags=re.MULTILINE)
    return lines[0].strip().rstrip(".") if lines else ""
