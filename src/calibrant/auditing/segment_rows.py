"""Which rows and which segments the arguments of `audit_segments` and `find_segments` stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.families import check_depth
from calibrant.segments.totals import Request, SegmentTotals, segments_of_arrays
from calibrant.sources.faults import Columns
from calibrant.sources.query import Query
from calibrant.sources.segment_source import segments_of_source
from calibrant.table.parameters import check_count
from calibrant.table.score_table import ScoreTable

__all__ = ["check_names", "check_segments", "columns_of", "names_of", "segment_totals", "two_columns"]


def segment_totals(
    y_true: Any,
    y_proba: npt.ArrayLike | None,
    by: Any,
    *,
    label: str | None,
    score: str | None,
    pos_label: Any,
    depth: int | None,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
    missing: str = "raise",
) -> SegmentTotals:
    """Add up rows by segment, however they were handed over."""
    check_count("min_rows", min_rows, 1, "segments with fewer rows are pooled or not judged")
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ArgumentError("`cuts` as a mapping of names to numbers", repr(cuts), "pass for example {'age': [30, 60]}")
    columns = columns_of(by)
    names = list(columns)
    if not names:
        raise ArgumentError("at least one column in `by`", "none", "name the columns that make segments")
    request = Request(
        check_depth(min(2, len(names)) if depth is None else depth, len(names)), min_rows, dict(cuts or {})
    )
    if isinstance(y_true, ScoreTable):
        raise ArgumentError("rows, with the columns of `by`", "a ScoreTable", "pass the rows: a table has no columns")
    if label is None and score is None:
        if not isinstance(columns, dict):
            wanted = "`by` as a mapping of names to columns, beside arrays of labels and scores"
            raise ArgumentError(wanted, ", ".join(map(repr, names)), "pass by={'sex': sex}, with one value per row")
        if y_proba is None:
            raise ArgumentError(
                "labels and scores", "one argument", "pass both arrays, or a dataframe with `label` and `score`"
            )
        return segments_of_arrays(y_true, y_proba, columns, request, pos_label=pos_label)
    if label is None or score is None or y_proba is not None:
        given = (
            "no name of a score" if score is None else "no name of a label" if label is None else "an array of scores"
        )
        raise ArgumentError(
            "the names of both columns, label and score, and no array of scores", given, "name both, or pass arrays"
        )
    check_names(names, label, score)
    if isinstance(columns, dict):
        if missing == "drop":
            wanted = "`by` as names of columns, where missing='drop' leaves out rows of a dataframe"
            raise ArgumentError(wanted, "a mapping", "name columns of the same dataframe")
        labels, scores = two_columns(y_true, label, score)
        return segments_of_arrays(labels, scores, columns, request, pos_label=pos_label)
    return segments_of_source(y_true, names, request, label=label, score=score, pos_label=pos_label, missing=missing)


def check_segments(source: Any, *, weighted: bool, clustered: bool) -> None:
    """Raise an `ArgumentError` if rows have weights or depend on each other, or can be read only once."""
    named = [source] if isinstance(source, str) else source if isinstance(source, (list, tuple)) else []
    if len(named) and isinstance(named[0], str) and named[0] == "-":
        raise ArgumentError("a file that can be read twice, where `by` names segments", "-", "write the rows to a file")
    if weighted or clustered:
        raise ArgumentError(
            "independent rows without weights, where `by` names segments",
            "weights" if weighted else "clusters",
            "leave `by` out, or audit the rows of each segment by themselves; bounds that hold together for all "
            "segments count independent rows",
        )


def names_of(by: Any) -> list[str]:
    """Return the names of the columns that make segments."""
    return list(columns_of(by))


def columns_of(by: Any) -> dict[str, Any] | list[str]:
    """Return `by` as columns by name, or as a list of names."""
    wanted, remedy = "`by` as names of columns, or a mapping of names to columns", "pass for example ['sex', 'branch']"
    if isinstance(by, str):
        return [by]
    if isinstance(by, Mapping):
        return {_name(name, wanted, remedy): values for name, values in by.items()}
    if hasattr(by, "columns") and not isinstance(by, np.ndarray):
        import narwhals as nw

        frame = nw.from_native(by, eager_only=True)
        remedy = "give its columns names that are text"
        return {_name(name, wanted, remedy): frame[name].to_native() for name in frame.columns}
    if by is None or isinstance(by, bytes) or not isinstance(by, Iterable):
        raise ArgumentError(wanted, repr(by), remedy)
    names = [_name(name, wanted, remedy) for name in by]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(
            "different columns in `by`",
            f"{twice!r} more than once",
            "name each once; to pass values, write by={'sex': sex}",
        )
    return names


def _name(name: Any, wanted: str, remedy: str) -> str:
    if not isinstance(name, str):
        raise ArgumentError(wanted, f"{name!r} among them", remedy)
    return str(name)


def check_names(names: Sequence[str], label: str, score: str) -> None:
    """Raise an `ArgumentError` if the label or the score is to make segments."""
    if label in names:
        remedy = "leave it out: among rows with one outcome no score is right"
        raise ArgumentError("columns of `by` that are known before the outcome", f"the label, {label!r}", remedy)
    if score in names:
        remedy = "leave it out: errors are sought over all intervals of scores anyway"
        raise ArgumentError("columns of `by` other than the score", f"the score, {score!r}", remedy)


def two_columns(frame: Any, label: str, score: str) -> tuple[Any, Any]:
    """Return labels and scores of a dataframe in memory, beside which segments are given as arrays."""
    from calibrant.sources.frames import frame_in_memory
    from calibrant.sources.named_columns import in_memory

    if isinstance(frame, (str, PathLike, Query, list, tuple)) or not in_memory(frame):
        raise ArgumentError(
            "`by` as names of columns, where rows are not in memory", "a mapping", "name columns of the same source"
        )
    held, _ = frame_in_memory(frame, Columns(label, score))
    return held.labels, held.scores
