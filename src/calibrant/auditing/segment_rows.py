"""Which segments the arguments of `audit`, `audit_segments` and `find_segments` stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.families import check_depth
from calibrant.segments.totals import Request
from calibrant.table.parameters import check_count


def segment_request(
    by: Any, depth: int | None, min_rows: int = MIN_ROWS, cuts: Mapping[str, Sequence[float]] | None = None
) -> Request:
    """Check what is asked about segments."""
    check_count("min_rows", min_rows, 1, "segments with fewer rows are pooled or not judged")
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ArgumentError("`cuts` as a mapping of names to numbers", repr(cuts), "pass for example {'age': [30, 60]}")
    names = names_of(by)
    if not names:
        raise ArgumentError("at least one column in `by`", "none", "name the columns that make segments")
    checked = check_depth(min(2, len(names)) if depth is None else depth, len(names))
    return Request(checked, min_rows, dict(cuts or {}))


def check_segments(*, weighted: bool, clustered: bool) -> None:
    """Raise an `ArgumentError` if rows have weights or depend on each other."""
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
    if isinstance(by, str):
        return [by]
    remedy = "pass for example ['sex', 'branch']"
    if hasattr(by, "columns") and not isinstance(by, np.ndarray | Mapping):
        import narwhals as nw

        frame, remedy = nw.from_native(by, eager_only=True), "give its columns names that are text"
        by = {name: frame[name].to_native() for name in frame.columns}
    accepted = "`by` as names of columns, or a mapping of names to columns"
    if by is None or isinstance(by, bytes) or not isinstance(by, Iterable):
        raise ArgumentError(accepted, repr(by), remedy)
    names = list(by)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(accepted, f"{name!r} among them", remedy)
        if names.count(name) > 1:
            raise ArgumentError(
                "different columns in `by`",
                f"{name!r} more than once",
                "name each once; to pass values, write by={'sex': sex}",
            )
    return {str(name): by[name] for name in names} if isinstance(by, Mapping) else [str(name) for name in names]


def check_names(names: Sequence[str], label: str, score: str) -> None:
    """Raise an `ArgumentError` if the label or the score is to make segments."""
    if label in names:
        remedy = "leave it out: among rows with one outcome no score is right"
        raise ArgumentError("columns of `by` that are known before the outcome", f"the label, {label!r}", remedy)
    if score in names:
        remedy = "leave it out: errors are sought over all intervals of scores anyway"
        raise ArgumentError("columns of `by` other than the score", f"the score, {score!r}", remedy)
