"""Isotonic calibration with ties pooled, safe for the log loss."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from calibrant.core.parameters import check_choice
from calibrant.core.pava import IsotonicFit, isotonic_fit
from calibrant.core.table import FloatArray, ScoreTable, as_table
from calibrant.core.validate import clean_scores
from calibrant.errors import ArgumentError

__all__ = ["IsotonicCalibrator"]


class IsotonicCalibrator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Best nondecreasing map from scores to probabilities (pool adjacent violators).

    Equal scores are pooled before the fit, without which the guarantees of Gao et al. (2017), Claim 5, fail.

    Parameters
    ----------
    interpolation : {"linear", "step"}, default="linear"
        Between neighbouring blocks: a straight line, or a jump at the first score of the next block. Both keep
        the fitted value at every score of the sample.
    log_safe : bool, default=True
        Keep all probabilities strictly between 0 and 1 by adding half a positive before the first score and half
        a negative after the last. The calibration error on the sample is then below ``1 / (2 n)`` instead of 0.

    Attributes
    ----------
    fit_ : IsotonicFit
        Blocks of scores with their probabilities.
    n_features_in_ : int
        1.

    References
    ----------
    Ayer, Brunk, Ewing, Reid & Silverman (1955). An empirical distribution function for sampling with incomplete
    information. Gao, Parameswaran & Peng (2017), Algorithm 1.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> scores, y = [0.1, 0.3, 0.3, 0.8], [0, 1, 0, 1]
    >>> IsotonicCalibrator(log_safe=False).fit(scores, y).predict([0.0, 0.3, 0.55, 0.9]).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """

    def __init__(self, *, interpolation: Literal["linear", "step"] = "linear", log_safe: bool = True) -> None:
        self.interpolation = interpolation
        self.log_safe = log_safe

    def fit(
        self,
        scores: npt.ArrayLike | ScoreTable,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), or ScoreTable
            Scores in [0, 1], or a table that holds scores and labels.
        y : array-like of shape (n,)
            Labels; None with a table.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        IsotonicCalibrator
            Itself.

        Raises
        ------
        DataError
            If the rows cannot be used. A sample of one class is accepted: the map is then a constant.
        """
        check_choice("interpolation", self.interpolation, ("linear", "step"))
        if isinstance(scores, ScoreTable):
            table = as_table(scores, y, sample_weight=sample_weight)
        elif y is None:
            raise ArgumentError("labels for the scores", "none", "pass y as second argument")
        else:
            table = as_table(y, scores, sample_weight=sample_weight)
        self.fit_: IsotonicFit = isotonic_fit(table, log_safe=self.log_safe)
        self.n_features_in_ = 1
        return self

    def predict(self, scores: npt.ArrayLike) -> FloatArray:
        """Map scores to probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores in [0, 1]; outside the range of the sample the end values are used.

        Returns
        -------
        ndarray of float64, shape (n,)
            Calibrated probabilities.
        """
        check_is_fitted(self)
        clean = clean_scores(scores).astype(np.float64, copy=False)
        return self.fit_.linear(clean) if self.interpolation == "linear" else self.fit_.step(clean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.positive_only = True
        return tags
