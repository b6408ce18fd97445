"""Segments of rows wherever they are: in dataframes, files, databases and engines."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.cells.frame_rows import fetched
from calibrant.segments.totals import Request, SegmentTotals, segments_of_arrays
from calibrant.segments.values import describe_dates
from calibrant.sources.faults import Columns
from calibrant.sources.frames import FrameArrays, open_frame
from calibrant.sources.query import Query
from calibrant.sources.segment_scan import EngineColumn, collected, segments_of_engine
from calibrant.table.missing import Intake
from calibrant.table.pooling import FloatArray

if TYPE_CHECKING:
    import narwhals as nw

    from calibrant.sources.source import Source

__all__ = ["rows_with_columns", "segments_of_source"]


def segments_of_source(
    source: Any,
    by: Sequence[str],
    request: Request,
    *,
    label: str,
    score: str,
    pos_label: Any = None,
    missing: str = "raise",
) -> SegmentTotals:
    """Add up rows of a dataframe of any library, of files or of a query; `by` names columns."""
    request.check_names(by)
    columns = Columns(label, score, None, pos_label, by=tuple(by), missing=missing)
    if _is_read(source):
        from calibrant.sources.connection import open_source

        with open_source(source, wanted=columns.names) as opened:
            frame, held, _ = _checked(opened, columns)
            return opened.run(lambda: segments_of_engine(frame, fetched, held, request))
    found = open_frame(source, columns)
    if isinstance(found, FrameArrays):
        rows = found.cleaned()
        return segments_of_arrays(rows.label, rows.score, _taken(source, by, found), request)
    kinds = found.rows.frame.collect_schema()
    there = [
        EngineColumn(f"by{i}", name, kinds[f"by{i}"].is_numeric(), kinds[f"by{i}"].is_float())
        for i, name in enumerate(by)
    ]
    for column in there:
        if str(kinds[column.place]).startswith(("Date", "Time", "Duration")):
            raise describe_dates(column.name)
    return segments_of_engine(found.rows.frame, found.rows.fetch, there, request)


def rows_with_columns(
    source: Any, by: Sequence[str], *, label: str, score: str, pos_label: Any = None, missing: str = "raise"
) -> tuple[npt.NDArray[np.int64], FloatArray, dict[str, Any], Intake]:
    """Return labels of 0 and 1, scores and the columns `by` of what holds rows, in memory, and what was left out."""
    columns = Columns(label, score, None, pos_label, by=tuple(by), missing=missing)
    if _is_read(source):
        from calibrant.sources.connection import open_source

        with open_source(source, wanted=columns.names) as opened:
            frame, _, intake = _checked(opened, columns)
            found = opened.run(lambda: collected(frame))
    else:
        rows = open_frame(source, columns)
        if isinstance(rows, FrameArrays):
            checked = rows.cleaned()
            intake = Intake(rows.left_out, checked.others)
            return checked.label.astype(np.int64), checked.score.astype(np.float64), _taken(source, by, rows), intake
        found, intake = collected(rows.rows.frame), rows.intake
    return found["y"], found["s"], {name: found[f"by{i}"] for i, name in enumerate(by)}, intake


def _taken(frame: Any, by: Sequence[str], rows: FrameArrays) -> dict[str, Any]:
    """Take columns out of a dataframe in memory, for the rows that are not left out."""
    import narwhals as nw

    held = nw.from_native(frame)
    return {name: (held[name] if rows.rows is None else held[name][rows.rows]).to_native() for name in by}


def _is_read(source: Any) -> bool:
    """Whether rows are in files or are the result of a query, not in a dataframe."""
    return isinstance(source, (str, PathLike, Query, list, tuple))


def _checked(source: Source, columns: Columns) -> tuple[nw.LazyFrame[Any], list[EngineColumn], Intake]:
    """Return checked rows as a frame of DuckDB with the columns s, y, by0, by1 and so on, and what the latter are."""
    import narwhals as nw

    from calibrant.sources.checks import check

    summary = check(source, columns)
    held = [_of_file(source, summary.sql, i, name) for i, name in enumerate(columns.by)]
    listed = "".join(f", {sql} AS {column.place}" for sql, column in held)
    query = f"SELECT s, CAST(positive AS BIGINT) AS y{listed} FROM ({summary.sql})"
    return nw.from_native(source.connection.sql(query)), [column for _, column in held], summary.intake


def _of_file(source: Source, sql: str, i: int, name: str) -> tuple[str, EngineColumn]:
    """Return a column of a file as numbers, booleans or text; text of which all is numbers or booleans is such."""
    kind, column = source.type_of(name), f"by{i}"
    if kind.startswith(("DATE", "TIME", "INTERVAL")):
        raise describe_dates(name)
    as_float = EngineColumn(column, name, numeric=True, float_=True)
    if kind in ("HUGEINT", "UHUGEINT", "BIGNUM") or kind.startswith("DECIMAL"):
        return f"CAST({column} AS DOUBLE)", as_float
    if source.kind(name) == "number":
        return column, as_float._replace(float_=kind in ("FLOAT", "DOUBLE"))
    as_text = as_float._replace(numeric=False, float_=False)
    if source.kind(name) == "boolean":
        return column, as_text
    text = f"CAST({column} AS VARCHAR)"
    if source.typed:
        return text, as_text
    text = f"nullif({text}, '')"
    whole, number = f"TRY_CAST({text} AS BIGINT)", f"TRY_CAST({text} AS DOUBLE)"
    # TRY_CAST rounds 1.5 to a whole number.
    all_whole, all_numbers, all_truth = source.rows(
        f"SELECT bool_and(regexp_full_match({text}, '[+-]?[0-9]+') AND {whole} IS NOT NULL), "
        f"bool_and({number} IS NOT NULL), bool_and(lower({text}) IN ('false', 'true')) "
        f"FROM ({sql}) WHERE {text} IS NOT NULL"
    )[0]
    if all_whole:
        return whole, as_float._replace(float_=False)
    if all_truth:
        return f"CAST({text} AS BOOLEAN)", as_text
    return (number, as_float) if all_numbers else (text, as_text)
