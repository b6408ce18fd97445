"""The contestants, as functions (probabilities, labels, new probabilities) -> new probabilities, recalibrated.

All are used as their packages have them by default; that of Dirichlet calibration is written here, see `dirichlet`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from benchmarks.class_repair.rows import Labels, Numbers

Method = Callable[[Numbers, Labels, Numbers], Any]

NONE, OURS = "no change", "calibrant"


def none(proba: Numbers, label: Labels, new: Numbers) -> Numbers:
    del proba, label
    return new


def ours(proba: Numbers, label: Labels, new: Numbers) -> Numbers:
    import calibrant

    return calibrant.MulticlassAutoCalibrator().fit(proba, label, classes=range(proba.shape[1])).predict(new)


def one_against_rest(proba: Numbers, label: Labels, new: Numbers) -> Numbers:
    """Fit the map of two classes to each class by itself, and divide by the sum."""
    from calibrant.calibrators import AutoCalibrator

    columns = []
    for k in range(proba.shape[1]):
        occurred = label == k
        both = 0 < occurred.sum() < len(label)
        columns.append(AutoCalibrator().fit(proba[:, k], occurred).predict(new[:, k]) if both else new[:, k])
    each = np.column_stack(columns)
    return each / each.sum(axis=1, keepdims=True)


def probmetrics(name: str) -> Method:
    def method(proba: Numbers, label: Labels, new: Numbers) -> Any:
        from probmetrics.calibrators import get_calibrator

        return get_calibrator(name).fit(proba, label).predict_proba(new)

    return method


def netcal(name: str) -> Method:
    def method(proba: Numbers, label: Labels, new: Numbers) -> Any:
        import netcal.scaling

        return getattr(netcal.scaling, name)().fit(proba, label).transform(new)

    return method


def scikit_learn(name: str) -> Method:
    """Calibrate a model that returns the scores, by CalibratedClassifierCV."""

    def method(proba: Numbers, label: Labels, new: Numbers) -> Any:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Given(ClassifierMixin, BaseEstimator):
            def fit(self, x: Numbers, y: Labels) -> Any:
                self.classes_, self.n_features_in_ = np.arange(x.shape[1]), x.shape[1]
                return self

            def predict(self, x: Numbers) -> Labels:
                return x.argmax(axis=1)

            def predict_proba(self, x: Numbers) -> Numbers:
                return x

        model = CalibratedClassifierCV(FrozenEstimator(Given().fit(proba, label)), method=name)
        return model.fit(proba, label).predict_proba(new)

    return method


def dirichlet_weights(log_proba: Numbers, label: Labels, penalty: float) -> Numbers:
    """Minimise what `FullDirichletCalibrator(reg_lambda=penalty, reg_mu=penalty)` of dirichletcal 0.5.3 does.

    The mean log loss of softmax(W log p + b), plus the penalty times the squares of b and of what W has off its
    diagonal (ODIR); W and b are taken relative to the last class, as there.
    """
    n, n_classes = log_proba.shape
    x = np.column_stack([log_proba, np.ones(n)])
    target = np.eye(n_classes)[label]
    punished = np.column_stack([1.0 - np.eye(n_classes), np.ones(n_classes)])

    def objective(flat: Numbers) -> tuple[float, Numbers]:
        free = flat.reshape(n_classes, n_classes + 1)
        weights = free - free[-1]
        log_q = log_softmax(x @ weights.T, axis=1)
        value = -(target * log_q).sum() / n + penalty * (punished * weights**2).sum()
        slope = (np.exp(log_q) - target).T @ x / n + 2.0 * penalty * punished * weights
        slope[-1] -= slope.sum(axis=0)
        return value, slope.ravel()

    start = np.eye(n_classes, n_classes + 1).ravel()
    free = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    weights: Numbers = free.reshape(n_classes, n_classes + 1)
    return weights - weights[-1]


def apply_dirichlet(weights: Numbers, log_proba: Numbers) -> Numbers:
    return softmax(log_proba @ weights[:, :-1].T + weights[:, -1], axis=1)


def dirichlet(proba: Numbers, label: Labels, new: Numbers) -> Numbers:
    """Dirichlet calibration (Kull et al. 2019), its penalty chosen by the log loss in three folds.

    dirichletcal's own fit takes 10 to 20 seconds, most of them to compile, and none if a class is missing.
    """
    fold = np.random.default_rng(0).permutation(len(label)) % 3
    loss = {}
    for penalty in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        loss[penalty] = 0.0
        for i in range(3):
            fit, judge = fold != i, fold == i
            after = apply_dirichlet(dirichlet_weights(np.log(proba[fit]), label[fit], penalty), np.log(proba[judge]))
            loss[penalty] -= np.log(np.maximum(after[np.arange(judge.sum()), label[judge]], 1e-15)).sum()
    best = min(loss, key=loss.__getitem__)
    return apply_dirichlet(dirichlet_weights(np.log(proba), label, best), np.log(new))


_ALL: list[tuple[str, str, Method]] = [  # name, package, function
    (NONE, "numpy", none),
    (OURS, "calibrant", ours),
    ("calibrant, one against rest", "calibrant", one_against_rest),
    ("probmetrics ts-mix", "probmetrics", probmetrics("ts-mix")),
    ("probmetrics svs", "probmetrics", probmetrics("svs")),
    ("probmetrics sms", "probmetrics", probmetrics("sms")),
    ("scikit-learn temperature", "sklearn", scikit_learn("temperature")),
    ("scikit-learn sigmoid", "sklearn", scikit_learn("sigmoid")),
    ("scikit-learn isotonic", "sklearn", scikit_learn("isotonic")),
    ("Dirichlet, ODIR", "scipy", dirichlet),
    ("netcal logistic", "netcal", netcal("LogisticCalibration")),
    ("netcal beta", "netcal", netcal("BetaCalibration")),
    ("netcal temperature", "netcal", netcal("TemperatureScaling")),
    ("venn-abers, by probmetrics", "venn_abers", probmetrics("ivap")),
]


def methods() -> dict[str, Method]:
    """Return the contestants whose package is installed."""
    return {name: method for name, package, method in _ALL if importlib.util.find_spec(package)}
