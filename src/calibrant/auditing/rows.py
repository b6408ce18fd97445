"""The rows of an audit, however they were handed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy.typing as npt

from calibrant.auditing.next_steps import CallTexts, texts_of
from calibrant.auditing.provenance import arguments_of
from calibrant.auditing.segment_rows import check_names, columns_of, segment_request
from calibrant.auditing.warnings import RowOrder
from calibrant.errors import ArgumentError
from calibrant.segments.totals import SegmentTotals
from calibrant.sources.array_rows import ArrayRows, TableRows
from calibrant.sources.columns import Columns
from calibrant.sources.protocol import Rows
from calibrant.sources.rows import is_read, rows_of
from calibrant.table.arguments import as_table, need_both_classes
from calibrant.table.clusters import ClusteredRows
from calibrant.table.missing import Intake
from calibrant.table.parameters import check_choice
from calibrant.table.score_table import ScoreTable

READ = 0.6  # share of an audit that is the reading of the rows, where they are read


class AuditedRows(NamedTuple):
    """Rows of both classes."""

    table: ScoreTable
    clustered: ClusteredRows | None  # if they may depend on each other
    order: RowOrder | None  # if it is known, and means something
    texts: CallTexts
    intake: Intake

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
    pos_label: Any = None,
    clusters: Any = None,
    by: Any = None,
    missing: str = "raise",
) -> Iterator[Rows]:
    """Open the rows that the arguments of `calibrant.audit` stand for."""
    check_choice("missing", missing, ("raise", "drop"))
    segments = {} if by is None else columns_of(by)
    if label is None and score is None and weight is None:
        if isinstance(y_true, ScoreTable) or y_proba is None:
            yield TableRows(as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label))
            return
        if not isinstance(segments, dict):
            wanted = "`by` as a mapping of names to columns, beside arrays of labels and scores"
            raise ArgumentError(wanted, ", ".join(map(repr, segments)), "pass by={'sex': sex}, with one value per row")
        rows = ArrayRows(y_true, y_proba, sample_weight, clusters, segments, pos_label)
        yield rows.without_gaps() if missing == "drop" else rows
        return
    if label is None or score is None or y_proba is not None or sample_weight is not None:
        given = {"label": label, "score": score, "weight": weight, "y_proba": y_proba, "sample_weight": sample_weight}
        raise ArgumentError(
            "the names of both columns, label and score, and no arrays of scores or weights",
            " and ".join(name for name, value in given.items() if value is not None),
            "pass audit(frame, label='y', score='p', weight='w'), or audit(y, p, sample_weight=w)",
        )
    check_names(list(segments), label, score)
    beside = segments if isinstance(segments, dict) else {}
    if beside and is_read(y_true):
        raise _not_in_memory()
    named = (clusters,) if isinstance(clusters, str) else tuple(clusters or ())
    columns = Columns(label, score, weight, pos_label, named, () if beside else tuple(segments), missing)
    with rows_of(y_true, columns) as opened:
        yield _beside(opened, beside) if beside else opened


def _beside(rows: Rows, segments: Mapping[str, Any]) -> ArrayRows:
    """Return rows of a dataframe in memory with columns of segments that are given as arrays."""
    if not isinstance(rows, ArrayRows):
        raise _not_in_memory()
    if rows.left_out is not None:
        wanted = "`by` as names of columns, where missing='drop' leaves out rows of a dataframe"
        raise ArgumentError(wanted, "a mapping", "name columns of the same dataframe")
    return replace(rows, by=segments)


def _not_in_memory() -> ArgumentError:
    return ArgumentError(
        "`by` as names of columns, where rows are not in memory", "a mapping", "name columns of the same source"
    )


def audited_rows(rows: Rows, source: Any, *, grouped: bool) -> AuditedRows:
    """Pool rows, if they are `grouped` by cluster too; `source` is what was passed for them."""
    clustered = rows.clustered() if grouped else None
    table = rows.table() if clustered is None else clustered.table
    need_both_classes(table)
    order = None
    if isinstance(rows, ArrayRows) and rows.weight is None:
        order = RowOrder(*rows.clean[:2])
    return AuditedRows(table, clustered, order, texts_of(source, rows.columns), rows.intake)


def segment_totals(arguments: Mapping[str, Any]) -> SegmentTotals:
    """Add up rows by segment, however they were handed over, with the arguments of `calibrant.audit_segments`."""
    request = segment_request(**arguments_of(segment_request, arguments))
    with given_rows(**arguments_of(given_rows, arguments)) as rows:
        return rows.segments(request)
