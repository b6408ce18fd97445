"""What all maps of scores share: parameters, a fit to a table, and words; and several maps, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.clock import utc_now
from calibrant.errors import ArgumentError, DataError
from calibrant.table.clusters import ClusteredRows
from calibrant.table.pooling import FloatArray, ScoreArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, need_both_classes
from calibrant.typed_json import Checks, Positive, matching, within

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
    _kind: ClassVar[str] = "event"  # of the outcomes that are predicted
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


def interpolate(score: ScoreArray, knot: FloatArray, value: FloatArray) -> FloatArray:
    """Connect values at increasing scores by straight lines; outside of them the map keeps its end values."""
    result = np.asarray(np.interp(score, knot, value), dtype=np.float64)
    steep = ~np.isfinite(result)  # a gap so narrow, near 0, that its slope is beyond float64: there it jumps
    if steep.any():
        result[steep] = value[np.searchsorted(knot, score[steep], side="right") - 1]
    return result


def shortened(table: ScoreTable, groups: int, single: int = 512) -> ScoreTable:
    """Join neighbouring scores to so many groups, each at its mean score, but for the scores at either end.

    These stay single: the lowest and the highest scores weigh more than others in regressions and isotonic fits.
    """
    m = len(table)
    if m <= groups + 2 * single:
        return table
    inner = np.linspace(single, m - single, groups, endpoint=False).astype(np.intp)
    starts = np.concatenate([np.arange(single), inner, np.arange(m - single, m)])
    n = np.add.reduceat(table.n, starts)
    return ScoreTable(np.add.reduceat(table.n * table.score, starts) / n, n, np.add.reduceat(table.k, starts))


@dataclass(init=False, eq=False, repr=False)
class Chain(FittedMap):
    """Fitted maps of which each takes what the one before gives, made by `calibrant.export.compose`.

    Attributes
    ----------
    maps_ : list of calibrators
        The first of them takes the scores.
    trainings_ : list of Training
        The rows that each was fitted to; `training_` is the last one.

    """

    def __init__(self, maps: Sequence[Any] = ()) -> None:
        if maps:
            self.maps_: list[FittedMap] = [
                part for one in maps for part in (one.maps_ if isinstance(one, Chain) else [one])
            ]
            self.trainings_: list[Training] = [one.training_ for one in self.maps_]
            self.training_, self.n_features_in_ = self.trainings_[-1], 1
            if hasattr(self.maps_[0], "feature_names_in_"):
                self.feature_names_in_ = self.maps_[0].feature_names_in_
            for _, expected, holds in self._checks():
                if not holds:
                    both = " and ".join(one._calibrator for one in self.maps_)
                    raise ArgumentError(expected, both, "fit the second one anew to the original scores")

    def _checks(self) -> Checks:
        """Yield what has to hold of the maps, as the layout of a file does."""
        alike = len({one.quantities for one in self.maps_}) == 1 and not any(hasattr(m, "classes_") for m in self.maps_)
        yield "fitted.maps_", "two or more maps of scores, or of predicted means", alike and len(self.maps_) > 1
        by_segment = sum(hasattr(one, "columns_") for one in self.maps_)
        yield "fitted.maps_", "at most one map by segment", by_segment <= 1
        yield "fitted.trainings_", "one for each of fitted.maps_", len(self.trainings_) == len(self.maps_)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """Numbers that all of the maps take."""
        return max((one.domain for one in self.maps_), key=lambda domain: domain.least)

    @property
    def _kind(self) -> str:  # type: ignore[override]
        return self.maps_[0]._kind

    @property
    def quantities(self) -> tuple[str, str, str]:  # type: ignore[override]
        """What is mapped, to what, and many of these."""
        return self.maps_[0].quantities

    @property
    def _calibrator(self) -> str:
        return type(self).__name__

    def predict(self, scores: Any, segments: Any = None) -> FloatArray:
        """Map scores by each map in turn.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores, or predicted means.
        segments : dataframe or mapping, optional
            The columns of a map by segment, if there is one.

        Returns
        -------
        ndarray of float64, shape (n,)
            Calibrated probabilities, or means.
        """
        for one in self.maps_:
            each: Any = one
            scores = each.predict(scores, segments) if hasattr(one, "columns_") else each.predict(scores)
        return scores  # type: ignore[no-any-return]

    def interpret(self) -> str:
        """Say in words what the maps do."""
        return self._in_words()

    def _in_words(self) -> str:
        first, *others = (one._in_words() for one in self.maps_)
        return " ".join([first, *(f"Then: {words}" for words in others)])

    def _falls(self) -> bool:
        return any(one._falls() for one in self.maps_)


def compose(first: FittedMap, then: FittedMap) -> Chain:
    """Return one model of a deployed one, and of another that was fitted to its predictions.

    Parameters
    ----------
    first, then : Calibrator, SegmentCalibrator, MeanCalibrator or Chain
        Fitted: the deployed model, and what comes after it. One of them may be a `SegmentCalibrator`.

    Returns
    -------
    Chain
        Predicts as ``then.predict(first.predict(scores))``, and is saved and exported as other models are.

    Raises
    ------
    ArgumentError
        If one maps scores and the other means, both are by segment, or one is of several classes.

    Notes
    -----
    Exported logistic maps differ from `predict` in the last digit. Where `then` jumps at a probability that `first`
    gives, as trees by segment do, a row may fall on the other side there: 2 to 5 of 3,000 rows, by up to 0.006.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import compose, to_json
    >>> deployed = PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])
    >>> repair = PlattCalibrator().fit(deployed.predict([0.2, 0.5, 0.7]), [0, 0, 1])
    >>> both = compose(deployed, repair)
    >>> both.predict([0.3]) == repair.predict(deployed.predict([0.3]))
    array([ True])
    """
    return Chain([first, then])
