"""Finite-sample upper limits for ratios of means over clusters, proved in docs/theory/3-clusters.md.

A cluster brings a sum W, of residuals or of costs, and counts m rows, at most a cap M. The ratio is c = E W / E m. With
W <= h m the term X = (W - c m) / (M (h - c)) is at most 1 and has mean 0, so that for fixed rates l_k in (0, 1) and
weights p_k, with psi(l) = -log(1 - l) - l, the sum over k of p_k prod_g exp(-l_k X_g - psi(l_k) X_g^2) has expectation
at most 1 (Lemma 3.2). A ratio at which it is above 1 / delta is rejected, and the limit is the largest that is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.distributions.mean_limits import bernstein_rate, psi
from calibrant.table.clusters import ClusterResiduals
from calibrant.table.pooling import FloatArray, NumberArray

# Guesses of the mean square of a term, and their weights. Fixed once and for all: they decide how close the bound is,
# never whether it holds.
_PARTS = ((0.25, 0.3), (0.0625, 0.35), (0.015625, 0.25), (0.00390625, 0.1))
# Ratios are told apart up to this fraction of their range; the reach of a term is adapted this often.
_FINE = 2.0**-20
_CELLS = 128

_Ratio = float | FloatArray


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """What is known of the sums W of the clusters, for each of several sets of rows.

    Sums over the clusters of W, of its square, and of W times m; and the most that the root of a sum of ``(W - c
    m)**2`` may be above what `square` and `with_size` make it.
    """

    total: FloatArray
    square: FloatArray
    with_size: FloatArray
    slack: FloatArray

    @classmethod
    def of(cls, values: FloatArray, size: FloatArray) -> ClusterSums:
        """Sums of one value for each cluster."""
        known = (values.sum(), np.dot(values, values), np.dot(values, size), 0.0)
        return cls(*(np.array([value], dtype=np.float64) for value in known))

    def __getitem__(self, index: NumberArray) -> ClusterSums:
        return ClusterSums(self.total[index], self.square[index], self.with_size[index], self.slack[index])

    def hull(self) -> ClusterSums:
        """A set of rows that is rejected at a ratio above 0 only if all are."""
        ends = (self.total.max(), self.square.max(), self.with_size.min(), self.slack.max())
        return ClusterSums(*(np.array([end]) for end in ends))


def largest_ratio(
    sums: ClusterSums,
    *,
    rows: float,
    squared_sizes: float,
    clusters: float,
    cap: float,
    delta: float,
    least: float = -1.0,
    most: float = 1.0,
) -> float:
    """Upper confidence limit for the largest ratio E W / E m over several sets of rows fixed beforehand.

    `rows` and `squared_sizes` are sums over the clusters of m, at most `cap`, and of its square; `least` and `most`
    limit W / m. No price is paid for the number of sets. The limit is on a grid of 2**-20 of that range, or the largest
    ratio seen.
    """
    return _Search(rows, squared_sizes, clusters, cap, least, most, -math.log(delta)).highest(sums)


def largest_error(walks: ClusterResiduals, *, cap: float, delta: float, side: int = 0) -> float:
    """Upper limit for the error of grouped rows (Theorem 3.3): the largest ratio over all intervals and both signs.

    Of one `side`, only intervals count whose predictions are too low (1) or too high (-1).
    """
    cuts, count = walks.sum_at_cut, len(walks.edges)
    top, bottom = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(top, walks.nearest, cuts)
    np.minimum.at(bottom, walks.nearest, cuts)
    # From any edge to any other: forwards for positive sums, backwards for negative ones.
    pairs = ClusterSums(
        (top - bottom[:, None]).ravel(),
        walks.squares.ravel(),
        (walks.with_size - walks.with_size[:, None]).ravel(),
        (walks.reach + walks.reach[:, None]).ravel(),
    )
    if side:
        # Of two cuts between the same edges the first may be nearer to the later edge.
        forwards = np.triu(np.ones((count, count), dtype=bool), -1)
        pairs = pairs[np.flatnonzero(forwards if side == 1 else forwards.T)]
    return largest_ratio(
        pairs, rows=walks.total, squared_sizes=walks.squared_sizes, clusters=len(walks.size), cap=cap, delta=delta
    )


@dataclass(frozen=True)
class _Search:
    """The largest ratio that is not rejected for all sums, rounded up to a fine grid."""

    rows: float
    squared_sizes: float
    clusters: float
    cap: float
    least: float
    most: float
    log_inverse: float

    def highest(self, sums: ClusterSums) -> float:
        """Search from the top."""
        largest = int(sums.total.argmax())
        # What one set of rows allows, all of them do; and what is seen cannot be rejected.
        one = sums[np.array([largest])]
        known = self._highest_of_one(one, float(one.total[0]) / self.rows)
        if len(sums.total) == 1:
            return known
        edges = self.least + (self.most - self.least) * np.arange(_CELLS + 1) / _CELLS
        for low, high in zip(edges[-2::-1].tolist(), edges[:0:-1].tolist(), strict=True):
            if high <= known:
                break
            ratio = self._within(sums, low, high, (self.most - low) / self._unit)
            if ratio is not None:
                return max(ratio, known)
        return known

    def _highest_of_one(self, one: ClusterSums, seen: float) -> float:
        """The same for one set of rows, many ratios at a time."""

        def search(low: float, high: float, margin: float | None) -> float | None:
            edges = low + (high - low) * np.arange(_CELLS + 1) / _CELLS
            margins = (self.most - edges[:-1]) / self._unit if margin is None else np.full(_CELLS, margin)
            terms = [self._log(one, edges[:-1], edges[1:], margins, *part) for part in _PARTS]
            for cell in np.flatnonzero(~(np.logaddexp.reduce(terms) > self.log_inverse))[::-1]:
                start, stop = float(edges[cell]), float(edges[cell + 1])
                if stop <= seen:
                    break
                fine = stop - start <= _FINE * (self.most - self.least)
                ratio = stop if fine else search(start, stop, float(margins[cell]))
                if ratio is not None:
                    return ratio
            return None

        ratio = search(self.least, self.most, None)
        return seen if ratio is None else max(ratio, seen)

    @property
    def _unit(self) -> float:
        return max(abs(self.least), abs(self.most))

    def _within(self, sums: ClusterSums, low: float, high: float, margin: float) -> float | None:
        if low >= 0.0 and not len(self._left(sums.hull(), low, high, margin).total):
            return None
        sums = self._left(sums, low, high, margin)
        if not len(sums.total):
            return None
        if high - low <= _FINE * (self.most - self.least):
            return high
        middle = 0.5 * (low + high)
        ratio = self._within(sums, middle, high, margin)
        return self._within(sums, low, middle, margin) if ratio is None else ratio

    def _left(self, sums: ClusterSums, low: float, high: float, margin: float) -> ClusterSums:
        """Those that are not rejected at some ratio between two."""
        logs: list[FloatArray] = []
        for guess, weight in _PARTS:
            log = self._log(sums, low, high, margin, guess, weight)
            remaining = ~(log > self.log_inverse)  # one term alone may do
            sums, logs = sums[remaining], [*(one[remaining] for one in logs), log[remaining]]
        return sums[~(np.logaddexp.reduce(logs) > self.log_inverse)]

    def _log(
        self, sums: ClusterSums, low: _Ratio, high: _Ratio, margin: _Ratio, guess: float, weight: float
    ) -> FloatArray:
        """At least the logarithm of a term of Lemma 3.2 between two ratios; W / m is at most `margin` above `low`."""
        unit = self.cap * self._unit
        a = np.sqrt(2.0 * self.log_inverse / (self.clusters * guess)) * margin
        rate = bernstein_rate(a)
        # The sum of (W - c m)^2 is convex in c, and largest at one of the two.
        square = np.maximum(
            sums.square - 2.0 * low * sums.with_size + low * low * self.squared_sizes,
            sums.square - 2.0 * high * sums.with_size + high * high * self.squared_sizes,
        )
        root = (np.sqrt(np.maximum(0.0, square)) + sums.slack) / unit
        short = (low * self.rows - sums.total) / unit
        return np.asarray(math.log(weight) + rate / margin * short - psi(rate) / margin**2 * root**2)
