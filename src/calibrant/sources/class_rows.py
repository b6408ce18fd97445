"""Labels and the probabilities of several classes, from wherever rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.sources.mixed import MixedColumns
from calibrant.sources.protocol import Columns
from calibrant.sources.rows import is_read
from calibrant.table.class_checks import ClassLabels, listed, need_different
from calibrant.table.class_scores import ClassScores, as_class_scores
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
) -> ClassScores:
    """Return what the arguments of a function of several classes stand for.

    These are `ClassScores`; labels and probabilities; or a source of rows with the names of its columns, see
    `ClassScores.from_source`.
    """
    if label is None and scores is None:
        return as_class_scores(y_true, y_proba, classes=classes)
    if label is None or scores is None or y_proba is not None:
        given = {"label": label, "scores": scores, "y_proba": y_proba}
        raise ArgumentError(
            "the names of the columns, label and scores, and no matrix of probabilities",
            " and ".join(name for name, value in given.items() if value is not None),
            "pass (frame, label='y', scores='p_*'), or labels and probabilities: (y, P)",
        )
    # Imported here, since it loads DuckDB, which arrays do without.
    if is_read(y_true):
        with _opened(y_true, label, scores) as file:
            return _matrix_of(file, classes)
    from calibrant.sources.frames import as_frame, in_memory, names_of_frame

    mixed = MixedColumns(y_true)
    label = mixed.name("label", label)
    names = _chosen(scores, label, names_of_frame(as_frame(mixed.source)))
    frame = in_memory(mixed.source, Columns(label, names[0], models=tuple(names)))
    columns = {name: frame[name].to_numpy() for name in names}
    return ClassScores.from_scores(frame[label].to_native(), columns, classes=classes)


@contextmanager
def class_tables_of(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> Iterator[ClassScores | FileClasses]:
    """Give the same, but of a file with very many probabilities what reads one class at a time inside the block."""
    if label is None or scores is None or y_proba is not None or not is_read(y_true):
        yield class_scores_of(y_true, y_proba, label=label, scores=scores, classes=classes)
        return
    from calibrant.sources.class_files import FileClasses

    with _opened(y_true, label, scores) as file:
        large = file.n * len(file.names) > MOST_NUMBERS
        yield FileClasses.of(file, classes) if large else _matrix_of(file, classes)


@contextmanager
def _opened(source: Any, label: str, scores: str | Sequence[str]) -> Iterator[ClassFile]:
    """Open a file with the columns that are named."""
    from calibrant.sources.class_files import ClassFile
    from calibrant.sources.connection import open_source

    with open_source(source, () if isinstance(scores, str) else (label, *scores)) as opened:
        yield ClassFile.of(opened, label, _chosen(scores, label, opened.names))


def _matrix_of(file: ClassFile, classes: Sequence[Any] | None) -> ClassScores:
    """Read a file into one matrix."""
    number, proba = np.empty(file.n, dtype=np.int64), np.empty((file.n, len(file.names)))

    def fill(start: int, part: IntArray, values: FloatArray) -> None:
        number[start : start + len(part)] = part
        proba[start : start + len(part)] = values

    file.read(fill)
    try:
        return ClassScores.from_numbered(ClassLabels(file.met, number), proba, list(file.names), classes, copy=False)
    except DataError as error:
        raise renumbered(error, range(1, file.n + 1)) from None  # from 1 on in files


def _chosen(scores: str | Sequence[str], label: str, there: Sequence[str]) -> list[str]:
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
