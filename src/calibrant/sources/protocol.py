"""What computations may ask of rows, wherever these are; what a kind of source cannot give, it refuses, saying why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources.columns import Columns
from calibrant.table.clusters import ClusteredRows, cluster_rows
from calibrant.table.missing import Intake
from calibrant.table.pooling import FloatArray
from calibrant.table.progress import report_progress
from calibrant.table.score_table import ScoreTable


class HeldRows(NamedTuple):
    """Checked rows in memory."""

    label: npt.NDArray[Any]  # 0 and 1, or booleans
    score: npt.NDArray[np.floating]
    weight: npt.NDArray[Any] | None
    clusters: Any  # the cluster of each row; None if no column names it
    by: dict[str, Any]  # columns that make segments


class ModelRows(NamedTuple):
    """Labels and the scores of several models in memory, not all of them checked."""

    label: Any
    scores: dict[str, Any]
    clusters: Any
    pos_label: Any


class OrderedRows(NamedTuple):
    """Columns of a file, in the order of its rows; those that were not named are None."""

    label: npt.NDArray[Any]  # 0.0 and 1.0 or -1.0 and 1.0, NaN where missing; as text if `pos_label` was given
    score: FloatArray
    time: npt.NDArray[Any] | None  # numbers, or text
    id: npt.NDArray[Any] | None  # whole numbers, or text
    block: npt.NDArray[Any] | None  # text
    file: npt.NDArray[Any] | None  # the name of the file of each row; None for a query and standard input


class Rows(ABC):
    """Rows that were opened, and are checked once, when something is first asked of them."""

    columns: Columns | None = None  # where they have names

    @property
    @abstractmethod
    def intake(self) -> Intake:
        """Rows that were left out, and labels that count as 0 beside the one that was named."""

    @abstractmethod
    def table(self) -> ScoreTable:
        """Pool the rows."""

    @abstractmethod
    def held(self) -> HeldRows:
        """Return the rows one by one, with the columns of clusters and of segments."""

    @abstractmethod
    def segments(self, request: Request) -> SegmentTotals:
        """Add up the rows by segment."""

    @abstractmethod
    def models(self) -> ModelRows:
        """Return labels, and the scores of each model by name."""

    def clustered(self) -> ClusteredRows:
        """Pool the rows by score and cluster."""
        rows = self.held()
        report_progress("Grouping rows by cluster", 1.0)
        return cluster_rows(rows.label, rows.score, rows.clusters, sample_weight=rows.weight)

    def in_order(self, *, missing_labels: bool = False) -> OrderedRows:
        """Return rows in their order, with what says when they were; with `missing_labels` labels may be missing."""
        self._refuse("rows in the order of a file or a query", "rows of another kind", "pass their columns as arrays")

    def _refuse(self, expected: str, found: str, remedy: str) -> NoReturn:
        raise ArgumentError(expected, found, remedy)
