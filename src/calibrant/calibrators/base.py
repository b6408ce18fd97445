"""What all calibrators share: one column of scores in, one column of probabilities out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant.clock import utc_now
from calibrant.errors import ArgumentError, DataError
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, as_table, need_both_classes
from calibrant.table.shown import html_table
from calibrant.table.validation import clean_scores
from calibrant.typed_json import Positive, matching, within

_MOST_RATIO, _MOST_TOTAL = 1e12, 1e15
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"


@dataclass(frozen=True)
class Training(Result):
    """The rows that a calibrator was fitted to.

    Attributes
    ----------
    n, events : int or float
        Rows and positives among them, or their weight.
    digest : str
        64-bit digest of the rows, the same in any order and from any source: 16 hexadecimal digits.
    date : str
        When the fit was made, in UTC (ISO 8601).
    """

    n: Annotated[int, within(1, 10**300)] | Positive
    events: Annotated[int, within(0, 10**300)] | Annotated[float, within(0.0)]
    digest: Annotated[str, matching("[0-9a-f]{16}", "16 hexadecimal digits")]
    date: Annotated[str, matching(_DATE, "a date such as 2026-11-23T08:15:00Z")]


class Calibrator(RegressorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the calibrators, which are scikit-learn regressors on one column, as its `IsotonicRegression` is.

    A subclass stores its parameters in `__init__`, checks them and learns from a score table in `_fit_table`, and maps
    clean float64 scores in `_predict`. What it learns are attributes that end in an underscore; `training_`
    (`Training`) is one of all, and `_in_words` says what the map does.
    """

    def fit(
        self,
        scores: npt.ArrayLike | ScoreTable,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        pos_label: Any = None,
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), or ScoreTable
            Scores in [0, 1], or a table that holds scores and labels. The cells of an inexact table are treated as rows
            at their mean score.
        y, sample_weight, pos_label
            Labels and weights as in `ScoreTable.from_scores`; not with a table.

        Returns
        -------
        Calibrator
            Itself.

        Raises
        ------
        DataError
            If the rows cannot be used, for instance because all are of one class.
        ArgumentError
            If a parameter of the calibrator is out of range.
        """
        if isinstance(scores, ScoreTable):
            table = as_table(scores, y, sample_weight=sample_weight, pos_label=pos_label)
        elif y is None:
            raise ArgumentError("labels for the scores", "none", "pass y as second argument")
        else:
            table = as_table(y, scores, sample_weight=sample_weight, pos_label=pos_label)
        need_both_classes(table)
        fit_part(self, table)
        if _is_column(scores):
            validate_data(self, scores, skip_check_array=True)  # remembers the name of the column
        return self

    def predict(self, scores: npt.ArrayLike) -> FloatArray:
        """Map scores to probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores in [0, 1].

        Returns
        -------
        ndarray of float64, shape (n,)
            Calibrated probabilities.
        """
        return self._predict(self._clean(scores))

    def interpret(self) -> str:
        """Say in words what the fitted map does to scores.

        Returns
        -------
        str
            One or two sentences.

        Examples
        --------
        >>> from calibrant.calibrators import PlattCalibrator
        >>> fitted = PlattCalibrator(smooth_targets=False).fit([0.1] * 4 + [0.9] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
        >>> fitted.interpret()
        'Multiplies the log odds by 0.5: the scores were too extreme.'
        """
        check_is_fitted(self)
        return self._in_words()

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The diagram of scikit-learn, where it is switched on, and what a fitted map does."""
        diagram: Callable[[], str] = super()._repr_html_
        return lambda: diagram() + self._fitted_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What notebooks ask for first."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self._repr_html_()} if "text/html" in bundle else bundle

    def _fitted_html(self) -> str:
        if not hasattr(self, "training_"):
            return ""
        facts = {"Map": self.interpret(), "Rows": self.training_.n, "Positives": self.training_.events}
        return html_table("Fitted", facts.items())

    def _clean(self, scores: npt.ArrayLike) -> FloatArray:
        """Check that the calibrator is fitted, and the scores and the name of their column."""
        check_is_fitted(self)
        clean = clean_scores(scores).astype(np.float64, copy=False)
        if _is_column(scores):
            validate_data(self, scores, skip_check_array=True, reset=False)
        return clean

    @abstractmethod
    def _fit_table(self, table: ScoreTable) -> None:
        """Check the parameters and learn the map from a table with at least one row."""

    @abstractmethod
    def _predict(self, scores: FloatArray) -> FloatArray:
        """Map scores known to be in [0, 1]."""

    @abstractmethod
    def _in_words(self) -> str:
        """Say what the fitted map does, in one or two sentences."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.positive_only = True
        return tags


_Kind = TypeVar("_Kind", bound=Calibrator)


def fit_part(calibrator: _Kind, table: ScoreTable) -> _Kind:
    """Fit a calibrator to a part of the rows that `fit` was given, in which one class may be missing; return it."""
    _check_weights(table)
    calibrator._fit_table(table)
    count = int if table.whole else float
    calibrator.training_ = Training(count(table.total), count(table.positives), f"{table.digest:016x}", utc_now())
    calibrator.n_features_in_ = 1
    return calibrator


def _check_weights(table: ScoreTable) -> None:
    """Refuse weights of which rounding would lose the small ones, and what they stand for."""
    smallest, largest = float(table.n.min()), float(table.n.max())
    if table.whole or (largest <= _MOST_RATIO * smallest and table.total <= _MOST_TOTAL):
        return
    expected = f"weights within a factor of {_MOST_RATIO:g} of each other that add up to at most {_MOST_TOTAL:g}"
    actual = f"weights from {smallest:.3g} to {largest:.3g}, {table.total:.3g} in all"
    raise DataError(expected, actual, "drop rows whose weight is next to nothing, and divide the others by their mean")


def _is_column(scores: Any) -> bool:
    """Whether scores are a two-dimensional array or a dataframe of one column."""
    shape: tuple[int, ...] = getattr(scores, "shape", ())
    return len(shape) == 2 and shape[1] == 1
