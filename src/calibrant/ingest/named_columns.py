"""Named columns of a dataframe, of files or of a query, as what functions of labels and scores take."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from calibrant.errors import SourceError
from calibrant.ingest.query import Query
from calibrant.table.score_table import ScoreTable

__all__ = ["in_memory", "named_columns", "rows_in_order"]


def named_columns(
    source: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    clusters: str | Sequence[str] | None = None,
    pos_label: Any = None,
) -> dict[str, Any]:
    """Read labels and scores of a dataframe, files or a query: into a table, or row by row where rows are clustered.

    `clusters` is the column that says which rows depend on each other, or several that say it together. Returns the
    keywords ``y_true``, ``y_proba``, ``sample_weight``, ``clusters`` and ``pos_label`` of `calibrant.audit`, as far as
    they are there.
    """
    if label == score:
        raise SourceError(
            "different columns for label and score", f"{label!r} for both", "name the column of outcomes as `label`"
        )
    columns: dict[str, Any] = {"label": label, "score": score, "weight": weight, "pos_label": pos_label}
    if isinstance(source, (str, PathLike, Query, list, tuple)):
        from calibrant.ingest.files import read_rows, read_table

        if clusters is None:
            return {"y_true": read_table(source, **columns)}
        rows = read_rows(source, **columns, cluster=clusters)
        return {"y_true": rows.label, "y_proba": rows.score, "sample_weight": rows.weight, "clusters": rows.cluster}
    if clusters is None:
        return {"y_true": ScoreTable.from_frame(source, **columns)}
    from calibrant.ingest.faults import Columns
    from calibrant.ingest.frames import frame_in_memory

    named = (clusters,) if isinstance(clusters, str) else tuple(clusters)
    held, names = frame_in_memory(source, Columns(**columns, clusters=named))
    return {
        "y_true": held.labels,
        "y_proba": held.scores,
        "sample_weight": held.weights,
        "clusters": names,
        "pos_label": pos_label,
    }


def rows_in_order(source: Any, label: str, score: str) -> tuple[Any, Any]:
    """Return labels and scores of a dataframe in memory, in the order of its rows; elsewhere rows have no order."""
    if isinstance(source, (str, PathLike, Query, list, tuple)):
        return None, None
    if not in_memory(source):
        return None, None
    import narwhals as nw

    frame = nw.from_native(source)
    return frame[label].to_numpy(), frame[score].to_numpy()


def in_memory(frame: Any) -> bool:
    """Whether a dataframe holds its rows, so that its columns can be taken out; lazy ones stand for a query."""
    import narwhals as nw

    return isinstance(nw.from_native(frame), nw.DataFrame)
