"""Which columns are read, and what may be asked of rows; what a kind of source cannot give, it refuses, saying why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.table.clusters import ClusteredRows, cluster_numbers, cluster_rows
from calibrant.table.identifiers import Repeated
from calibrant.table.missing import NOT_KNOWN, Intake, LeftOut, words_for_missing
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray, ScoreArray
from calibrant.table.progress import report_progress
from calibrant.table.rules import ANY_NUMBER, PROBABILITIES, column_values, repeated
from calibrant.table.score_table import ScoreTable
from calibrant.table.weights import PROVED, both_kinds


@dataclass(frozen=True)
class Columns:
    """The columns to read and what counts as positive.

    Each row stands for `count` equal ones, or has a `weight` that counts no rows.
    `clusters` are read only where rows are kept apart, and `by`, which may be of any type, only where segments are.
    `models` are the scores of all models to compare, `score` among them. If `missing` is "drop", rows without a value
    in one of the columns are left out; else they are refused. Scores are within `limits`.
    """

    label: str
    score: str
    weight: str | None = None
    pos_label: Any = None
    clusters: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    missing: str = "raise"
    count: str | None = None
    models: tuple[str, ...] = ()
    time: str | None = None
    id: str | None = None
    block: str | None = None
    limits: tuple[float, float] = PROBABILITIES

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, ("raise", "drop"))
        if self.weight is not None and self.count is not None:
            raise both_kinds()

    @property
    def weighting(self) -> str | None:
        """The column of weights, whether they count rows or not."""
        return self.count if self.weight is None else self.weight

    @property
    def drops(self) -> bool:
        """Whether rows with a missing value are left out."""
        return self.missing == "drop"

    @property
    def causes(self) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
        """What a row may lack, see `LeftOut.causes`: the columns that hold it, and words that stand for a missing one.

        A cluster is missing only if all of its columns are empty.
        """
        words, empty = words_for_missing(self.pos_label), frozenset({""})
        causes: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {"outcome": ((self.label,), words)}
        others = {"score": self.score, "weight": self.weight, "count": self.count}
        causes |= {cause: (() if name is None else (name,), NOT_KNOWN) for cause, name in others.items()}
        causes |= {f"value of {name}": ((name,), NOT_KNOWN) for name in self.models if name != self.score}
        causes |= {"cluster": (self.clusters, empty)} | {f"value of {name}": ((name,), empty) for name in self.by}
        return {cause: (names, standing) for cause, (names, standing) in causes.items() if names}

    @property
    def of_rows(self) -> dict[str, str]:
        """The columns of scores, labels and, if there are any, weights, of either kind."""
        weights = {} if self.weighting is None else {"weight": self.weighting}
        return {"score": self.score, "label": self.label} | weights

    @property
    def names(self) -> tuple[str, ...]:
        """All names of columns, each once."""
        rows = (self.label, self.score, self.weighting, *self.clusters)
        listed = (*rows, *self.by, *self.models, self.time, self.id, self.block)
        return tuple(dict.fromkeys(name for name in listed if name is not None))


class EngineColumn(NamedTuple):
    """A column of a frame in an engine that makes segments."""

    key: str  # its name in the frame
    name: str
    numeric: bool
    float_: bool  # whether it may hold NaN


class HeldRows(NamedTuple):
    """Checked rows in memory."""

    label: npt.NDArray[Any]  # 0 and 1, or booleans
    score: ScoreArray
    counts: npt.NDArray[Any] | None  # of equal rows; rows with weights are held by nothing
    clusters: Any  # the cluster of each row; None if no column names it
    by: dict[str, Any]  # columns that make segments
    names: Sequence[str] | None = None  # of clusters that are numbers from 0 on, if these are few

    def one_by_one(self) -> HeldRows:
        """Return each row as often as it counts."""
        if self.counts is None:
            return self
        at = repeated(self.counts)
        clusters = None if self.clusters is None else cluster_numbers(self.clusters, len(self.label))[at]
        by = {name: column_values(values, name)[at] for name, values in self.by.items()}
        return HeldRows(self.label[at], self.score[at], None, clusters, by, self.names)


class ModelRows(NamedTuple):
    """Labels and the scores of several models in memory, not all of them checked."""

    label: Any
    scores: dict[str, Any]
    clusters: Any
    pos_label: Any
    left_out: LeftOut | None
    count: Any = None  # equal rows that each stands for


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

    @property
    def repeated(self) -> Repeated | None:
        """A column of identifiers that was not named and has values again; None where clusters are named."""
        return None

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
        further: dict[str, Any] = {"count": rows.counts, "limits": ANY_NUMBER, "names": rows.names}
        return cluster_rows(rows.label, rows.score, rows.clusters, **further)

    def in_order(self, *, missing_labels: bool = False) -> OrderedRows:
        """Return rows in their order, with what says when they were; with `missing_labels` labels may be missing."""
        self._refuse("rows in the order of a file or a query", "rows of another kind", "pass their columns as arrays")

    def _need_counts(self) -> None:
        """Refuse weights that count no rows, where rows are taken one by one."""
        if self.columns is not None and self.columns.weight is not None:
            raise DataError("rows, or a `count` of equal ones", "weights that count no rows", PROVED)

    def _refuse(self, expected: str, given: str, remedy: str) -> NoReturn:
        raise ArgumentError(expected, given, remedy)
