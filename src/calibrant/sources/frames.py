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

from calibrant.cells.frame_rows import Arrays, CheckedRows, LazyRows, fetch_arrays
from calibrant.cells.slices import Slices
from calibrant.errors import ArgumentError, CalibrantError, DataError, SourceError
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.segments.values import describe_dates
from calibrant.sources.array_rows import ArrayRows
from calibrant.sources.arrow_batches import UnfitRowsError, read_batches
from calibrant.sources.faults import describe_no_column
from calibrant.sources.fit_rows import may_be_fit, most_differ, read_if_fit, rows_to_look_at, table_of_checked
from calibrant.sources.frame_checks import checked_rows, column_of, count_of, find_gaps, need_numbers
from calibrant.sources.protocol import Columns, EngineColumn, HeldRows, ModelRows, Rows
from calibrant.sources.segment_scan import collect_columns, segments_of_engine
from calibrant.table.identifiers import Repeated, identifiers, repeated_of
from calibrant.table.missing import EMPTY, Intake, missing_values
from calibrant.table.row_errors import describe_no_rows
from calibrant.table.rules import column_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows

_BATCH = 1 << 20  # rows
_INTERRUPTED = "Query interrupted"  # what DuckDB says in place of a KeyboardInterrupt


def open_frame(frame: Any, columns: Columns) -> ArrayRows | EngineRows:
    """Take the columns out of a frame in memory, whose values are checked later; leave those of an engine there."""
    opened = _opened(frame, columns)
    return _taken_out(opened, columns) if isinstance(opened, nw.DataFrame) else EngineRows(opened, columns)


class EngineRows(Rows):
    """Rows of a frame in an engine: checked there in one scan, and added up by aggregations."""

    columns: Columns

    def __init__(self, frame: nw.LazyFrame[Any], columns: Columns) -> None:
        self._frame = frame
        self._fit = False  # whether all rows were found to be fit without a check
        self.columns = columns

    def _table_of_one_scan(self) -> ScoreTable | None:
        """Check rows while they are added up, if their engine hands them over and most scores are different."""
        frame, columns, types = self._frame, self.columns, self._frame.collect_schema()
        numbers = all(types[name].is_numeric() or types[name] == nw.Boolean for name in columns.of_rows.values())
        if _batches(frame) is None or not may_be_fit(columns) or columns.by or not numbers:
            return None
        rows = int(_asked(frame.select(rows=nw.len()))["rows"][0])
        if not most_differ(rows, 1, 1):
            return None
        s, y = (column_of(name, frame).cast(nw.Float64) for name in (columns.score, columns.label))
        counts = frame.select(s=s).head(rows_to_look_at(rows)).group_by("s").agg(times=nw.len())
        asked = _asked(counts.select(looked=nw.col("times").sum(), once=count_of(nw.col("times") == 1)))
        if not most_differ(rows, int(asked["looked"][0]), int(asked["once"][0])):
            return None
        unchecked = {"s": s, "y": nw.when(y == 1.0).then(1).otherwise(nw.when(y == 0.0).then(0).otherwise(2))}
        if columns.weighting is not None:
            unchecked["w"] = column_of(columns.weighting, frame).cast(nw.Float64)
        lazy = LazyRows(frame.select(**unchecked), "none" if columns.weighting is None else "other", _asked)
        slices = _slices(lazy)
        assert slices is not None
        read = read_if_fit(slices, rows, columns)
        return None if read is None else read.table

    @cached_property
    def checked(self) -> CheckedRows:
        """The rows, and what one scan tells of them."""
        frame, columns, left_out = self._frame, self.columns, None
        if columns.drops:
            gap, left_out = find_gaps(frame, columns, _asked)
            frame = frame.filter(~gap)
        checked = checked_rows(frame, columns, _asked, handed_over=_batches(frame) is not None)
        intake = checked.intake._replace(left_out=left_out)
        return checked._replace(slices=_slices(checked.rows), intake=intake)

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        if self._fit:
            return Intake()
        return self._in_memory.intake if self.columns.clusters else self.checked.intake

    def table(self) -> ScoreTable:
        """See `Rows`."""
        with _adding_up(self._frame.implementation):
            table = None if "checked" in vars(self) else self._table_of_one_scan()
            self._fit = table is not None
            return table_of_checked(self.checked) if table is None else table

    def held(self) -> HeldRows:
        """See `Rows`."""
        if self.columns.clusters:
            return self._in_memory.held()
        self._need_counts()
        arrays = collect_columns(self.checked.rows.frame)
        by = {name: arrays[f"by{i}"] for i, name in enumerate(self.columns.by)}
        return HeldRows(arrays["y"].astype(np.int8), arrays["s"], arrays.get("w"), None, by)

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        request.check_names(self.columns.by)
        frame, fetch = self.checked.rows.frame, self.checked.rows.fetch
        kinds = frame.collect_schema()
        columns = [
            EngineColumn(f"by{i}", name, kinds[f"by{i}"].is_numeric(), kinds[f"by{i}"].is_float())
            for i, name in enumerate(self.columns.by)
        ]
        for column in columns:
            if str(kinds[column.key]).startswith(("Date", "Time", "Duration")):
                raise describe_dates(column.name)
        with _adding_up(self._frame.implementation):
            return segments_of_engine(frame, fetch, columns, request)

    def models(self) -> ModelRows:
        """See `Rows`."""
        return self._in_memory.models()

    @property
    def repeated(self) -> Repeated | None:
        """See `Rows`."""
        frame, columns = self._frame, self.columns
        names = [] if columns.clusters else identifiers(names_of_frame(frame), columns.names)
        if not names:
            return None
        counts = {f"n{i}": column_of(name, frame).n_unique() for i, name in enumerate(names)}
        asked = _asked(frame.select(rows=nw.len(), **counts))
        return repeated_of({name: int(asked[f"n{i}"][0]) for i, name in enumerate(names)}, int(asked["rows"][0]))

    @cached_property
    def _in_memory(self) -> ArrayRows:
        return _taken_out(_collected(self._frame, self.columns), self.columns)


