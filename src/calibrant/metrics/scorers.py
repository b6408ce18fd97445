"""Calibration errors as scorers of scikit-learn, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.metrics.calibration_errors import (
    cutoff_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)


class Scorers(dict[str, Any]):
    """Scorers of scikit-learn by name, minus a calibration error each, so that greater is better.

    They go wherever scikit-learn takes ``scoring``: one of them, all, or some beside scikit-learn's own. The classifier
    needs `predict_proba` and two classes; the error is that of the probability of the second, ``classes_[1]``, also if
    classes are texts. ``sample_weight`` is taken, and routed where ``set_score_request(sample_weight=True)`` asks.

    ==============================  ========================================================================
    neg_cutoff_calibration_error    `cutoff_calibration_error`: no bins
    neg_l1_calibration_error        `expected_calibration_error` in 10 quantile bins: mean distance
    neg_l2_calibration_error        the same: root of the mean square
    neg_max_calibration_error       the same: largest distance
    neg_smooth_calibration_error    `smooth_calibration_error`
    ==============================  ========================================================================

    Notes
    -----
    A calibration error alone is no reason to choose a classifier: a constant at the base rate has nearly none. Choose
    by a proper score, ``"neg_log_loss"`` or ``"neg_brier_score"``, and report these beside it, as ``refit="log_loss"``
    does in the example.

    Errors of few rows are mostly noise, and folds are small: differences between classifiers count, the level does not.

    For other options make a scorer of a metric: ``make_scorer(expected_calibration_error, n_bins=15,
    response_method="predict_proba", greater_is_better=False, pos_label="yes")``.

    The names with "l1", "l2" and "max" are those planned for scikit-learn (its pull request 34261).

    Examples
    --------
    >>> import calibrant as cal
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = GridSearchCV(
    ...     GaussianNB(),
    ...     {"var_smoothing": [1e-9, 1e-3]},
    ...     scoring={**cal.scorers, "log_loss": "neg_log_loss"},
    ...     refit="log_loss",
    ... ).fit(X, y)
    >>> search.cv_results_["mean_test_neg_cutoff_calibration_error"].round(2).tolist()
    [-0.04, -0.08]
    """

    def __init__(self) -> None:
        super().__init__(
            neg_cutoff_calibration_error=_scorer(cutoff_calibration_error),
            neg_l1_calibration_error=_scorer(expected_calibration_error, norm="l1"),
            neg_l2_calibration_error=_scorer(expected_calibration_error, norm="l2"),
            neg_max_calibration_error=_scorer(expected_calibration_error, norm="max"),
            neg_smooth_calibration_error=_scorer(smooth_calibration_error),
        )


def _scorer(metric: Callable[..., float], **options: Any) -> Any:
    from sklearn.metrics import make_scorer

    return make_scorer(
        _of_second_class, response_method="predict_proba", greater_is_better=False, metric=metric, **options
    )


def _of_second_class(
    y_true: Any, y_proba: npt.ArrayLike, *, metric: Callable[..., float], sample_weight: Any = None, **options: Any
) -> float:
    """Measure the probability of the class that comes second in order, which scikit-learn hands over."""
    if np.ndim(y_proba) == 2:
        remedy = "use make_scorer(calibrant.metrics.confidence_calibration_error, response_method='predict_proba', "
        remedy += "greater_is_better=False), of scikit-learn"
        raise DataError("two classes", f"probabilities of {np.shape(y_proba)[1]}", remedy)
    labels = np.asarray(y_true)
    # Texts and other labels that do not say which is the positive class; of one class only, the metric says so.
    classes = set(labels.tolist())
    pos_label = max(classes) if len(classes) == 2 and classes not in ({0, 1}, {-1, 1}) else None
    return metric(labels, y_proba, sample_weight=sample_weight, pos_label=pos_label, **options)


@cache
def _made() -> Scorers:
    return Scorers()


def __getattr__(name: str) -> Scorers:
    if name == "scorers":  # made on first use: scikit-learn takes its time to load
        return _made()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
