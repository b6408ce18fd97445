"""A linear pool of maps and the identity, weighed by how well they predict rows they were not fitted to.

Such a mean is known as a linear pool (Stone 1961), such weighing as stacking (Wolpert 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np

from calibrant.fits import log_odds
from calibrant.fits.isotonic import isotonic_fit
from calibrant.fits.log_odds import LEAST, MOST, LogOddsFamily
from calibrant.table.pooling import FloatArray, NumberArray, distinct_numbers
from calibrant.table.score_table import ScoreTable

_PRIOR = 0.25  # rows, for each member
_MANY = 100_000  # rows above which one part is held out instead of every fold in turn
_ENOUGH = 20_000  # rows in that part
_SEPARATE = 4096  # distinct scores up to which each is kept
_CELLS = 1024  # runs of neighbours with equally many rows, and about as many of equal width in log-odds
_LOG_ODDS = 30.0  # up to which runs have that width
_PRECISION = 1e-9  # distance from the largest log likelihood, in nats, about
_MOST_STEPS = 200


class PooledMap(Protocol):
    """What can be pooled: a fitted map of scores."""

    def predict(self, scores: FloatArray, /) -> FloatArray:
        """Map scores."""


Member = TypeVar("Member", bound=PooledMap)
Fit = Callable[[ScoreTable], Member]
Seed = int | np.random.Generator


@dataclass(frozen=True, eq=False)
class Pool(Generic[Member]):
    """The weighted mean of the identity, which is the first, and of maps."""

    names: list[str]
    weights: FloatArray
    maps: list[Member]
    decision: Literal["pooled", "left alone"]
    reason: str
    gain: float

    def predict(self, scores: FloatArray) -> FloatArray:
        """Map scores."""
        if self.decision == "left alone":
            return scores.copy()
        value = self.weights[0] * scores
        # One product after the other: a matrix product may add them up in another order for other numbers of scores.
        for weight, member in zip(self.weights[1:], self.maps, strict=True):
            value = value + weight * member.predict(scores)
        return np.asarray(np.clip(value, LEAST, MOST))


def fit_pool(
    table: ScoreTable, names: Sequence[str], fits: Sequence[Fit[Member]], *, n_folds: int, random_state: Seed
) -> Pool[Member]:
    """Fit maps to a table, and weigh them by rows held out; `AutoCalibrator` says how."""
    inside = table.low[0] > 0.0 and table.high[-1] < 1.0
    table = _neighbours_pooled(table)
    named, maps = ["identity", *names], [fit(table) for fit in fits]
    alone = np.append(1.0, np.zeros(len(maps)))
    held_out = list(_splits(table, n_folds, np.random.default_rng(random_state)))
    if not held_out:
        reason = "Left alone: the rows cannot be split into folds, so a change cannot be assessed."
        return Pool(named, alone, maps, "left alone", reason, float("nan"))
    predicted = np.concatenate([_predictions(fits, rest, fold.score) for rest, fold in held_out], axis=1)
    n, k = np.concatenate([fold.n for _, fold in held_out]), np.concatenate([fold.k for _, fold in held_out])
    weights = pool_weights(predicted, n, k, _PRIOR)
    before, after = (-log_likelihood(p, n, k) / float(n.sum()) for p in (predicted[0], weights @ predicted))
    judged = f"on {n.sum():,.12g} rows not fitted to, the log loss of the scores is {_loss(before)}"
    if inside and before - after <= 0.0:
        reason = f"Left alone: {judged}, and the best pool of calibrated probabilities has no less."
        return Pool(named, alone, maps, "left alone", reason, before - after)
    shares = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(named, weights, strict=True))
    reason = f"Pooled ({shares}): {judged}, that of the pool {after:.4g}."
    return Pool(named, weights, maps, "pooled", reason, before - after)


@dataclass(frozen=True)
class _Plain:
    """A fitted map of scores, from arrays to arrays."""

    function: Callable[[FloatArray], FloatArray]

    def predict(self, scores: FloatArray) -> FloatArray:
        return self.function(scores)


def fit_default_pool(table: ScoreTable) -> Pool[_Plain]:
    """Return the map of `AutoCalibrator` with its default parameters."""
    rising = log_odds.PLATT._replace(fit=partial(log_odds.fit_platt, increasing=True))
    fits: list[Fit[_Plain]] = [
        *(partial(_fit_log_odds, family) for family in (log_odds.TEMPERATURE, rising, log_odds.BETA)),
        lambda part: _Plain(isotonic_fit(part, log_safe=True).linear),
    ]
    return fit_pool(table, ["temperature", "platt", "beta", "isotonic"], fits, n_folds=5, random_state=0)


def _fit_log_odds(family: LogOddsFamily, table: ScoreTable) -> _Plain:
    """Fit a map of log-odds to smooth targets."""
    clip = log_odds.find_clip(table, "auto")
    theta = family.fit(table, family.columns(table.score, clip), log_odds.target_positives(table, smooth=True))
    return _Plain(lambda scores: log_odds.combine(theta, family.columns(scores, clip)))


def _loss(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "infinite (a score of 0 or 1 was wrong)"


def _predictions(fits: Sequence[Fit[Member]], rest: ScoreTable, score: FloatArray) -> FloatArray:
    """Return the scores themselves, then what each member predicts for them after a fit to the other rows.

    Members that may be certain are moved off 0 and 1, so that no label is impossible.
    """
    return np.stack([score, *(np.clip(fit(rest).predict(score), 1.0 - MOST, MOST) for fit in fits)])


def _neighbours_pooled(table: ScoreTable) -> ScoreTable:
    """Join neighbouring scores at their mean where they are many, but nothing with a score of 0 or 1."""
    if len(table) <= _SEPARATE:
        return table
    edges = 1.0 / (1.0 + np.exp(-np.linspace(-_LOG_ODDS, _LOG_ODDS, _CELLS + 1)))
    rows = np.cumsum(table.n)
    by_score = np.searchsorted(table.score, np.append(edges, [np.nextafter(0.0, 1.0), 1.0]))
    by_rank = np.searchsorted(rows, rows[-1] * (np.arange(_CELLS) / _CELLS), side="right")
    starts = distinct_numbers(by_score, by_rank)
    starts = starts[starts < len(table)]
    n, k, mean = (np.add.reduceat(values, starts) for values in (table.n, table.k, table.n * table.score))
    return ScoreTable(np.clip(mean / n, table.low[starts], table.high[np.append(starts[1:], len(table)) - 1]), n, k)


def _splits(table: ScoreTable, n_folds: int, rng: np.random.Generator) -> Iterator[tuple[ScoreTable, ScoreTable]]:
    """Yield tables to fit to and the rows held out from them."""
    if not table.independent:
        fold = rng.integers(n_folds, size=len(table))
        held_out = [np.where(fold == i, (table.n, table.k), 0.0) for i in range(n_folds)]
    else:
        share = _ENOUGH / table.total
        many = table.total > _MANY
        folds = table.split([share, 1.0 - share], rng)[:1] if many else table.split(n_folds, rng)
        held_out = [_on_rows_of(table, part) for part in folds]
    for n, k in held_out:
        rest, part = _kept(table.score, table.n - n, table.k - k), _kept(table.score, n, k)
        if len(rest) and len(part):
            yield rest, part


def _on_rows_of(table: ScoreTable, part: ScoreTable) -> NumberArray:
    """Return n and k of a part for every row of the table, 0 where the part has none."""
    spread: NumberArray = np.zeros((2, len(table)), dtype=table.n.dtype)
    spread[:, np.searchsorted(table.score, part.score)] = part.n, part.k
    return spread


def _kept(score: FloatArray, n: NumberArray, k: NumberArray) -> ScoreTable:
    rows = np.flatnonzero(n)
    return ScoreTable(score[rows], n[rows], k[rows])


def pool_weights(predicted: FloatArray, n: NumberArray, k: NumberArray, prior: float) -> FloatArray:
    """Return the weights, positive and adding up to 1, of the mixture under which the labels are most likely.

    `predicted` holds the probability of a positive by member and group of rows, shape (p, m); in every group one member
    at least is strictly between 0 and 1. The log likelihood plus `prior` times the sum of the logs of the weights is
    concave, and Newton's method climbs to its maximum (Boyd & Vandenberghe 2004, Convex Optimization, section 10.2.2).
    """
    members, of_rest, negatives = len(predicted), 1.0 - predicted, n - k

    def height(weights: FloatArray) -> float:
        if not (weights > 0.0).all():
            return -np.inf
        mixed = k @ np.log(weights @ predicted, where=k > 0, out=np.zeros(len(k)))
        of_negatives = negatives @ np.log(weights @ of_rest, where=negatives > 0, out=np.zeros(len(k)))
        return float(mixed + of_negatives + prior * np.log(weights).sum())

    weights = np.full(members, 1.0 / members)
    here = height(weights)
    for _ in range(_MOST_STEPS):
        hit, miss = weights @ predicted, weights @ of_rest
        slope = predicted @ (k / hit) + of_rest @ (negatives / miss) + prior / weights
        curvature = (predicted * (k / hit**2)) @ predicted.T + (of_rest * (negatives / miss**2)) @ of_rest.T
        curvature += np.diag(prior / weights**2)
        uphill, level = np.linalg.solve(curvature, np.stack([slope, np.ones(members)]).T).T
        step = uphill - uphill.sum() / level.sum() * level  # the weights keep their sum
        if slope @ step < _PRECISION:
            break
        while (there := height(weights + step)) < here:
            step = step / 2.0
        weights, here = weights + step, there
    return np.asarray(weights / weights.sum())


def log_likelihood(probability: FloatArray, n: NumberArray, k: NumberArray) -> float:
    """Return the log likelihood of all rows; minus infinity if a probability of 0 or 1 was wrong."""
    negatives = n - k
    with np.errstate(divide="ignore"):
        positive, negative = np.log(probability), np.log1p(-probability)
    hit, miss = k > 0, negatives > 0
    return float(np.dot(k[hit], positive[hit]) + np.dot(negatives[miss], negative[miss]))
