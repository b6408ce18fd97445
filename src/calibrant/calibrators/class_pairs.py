"""Scores of a fitted classifier of several classes, and a calibrator fitted to all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from calibrant.calibrators.classes import MulticlassAutoCalibrator
from calibrant.calibrators.margins import Margins
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.softmax import softmax
from calibrant.table.class_checks import clean_probabilities
from calibrant.table.class_scores import ClassScores
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.rules import weighting_of

_MOST_REPEATED = 1 << 25  # probabilities up to which rows that count several are repeated
# Neighbouring scores that differ by less than this share of the larger one are taken as equal before a fit: rounding
# in a product of matrices or a sum over trees parts equal rows by 1e-16 to 1e-13.
_ROUNDING = 1e-12


def raw_response(estimator: Any, features: Any) -> FloatArray:
    """Return probabilities or margins, as the estimator gives them."""
    method = getattr(estimator, "predict_proba", None) or getattr(estimator, "decision_function", None)
    if method is None:
        expected = "an estimator with predict_proba or decision_function"
        raise ArgumentError(expected, type(estimator).__name__, "use a classifier")
    return np.asarray(method(features), dtype=np.float64)


def class_responses(estimator: Any, features: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Return probabilities or margins of all classes, shape (n, K); NaN for those that the estimator has not met."""
    response = raw_response(estimator, features)
    if response.ndim == 1:  # margins of the second of two classes
        response = np.column_stack([-0.5 * response, 0.5 * response])
    known = list(estimator.classes_)
    if response.shape[1] != len(known):
        actual = f"{response.shape[1]} of {type(estimator).__name__}"
        raise DataError(f"a column for each of {len(known)} classes", actual, "use decision_function_shape='ovr'")
    if not np.isfinite(response).all():
        raise DataError("finite scores from the estimator", "nan or infinity", "check the estimator")
    column = {label: k for k, label in enumerate(known)}
    unmet = np.full(len(response), np.nan)
    return np.stack([response[:, column[label]] if label in column else unmet for label in classes.tolist()], axis=1)


def fit_to_classes(
    calibrator: MulticlassAutoCalibrator,
    classes: npt.NDArray[Any],
    response: FloatArray,
    margins: Margins | None,
    label: npt.NDArray[np.intp],
    weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    group: npt.NDArray[np.int64] | None = None,
) -> MulticlassAutoCalibrator:
    """Fit a calibrator to responses of a classifier; `label` says which class each row is of, `group` its cluster.

    Rows of a class that the estimator of their fold has not met say nothing about its scores, and are left out.
    """
    of_rows, weights = weighting_of(weight, count, len(label))
    if weights is not None and of_rows is not None:
        of_rows = weights.in_units(of_rows)
    use = ~np.isnan(response[np.arange(len(label)), label])
    if of_rows is not None:
        use &= of_rows > 0
    if not use.any():
        remedy = "use fewer or larger folds"
        raise DataError("rows of classes that the training rows of their fold have", "none", remedy)
    scores, label, group = class_scores(response[use], margins), label[use], None if group is None else group[use]
    scores = joined(scores.ravel()).reshape(scores.shape)
    if of_rows is not None:
        of_rows = of_rows[use]
        if of_rows.dtype.kind == "i" and of_rows.sum() * len(classes) <= _MOST_REPEATED:
            group = None if group is None else group.repeat(of_rows)
            scores, label, of_rows = scores.repeat(of_rows, axis=0), label.repeat(of_rows), None
    order = score_order(*scores.T, label, *(() if of_rows is None else (of_rows,)))
    sorted_weights = None if of_rows is None else of_rows[order].astype(np.float64)
    table = ClassScores(tuple(classes.tolist()), label[order], scores[order])
    fitted: MulticlassAutoCalibrator = clone(calibrator).fit_scores(
        table, sorted_weights, None if group is None else group[order]
    )
    return fitted


def class_scores(response: FloatArray, margins: Margins | None) -> FloatArray:
    """Return scores that add up to 1 in every row, of probabilities or of margins."""
    if margins is not None:
        return softmax(np.where(np.isnan(response), -np.inf, margins.log_odds(response)))
    proba = np.nan_to_num(response, nan=0.0)
    return clean_probabilities(np.where(proba > -1e-6, np.maximum(proba, 0.0), proba))[0]


def joined(score: FloatArray) -> FloatArray:
    """Return scores of which those that only rounding parts are equal: to the lowest of them, where a step begins."""
    order = score_order(score)
    ordered = score[order]
    new = ~(np.diff(ordered, prepend=-1.0) <= _ROUNDING * ordered)  # NaN joins nothing and is refused by the fit
    result = np.empty_like(score)
    result[order] = ordered[new][np.cumsum(new) - 1]
    return result
