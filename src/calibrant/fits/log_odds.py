"""Maps whose log-odds are a sum of coefficients times columns made of the score: Platt, temperature and beta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from calibrant.errors import DataError
from calibrant.fits.logistic import logistic, logistic_fit
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable, need_binary

Clip = tuple[float, float]

# Between these maps that could round to 0 and 1 are kept: the smallest normal float, and the one below 1.
LEAST, MOST = float(np.finfo(np.float64).tiny), 1.0 - 2.0**-53

_FARTHEST = 0.25  # keeps 0 and 1 apart when there is no other score
_LEAST_SPREAD = 1e-150


class LogOddsFamily(NamedTuple):
    """Maps whose log-odds are a sum of coefficients times columns made of the score."""

    columns: Callable[[FloatArray, Clip], list[FloatArray]]
    fit: Callable[[ScoreTable, list[FloatArray], FloatArray], tuple[float, ...]]  # of columns to targets


def find_clip(table: ScoreTable, clip: float | Literal["auto"]) -> Clip:
    """Return how far from 0 and from 1 scores are kept before their logarithm is taken.

    "auto" goes half way to the nearest score, as `PlattCalibrator` says. At an end where the sample has no score of
    exactly 0 (or 1) it is limited so that scores beyond the sample are hardly ever clipped.
    """
    if isinstance(clip, str) and clip == "auto":
        return _half_way(table.score[:2], len(table)), _half_way(1.0 - table.score[:-3:-1], len(table))
    remedy = "choose the distance from 0 and 1 at which scores are clipped, or 'auto'"
    distance = max(check_between("clip", clip, 0.0, 0.5, remedy=remedy), LEAST)
    return distance, distance


def _half_way(distance: FloatArray, n_scores: int) -> float:
    """Return the clipping distance from one end, given how far from it the two nearest scores are."""
    at_the_end = int(distance[0] == 0.0)
    nearest = float(distance[at_the_end]) if at_the_end < len(distance) else 1.0
    most = _FARTHEST if at_the_end else min(_FARTHEST, 0.5 / n_scores)
    return max(min(0.5 * nearest, most), LEAST)


def log_scores(score: FloatArray, clip: Clip) -> tuple[FloatArray, FloatArray]:
    """Return ``log(score)`` and ``log(1 - score)`` of the clipped scores."""
    low, high = clip
    with np.errstate(divide="ignore"):
        of_score, of_rest = np.log(score), np.log1p(-score)
    # Logarithms are clipped rather than scores, since 1 - high may round to 1.
    return np.clip(of_score, np.log(low), np.log1p(-high)), np.clip(of_rest, np.log(high), np.log1p(-low))


def probability(logit: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-logit))``, kept strictly between 0 and 1 where that would round to them."""
    return np.clip(logistic(logit), LEAST, MOST)


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
    if not fit.converged and fit.status != "collinear":
        raise _infinite("classes that the scores separate")
    return fit.coefficients if fit.converged else None


def constant_fit(table: ScoreTable, positives: FloatArray) -> float:
    """Return the logit of the share of positives, the best constant; a `DataError` if it is infinite."""
    hits = float(positives.sum())
    if not 0.0 < hits < table.total:
        raise _infinite("one class only")
    return math.log(hits / (table.total - hits))


def _infinite(classes: str) -> DataError:
    classes = f"{classes}, for which no finite parameters have the largest likelihood"
    remedy = "leave smooth_targets=True, or fit on more rows"
    return DataError("labels of both classes at overlapping scores", classes, remedy)


def temperature_columns(scores: FloatArray, clip: Clip) -> list[FloatArray]:
    """Return what temperature scaling multiplies: the logit."""
    log_score, log_rest = log_scores(scores, clip)
    return [log_score - log_rest]


def platt_columns(scores: FloatArray, clip: Clip) -> list[FloatArray]:
    """Return what slope and intercept multiply: the logit, and 1."""
    return [*temperature_columns(scores, clip), np.ones(len(scores))]


def beta_columns(scores: FloatArray, clip: Clip) -> list[FloatArray]:
    """Return what a, b and c multiply."""
    log_score, log_rest = log_scores(scores, clip)
    return [log_score, -log_rest, np.ones(len(scores))]


def combine(coefficients: Sequence[float], columns: Sequence[FloatArray]) -> FloatArray:
    """Return the probabilities whose log-odds are the sum of coefficients times columns."""
    terms = [factor * column for factor, column in zip(coefficients, columns, strict=True)]
    return probability(np.asarray(sum(terms[1:], terms[0])))


def fit_temperature(table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> tuple[float, ...]:
    """Return the factor of the logit, at least 0; 1 if all scores are 1/2."""
    factor = likelihood_fit(columns, table, positives)
    return (1.0 if factor is None else max(0.0, float(factor[0])),)


def fit_platt(
    table: ScoreTable, columns: list[FloatArray], positives: FloatArray, *, increasing: bool = False
) -> tuple[float, ...]:
    """Return slope and intercept; the slope is 0 where scores are equal, or where it would fall and may not."""
    x = columns[0]
    # No float is a slope over so little; the log-odds of different scores are further apart.
    flat = float(x[-1] - x[0]) < _LEAST_SPREAD
    line = None if flat else likelihood_fit(columns, table, positives)
    if line is None or (increasing and line[0] < 0.0):
        return 0.0, constant_fit(table, positives)
    return tuple(line.tolist())


def fit_beta(table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> tuple[float, ...]:
    """Return a, b and c; a and b are equal where both are free but cannot be told apart."""
    x, z, one = columns
    free = np.ones(2)
    both = likelihood_fit(columns, table, positives)
    if both is not None:
        if (both[:2] >= 0.0).all():
            return tuple(both.tolist())
        free = np.array([0.0, 1.0] if both[0] < 0.0 else [1.0, 0.0])
    line = likelihood_fit([free[0] * x + free[1] * z, one], table, positives)
    if line is None or line[0] < 0.0:
        return 0.0, 0.0, constant_fit(table, positives)
    return (*(free * line[0]).tolist(), float(line[1]))


TEMPERATURE = LogOddsFamily(temperature_columns, fit_temperature)
PLATT = LogOddsFamily(platt_columns, fit_platt)
BETA = LogOddsFamily(beta_columns, fit_beta)
