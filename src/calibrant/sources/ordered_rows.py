"""Rows of files or a query in their order, with the columns that say when they were and which they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.sources.checks import as_number, check
from calibrant.sources.connection import open_source
from calibrant.sources.faults import Columns
from calibrant.sources.paths import Place, find_files
from calibrant.sources.query import Query
from calibrant.sources.source import Source
from calibrant.table.score_table import FloatArray

__all__ = ["OrderedRows", "read_in_order"]


class OrderedRows(NamedTuple):
    """Columns of a file, in the order of its rows; those that were not named are None."""

    label: npt.NDArray[Any]  # 0.0 and 1.0 or -1.0 and 1.0, NaN where missing; as text if `pos_label` was given
    score: FloatArray
    time: npt.NDArray[Any] | None  # numbers, or text
    id: npt.NDArray[Any] | None  # whole numbers, or text
    block: npt.NDArray[Any] | None  # text
    file: npt.NDArray[Any] | None  # the name of the file of each row; None for a query and standard input


def read_in_order(
    path: Place | Query,
    *,
    label: str,
    score: str,
    time: str | None = None,
    id: str | None = None,
    block: str | None = None,
    pos_label: Any = None,
    missing_labels: bool = False,
) -> OrderedRows:
    """Read rows in the order of the file, with further columns; with `missing_labels` labels may be missing.

    Errors are those of `read_table`, and name the row; a `DataError` if one of the further columns is empty in a row.
    """
    further = {"time": time, "id": id, "block": block}
    named = tuple(dict.fromkeys(name for name in (label, score, *further.values()) if name is not None))
    with open_source(path, wanted=named) as source:
        source.in_order()
        if not missing_labels:
            check(source, Columns(label, score, None, pos_label))
        selected = {"score": as_number(source.column(score), source.kind(score))}
        selected["label"] = _label(source, label, pos_label)
        for name, column in further.items():
            if column is not None:
                selected[name] = _typed(source, column, "BIGINT" if name == "id" else "DOUBLE", text=name == "block")
        listed = ", ".join(f"{sql} AS {name}" for name, sql in selected.items())
        parts = source.parts or (source,)
        # Of several files each is numbered alone: DuckDB 1.4 does not keep their order in a UNION ALL.
        numbered = " UNION ALL ".join(
            f"SELECT {i} AS file, row_number() OVER () AS place, {listed} FROM ({part.sql})"
            for i, part in enumerate(parts)
        )
        found = source.arrays(f"SELECT file, {', '.join(selected)} FROM ({numbered}) AS numbered ORDER BY file, place")
    for name, column in further.items():
        if column is not None:
            _check_full(found[name], column)
    labels = found["label"]
    if pos_label is None:
        labels = np.ma.filled(labels, np.nan)
    elif np.ma.is_masked(labels):
        missing, labels = np.ma.getmaskarray(labels), np.ma.getdata(labels).astype(object)
        labels[missing] = None
    columns = {name: np.ma.getdata(found[name]) if name in found else None for name in further}
    names = np.array([part.name for part in parts], dtype=object)
    file = None if isinstance(path, Query) or find_files(path) == ("-",) else names[np.ma.getdata(found["file"])]
    return OrderedRows(labels, np.ma.filled(found["score"], np.nan), **columns, file=file)


def _label(source: Source, label: str, pos_label: Any) -> str:
    """Return labels as SQL: as text where one of them is named, else as numbers, if they are."""
    column, kind = source.column(label), source.kind(label)
    if pos_label is not None:
        return f"nullif(CAST({column} AS VARCHAR), '')"
    number = as_number(column, kind, words=True)
    strange = source.rows(
        f"SELECT CAST({column} AS VARCHAR) FROM ({source.sql}) "
        f"WHERE nullif(CAST({column} AS VARCHAR), '') IS NOT NULL AND {number} IS NULL LIMIT 1"
    )
    if strange:
        remedy = "name the outcome that counts as 1 with `pos_label`, and leave labels that are not known empty"
        raise DataError("labels 0 and 1", repr(strange[0][0]), remedy)
    return number


def _typed(source: Source, column: str, type_: str, *, text: bool) -> str:
    """Return a column as SQL: as numbers if all of its values are, as text otherwise."""
    written = f"nullif(trim(CAST({source.column(column)} AS VARCHAR)), '')"
    cast = f"TRY_CAST({written} AS {type_})"
    numbers = not text and source.rows(f"SELECT count({written}) = count({cast}) FROM ({source.sql})")[0][0]
    return cast if numbers else written


def _check_full(values: npt.NDArray[Any], column: str) -> None:
    if np.ma.is_masked(values):
        where = int(np.argmax(np.ma.getmaskarray(values))) + 1
        raise DataError(f"a value of {column} in every row", f"none in row {where}", "fill it in, or drop the row")
