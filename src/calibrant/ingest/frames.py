"""Dataframes of any library: those in memory as arrays, those in an engine by aggregations that run there."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.errors import ArgumentError, DataError, SourceError
from calibrant.ingest.faults import Columns, describe_missing, describe_no_column
from calibrant.ingest.frame_checks import checked_rows, column_of, need_numbers
from calibrant.ingest.frame_rows import Arrays, CheckedRows, fetched
from calibrant.ingest.slices import PackedRows
from calibrant.table.row_errors import describe_no_rows
from calibrant.table.validation import clean_labels, clean_scores

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["FrameArrays", "frame_in_memory", "open_frame", "scores_in_memory"]

_BATCH = 1 << 20  # rows


class FrameArrays(NamedTuple):
    """Columns of a frame in memory."""

    labels: Any
    scores: Any
    weights: Any
    names: Columns

    def locate(self, error: DataError) -> DataError:
        """Return an error about one of the arrays with the name of its column."""
        checks: dict[str, Callable[[], Any]] = {
            self.names.score: lambda: clean_scores(self.scores),
            self.names.label: lambda: clean_labels(self.labels, self.names.pos_label),
        }
        name = next((name for name, check in checks.items() if _fails(check)), self.names.weight)
        word = "of" if " row " in error.found else "in"
        return error.but(found=f"{error.found} {word} column {name}")


def open_frame(frame: Any, columns: Columns) -> FrameArrays | CheckedRows:
    """Take the columns out of a frame in memory; check those of a frame in an engine, in one scan there.

    Values of frames in memory are checked later, apart from missing ones.
    """
    import narwhals as nw

    found = _opened(frame, columns)
    if isinstance(found, nw.DataFrame):
        return _arrays(found, columns)
    checked = checked_rows(found, columns, _asked, handed_over=_slices(found) is not None)
    return checked._replace(slices=_slices(checked.rows.packed()))


def frame_in_memory(frame: Any, columns: Columns) -> tuple[FrameArrays, list[Any]]:
    """Take the columns out of any frame, with the cluster of each row: a tuple where several columns name it."""
    import narwhals as nw

    found = _opened(frame, columns)
    if isinstance(found, nw.LazyFrame):
        wanted = [column_of(name, found).alias(name) for name in columns.names]
        with _failing(found.implementation):
            found = found.select(*wanted).collect()
    listed = [found[name].to_list() for name in columns.clusters]
    return _arrays(found, columns), listed[0] if len(listed) == 1 else list(zip(*listed, strict=True))


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


def _fails(check: Callable[[], Any]) -> bool:
    try:
        check()
    except DataError:
        return True
    return False


def _names(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> list[str]:
    """Return all names of columns, also those that are there twice, which narwhals leaves out."""
    if frame.implementation.is_duckdb() or frame.implementation.is_spark_like():
        return list(frame.to_native().columns)
    with _failing(frame.implementation):
        return list(frame.collect_schema())


def _arrays(frame: nw.DataFrame[Any], columns: Columns) -> FrameArrays:
    if not len(frame):
        raise describe_no_rows()
    for what, name in (("score", columns.score), ("label", columns.label), ("weight", columns.weight)):
        if name is None:
            continue
        count = frame[name].null_count()
        if what != "label" and count < len(frame):  # the type of a column of nothing says nothing
            need_numbers(name, frame.schema[name], f"{what}s")
        if count:
            raise describe_missing(what, f"row {frame[name].is_null().to_numpy().argmax()} of column {name}", count)
    label, score = frame[columns.label].to_numpy(), frame[columns.score].to_numpy()
    return FrameArrays(label, score, None if columns.weight is None else frame[columns.weight].to_numpy(), columns)


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
