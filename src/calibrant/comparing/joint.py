"""Intervals for differences of means of the same rows that hold together (docs/theory/9-comparison.md, section 9.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.comparing.losses import Possible
from calibrant.comparing.units import Units, quantile
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits
from calibrant.distributions.cluster_draws import cluster_draws
from calibrant.distributions.cluster_jackknife import Jackknife, Parts
from calibrant.table.pooling import FloatArray

_FEW = 3.0  # rows that carry a difference, below which what others may add has to be allowed for
_ROUNDING = 1e-12  # of a variance, in units of those whose difference it is
# Standard normal vectors, the same ones for all rows; the quantile of their largest entry is right to about 0.01.
_SEED, _DRAWS, LEAST_TAIL = 1, 20_000, 0.002  # and the least probability of a tail whose quantile draws give


class Limits(NamedTuple):
    """A difference of means, its standard error, its limits, and whether these allow for what few rows do not show."""

    value: float
    standard_error: float
    lower: float
    upper: float
    few_rows: bool = False


def critical_value(terms: FloatArray, pairs: Sequence[tuple[int, int]], units: Units, delta: float) -> float:
    """Quantile of the largest of all standardised differences, in size, under their normal distribution.

    `terms` has a measure in each row of the first axis, a model in each of the second, and rows of data in the third.
    Differences that no row shows count as if they were independent of all others.
    """
    measures, models, _ = terms.shape
    largest = np.abs(terms).max(axis=(1, 2), keepdims=True)
    scaled = terms / np.where(largest > 0.0, largest, 1.0)  # so that no product leaves the range of floats
    sums = units.sums(scaled - scaled.mean(axis=2, keepdims=True)).reshape(measures * models, -1)
    products = sums @ sums.T
    one, two = np.transpose(pairs)
    contrasts = np.kron(np.eye(measures), np.eye(models)[two] - np.eye(models)[one])
    return _largest_quantile(contrasts @ products @ contrasts.T, np.abs(contrasts) @ products.diagonal(), delta)


def left_out_limits(
    values: FloatArray,
    without: FloatArray,
    parts: Parts,
    jackknife: Jackknife,
    freedom: FloatArray,
    delta: float,
) -> tuple[float, list[Limits]]:
    """Limits for differences that hold together, from what they are without each cluster; and their critical value.

    The differences stand in the first axis, the clusters in the second; measures are of the size of 1. `parts` are NaN
    for differences that are no means of signed terms. The standard error of a difference that no cluster changes is 0,
    and then the limits say nothing. Each has its own degrees of freedom; the critical value has those of the clusters.
    """
    from scipy.special import stdtr, stdtrit

    changes = without - values[:, None]
    covariance = jackknife.deviation(np.ones(1)) ** 2 * (changes @ changes.T)
    critical = _largest_quantile(covariance, np.full(len(values), _ROUNDING), delta, jackknife.freedom)
    deviation = np.sqrt(covariance.diagonal())
    deviation = np.where(deviation > _ROUNDING, deviation, 0.0)
    own = -stdtrit(freedom, stdtr(jackknife.freedom, -critical))
    ends = jackknife.signed_limits(values, own * deviation, critical, parts)
    return critical, [Limits(*one) for one in np.transpose([values, deviation, *ends]).tolist()]


def _largest_quantile(covariance: FloatArray, scale: FloatArray, delta: float, freedom: float = math.inf) -> float:
    """Quantile of the largest standardised normal variable in size, or of Student's; `scale` is that of rounding."""
    variance = covariance.diagonal()
    known = variance > _ROUNDING * scale
    deviation = np.sqrt(np.where(known, variance, 1.0))
    root = symmetric_root(covariance[np.ix_(known, known)] / np.outer(deviation[known], deviation[known]))
    rng = np.random.default_rng(_SEED)
    drawn = rng.standard_normal((_DRAWS, len(known)))
    drawn[:, known] = drawn[:, known] @ root
    largest = np.abs(drawn).max(axis=1)
    if math.isfinite(freedom):
        largest *= np.sqrt(freedom / rng.chisquare(freedom, _DRAWS))
    least = max(delta, LEAST_TAIL)
    rank = math.ceil((1.0 - least) * (_DRAWS + 1)) - 1
    return float(np.partition(largest, rank)[rank]) * quantile(delta, freedom) / quantile(least, freedom)


def symmetric_root(covariance: FloatArray) -> FloatArray:
    """Return the root that is symmetric: it changes no more than the matrix does, so what is drawn by it neither."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(0.0, values)) @ vectors.T)


def _few_carry(change: FloatArray) -> bool:
    """Whether so few rows carry a difference, or none, that they do not show how much others may add.

    Their number is that of rows of equal size whose squares would add up to as much, and vary as much.
    """
    largest = float(np.abs(change).max())
    squares = (change / (largest or 1.0)) ** 2
    return float(squares.sum()) ** 2 <= _FEW * float(np.dot(squares, squares))


def paired_limits(difference: FloatArray, possible: Possible, critical: float, units: Units) -> Limits:
    """Limits for the mean of terms, each for the tail of the normal distribution beyond a critical value.

    They are those of `bounded_mean_limits`: a draw that was not seen may add as much as one like these; or, where few
    rows carry the difference, or draws of another kind are allowed for, as much as is possible. So may a cluster, whose
    worth is that of `cluster_draws`.
    """
    from scipy.special import ndtr

    few = not units.unseen and _few_carry(difference)
    if not few and not units.unseen and possible.like is not None:
        possible = Possible(*possible.like)
    tail = float(ndtr(-critical))
    low, high = min(possible.low, float(difference.min())), max(possible.high, float(difference.max()))
    # In units so that no power leaves the range of floats; an infinite limit has none.
    unit = max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0) or 1.0
    unit = max(unit, float(np.abs(difference).max()))
    scaled = difference / unit
    value = float(scaled.mean())
    of_draws = units.sums(scaled - value)
    squares = float(np.dot(of_draws, of_draws)) * units.few / units.n
    if units.cluster is None:
        draws = Draws(scaled, np.ones(len(scaled)))
    else:
        draws = cluster_draws(value, of_draws / units.n, float(scaled.var()) / units.n, units.size, tail)
    ends = bounded_mean_limits(draws, low / unit, high / unit, 1.0 - 2.0 * tail)
    hidden = possible.unseen * units.hidden(tail, possible.share) / unit
    lower, upper = min(float(ends[0]) - hidden, value), max(float(ends[1]) + hidden, value)
    return Limits(value * unit, math.sqrt(squares / units.n) * unit, lower * unit, upper * unit, few)
