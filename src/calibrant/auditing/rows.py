"""The rows of an audit, however they were handed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.auditing.warnings import RowOrder
from calibrant.errors import ArgumentError
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.totals import Request, SegmentTotals, check_depth, segments_of_arrays, segments_of_rows
from calibrant.sources.array_rows import ArrayRows, TableRows
from calibrant.sources.mixed import MixedColumns, by_names, is_values, own_name
from calibrant.sources.protocol import Columns, Rows
from calibrant.sources.rows import rows_of
from calibrant.table.clusters import ClusteredRows, cluster_numbers, cluster_rows
from calibrant.table.identifiers import Repeated
from calibrant.table.missing import Intake
from calibrant.table.parameters import SIDES, Direction, check_choice, check_count
from calibrant.table.pooling import IndexArray
from calibrant.table.rules import ANY_NUMBER, PROBABILITIES
from calibrant.table.score_table import ScoreTable, as_table, need_both_classes

# What to do where there are no bounds that hold together for all segments: those of each, by Bonferroni.
EACH_ALONE = "audit each segment by itself, at a `confidence_level` of 1 - 0.05 / K for K of them: so all hold together"
READ = 0.6  # share of an audit that is the reading of the rows, where they are read


class AuditedRows(NamedTuple):
    """Rows of both classes."""

    table: ScoreTable
    clustered: ClusteredRows | None  # if they may depend on each other
    order: RowOrder | None  # if it is known, and means something
    intake: Intake
    repeated: Repeated | None

    @property
    def units(self) -> ScoreTable | ClusteredRows:
        """What is independent: rows, or clusters of them."""
        return self.table if self.clustered is None else self.clustered


@contextmanager
def given_rows(
    y_true: Any,
    y_proba: npt.ArrayLike | None,
    *,
    label: str | None,
    score: str | None,
    weight: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    clusters: Any = None,
    by: Any = None,
    missing: str = "raise",
    limits: tuple[float, float] = PROBABILITIES,
) -> Iterator[Rows]:
    """Open the rows that the arguments of `calibrant.audit` stand for, with scores within `limits`.

    `by` makes segments, or holds rating grades.
    """
    check_choice("missing", missing, ("raise", "drop"))
    segments = {} if by is None else columns_of(by)
    arrays = {"y_proba": y_proba} | ({} if weight is None else {"sample_weight": sample_weight})
    named = {"weight": weight, "count": count if isinstance(count, str) else None}
    example = "audit(frame, label='y', score='p', weight='w'), or audit(y, p, sample_weight=w)"
    if not by_names({"label": label, "score": score}, arrays, example, **named):
        if isinstance(y_true, ScoreTable) or y_proba is None:
            yield TableRows(as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label))
            return
        values = {} if by is None else columns_of_arrays(by)
        rows = ArrayRows(y_true, y_proba, sample_weight, count, clusters, values, pos_label, limits=limits)
        yield rows.without_gaps() if missing == "drop" else rows
        return
    mixed = MixedColumns(y_true)
    named_label, named_score = mixed.name("label", label), mixed.name("score", score)
    check_names(list(segments), named_label, named_score)
    weight = mixed.name("weight", weight if sample_weight is None else sample_weight)
    counted: Any = mixed.name("count", count)
    cluster, inside = tuple(mixed.names("cluster", clusters)), tuple(mixed.names("by", segments))
    columns = Columns(named_label, named_score, weight, pos_label, cluster, inside, missing, counted, limits=limits)
    with rows_of(mixed.source, columns) as opened:
        yield opened


def audited_rows(rows: Rows, *, grouped: bool) -> AuditedRows:
    """Pool rows, if they are `grouped` by cluster too."""
    clustered = rows.clustered() if grouped else None
    table = replace(rows.table() if clustered is None else clustered.table, intake=Intake())  # said of the audit, once
    need_both_classes(table)
    order = None
    if isinstance(rows, ArrayRows) and rows.weight is None and rows.count is None:
        order = RowOrder(*rows.clean[:2])
    return AuditedRows(table, clustered, order, rows.intake, rows.repeated)


def segment_totals(
    y_true: Any, y_proba: npt.ArrayLike | None, request: Request, *, count: Any, clusters: Any, **columns: Any
) -> SegmentTotals:
    """Add up rows by segment, however they were handed over, with columns as of `given_rows`."""
    with given_rows(y_true, y_proba, count=count, clusters=clusters, **columns) as rows:
        totals = segments_of(rows, request, clusters, count)
        return replace(totals, repeated=rows.repeated, left_out=rows.intake.left_out)


def segments_of(rows: Rows, request: Request, *further: Any) -> SegmentTotals:
    """Add up rows by segment, one by one where they have further columns: clusters, a count, or weights (refused)."""
    if all(column is None for column in further):
        return rows.segments(request)
    arrays = rows.held()
    if arrays.clusters is None:
        return segments_of_arrays(arrays.label, arrays.score, arrays.by, request, arrays.counts)
    cluster, counts = cluster_numbers(arrays.clusters, len(arrays.label)), arrays.counts

    def take(at: IndexArray) -> ClusteredRows:
        count = None if counts is None else counts[at]
        return cluster_rows(arrays.label[at], arrays.score[at], cluster[at], count=count, limits=ANY_NUMBER)

    return segments_of_rows(len(arrays.label), take, arrays.by, request, counts)


def segment_request(
    by: Any,
    depth: int | None,
    direction: Direction,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> Request:
    """Check what is asked about segments."""
    check_choice("direction", direction, tuple(SIDES))
    check_count("min_rows", min_rows, 1, "segments with fewer rows are pooled or not judged")
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ArgumentError("`cuts` as a mapping of names to numbers", repr(cuts), "pass for example {'age': [30, 60]}")
    names = names_of(by)
    if not names:
        raise ArgumentError("at least one column in `by`", "none", "name the columns that make segments")
    checked = check_depth(min(2, len(names)) if depth is None else depth, len(names))
    return Request(checked, min_rows, dict(cuts or {}), direction)


def names_of(by: Any) -> list[str]:
    """Return the names of the columns that make segments."""
    return list(columns_of(by))


def columns_of_arrays(by: Any) -> dict[str, Any]:
    """Return `by`, beside arrays, as columns by name."""
    columns = columns_of(by)
    if not isinstance(columns, dict) or any(isinstance(values, str) for values in columns.values()):
        expected = "`by` as a mapping of names to columns, beside arrays"
        raise ArgumentError(expected, ", ".join(map(repr, columns)), "pass by={'sex': sex}, with one value per row")
    return columns


def columns_of(by: Any) -> dict[str, Any] | list[str]:
    """Return `by` as columns by name, a text being the name of one, or as a list of names."""
    if isinstance(by, str):
        return [by]
    if isinstance(by, np.ndarray) and by.dtype.kind in "OU" and len(set(by.tolist())) == len(by):
        by = by.tolist()  # names
    elif isinstance(by, np.ndarray) or own_name(by, ""):
        by = {own_name(by, "by"): by}
    elif isinstance(by, list | tuple) and any(map(is_values, by)):
        by = {own_name(one, f"by {i}") if is_values(one) else one: one for i, one in enumerate(by, 1)}
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
