"""What may be asked of rows, and rows in arrays; what a kind of source cannot give, it refuses, saying why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.totals import Request, SegmentTotals, segments_of_arrays
from calibrant.sources.schema import Schema
from calibrant.table import row_errors
from calibrant.table.clusters import ClusteredRows, Repeated, cluster_numbers, cluster_rows
from calibrant.table.missing import EMPTY, Intake, LeftOut, words_for_missing
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.progress import report_progress
from calibrant.table.rules import ANY_NUMBER, PROBABILITIES, PROVED, clean_chances, column_values, kept_rows, repeated
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows, clean_rows

# What a row lacks without a value -> where `ArrayRows` have it.
_ATTRIBUTES = ("label", "score", "weight", "count", "clusters", "chance")
_ROLES = dict(zip(("outcome", "score", "weight", "count", "cluster", "chance"), _ATTRIBUTES, strict=True))


class EngineColumn(NamedTuple):
    """A column of a frame in an engine that makes segments."""

    key: str  # its name in the frame
    name: str
    numeric: bool
    float_: bool  # whether it may hold NaN


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

    schema: Schema | None = None  # where they have names

    @property
    def drawn(self) -> OutcomeTable | None:
        """Rows that were looked at with known chances, one by one; None of others."""
        return None

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
    def arrays(self) -> ArrayRows:
        """Return the rows one by one, with all columns; values of arrays and dataframes are not checked yet."""

    @abstractmethod
    def segments(self, request: Request) -> SegmentTotals:
        """Add up the rows by segment."""

    def held(self) -> ArrayRows:
        """Return the rows one by one, checked: labels 0 and 1, or booleans; refuse weights that count no rows."""
        if self.schema is not None and self.schema.weight is not None:
            raise DataError("rows, or a `count` of equal ones", "weights that count no rows", PROVED)
        return self.arrays().held()

    def clustered(self) -> ClusteredRows:
        """Pool the rows by score and cluster."""
        rows = self.held()
        report_progress("Grouping rows by cluster", 1.0)
        further: dict[str, Any] = {"count": rows.count, "limits": ANY_NUMBER, "names": rows.names}
        return cluster_rows(rows.label, rows.score, rows.clusters, **further)

    def in_order(self, *, missing_labels: bool = False) -> OrderedRows:
        """Return rows in their order, with what says when they were; with `missing_labels` labels may be missing."""
        remedy = "pass their columns as arrays"
        raise ArgumentError("rows in the order of a file or a query", "rows of another kind", remedy)


@dataclass(frozen=True, eq=False)
class ArrayRows(Rows):
    """Labels, scores and further columns in memory, of which values are still to be checked."""

    label: Any
    score: Any
    weight: Any = None
    count: Any = None
    clusters: Any = None
    by: Mapping[str, Any] = field(default_factory=dict)
    pos_label: Any = None
    schema: Schema | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)  # of the models to compare, by name
    left_out: LeftOut | None = None
    places: IntArray | None = None  # of the rows that are here among those given, if some are left out
    limits: tuple[float, float] = PROBABILITIES  # of scores
    repeated: Repeated | None = None
    chance: Any = None  # of having been looked at, over which weights are 1
    smallest_chance: float | None = None
    names: Sequence[str] | None = None  # of clusters that are numbers from 0 on, if these are few

    @cached_property
    def clean(self) -> CleanRows:
        """The values, checked: an error names columns, and rows by their places among those given."""
        names = None if self.schema is None else {"weight": ""} | self.schema.of_rows
        try:
            weight = self.weight
            if self.chance is not None:
                weight = 1.0 / self._chances()
            further: dict[str, Any] = {"sample_weight": weight, "count": self.count}
            further |= {"pos_label": self.pos_label, "limits": self.limits}
            return clean_rows(self.label, self.score, names=names, **further)
        except DataError as error:
            raise error if self.places is None else row_errors.renumbered(error, self.places) from None

    def _chances(self) -> FloatArray:
        try:
            return clean_chances(self.chance, len(self.label), self.smallest_chance)
        except DataError as error:
            if self.schema is None or self.schema.chance is None:
                raise
            raise row_errors.in_column(error, self.schema.chance) from None

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return Intake(self.left_out, self.clean.others)

    @property
    def drawn(self) -> OutcomeTable | None:
        """See `Rows`."""
        if self.chance is None:
            return None
        by = {name: column_values(one, name) for name, one in self.by.items()}
        further = {"cluster": self.clusters, "by": by}
        return drawn_labels(*self.clean[:2], self.chance, self.smallest_chance, **further)

    def table(self) -> ScoreTable:
        """See `Rows`."""
        return replace(ScoreTable.from_clean(self.clean), intake=self.intake)

    def arrays(self) -> ArrayRows:
        """See `Rows`."""
        return self

    def held(self) -> ArrayRows:
        """See `Rows`."""
        label, score, count, _, weights, _ = self.clean
        if weights is not None:
            given = "weights that count no rows: they are taken one by one"
            raise DataError("rows, or a `count` of equal ones", given, PROVED)
        return replace(self, label=label, score=score, count=count, pos_label=None)

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        return segments_of_arrays(self.clean.label, self.clean.score, self.by, request)

    def one_by_one(self) -> ArrayRows:
        """Return each row as often as it counts."""
        if self.count is None:
            return self
        at = repeated(self.count)
        clusters = None if self.clusters is None else cluster_numbers(self.clusters, len(self.label))[at]
        by = {name: column_values(values, name)[at] for name, values in self.by.items()}
        return replace(self, label=self.label[at], score=self.score[at], count=None, clusters=clusters, by=by)

    def without_gaps(self) -> ArrayRows:
        """Leave out the rows that lack something, and count them."""
        further = {name: one for name, one in self.scores.items() if one is not self.score}
        beside = {f"value of {name}": {**self.by, **further}[name] for name in (*self.by, *further)}
        columns = {cause: getattr(self, role) for cause, role in _ROLES.items()} | beside
        words = {"outcome": words_for_missing(self.pos_label)} | {f"value of {name}": EMPTY for name in self.by}
        chosen = kept_rows(columns, "drop", words=words, limits=self.limits)
        roles: dict[str, Any] = {role: chosen.columns.get(cause) for cause, role in _ROLES.items()}
        roles |= {"left_out": chosen.left_out, "places": chosen.places}
        by = {name: chosen.columns[f"value of {name}"] for name in self.by}
        scores = {name: chosen.columns.get(f"value of {name}", roles["score"]) for name in self.scores}
        return replace(self, by=by, scores=scores, **roles)


def drawn_labels(label: Any, score: Any, chance: Any, smallest_chance: float | None, **further: Any) -> OutcomeTable:
    """Return labels and probabilities of rows that were looked at with known chances as amounts of 0 and 1."""
    columns = {"chance": chance, "smallest_chance": smallest_chance, **further}
    settings: dict[str, Any] = {"limits": PROBABILITIES, "relative_to": "exposure"}
    return OutcomeTable.from_outcomes(label, score, **columns, **settings)


@dataclass(frozen=True, eq=False)
class TableRows(Rows):
    """A table, in which rows are no longer told apart."""

    pooled: ScoreTable

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return self.pooled.intake

    def table(self) -> ScoreTable:
        """See `Rows`."""
        return self.pooled

    def arrays(self) -> ArrayRows:
        """See `Rows`."""
        remedy = "a table does not know which row belongs to which cluster or grade, or had which score: pass the rows"
        raise ArgumentError("labels and scores, row by row", "a ScoreTable", remedy)

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        remedy = "pass the rows: a table has no columns"
        raise ArgumentError("rows, with the columns of `by`", "a ScoreTable", remedy)
