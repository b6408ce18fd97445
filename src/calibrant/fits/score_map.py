"""What all maps of scores share: parameters, a fit to a score table, what was learnt, and that in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.clock import utc_now
from calibrant.errors import DataError
from calibrant.table.clusters import ClusteredRows
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, need_both_classes
from calibrant.typed_json import Positive, matching, within

_MOST_RATIO, _MOST_TOTAL = 1e12, 1e15
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"


@dataclass(frozen=True)
class Training(Result):
    """The rows that a calibrator was fitted to.

    Attributes
    ----------
    n, events : int or float
        Rows and positives among them, or their weight; of real outcomes, rows and those whose outcome is not 0.
    digest : str
        64-bit digest of the rows, the same in any order and from any source: 16 hexadecimal digits.
    date : str
        When the fit was made, in UTC (ISO 8601).
    """

    n: Annotated[int, within(1, 10**300)] | Positive
    events: Annotated[int, within(0, 10**300)] | Annotated[float, within(0.0)]
    digest: Annotated[str, matching("[0-9a-f]{16}", "16 hexadecimal digits")]
    date: Annotated[str, matching(_DATE, "a date such as 2026-11-23T08:15:00Z")]


class Domain(NamedTuple):
    """Numbers that a map takes: the least and the largest, and that in words."""

    least: float
    most: float
    words: str


class FittedMap(ABC):
    """What all fitted maps have, those of the score alone, those by segment, and those of predicted means."""

    domain: ClassVar[Domain] = Domain(0.0, 1.0, "between 0 and 1")
    quantities: ClassVar[tuple[str, str, str]] = ("score", "probability", "probabilities")  # mapped, to what, and many
    training_: Training
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]  # of a fit to a dataframe

    def of_column(self, name: str) -> Self:
        """Remember the column that it was fitted to, as a fit to a dataframe does."""
        self.feature_names_in_ = np.array([name], dtype=object)
        return self

    @property
    def _calibrator(self) -> str:
        """The class of `calibrant.calibrators` that is this map."""
        return type(self).__name__.removesuffix("Calibrator") + "Calibrator"

    @abstractmethod
    def _in_words(self) -> str:
        """Say what the fitted map does, in one or two sentences."""

    def _falls(self) -> bool:
        """Whether it maps a larger score to less, other than by rounding."""
        return False


class ScoreMap(FittedMap):
    """A map from scores to probabilities; a calibrator is one with the manners of scikit-learn.

    A subclass is a dataclass of its parameters. It checks them and learns from a score table in `_fit_table`, and maps
    clean float64 scores in `_predict`. What it learns are attributes that end in an underscore.
    """

    def fit(self, rows: ScoreTable | ClusteredRows, /) -> Self:
        """Fit the map to rows of both classes."""
        need_both_classes(table_of(rows))
        return fit_part(self, rows)

    def predict(self, scores: FloatArray, /) -> FloatArray:
        """Map scores known to be in [0, 1]."""
        return self._predict(scores)

    @abstractmethod
    def _fit_table(self, table: ScoreTable) -> None:
        """Check the parameters and learn the map from a table with at least one row."""

    def _fit_rows(self, rows: ScoreTable | ClusteredRows) -> None:
        """Do the same where rows may belong to clusters, which matter to maps that split the rows."""
        self._fit_table(table_of(rows))

    @abstractmethod
    def _predict(self, scores: FloatArray) -> FloatArray:
        """Map scores known to be in [0, 1]."""


_Kind = TypeVar("_Kind", bound=ScoreMap)


def table_of(rows: ScoreTable | ClusteredRows) -> ScoreTable:
    """Return the table of rows, without their clusters if they have any."""
    return rows.table if isinstance(rows, ClusteredRows) else rows


def training_of(table: ScoreTable) -> Training:
    """Record the rows of a table; of rows with weights as many positives as their weighted rate makes."""
    positives = table.base_rate * table.n_rows if table.weighted else table.positives
    rows, events = (int(count) if table.whole or table.weighted else count for count in (table.n_rows, positives))
    return Training(rows, events, f"{table.digest:016x}", utc_now())


def fit_part(score_map: _Kind, rows: ScoreTable | ClusteredRows) -> _Kind:
    """Fit a map to a part of the rows that `fit` was given, in which one class may be missing; return it."""
    fit_fold(score_map, rows)
    score_map.training_ = training_of(table_of(rows))
    return score_map


def fit_fold(score_map: _Kind, rows: ScoreTable | ClusteredRows) -> _Kind:
    """Fit a map for the rows of a fold, without a record of the rows fitted to: their digest takes its time."""
    _check_weights(table_of(rows))
    score_map._fit_rows(rows)
    score_map.n_features_in_ = 1
    return score_map


def _check_weights(table: ScoreTable) -> None:
    """Refuse weights of which rounding would lose the small ones, and what they stand for."""
    smallest, largest = float(table.n.min()), float(table.n.max())
    if table.whole or (largest <= _MOST_RATIO * smallest and table.total <= _MOST_TOTAL):
        return
    expected = f"weights within a factor of {_MOST_RATIO:g} of each other that add up to at most {_MOST_TOTAL:g}"
    actual = f"weights from {smallest:.3g} to {largest:.3g}, {table.total:.3g} in all"
    raise DataError(expected, actual, "drop rows whose weight is next to nothing, and divide the others by their mean")
