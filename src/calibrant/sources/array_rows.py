"""Rows in arrays, which `calibrant.table.validation` checks, and those of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.segments.totals import Request, SegmentTotals, segments_of_arrays
from calibrant.segments.values import column_values
from calibrant.sources.protocol import Columns, HeldRows, ModelRows, Rows
from calibrant.table import row_errors
from calibrant.table.identifiers import Repeated
from calibrant.table.missing import NOT_KNOWN, Intake, LeftOut, Moments, missing_values, words_for_missing
from calibrant.table.pooling import BoolArray, IntArray
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.validation import PROBABILITIES, CleanRows, clean_rows


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
        names = () if self.columns is None else (self.columns.score, self.columns.label, str(self.columns.weighting))
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
        return ModelRows(self.label, dict(self.scores), self.clusters, self.pos_label, self.left_out)

    def without_gaps(self, words_beside: frozenset[str] = frozenset({""})) -> ArrayRows:
        """Leave out the rows that lack something, and count them; some words are no value of the columns beside."""
        words = {"outcome": words_for_missing(self.pos_label)}
        words |= dict.fromkeys(("score", "weight", "count"), NOT_KNOWN)
        segments = {name: f"value of {name}" for name in self.by}
        words |= dict.fromkeys(segments.values(), words_beside)
        columns = {"outcome": self.label, "score": self.score, "weight": self.weight, "count": self.count}
        columns |= {"cluster": self.clusters}
        columns |= {cause: self.by[name] for name, cause in segments.items()}
        arrays = {cause: _column(values, cause) for cause, values in columns.items() if values is not None}
        if len({len(array) for array in arrays.values()}) > 1:
            lengths = ", ".join(f"{len(array)} of {cause}" for cause, array in arrays.items())
            raise DataError("columns of equal length", lengths, "pass columns of the same table")
        gaps = {cause: missing_values(array, words.get(cause, frozenset({""}))) for cause, array in arrays.items()}
        places = np.flatnonzero(~np.logical_or.reduce(list(gaps.values())))
        scored, outcomes = ~gaps["score"], (~gaps["outcome"], gaps["outcome"])
        known, unknown = (_moments(arrays["score"], scored & of, self.limits) for of in outcomes)
        n = len(arrays["score"])
        causes = {cause: int(gap.sum()) for cause, gap in gaps.items()}
        left_out = LeftOut.of(n - len(places), n, causes, known, unknown)
        if n and not len(places):
            raise row_errors.describe_all_left_out(str(left_out))
        picked = {cause: array[places] for cause, array in arrays.items()}
        names = {"label": "outcome", "score": "score", "weight": "weight", "count": "count", "clusters": "cluster"}
        left: dict[str, Any] = {name: picked.get(cause) for name, cause in names.items()}
        left["by"] = {name: picked[cause] for name, cause in segments.items()}
        return replace(self, **left, left_out=left_out, places=places)


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


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    return np.asarray(values) if len(np.shape(values)) == 2 else column_values(values, name)


def _moments(score: npt.NDArray[Any], rows: BoolArray, limits: tuple[float, float]) -> Moments:
    try:
        values = (score if score.ndim == 1 else score[:, -1])[rows].astype(np.float64)
    except (TypeError, ValueError):  # scores that are no numbers are refused later
        values = np.empty(0)
    values = values[(values >= limits[0]) & (values <= limits[1])]
    n = len(values)
    return Moments.of(n, values.mean() if n else None, values.var(ddof=1) if n > 1 else None)
