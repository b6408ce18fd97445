"""What rows are drawn by, and intervals for differences of means of the same rows that hold together.

See docs/theory/9-comparison.md, section 9.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.comparing.losses import Possible
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits
from calibrant.distributions.cluster_jackknife import Jackknife, Parts, cluster_draws, hidden_share
from calibrant.table.pooling import FloatArray

_SUMS = 1 << 22  # numbers held at a time where rows are added up by cluster


def quantile(tail: float, freedom: float) -> float:
    """Upper quantile of Student's distribution; of the normal one where its degrees of freedom are infinite."""
    from scipy.special import ndtri, stdtrit

    return -float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail))


@dataclass(frozen=True, eq=False)
class Units:
    """The independent draws behind n rows; `cluster` is the number of the cluster of each row, None for single rows.

    `unseen` says whether rows, or clusters, of a kind that none shows are allowed for.
    """

    n: int
    cluster: npt.NDArray[np.int64] | None = None
    unseen: bool = False

    @cached_property
    def size(self) -> FloatArray:
        """Rows of each draw."""
        return np.ones(self.n) if self.cluster is None else np.bincount(self.cluster).astype(np.float64)

    @cached_property
    def effective(self) -> float:
        """Number of draws of equal size that would be worth as much."""
        return float(self.size.sum() ** 2 / np.dot(self.size, self.size))

    @property
    def jackknife(self) -> Jackknife | None:
        """What leaves out one cluster at a time; None for single rows, and where unseen clusters are allowed for."""
        return None if self.cluster is None or self.unseen else Jackknife(self.size)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's distribution for few clusters; infinite for single rows."""
        return math.inf if self.cluster is None else self.effective - 1.0

    @property
    def few(self) -> float:
        """Factor by which the squares of so many draws underrate a variance."""
        return 1.0 if self.cluster is None else len(self.size) / (len(self.size) - 1.0)

    def quantile(self, tail: float) -> float:
        """Upper quantile of the standard normal distribution, or of Student's for clusters."""
        return quantile(tail, self.freedom)

    def hidden(self, tail: float, share: float = 1.0) -> float:
        """Largest part of a class that events can take hold of without being seen, except with probability `tail`.

        `share` is that of the class among the rows. Clusters that were not seen may hold rows of the class alone;
        where these are not allowed for, the events are those of single rows.
        """
        if self.cluster is None or not self.unseen:
            return -math.expm1(math.log(tail) / (share * self.n))
        return min(1.0, hidden_share(self.size, tail) / share)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up values of rows, along the last axis, within each draw."""
        if self.cluster is None:
            return values
        flat = values.reshape(-1, self.n)
        added = np.array([np.bincount(self.cluster, row, len(self.size)) for row in flat])
        return added.reshape(*values.shape[:-1], len(self.size))

    def products(self, cells: Sequence[npt.NDArray[np.intp]], values: Sequence[FloatArray], n_cells: int) -> FloatArray:
        """Sum over the draws of the products of what each adds to two cells, as one matrix.

        `cells` and `values` say, in one array each, in which cell every row stands and what it adds; the cells of the
        second array are numbered after those of the first, and so on. Clusters are centred: of their sums their rows
        times the mean of all is taken off, since clusters of different size are compared.
        """
        size, parts = n_cells * len(cells), list(zip(cells, values, strict=True))
        total = np.concatenate([np.bincount(cell, value, n_cells) for cell, value in parts])
        if self.cluster is None:
            blocks = [
                [np.bincount(one * n_cells + two, first * second, n_cells**2) for two, second in parts]
                for one, first in parts
            ]
            products = np.block([[part.reshape(n_cells, n_cells) for part in row] for row in blocks])
            return np.asarray(products - np.outer(total, total) / self.n)
        products = np.zeros((size, size))
        at_once = max(1, _SUMS // size)
        for start in range(0, len(self.size), at_once):
            stop = min(len(self.size), start + at_once)
            members = np.flatnonzero((self.cluster >= start) & (self.cluster < stop))
            row = (self.cluster[members] - start) * size
            added = np.zeros((stop - start) * size)
            for i, (where, what) in enumerate(parts):
                added += np.bincount(row + i * n_cells + where[members], what[members], len(added))
            centred = added.reshape(-1, size) - np.outer(self.size[start:stop], total / self.n)
            products += centred.T @ centred
        return np.asarray(products * self.few)


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
