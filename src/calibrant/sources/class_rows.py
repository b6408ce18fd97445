"""Labels and the probabilities of several classes, from wherever rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.sources.mixed import MixedColumns, by_names, is_values
from calibrant.sources.protocol import Columns
from calibrant.sources.rows import is_read
from calibrant.table.class_checks import ClassLabels, listed, need_different
from calibrant.table.class_scores import ClassScores, as_class_scores
from calibrant.table.clusters import cluster_numbers
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.row_errors import renumbered

if TYPE_CHECKING:
    from calibrant.sources.class_files import ClassFile, FileClasses

MOST_NUMBERS = 1 << 27  # probabilities of a file, a gigabyte of them, above which one class is read at a time


def class_scores_of(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    count: Any = None,
    missing: str = "raise",
) -> ClassScores:
    """Return `ClassScores`, made of labels and probabilities, or of a source of rows with the names of its columns.

    See `ClassScores.from_source`.
    """
    example = "(frame, label='y', scores='p_*'), or labels and probabilities: (y, P)"
    if not by_names({"label": label, "scores": scores}, {"y_proba": y_proba}, example):
        return as_class_scores(y_true, y_proba, classes=classes, count=count, missing=missing)
    # Imported here, since it loads DuckDB, which arrays do without.
    if is_read(y_true):
        with _opened(y_true, label, scores, count, missing) as file:
            return _matrix_of(file, classes)
    from calibrant.sources.frames import as_frame, in_memory, names_of_frame

    mixed = MixedColumns(y_true)
    label = mixed.name("label", label)
    names = _chosen(scores, label, names_of_frame(as_frame(mixed.source)))
    counted = mixed.name("count", count)
    frame = in_memory(mixed.source, Columns(label, names[0], models=tuple(names), count=counted))
    columns = {name: frame[name].to_numpy() for name in names}
    further: Any = {
        "classes": classes,
        "count": None if counted is None else frame[counted].to_numpy(),
        "missing": missing,
    }
    return ClassScores.from_scores(frame[label].to_native(), columns, **further)


def clusters_of_classes(y_true: Any, clusters: Any, data: ClassScores) -> IntArray:
    """Number the cluster of each row of `ClassScores` that were made of arrays or of a dataframe in memory."""
    if data.listed is not None or isinstance(y_true, ClassScores) or is_read(y_true):
        expected = "rows in memory with the probabilities of all classes, where there are clusters"
        remedy = "pass labels and probabilities as arrays, or a dataframe with their columns"
        raise ArgumentError(expected, "a file, a query, lists or a table", remedy)
    if hasattr(y_true, "columns") and not is_values(clusters):
        from calibrant.sources.frames import clusters_of, in_memory

        mixed = MixedColumns(y_true)
        names = tuple(mixed.names("cluster", clusters))
        clusters = clusters_of(in_memory(mixed.source, Columns(names[0], names[0], clusters=names)), names)
    assert data.order is not None
    return cluster_numbers(clusters, len(y_true))[data.order]


@contextmanager
def class_tables_of(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    count: Any = None,
    missing: str = "raise",
) -> Iterator[ClassScores | FileClasses]:
    """Give the same, but of a file with very many probabilities what reads one class at a time inside the block."""
    if label is None or scores is None or y_proba is not None or not is_read(y_true):
        further: dict[str, Any] = {"classes": classes, "count": count, "missing": missing}
        yield class_scores_of(y_true, y_proba, label=label, scores=scores, **further)
        return
    from calibrant.sources.class_files import FileClasses

    with _opened(y_true, label, scores, count, missing) as file:
        large = file.n * len(file.names) > MOST_NUMBERS and count is None and missing == "raise"
        yield FileClasses.of(file, classes) if large else _matrix_of(file, classes)


@contextmanager
def _opened(source: Any, label: Any, scores: Any, count: str | None, missing: str) -> Iterator[ClassFile]:
    """Open a file with the columns that are named."""
    from calibrant.sources.class_files import ClassFile
    from calibrant.sources.connection import open_source

    with open_source(
        source, () if isinstance(scores, str) else (label, *scores, *([] if count is None else [count]))
    ) as opened:
        yield ClassFile.of(opened, label, _chosen(scores, label, opened.names), count, missing)


def _matrix_of(file: ClassFile, classes: Sequence[Any] | None) -> ClassScores:
    """Read a file into one matrix."""
    number, proba = np.empty(file.n, dtype=np.int64), np.empty((file.n, len(file.columns)))

    def fill(start: int, part: IntArray, values: FloatArray) -> None:
        number[start : start + len(part)] = part
        proba[start : start + len(part)] = values

    file.read(fill)
    counts = None if file.count is None else proba[:, -1]
    labels, proba = ClassLabels(file.met, number), proba[:, : len(file.names)]
    further: Any = {"count": counts, "missing": file.missing, "copy": False}
    try:
        return ClassScores.from_numbered(labels, proba, list(file.names), classes, **further)
    except DataError as error:
        raise renumbered(error, range(1, file.n + 1)) from None  # from 1 on in files


def _chosen(scores: Any, label: str, there: Sequence[str]) -> list[str]:
    """Return the names of the columns of probabilities: those that a pattern matches, or those that are listed."""
    if isinstance(scores, str):
        names = [name for name in there if name != label and fnmatchcase(str(name), scores)]
    else:
        names = list(scores)
    need_different(names, "columns")
    if len(names) < 2 or label in names:
        raise ArgumentError(
            "columns of probabilities for two or more classes, beside that of labels",
            f"{listed(names) or 'none'} by scores={scores!r} among {listed(there)}",
            "pass a pattern such as scores='p_*', or the names of all columns: scores=['p_a', 'p_b']",
        )
    return names
