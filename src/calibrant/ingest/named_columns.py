"""Named columns of a dataframe, of files or of a query, as what functions of labels and scores take."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from calibrant.errors import DataError, SourceError
from calibrant.ingest.query import Query
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["named_columns"]


def named_columns(
    source: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    clusters: str | Sequence[str] | None = None,
    pos_label: Any = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Read labels and scores of a dataframe, files or a query: into a table, or row by row where rows are clustered.

    `clusters` is the column that says which rows depend on each other, or several that say it together. Returns the
    keywords ``y_true``, ``y_proba``, ``sample_weight``, ``clusters`` and ``pos_label`` of `calibrant.audit`, as far as
    they are there.
    """
    if label == score:
        raise SourceError(
            "different columns for label and score", f"{label!r} for both", "name the column of outcomes with --label"
        )
    columns: dict[str, Any] = {"label": label, "score": score, "weight": weight, "pos_label": pos_label}
    if not isinstance(source, (str, PathLike, Query, list, tuple)):
        if clusters is None:
            return {"y_true": ScoreTable.from_frame(source, **columns)}
        return _frame_rows(source, clusters, **columns)
    if clusters is None:
        from calibrant.ingest.files import read_table

        return {"y_true": read_table(source, **columns, console=console)}
    from calibrant.ingest.file_rows import read_rows

    rows = read_rows(source, **columns, cluster=clusters, console=console)
    return {"y_true": rows.label, "y_proba": rows.score, "sample_weight": rows.weight, "clusters": rows.cluster}


def _frame_rows(
    frame: Any, clusters: str | Sequence[str], *, label: str, score: str, weight: str | None, pos_label: Any
) -> dict[str, Any]:
    import narwhals as nw

    from calibrant.ingest.frames import FrameArrays, FrameColumns, open_frame

    named = [clusters] if isinstance(clusters, str) else list(clusters)
    wanted = dict.fromkeys(name for name in (label, score, weight, *named) if name is not None)
    lazy = nw.from_native(frame).lazy()
    there = lazy.collect_schema().names()
    if missing := [name for name in wanted if name not in there]:
        raise DataError(f"a column {missing[0]!r}", f"columns {there}", "check the spelling")
    held = lazy.select(*wanted).collect()
    found = open_frame(held.to_native(), FrameColumns(label, score, weight, pos_label))
    assert isinstance(found, FrameArrays)  # a collected frame is in memory
    names = held[named[0]].to_list() if len(named) == 1 else list(zip(*(held[n].to_list() for n in named), strict=True))
    return {
        "y_true": found.labels,
        "y_proba": found.scores,
        "sample_weight": found.weights,
        "clusters": names,
        "pos_label": pos_label,
    }
