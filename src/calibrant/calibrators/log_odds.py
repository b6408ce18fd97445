"""What the calibrators that work on log-odds share: their base class, clipping, targets and the likelihood fit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.errors import DataError
from calibrant.fits.logistic import logistic_fit
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between
from calibrant.table.score_table import FloatArray, ScoreTable
from calibrant.table.validation import need_binary

__all__ = [
    "LogOddsCalibrator",
    "constant_fit",
    "constant_in_words",
    "find_clip",
    "likelihood_fit",
    "log_scores",
    "probability",
    "spread_in_words",
    "target_positives",
]

Clip = tuple[float, float]

_SMALLEST = float(np.finfo(np.float64).tiny)
_MOST = 0.25  # keeps 0 and 1 apart when there is no other score
_LARGEST = 1.0 - 2.0**-53  # the float below 1


class LogOddsCalibrator(Calibrator):
    """Base of the maps whose log-odds are a sum of coefficients times columns made of the score."""

    _COEFFICIENTS: ClassVar[tuple[str, ...]]  # names of the attributes, in the order of the columns

    clip_: Clip

    def __init__(self, *, smooth_targets: bool = True, clip: float | Literal["auto"] = "auto") -> None:
        self.smooth_targets = smooth_targets
        self.clip = clip

    @abstractmethod
    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        """Return the columns; a constant one is the last of several."""

    @property
    def _theta(self) -> FloatArray:
        return np.array([getattr(self, name) for name in self._COEFFICIENTS])

    @_theta.setter
    def _theta(self, theta: FloatArray) -> None:
        for name, value in zip(self._COEFFICIENTS, theta.tolist(), strict=True):
            setattr(self, name, value)

    def _predict(self, scores: FloatArray) -> FloatArray:
        terms = [factor * column for factor, column in zip(self._theta, self._columns(scores), strict=True)]
        return probability(np.asarray(sum(terms[1:], terms[0])))


def spread_in_words(factor: float) -> str:
    """Say what a factor of the log odds says about the scores."""
    if factor < 0.0:
        return "the scores rank the classes the wrong way"
    if factor == 1.0:
        return "their spread was right"
    return "the scores were too extreme" if factor < 1.0 else "the scores were not extreme enough"


def constant_in_words(log_odds: float) -> str:
    """Say what a map without slope does."""
    value = float(probability(np.array([log_odds]))[0])
    return f"Maps every score to {short(value)}: scores tell the classes apart in the wrong order or not at all."


def find_clip(table: ScoreTable, clip: float | Literal["auto"]) -> Clip:
    """Return how far from 0 and from 1 scores are kept before their logarithm is taken.

    "auto" goes half way to the nearest score, as `PlattCalibrator` says. At an end where the sample has no score of
    exactly 0 (or 1) it is limited so that scores beyond the sample are hardly ever clipped.
    """
    if isinstance(clip, str) and clip == "auto":
        return _half_way(table.score[:2], len(table)), _half_way(1.0 - table.score[:-3:-1], len(table))
    remedy = "choose the distance from 0 and 1 at which scores are clipped, or 'auto'"
    distance = max(check_between("clip", clip, 0.0, 0.5, remedy=remedy), _SMALLEST)
    return distance, distance


def _half_way(distance: FloatArray, n_scores: int) -> float:
    """Return the clipping distance from one end, given how far from it the two nearest scores are."""
    at_the_end = int(distance[0] == 0.0)
    nearest = float(distance[at_the_end]) if at_the_end < len(distance) else 1.0
    most = _MOST if at_the_end else min(_MOST, 0.5 / n_scores)
    return max(min(0.5 * nearest, most), _SMALLEST)


def log_scores(score: FloatArray, clip: Clip) -> tuple[FloatArray, FloatArray]:
    """Return ``log(score)`` and ``log(1 - score)`` of the clipped scores."""
    low, high = clip
    with np.errstate(divide="ignore"):
        of_score, of_rest = np.log(score), np.log1p(-score)
    # Logarithms are clipped rather than scores, since 1 - high may round to 1.
    return np.clip(of_score, np.log(low), np.log1p(-high)), np.clip(of_rest, np.log(high), np.log1p(-low))


def probability(logit: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-logit))``, kept strictly between 0 and 1 where that would round to them."""
    small = np.exp(-np.abs(logit))
    plain = np.where(logit >= 0.0, 1.0, small) / (1.0 + small)
    return np.clip(plain, _SMALLEST, _LARGEST)


def target_positives(table: ScoreTable, smooth: bool) -> FloatArray:
    """Return the positives of each row of the table, or what the targets of Platt (1999) add up to.

    These are ``(P + 1) / (P + 2)`` for a positive and ``1 / (N + 2)`` for a negative, where P and N count the
    positives and the negatives: the posterior means of a rate after P successes (N failures) and a uniform prior.
    """
    need_binary(table, "a likelihood is one of labels")
    if not smooth:
        return table.k.astype(np.float64)
    positives, negatives = table.positives, table.total - table.positives
    return table.k * ((positives + 1.0) / (positives + 2.0)) + table.negatives / (negatives + 2.0)


def likelihood_fit(columns: Sequence[FloatArray], table: ScoreTable, positives: FloatArray) -> FloatArray | None:
    """Return the coefficients with the largest likelihood, or None if the columns do not determine them.

    Raises a `DataError` if no finite ones have it.
    """
    fit = logistic_fit(np.stack(columns).T, table.n, positives)
    if fit.status == "collinear":
        return None
    if not fit.converged:
        raise _infinite("classes that the scores separate")
    return fit.coefficients


def constant_fit(table: ScoreTable, positives: FloatArray) -> float:
    """Return the logit of the share of positives, the best constant; a `DataError` if it is infinite."""
    hits = float(positives.sum())
    if not 0.0 < hits < table.total:
        raise _infinite("one class only")
    return math.log(hits / (table.total - hits))


def _infinite(found: str) -> DataError:
    return DataError(
        "labels of both classes at overlapping scores",
        f"{found}, for which no finite parameters have the largest likelihood",
        "leave smooth_targets=True, or fit on more rows",
    )
