"""The rows of an audit, however they were handed over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.auditing.next_steps import Place, place_of
from calibrant.auditing.segment_rows import columns_of
from calibrant.auditing.warnings import RowOrder
from calibrant.errors import ArgumentError, DataError
from calibrant.sources.array_gaps import kept_rows
from calibrant.sources.named_columns import named_columns, rows_in_order
from calibrant.table.arguments import as_table, need_both_classes
from calibrant.table.clusters import ClusteredRows, cluster_rows
from calibrant.table.missing import Intake, LeftOut
from calibrant.table.progress import report_progress, subtask
from calibrant.table.row_errors import renumbered
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_rows

__all__ = ["READ", "AuditedRows", "audited_rows", "without_gaps"]

READ = 0.6  # share of an audit that is the reading of the rows, where they are read


class AuditedRows(NamedTuple):
    """Rows of both classes."""

    table: ScoreTable
    clustered: ClusteredRows | None  # if they may depend on each other
    order: RowOrder | None  # if it is known, and means something
    place: Place
    intake: Intake

    @property
    def all(self) -> ScoreTable | ClusteredRows:
        """The rows with what is known of their dependence."""
        return self.table if self.clustered is None else self.clustered


def audited_rows(
    y_true: Any,
    y_proba: npt.ArrayLike | None,
    *,
    label: str | None,
    score: str | None,
    weight: str | None,
    sample_weight: npt.ArrayLike | None,
    pos_label: Any,
    clusters: Any,
    missing: str,
    by: Sequence[str],
    kept: Kept | None,
) -> AuditedRows:
    """Return the rows that the arguments of `calibrant.audit` stand for, of which some may have been left out."""
    place, in_order, outcome, intake = Place(), (y_true, y_proba), pos_label, None
    if not (label is None and score is None and weight is None):
        if label is None or score is None or y_proba is not None or sample_weight is not None:
            given = {
                "label": label,
                "score": score,
                "weight": weight,
                "y_proba": y_proba,
                "sample_weight": sample_weight,
            }
            raise ArgumentError(
                "the names of both columns, label and score, and no arrays of scores or weights",
                " and ".join(name for name, value in given.items() if value is not None),
                "pass audit(frame, label='y', score='p', weight='w'), or audit(y, p, sample_weight=w)",
            )
        source = y_true
        with subtask(READ):
            found = named_columns(
                source,
                label=label,
                score=score,
                weight=weight,
                clusters=clusters,
                pos_label=pos_label,
                missing=missing,
                by=by,
            )
        place, outcome = place_of(source, found["columns"]), None
        in_order = (None, None) if weight is not None else rows_in_order(source, found["columns"])
        y_true, y_proba, sample_weight, clusters, intake = (
            found.get(name) for name in ("y_true", "y_proba", "sample_weight", "clusters", "intake")
        )
        pos_label = None
    clustered = None
    try:
        if clusters is None:
            table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        else:
            report_progress("Grouping rows by cluster")
            clustered = cluster_rows(y_true, y_proba, clusters, sample_weight=sample_weight, pos_label=pos_label)
            table = clustered.table
    except DataError as error:
        raise error if kept is None else renumbered(error, kept.rows) from None
    need_both_classes(table)
    intake = intake or table.intake
    if kept is not None:
        intake = intake._replace(left_out=kept.left_out)
    order = None
    if in_order[1] is not None and sample_weight is None and weight is None:
        order = RowOrder(*clean_rows(in_order[0], in_order[1], pos_label=outcome)[:2])
    return AuditedRows(table, clustered, order, place, intake)


class Kept(NamedTuple):
    """Arrays given to `calibrant.audit`, without the rows that lack something."""

    y_true: Any
    y_proba: Any
    sample_weight: Any
    clusters: Any
    by: Any
    rows: npt.NDArray[np.int64]  # places of the rows that are left
    left_out: LeftOut


def without_gaps(y_true: Any, y_proba: Any, sample_weight: Any, clusters: Any, by: Any, pos_label: Any) -> Kept:
    """Leave out the rows of arrays that lack something."""
    segments = {} if by is None else columns_of(by)
    named = {f"value of {name}": values for name, values in segments.items()} if isinstance(segments, dict) else {}
    columns = {"outcome": y_true, "score": y_proba, "weight": sample_weight, "cluster": clusters, **named}
    held, rows, left_out = kept_rows({cause: of for cause, of in columns.items() if of is not None}, pos_label)
    weight, cluster = held.get("weight"), held.get("cluster")
    if named:
        by = {name: held[f"value of {name}"] for name in segments}
    return Kept(held["outcome"], held["score"], weight, cluster, by, rows, left_out)
