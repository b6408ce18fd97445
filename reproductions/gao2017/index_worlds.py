"""Four worlds in which the probability is a function of one linear index, and the classifiers that are tried there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, rel_entr
from sklearn.linear_model import LogisticRegression

from calibrant.calibrators import IsotonicCalibrator
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import SingleIndexClassifier, true_mse

__all__ = ["DIRECTION", "METHODS", "TRAINING", "TRUTH", "WORLDS", "Judged", "Rows", "draw_rows", "judge_all"]

TRAINING, TEST, FEATURES = 1_500, 30_000, 10
DIRECTION = np.zeros(FEATURES)
DIRECTION[:3] = np.array([1.0, -1.0, 0.5]) / 1.5
SLOPE = 2.5  # limit of the Lipschitz link; the true links of all worlds but the step respect it
TRUTH = "true probabilities"

# The probability as a function of the index, and whether the features are skewed.
WORLDS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], bool]] = {
    "logistic link": (lambda s: expit(2.0 * s), False),
    "step": (lambda s: 0.1 + 0.8 * (s > 0.8), False),
    "asymmetric link": (lambda s: 0.02 + 0.96 * expit(6.0 * (s - 1.0)), False),
    "skewed features": (lambda s: 0.05 + 0.9 * expit(8.0 * (s - 0.5)), True),
}

METHODS: dict[str, dict[str, object]] = {
    "alternating, squared loss": {"loss": "squared"},
    "alternating, log loss": {"loss": "log"},
    "alternating, L-Isotron step": {"update": "matching"},
    f"alternating, squared, slope ≤ {SLOPE}": {"link": "lipschitz", "lipschitz": SLOPE},
    "hinge loss, isotonic": {"loss": "hinge"},
}


class Rows(NamedTuple):
    """Features, labels and true probabilities."""

    X: np.ndarray
    y: np.ndarray
    chance: np.ndarray


class Judged(NamedTuple):
    """What a classifier achieved: c on its training and on test rows, log loss and its excess, MSE, cosine."""

    c_train: float
    c_test: float
    log_loss: float
    log_excess: float
    mse: float
    cosine: float


def draw_rows(rng: np.random.Generator, world: str, n: int) -> Rows:
    """Draw rows of a world."""
    link, skewed = WORLDS[world]
    X = rng.standard_normal((n, FEATURES))
    if skewed:
        X = np.exp(0.8 * X) - np.exp(0.32)
    chance = link(X @ DIRECTION)
    return Rows(X, (rng.random(n) < chance).astype(int), chance)


def _judge(train: Rows, test: Rows, fitted: np.ndarray, predicted: np.ndarray, direction: np.ndarray) -> Judged:
    """Log losses are expected ones, with probabilities kept 1 / (2 n) away from 0 and 1."""
    safe = np.clip(predicted, 0.5 / TRAINING, 1.0 - 0.5 / TRAINING)
    entropy = -float(np.mean(rel_entr(test.chance, 1.0) + rel_entr(1.0 - test.chance, 1.0)))
    excess = float(np.mean(rel_entr(test.chance, safe) + rel_entr(1.0 - test.chance, 1.0 - safe)))
    return Judged(
        cutoff_calibration_error(train.y, fitted),
        cutoff_calibration_error(test.y, predicted),
        entropy + excess,
        excess,
        true_mse(test.chance, predicted),
        float(direction @ DIRECTION / np.linalg.norm(direction)),
    )


def judge_all(rng: np.random.Generator, world: str) -> tuple[dict[str, Judged], dict[str, float]]:
    """Fit and judge every classifier on one sample.

    Returns
    -------
    dict from str to Judged, dict from str to float
        Per classifier; and what concerns the two steps themselves.
    """
    train, test = draw_rows(rng, world, TRAINING), draw_rows(rng, world, TEST)
    judged = {TRUTH: _judge(train, test, train.chance, test.chance, DIRECTION)}
    logistic = LogisticRegression(C=np.inf, max_iter=1_000).fit(train.X, train.y)
    fitted, predicted = (logistic.predict_proba(rows.X)[:, 1] for rows in (train, test))
    judged["logistic regression"] = _judge(train, test, fitted, predicted, logistic.coef_[0])
    isotonic = IsotonicCalibrator(log_safe=False).fit(fitted, train.y)
    calibrated = isotonic.predict(fitted)
    judged["logistic, isotonic"] = _judge(train, test, calibrated, isotonic.predict(predicted), logistic.coef_[0])
    steps = _absolute_loss(train.y, calibrated)
    for method, options in METHODS.items():
        model = SingleIndexClassifier(log_safe=False, **options).fit(train.X, train.y)
        fitted, predicted = (model.predict_proba(rows.X)[:, 1] for rows in (train, test))
        judged[method] = _judge(train, test, fitted, predicted, model.coef_[0] / model.scale_)
        if len(model.losses_) > 1:
            steps[f"largest rise, {method}"] = float(np.diff(model.losses_).max())
        steps[f"turns, {method}"] = float(len(model.losses_) - 1)
    return judged, steps


def _absolute_loss(y: np.ndarray, calibrated: np.ndarray) -> dict[str, float]:
    """Half the hinge loss of 2 u - 1, which is |y - u|: of the best nondecreasing link, and of the isotonic one.

    The best one is the isotonic one rounded to 0 or 1.
    """
    rounded = (calibrated > 0.5).astype(float)
    best, isotonic = float(np.abs(y - rounded).mean()), float(np.abs(y - calibrated).mean())
    return {
        "absolute loss, best": best,
        "absolute loss, isotonic": isotonic,
        "c of the best": cutoff_calibration_error(y, rounded),
    }
