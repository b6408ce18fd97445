"""Labels and the probabilities of several classes, from wherever rows are."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.sources.arrow_batches import read_batches
from calibrant.sources.checks import check_scores
from calibrant.sources.formats import quote_text
from calibrant.sources.protocol import Columns
from calibrant.sources.rows import is_read
from calibrant.sources.source import Source, as_number
from calibrant.table.class_checks import ClassLabels, listed, need_different
from calibrant.table.class_scores import ClassScores, as_class_scores
from calibrant.table.missing import is_missing
from calibrant.table.row_errors import describe_missing, describe_no_rows, describe_other_rows, renumbered


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
    # Imported here, since they load narwhals and DuckDB, which arrays do without.
    if is_read(y_true):
        from calibrant.sources.connection import open_source

        with open_source(y_true, () if isinstance(scores, str) else (label, *scores)) as opened:
            return _from_file(opened, label, _chosen(scores, label, opened.names), classes)
    from calibrant.sources.frames import as_frame, in_memory, names_of_frame

    names = _chosen(scores, label, names_of_frame(as_frame(y_true)))
    frame = in_memory(y_true, Columns(label, names[0], models=tuple(names)))
    columns = {name: frame[name].to_numpy() for name in names}
    return ClassScores.from_scores(frame[label].to_native(), columns, classes=classes)


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


def _from_file(source: Source, label: str, names: list[str], classes: Sequence[Any] | None) -> ClassScores:
    """Read a file into one matrix, a batch of rows at a time."""
    value = source.column(label)
    if source.kind(label) == "text":
        value = f"CAST({value} AS VARCHAR)" if source.typed else f"nullif(trim({value}), '')"
    text = f"CAST({value} AS VARCHAR)"
    met = source.rows(f"SELECT {value}, {text} AS text, count(*) FROM ({source.sql}) GROUP BY ALL ORDER BY text")
    n = sum(count for *_, count in met)
    if not n:
        raise describe_no_rows(source.name)
    known = [(value, text) for value, text, _ in met if not is_missing(value)]
    number = " ".join(f"WHEN {quote_text(text)} THEN {i}" for i, (_, text) in enumerate(known)) or "WHEN '' THEN -1"
    selected = [f"CAST(CASE {text} {number} ELSE -1 END AS BIGINT) AS y"]
    for k, name in enumerate(names):
        selected.append(f"coalesce({as_number(source.column(name), source.kind(name))}, 'nan'::DOUBLE) AS s{k}")
    labels = ClassLabels([value for value, _ in known], np.empty(n, dtype=np.int64))
    proba = np.empty((n, len(names)))

    def read() -> int:
        source.connection.execute("SET preserve_insertion_order = true")  # so that messages can number rows
        seen = 0
        for batch in read_batches(source.connection.sql(f"SELECT {', '.join(selected)} FROM ({source.sql})")):
            rows = slice(seen, seen + len(batch["y"]))
            seen = rows.stop
            if seen > n:
                break
            labels.number[rows] = batch["y"]
            for k in range(len(names)):
                proba[rows, k] = batch[f"s{k}"]
        return seen

    if source.run(read) != n:
        raise describe_other_rows(f"another number of them than {n}, as at first,")
    gap = labels.number < 0
    if gap.any():
        row = f"row {int(gap.argmax()) + 1} of column {label} in {source.name}"
        raise describe_missing("label", row, int(gap.sum()))
    if np.isnan(proba).any():
        for name in names:
            check_scores(source, name, complete=True)
    try:
        return ClassScores.from_numbered(labels, proba, list(names), classes, copy=False)
    except DataError as error:
        raise renumbered(error, range(1, n + 1)) from None  # from 1 on in files
