"""Rows in arrays, which `calibrant.table.validation` checks, and those of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from calibrant.errors import DataError
from calibrant.segments.totals import Request, SegmentTotals, segments_of_arrays
from calibrant.sources.protocol import Columns, HeldRows, ModelRows, Rows
from calibrant.table import row_errors
from calibrant.table.identifiers import Repeated
from calibrant.table.missing import EMPTY, Intake, LeftOut, words_for_missing
from calibrant.table.pooling import IntArray
from calibrant.table.rules import PROBABILITIES, kept_rows
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.validation import CleanRows, clean_rows


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
    columns: Columns | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)  # of the models to compare, by name
    left_out: LeftOut | None = None
    places: IntArray | None = None  # of the rows that are here among those given, if some are left out
    limits: tuple[float, float] = PROBABILITIES  # of scores
    repeated: Repeated | None = None

    @cached_property
    def clean(self) -> CleanRows:
        """The values, checked: an error names columns, and rows by their places among those given."""
        names = None if self.columns is None else {"weight": ""} | self.columns.of_rows
        try:
            further: dict[str, Any] = {"sample_weight": self.weight, "count": self.count}
            further |= {"pos_label": self.pos_label, "limits": self.limits}
            return clean_rows(self.label, self.score, names=names, **further)
        except DataError as error:
            raise error if self.places is None else row_errors.renumbered(error, self.places) from None

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return Intake(self.left_out, self.clean.others)

    def table(self) -> ScoreTable:
        """See `Rows`."""
        return replace(ScoreTable.from_clean(self.clean), intake=self.intake)

    def held(self) -> HeldRows:
        """See `Rows`."""
        need_counts(self.table(), "they are taken one by one")
        return HeldRows(*self.clean[:3], self.clusters, dict(self.by))

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        return segments_of_arrays(self.clean.label, self.clean.score, self.by, request)

    def models(self) -> ModelRows:
        """See `Rows`."""
        return ModelRows(self.label, dict(self.scores), self.clusters, self.pos_label, self.left_out, self.count)

    def without_gaps(self) -> ArrayRows:
        """Leave out the rows that lack something, and count them."""
        further = {name: one for name, one in self.scores.items() if one is not self.score}
        beside = {f"value of {name}": {**self.by, **further}[name] for name in (*self.by, *further)}
        columns = {"outcome": self.label, "score": self.score, "weight": self.weight, "count": self.count}
        columns |= {"cluster": self.clusters} | beside
        words = {"outcome": words_for_missing(self.pos_label)} | {f"value of {name}": EMPTY for name in self.by}
        chosen = kept_rows(columns, "drop", words=words, limits=self.limits)
        label, score, weight, count, clusters, *others = chosen.named(*columns)
        by = dict(zip(self.by, others, strict=False))
        scores = {name: chosen.columns.get(f"value of {name}", score) for name in self.scores}
        values = (label, score, weight, count, clusters, by, self.pos_label, self.columns, scores)
        return ArrayRows(*values, chosen.left_out, chosen.places, self.limits, self.repeated)


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

    def held(self) -> HeldRows:
        """See `Rows`."""
        remedy = "a table does not know which row belongs to which cluster or grade: pass the rows"
        self._refuse("labels and scores, row by row", "a ScoreTable", remedy)

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        self._refuse("rows, with the columns of `by`", "a ScoreTable", "pass the rows: a table has no columns")

    def models(self) -> ModelRows:
        """See `Rows`."""
        remedy = "pass the rows: a table does not know which row had which score"
        self._refuse("labels, and the scores of the models", "a ScoreTable", remedy)
