"""Dataframes of any library: those in memory as arrays, those in an engine by aggregations that run there."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.cells.frame_rows import Arrays, CheckedRows, fetched
from calibrant.cells.gathering import table_of_rows
from calibrant.cells.slices import PackedRows
from calibrant.errors import ArgumentError, DataError, SourceError
from calibrant.sources.faults import Columns, describe_missing, describe_no_column
from calibrant.sources.frame_checks import checked_rows, holds_numbers, need_numbers
from calibrant.sources.frame_gaps import column_of, find_gaps
from calibrant.table.missing import LeftOut
from calibrant.table.row_errors import all_of, describe_no_rows, in_column, renumbered
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows, clean_labels, clean_rows, clean_scores, clean_weights

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["FrameArrays", "frame_in_memory", "open_frame", "scores_in_memory", "table_of_frame"]

_BATCH = 1 << 20  # rows


class FrameArrays(NamedTuple):
    """Columns of a frame in memory."""

    labels: Any
    scores: Any
    weights: Any
    names: Columns
    left_out: LeftOut | None = None
    rows: npt.NDArray[np.int64] | None = None  # places in the frame of those that are here, if some are not

    def cleaned(self) -> CleanRows:
        """Check all values; an error names columns, and rows by their place in the frame."""
        names = self.names
        named = (names.score, names.label, str(names.weight))
        try:
            return clean_rows(
                self.labels, self.scores, sample_weight=self.weights, pos_label=names.pos_label, names=named
            )
        except DataError as error:
            raise error if self.rows is None else renumbered(error, self.rows) from None


def table_of_frame(frame: Any, columns: Columns) -> ScoreTable:
    """Pool the rows of a dataframe, see `ScoreTable.from_frame`."""
    found = open_frame(frame, columns)
    if not isinstance(found, FrameArrays):
        return table_of_rows(found)
    table = ScoreTable.from_clean(found.cleaned())
    return replace(table, intake=table.intake._replace(left_out=found.left_out))


def open_frame(frame: Any, columns: Columns) -> FrameArrays | CheckedRows:
    """Take the columns out of a frame in memory; check those of a frame in an engine, in one scan there.

    Values of frames in memory are checked later, apart from missing ones.
    """
    import narwhals as nw

    found = _opened(frame, columns)
    if isinstance(found, nw.DataFrame):
        return _arrays(*_kept(found, columns), columns)
    left_out = None
    if columns.drops:
        gap, left_out = find_gaps(found, columns, _asked)
        found = found.filter(~gap)
    checked = checked_rows(found, columns, _asked, handed_over=_slices(found) is not None)
    intake = checked.intake._replace(left_out=left_out)
    return checked._replace(slices=_slices(checked.rows.packed()), intake=intake)


def _kept(
    frame: nw.DataFrame[Any], columns: Columns
) -> tuple[nw.DataFrame[Any], LeftOut | None, npt.NDArray[np.int64] | None]:
    """Return the rows of a frame in memory that are not left out, the account of the others, and where they were."""
    if not columns.drops:
        return frame, None, None
    gap, left_out = find_gaps(frame, columns, lambda asked: {name: asked[name].to_list() for name in asked.columns})
    gaps = frame.select(gap=gap)["gap"].to_numpy().astype(bool)
    return frame.filter((~gaps).tolist()), left_out, np.flatnonzero(~gaps)


def frame_in_memory(frame: Any, columns: Columns) -> tuple[FrameArrays, list[Any]]:
    """Take the columns out of any frame, with the cluster of each row: a tuple where several columns name it."""
    import narwhals as nw

    found = _opened(frame, columns)
    if isinstance(found, nw.LazyFrame):
        wanted = [column_of(name, found).alias(name) for name in columns.names]
        with _failing(found.implementation):
            found = found.select(*wanted).collect()
    found, left_out, kept = _kept(found, columns)
    listed = [found[name].to_list() for name in columns.clusters]
    return _arrays(found, left_out, kept, columns), listed[0] if len(listed) == 1 else list(zip(*listed, strict=True))


def scores_in_memory(
    frame: Any, label: str, scores: Sequence[str], clusters: tuple[str, ...], pos_label: Any
) -> tuple[Any, dict[str, Any], list[Any] | None]:
    """Take labels, several columns of scores by name, and the cluster of each row, if any, out of any frame."""
    import narwhals as nw

    by_score = {name: Columns(label, name, None, pos_label, clusters) for name in scores}
    for columns in by_score.values():
        found = _opened(frame, columns)
    if isinstance(found, nw.LazyFrame):
        names = dict.fromkeys(name for columns in by_score.values() for name in columns.names)
        with _failing(found.implementation):  # once: an engine need not keep the order of the rows
            frame = found.select(*(column_of(name, found).alias(name) for name in names)).collect()
    columns_of = {}
    for name, columns in by_score.items():
        held, groups = frame_in_memory(frame, columns)
        columns_of[name] = held.scores
    return held.labels, columns_of, groups if clusters else None


def _opened(frame: Any, columns: Columns) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a frame that narwhals reads and that has each of the columns once."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        found: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError:
        raise DataError(
            "a dataframe: pandas, Polars, PyArrow, DuckDB, PySpark or another that narwhals reads",
            f"a {type(frame).__module__}.{type(frame).__name__}".replace("builtins.", ""),
            "pass columns of it to ScoreTable.from_scores, or chunks to ScoreTable.from_chunks",
        ) from None
    except DuplicateError:
        raise DataError(
            "different names of columns", "a name that is there twice", "give the columns different names"
        ) from None
    there = _names(found)
    for what, name in (("label", columns.label), ("score", columns.score), ("weight", columns.weight)):
        if not isinstance(name, Hashable) or (name is None and what != "weight"):
            raise ArgumentError(f"`{what}` to name a column", repr(name), f"choose among {', '.join(map(str, there))}")
    for name in columns.names:
        # DuckDB takes the first of the names that differ in case alone.
        asked = str(name).lower()
        alike = [other for other in there if other.lower() == asked] if found.implementation.is_duckdb() else []
        if name in there and len(set(alike)) > 1:
            raise DataError(
                f"one column {name!r}", f"{' and '.join(map(repr, alike))}, which DuckDB takes for one", "rename one"
            )
        if there.count(name) == 1:
            continue
        if name in there:
            raise DataError(
                f"one column {name!r}", f"{there.count(name)} of that name", "give the columns different names"
            )
        raise DataError(*describe_no_column(name, there))
    return found


def _names(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> list[str]:
    """Return all names of columns, also those that are there twice, which narwhals leaves out."""
    if frame.implementation.is_duckdb() or frame.implementation.is_spark_like():
        return list(frame.to_native().columns)
    with _failing(frame.implementation):
        return list(frame.collect_schema())


def _arrays(
    frame: nw.DataFrame[Any], left_out: LeftOut | None, kept: npt.NDArray[np.int64] | None, columns: Columns
) -> FrameArrays:
    """Return the columns as arrays; a `DataError` about types and missing values tells the other faults too."""
    if not len(frame):
        raise describe_no_rows()
    used = {"score": columns.score, "label": columns.label, "weight": columns.weight}
    named = {what: name for what, name in used.items() if name is not None}
    arrays = {what: frame[name].to_numpy() for what, name in named.items()}
    nulls = {what: frame[name].is_null().to_numpy() for what, name in named.items()}
    texts = [
        what
        for what in named
        if what != "label" and not nulls[what].all() and not holds_numbers(frame.schema[named[what]])
    ]
    if not texts and not any(null.any() for null in nulls.values()):
        return FrameArrays(arrays["label"], arrays["score"], arrays.get("weight"), columns, left_out, kept)
    errors = []
    for what, name in named.items():
        if nulls[what].any():
            place = f"row {nulls[what].argmax()} of column {name}"
            errors.append(describe_missing(what, place, int(nulls[what].sum())))
        rows = np.flatnonzero(~nulls[what])
        try:
            if what in texts:
                need_numbers(name, frame.schema[name], f"{what}s")
            elif len(rows):
                _CHECKS[what](arrays[what][rows], columns)
        except DataError as error:
            errors.append(error if what in texts else in_column(renumbered(error, rows), name))
    raise all_of(errors) if kept is None else renumbered(all_of(errors), kept)


# Beside missing values.
_CHECKS: dict[str, Callable[[Any, Columns], Any]] = {
    "score": lambda values, _: clean_scores(values),
    "label": lambda values, columns: clean_labels(values, columns.pos_label, part=True),
    "weight": lambda values, _: clean_weights(values, len(values), part=True),
}


def _asked(frame: nw.LazyFrame[Any]) -> Arrays:
    with _failing(frame.implementation):
        return fetched(frame)


def _slices(frame: nw.LazyFrame[Any]) -> Callable[[], Iterator[PackedRows]] | None:
    """Return a way to have packed rows in arrays, a batch at a time, if the engine has one."""
    native, engine = frame.to_native(), frame.implementation
    if engine.is_polars() and hasattr(native, "collect_batches"):
        batches = _batches_of_polars
    elif engine.is_duckdb() and find_spec("pyarrow") is not None:
        batches = _batches_of_duckdb
    else:
        return None

    def slices() -> Iterator[PackedRows]:
        with _failing(engine):
            for columns in batches(native):
                yield PackedRows(columns["value"], columns.get("w"))

    return slices


def _batches_of_polars(native: Any) -> Iterator[Arrays]:
    for batch in native.collect_batches(chunk_size=_BATCH, maintain_order=False, engine="streaming"):
        yield {name: batch[name].to_numpy() for name in batch.columns}


def _batches_of_duckdb(native: Any) -> Iterator[Arrays]:
    # DuckDB 1.3 has only the second.
    name = "to_arrow_reader" if hasattr(native, "to_arrow_reader") else "fetch_arrow_reader"
    for batch in getattr(native, name)(_BATCH):
        # PyArrow's own way to NumPy loads pandas first, where it is installed.
        yield {name: np.from_dlpack(batch[name]) for name in batch.schema.names}


@contextmanager
def _failing(engine: nw.Implementation) -> Iterator[None]:
    """Turn whatever an engine raises into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        name = str(engine.value).replace("_", " ").capitalize()
        raise SourceError(
            "a dataframe of which all rows can be read",
            f"an error of {name}: {_gist(str(error)) or type(error).__name__}",
            "run the query that makes the dataframe by itself to see all of the error",
        ) from None


def _gist(text: str) -> str:
    """Return the line that tells most; an engine that runs Python shows its traceback first."""
    _, _, trace = text.partition("Traceback (most recent call last):")
    lines = re.findall(r"^\S.*$", trace, flags=re.MULTILINE) or re.findall(r"^\s*(\S.*)$", text, flags=re.MULTILINE)
    return lines[0].strip().rstrip(".") if lines else ""
