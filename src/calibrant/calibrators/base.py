"""What all calibrators share: one column of scores in, one column of probabilities out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant.distributions.bisection import first_floats
from calibrant.errors import ArgumentError
from calibrant.fits.score_map import FittedMap, ScoreMap
from calibrant.table.clusters import ClusteredRows, Clusters, cluster_numbers, group_rows
from calibrant.table.numbers import html_table
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable, as_table
from calibrant.table.table_sums import TableSums
from calibrant.table.validation import clean_rows, clean_scores


class Interpreted(FittedMap):
    """A fitted map that says in words what it does."""

    def interpret(self) -> str:
        """Say in words what the fitted map does.

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


class Estimator(RegressorMixin, BaseEstimator, Interpreted):  # type: ignore[misc]
    """What calibrators of scores and of predicted means share: how they show themselves, and columns with a name."""

    def inverse(self, p: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return which scores (of means, predictions) correspond to probabilities, such as the limits of rating grades.

        Parameters
        ----------
        p : array-like of shape (n,), or a number
            Probabilities, or means, between the least and the largest that the map gives.

        Returns
        -------
        lower : ndarray of float64, shape (n,)
            The smallest score with ``predict(lower) >= p``: from it on predictions are at least p.
        upper : ndarray of float64, shape (n,)
            The largest score with ``predict(upper) <= p``. Where the map is level at p the two are the ends of that
            piece; where it jumps over p, or no score gives p to the last digit, `upper` is the float before `lower`.

        Raises
        ------
        ArgumentError
            If the map falls somewhere, as local regression, histograms and a negative slope may, or never reaches p.

        Notes
        -----
        Floats are halved by their bits, with what `predict` computes, so that both statements are exact. A logistic map
        may fall by rounding between neighbouring floats, of which any may then be returned.

        Examples
        --------
        >>> from calibrant.calibrators import IsotonicCalibrator
        >>> fitted = IsotonicCalibrator(log_safe=False).fit([0.1, 0.3, 0.5, 0.9], [0, 1, 0, 1])
        >>> lower, upper = fitted.inverse([0.25, 0.5])
        >>> lower.round(6).tolist(), upper.round(6).tolist()
        ([0.2, 0.3], [0.2, 0.5])
        """
        check_is_fitted(self)
        values, mapped = self.quantities[2], cast(Any, self)  # `_predict` comes with a map of scores or of means
        if self._falls():
            raise ArgumentError("a map that never falls", type(self).__name__ + " that does", "fit an isotonic one")
        at = np.asarray(p, dtype=np.float64).ravel()
        limits = self.domain[:2]
        with np.errstate(over="ignore"):  # a mean beyond the largest float is above all that are asked for
            least, most = mapped._predict(np.array(limits))
            outside = ~((at >= least) & (at <= most))
            if outside.any():
                expected = f"{values} between {least!s} and {most!s}, which the map reaches"
                raise ArgumentError(expected, str(at[outside][0]), "leave out what no prediction can be")
            lower = first_floats(lambda score: mapped._predict(score) >= at, *limits, len(at))
            above = first_floats(lambda score: mapped._predict(score) > at, *limits, len(at))
        return lower.view(np.float64), (above - 1).view(np.float64)

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

    def _remember_column(self, column: Any, *, reset: bool = True) -> None:
        """Remember the name of a column that has one, or check that it is the same."""
        if _is_column(column):
            validate_data(self, column, skip_check_array=True, reset=reset)
        elif reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.positive_only = True
        return tags


class Calibrator(Estimator, ScoreMap):
    """Base of the calibrators, which are scikit-learn regressors on one column, as its `IsotonicRegression` is.

    A subclass takes from another base, a `ScoreMap`, its parameters, how it learns, and how it maps scores.
    """

    def fit(
        self,
        scores: npt.ArrayLike | ScoreTable | ClusteredRows,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        count: npt.ArrayLike | None = None,
        pos_label: Any = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), ScoreTable, or ClusteredRows
            Scores in [0, 1], or a table that holds scores and labels, or with clusters too. The cells of an inexact
            table are treated as rows at their mean score.
        y, sample_weight, count, pos_label
            Labels, weights, of which only the ratios matter, or numbers of equal rows, as in `ScoreTable.from_scores`;
            not with a table.
        groups : array-like of shape (n,), optional
            Cluster of each row, such as the patient: rows of one may depend on each other. Where a fit splits rows, as
            that of `AutoCalibrator` does, clusters stay whole; fits that do not are the same without. Not with a table.

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
        rows: ScoreTable | ClusteredRows
        weights: dict[str, Any] = {"sample_weight": sample_weight, "count": count, "pos_label": pos_label}
        if isinstance(scores, TableSums | ClusteredRows):
            if groups is not None:
                remedy = "a table does not know which row belongs to which: pass the rows"
                raise ArgumentError("labels and scores together with groups", "a table", remedy)
            table = scores.table if isinstance(scores, ClusteredRows) else scores  # an `OutcomeTable` is refused
            table = as_table(table, y, **weights)
            rows = scores if isinstance(scores, ClusteredRows) else table
        elif y is None:
            raise ArgumentError("labels for the scores", "none", "pass y as second argument")
        elif groups is not None:
            clean = clean_rows(y, scores, **weights)
            rows = group_rows(clean, cluster_numbers(groups, len(clean.label)), groups)
        else:
            rows = as_table(y, scores, **weights)
        super().fit(rows)
        self._remember_column(scores)
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

    def _clean(self, scores: npt.ArrayLike) -> FloatArray:
        """Check that the calibrator is fitted, and the scores and the name of their column."""
        check_is_fitted(self)
        clean = clean_scores(scores).astype(np.float64, copy=False)
        self._remember_column(scores, reset=False)
        return clean


def _is_column(scores: Any) -> bool:
    """Whether scores are a two-dimensional array or a dataframe of one column."""
    shape: tuple[int, ...] = getattr(scores, "shape", ())
    return len(shape) == 2 and shape[1] == 1
