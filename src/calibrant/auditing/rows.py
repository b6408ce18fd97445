"""The rows of an audit, however they were handed over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from calibrant.auditing.next_steps import Place, place_of
from calibrant.auditing.warnings import RowOrder
from calibrant.errors import ArgumentError
from calibrant.ingest.named_columns import named_columns, rows_in_order
from calibrant.table.arguments import as_table, need_both_classes
from calibrant.table.clusters import ClusteredRows, cluster_rows
from calibrant.table.progress import portion, tell
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_rows

__all__ = ["READ", "AuditedRows", "audited_rows"]

READ = 0.6  # share of an audit that is the reading of the rows, where they are read


class AuditedRows(NamedTuple):
    """Rows of both classes."""

    table: ScoreTable
    clustered: ClusteredRows | None  # if they may depend on each other
    order: RowOrder | None  # if it is known, and means something
    place: Place

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
) -> AuditedRows:
    """Return the rows that the arguments of `calibrant.audit` stand for."""
    place, in_order, outcome = Place(), (y_true, y_proba), pos_label
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
        with portion(0.0, READ):
            found = named_columns(
                source, label=label, score=score, weight=weight, clusters=clusters, pos_label=pos_label
            )
        place, in_order = place_of(source, label, score, weight, pos_label), rows_in_order(source, label, score)
        y_true, y_proba, sample_weight, clusters, pos_label = (
            found.get(name) for name in ("y_true", "y_proba", "sample_weight", "clusters", "pos_label")
        )
    clustered = None
    if clusters is None:
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    else:
        tell("Grouping rows by cluster", READ)
        clustered = cluster_rows(y_true, y_proba, clusters, sample_weight=sample_weight, pos_label=pos_label)
        table = clustered.table
    need_both_classes(table)
    order = None
    if in_order[1] is not None and sample_weight is None and weight is None:
        order = RowOrder(*clean_rows(in_order[0], in_order[1], pos_label=outcome)[:2])
    return AuditedRows(table, clustered, order, place)
