"""Open rows, wherever they are, for all that is to be asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from calibrant.errors import SourceError
from calibrant.sources.protocol import Columns, Rows
from calibrant.sources.query import Query


def is_read(source: Any) -> bool:
    """Whether rows are in files or are the result of a query, not in a dataframe."""
    return isinstance(source, (str, PathLike, Query, list, tuple))


@contextmanager
def rows_of(source: Any, columns: Columns) -> Iterator[Rows]:
    """Open named columns of a dataframe, of files or of a query; the rows can be asked inside the block."""
    label = columns.label
    if label == columns.score:
        remedy = "name the column of outcomes as `label`"
        raise SourceError("different columns for label and score", f"{label!r} for both", remedy)
    # Imported here, since they load narwhals, which an audit of arrays does without though it asks `is_read`.
    if not is_read(source):
        from calibrant.sources.frames import open_frame

        yield open_frame(source, columns)
        return
    from calibrant.sources.connection import open_source
    from calibrant.sources.files import FileRows

    with open_source(source, columns.names) as opened:
        yield FileRows(opened, columns)
