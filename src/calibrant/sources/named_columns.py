"""Named columns of a dataframe, of files or of a query, as what functions of labels and scores take."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from calibrant.errors import SourceError
from calibrant.sources.faults import Columns
from calibrant.sources.query import Query
from calibrant.table.missing import Intake

__all__ = ["in_memory", "named_columns", "rows_in_order"]


def named_columns(
    source: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    clusters: str | Sequence[str] | None = None,
    pos_label: Any = None,
    missing: str = "raise",
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """Read labels and scores of a dataframe, files or a query: into a table, or row by row where rows are clustered.

    `clusters` is the column that says which rows depend on each other, or several that say it together. If `missing` is
    "drop", rows without a value are left out, in the columns `by` too. Returns the keywords ``y_true``, ``y_proba``,
    ``sample_weight`` and ``clusters`` of `calibrant.audit`, as far as they are there, with the ``intake`` of rows that
    are no table, and the ``columns``.
    """
    if label == score:
        raise SourceError(
            "different columns for label and score", f"{label!r} for both", "name the column of outcomes as `label`"
        )
    named = (clusters,) if isinstance(clusters, str) else tuple(clusters or ())
    columns = Columns(label, score, weight, pos_label, named, tuple(by) if missing == "drop" else (), missing)
    if isinstance(source, (str, PathLike, Query, list, tuple)):
        from calibrant.sources.files import read_rows, table_of_files

        if clusters is None:
            return {"y_true": table_of_files(source, columns), "columns": columns}
        found: tuple[Any, ...] = read_rows(source, columns)
    elif clusters is None:
        from calibrant.sources.frames import table_of_frame

        return {"y_true": table_of_frame(source, columns), "columns": columns}
    else:
        from calibrant.sources.frames import frame_in_memory

        held, names = frame_in_memory(source, columns)
        rows = held.cleaned()
        found = (rows.label, rows.score, rows.weight, names, Intake(held.left_out, rows.others))
    return dict(zip(("y_true", "y_proba", "sample_weight", "clusters", "intake"), found, strict=True), columns=columns)


def rows_in_order(source: Any, columns: Columns) -> tuple[Any, Any]:
    """Return labels and scores of a dataframe in memory, in the order of its rows; elsewhere rows have no order."""
    if isinstance(source, (str, PathLike, Query, list, tuple)) or not in_memory(source):
        return None, None
    from calibrant.sources.frames import frame_in_memory

    return frame_in_memory(source, columns)[0].cleaned()[:2]


def in_memory(frame: Any) -> bool:
    """Whether a dataframe holds its rows, so that its columns can be taken out; lazy ones stand for a query."""
    import narwhals as nw

    return isinstance(nw.from_native(frame), nw.DataFrame)
