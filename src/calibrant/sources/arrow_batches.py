"""Batches of rows out of DuckDB, by the C stream interface of Apache Arrow: views of its memory, without pyarrow."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

_DTYPES: dict[str, npt.DTypeLike] = {"DOUBLE": np.float64, "BIGINT": np.int64, "TINYINT": np.int8}


class UnfitRowsError(Exception):
    """Raised where a value is missing or cannot be used, by those who leave it to a second look to say which."""


class _Batch(ctypes.Structure):
    """The structure ArrowArray: of a batch, or of one of its columns."""


_Batch._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Batch))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Batch))),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """The structure ArrowArrayStream."""


_Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Batch))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

# Declared here alone: what others declare for `ctypes.pythonapi` does not matter then.
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def read_batches(relation: DuckDBPyRelation) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the columns of a relation, of type DOUBLE, BIGINT or TINYINT, a batch of rows at a time.

    They can be read until the next batch is asked for. No other query may run on the connection before the last batch.
    An `UnfitRowsError` says that a value is missing, a `duckdb.Error` that the data cannot be read.

    DuckDB reads and computes while a batch is looked at.
    """
    import duckdb

    columns = dict(zip(relation.columns, (_DTYPES[str(kind)] for kind in relation.types), strict=True))
    begin = getattr(relation, "fetchmany", None)
    if begin is not None:
        begin(0)  # DuckDB 1 streams what was begun so, and would else keep all batches in memory
    capsule = relation.__arrow_c_stream__()  # releases the stream when it goes
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    while True:
        batch = _Batch()
        if stream.get_next(stream, batch):
            raise duckdb.Error((stream.get_last_error(stream) or b"").decode(errors="replace"))
        if not batch.release:
            return
        try:
            if batch.length:
                yield {name: _column(batch.children[i][0], kind) for i, (name, kind) in enumerate(columns.items())}
        finally:
            batch.release(batch)


def _column(column: _Batch, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    if column.null_count:
        raise UnfitRowsError
    size = np.dtype(kind).itemsize
    values = (ctypes.c_char * (column.length * size)).from_address(column.buffers[1] + column.offset * size)
    return np.frombuffer(values, dtype=kind)
