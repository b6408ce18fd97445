"""What is compared: recalibrators of other packages as functions (scores, labels, new scores) -> probabilities."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable

import numpy as np

Method = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def two_columns(score: np.ndarray) -> np.ndarray:
    """Return scores as the probabilities of both classes."""
    return np.column_stack([1.0 - score, score])


def none(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Leave the scores alone."""
    del score, label
    return new


def sklearn_isotonic(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Fit scikit-learn's isotonic regression, as CalibratedClassifierCV does."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(score, label).predict(new)


def sklearn_method(name: str) -> Method:
    """Fit "sigmoid" or "temperature" of scikit-learn's CalibratedClassifierCV to a model that returns the scores."""

    def method(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Given(ClassifierMixin, BaseEstimator):
            classes_ = np.array([0, 1])
            n_features_in_ = 1

            def fit(self, x: np.ndarray, y: np.ndarray) -> object:
                self.fitted_ = True
                return self

            def predict(self, x: np.ndarray) -> np.ndarray:
                return (x[:, 0] >= 0.5).astype(int)

            def predict_proba(self, x: np.ndarray) -> np.ndarray:
                return two_columns(x[:, 0])

        model = CalibratedClassifierCV(FrozenEstimator(Given().fit(score, label)), method=name)
        return model.fit(score[:, None], label.astype(int)).predict_proba(new[:, None])[:, 1]

    return method


def betacal(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Fit betacal's three parameters."""
    from betacal import BetaCalibration

    return BetaCalibration(parameters="abm").fit(score[:, None], label).predict(new[:, None])


def venn_abers(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Fit the inductive Venn-Abers predictor of venn-abers, its two probabilities merged into one."""
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(two_columns(score), label.astype(int))
    return model.predict_proba(two_columns(new))[0][:, 1]


def probmetrics(name: str) -> Method:
    """Fit a calibrator of probmetrics."""

    def method(score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
        from probmetrics.calibrators import get_calibrator

        model = get_calibrator(name)
        model.fit(two_columns(score), label.astype(int))
        return np.asarray(model.predict_proba(two_columns(new)))[:, 1]

    return method


PEERS: dict[str, tuple[str, Method]] = {
    "none": ("numpy", none),
    "scikit-learn isotonic": ("sklearn", sklearn_isotonic),
    "scikit-learn sigmoid": ("sklearn", sklearn_method("sigmoid")),
    "scikit-learn temperature": ("sklearn", sklearn_method("temperature")),
    "betacal": ("betacal", betacal),
    "venn-abers": ("venn_abers", venn_abers),
    "probmetrics svs": ("probmetrics", probmetrics("svs")),
    "probmetrics quadratic-scaling": ("probmetrics", probmetrics("quadratic-scaling")),
    "probmetrics logistic": ("probmetrics", probmetrics("logistic")),
}


def peers() -> dict[str, Method]:
    """Return the methods whose package is installed."""
    return {name: method for name, (package, method) in PEERS.items() if importlib.util.find_spec(package)}


def quiet(method: Method, score: np.ndarray, label: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Call a method without its warnings, which are many and not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.clip(np.asarray(method(score, label, new), dtype=float), 0.0, 1.0)
