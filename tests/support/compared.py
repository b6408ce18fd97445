"""Populations in which two models score the same rows, with the true difference of their calibration errors.

The worlds are those where intervals for such a difference go wrong: either error is 0, optima are many, or the models
nearly agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from calibrant.comparing.losses import MEASURES, terms_of

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray, FloatArray]]

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_GRID = np.linspace(-9.0, 9.0, 1801)
_ROWS, _PARTS = 250_000, 4  # behind the numbers of a population


class Compared(NamedTuple):
    """How rates and both scores are drawn, and the errors of the first and the second model; None if to be found."""

    draw: Draw
    errors: tuple[float | None, float | None] = (None, None)


@cache
def _averaged(deviation: float) -> FloatArray:
    return (expit(_GRID[:, None] + deviation * _NODES) * _WEIGHTS).sum(axis=1) / _WEIGHTS.sum()


def averaged(logits: FloatArray, deviation: float) -> FloatArray:
    """Mean of the logistic function of normal variables with these means: a calibrated score of less information."""
    return np.interp(logits, _GRID, _averaged(deviation))


def independent(shift: float) -> Draw:
    """Two models that see one half of the information each; the log-odds of both are off by the shift."""

    def draw(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        a, b = rng.standard_normal((2, n))
        first, second = (expit(logit(averaged(x - 0.5, 1.0)) + shift) for x in (a, b))
        return expit(a + b - 0.5), first, second

    return draw


def logistic(first: Callable[..., FloatArray], second: Callable[..., FloatArray]) -> Draw:
    """Rates that are logistic in two features; the scores are functions of the log-odds, a feature and noise."""

    def draw(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        one, two, noise = rng.standard_normal((3, n))
        odds = one + 0.7 * two - 0.5
        return expit(odds), first(odds, one, noise), second(odds, one, noise)

    return draw


def waves(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores that are too high and too low by turns, and the right ones."""
    score = rng.random(n)
    rate = np.clip(score + 0.12 * np.sin(6.0 * np.pi * score), 0.0, 1.0)
    return rate, score, rate


def constant(rate: float, first: float, second: float) -> Draw:
    """One score each."""

    def draw(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.full(n, rate), np.full(n, first), np.full(n, second)

    return draw


def worlds(n: int) -> dict[str, Compared]:
    """The worlds by name; in some of them the error depends on the number of rows."""
    return {
        "both calibrated": Compared(independent(0.0), (0.0, 0.0)),
        "nested, both calibrated": Compared(
            logistic(lambda odds, one, _: expit(odds), lambda odds, one, _: averaged(one - 0.5, 0.7)), (0.0, 0.0)
        ),
        "equally wrong": Compared(independent(0.5), (0.1073, 0.1073)),
        "second is the first, recalibrated": Compared(
            logistic(lambda odds, one, _: expit(1.5 * odds + 0.3), lambda odds, one, _: expit(odds)), (None, 0.0)
        ),
        "nearly the same, both wrong": Compared(
            logistic(lambda odds, one, _: expit(odds + 0.4), lambda odds, one, noise: expit(odds + 0.4 + 0.05 * noise))
        ),
        "waves": Compared(waves, (None, 0.0)),
        "small error against none": Compared(
            logistic(
                lambda odds, one, _: expit(odds + 2.0 / math.sqrt(n)), lambda odds, one, _: averaged(one - 0.5, 0.7)
            ),
            (None, 0.0),
        ),
        "one score each": Compared(constant(0.5, 0.4, 0.6), (0.1, 0.1)),
    }


def true_differences(world: Compared, costs: tuple[float, float] | None = None) -> dict[str, float]:
    """Differences of the second and the first model in the population, from very many rows with their rates.

    Those of measures that are infinite, or of which the population would have to be known better, are left out.
    """
    parts = [true_differences_of(*world.draw(np.random.default_rng([1, i]), _ROWS), costs) for i in range(_PARTS)]
    found = {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}
    if None not in world.errors:
        found["calibration_error"] = world.errors[1] - world.errors[0]
    return {key: value for key, value in found.items() if np.isfinite(value)}


def true_differences_of(
    rate: FloatArray, first: FloatArray, second: FloatArray, costs: tuple[float, float] | None = None
) -> dict[str, float]:
    """Differences in a population of these rows, each positive with its rate."""
    found = {}
    for name, function in {"calibration_error": _error, "roc_auc": _area}.items():
        found[name] = function(rate, second) - function(rate, first)
    keys = ("brier_score", "log_loss") + (() if costs is None else ("expected_cost", "net_benefit"))
    positive, negative = np.ones(len(rate)), np.zeros(len(rate))
    for key in keys:
        sums = []
        for score in (first, second):
            of_positive, of_negative = (terms_of(MEASURES[key], label, score, costs) for label in (positive, negative))
            with np.errstate(invalid="ignore"):  # of scores of 0 and 1
                sums.append(float((rate * of_positive + (1.0 - rate) * of_negative).mean()))
        found[key] = sums[1] - sums[0]
    return found


def _ordered(rate: FloatArray, score: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    order = np.argsort(score)
    return order, np.flatnonzero(np.append(np.diff(score[order]) > 0.0, True))


def _error(rate: FloatArray, score: FloatArray) -> float:
    order, ends = _ordered(rate, score)
    return float(np.ptp(np.append(0.0, np.cumsum((rate - score)[order])[ends]))) / len(rate)


def _area(rate: FloatArray, score: FloatArray) -> float:
    order, ends = _ordered(rate, score)
    positive, negative = np.cumsum(rate[order])[ends], np.cumsum(1.0 - rate[order])[ends]
    more = np.diff(negative, prepend=0.0)
    return float((np.diff(positive, prepend=0.0) * (negative - 0.5 * more)).sum() / positive[-1] / negative[-1])