def in_memory(frame: Any, columns: Columns) -> nw.DataFrame[Any]:
    """Return a frame in memory that has the columns; those of an engine are taken out of it."""
    opened = _opened(frame, columns)
    return opened if isinstance(opened, nw.DataFrame) else _collected(opened, columns)


def _collected(frame: nw.LazyFrame[Any], columns: Columns) -> nw.DataFrame[Any]:
    listed = [column_of(name, frame).alias(name) for name in columns.names]
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


def _opened(frame: Any, columns: Columns) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a frame that narwhals reads and that has each of the columns once."""
    opened = as_frame(frame)
    there = names_of_frame(opened)
    for what, name in (("label", columns.label), ("score", columns.score), ("weight", columns.weighting)):
        if not isinstance(name, Hashable) or (name is None and what != "weight"):
            raise ArgumentError(f"`{what}` to name a column", repr(name), f"choose among {', '.join(map(str, there))}")
    for name in columns.names:
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


def _taken_out(frame: nw.DataFrame[Any], columns: Columns) -> ArrayRows:
    """Take columns out of a frame in memory, without the rows that are to be left out."""
    if not len(frame):
        raise describe_no_rows()
    for what, name in columns.of_rows.items():
        if what != "label" and frame[name].null_count() < len(frame):
            need_numbers(frame, name, f"{what}s", _listed)
    arrays = {what: frame[name].to_numpy() for what, name in columns.of_rows.items()}
    scores = {name: frame[name].to_numpy() for name in columns.models} | {columns.score: arrays["score"]}
    by = {name: frame[name].to_native() for name in columns.by}
    weight, count = arrays.get("weight"), None
    if columns.count is not None:
        weight, count = None, weight
    of_rows = (arrays["label"], arrays["score"], weight, count, clusters_of(frame, columns.clusters), by)
    rows = ArrayRows(*of_rows, columns.pos_label, columns, scores, limits=columns.limits)
    rows = rows.without_gaps() if columns.drops else rows
    names = [] if columns.clusters else identifiers(frame.columns, columns.names)
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
    native, engine = frame.to_native(), frame.implementation
    batches: Callable[[Any], Iterator[Arrays]]
    if engine.is_polars() and hasattr(native, "collect_batches"):
        batches = _batches_of_polars
    elif engine.is_duckdb():
        batches = read_batches
    else:
        return None

    def rows() -> Iterator[CleanRows]:
        with _failing(engine):
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
def _failing(engine: nw.Implementation) -> Iterator[None]:
    """Turn whatever an engine raises into one sentence."""
    try:
        yield
    except (MemoryError, UnfitRowsError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        failure = f"an error of {_name_of(engine)}: {_gist(str(error)) or type(error).__name__}"
        remedy = "run the query that makes the dataframe by itself to see all of the error"
        raise SourceError("a dataframe of which all rows can be read", failure, remedy) from None


@contextmanager
def _adding_up(engine: nw.Implementation) -> Iterator[None]:
    """Say what to do where narwhals refuses an aggregation that an engine lacks, which it does before it is run."""
    try:
        yield
    except CalibrantError:
        raise
    except (ValueError, NotImplementedError) as error:
        expected = "a dataframe whose engine can add up the rows of each score"
        failure = f"one of {_name_of(engine)}: {_gist(str(error)) or type(error).__name__}"
        remedy = "collect it to a dataframe of pandas or Polars, or write it to Parquet and name the file"
        raise SourceError(expected, failure, remedy) from error


def _name_of(engine: nw.Implementation) -> str:
    return str(engine.value).replace("_", " ").capitalize()


def _gist(text: str) -> str:
    """Return the line that tells most; an engine that runs Python shows its traceback first."""
    _, _, trace = text.partition("Traceback (most recent call last):")
    lines = re.findall(r"^\S.*$", trace, flags=re.MULTILINE) or re.findall(r"^\s*(\S.*)$", text, flags=re.MULTILINE)
    return lines[0].strip().rstrip(".") if lines else ""
