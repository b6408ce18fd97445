"""Upper and lower confidence bound on the expected calibration error, and a test of what the upper one assumes.

Cells of consecutive scores are chosen without looking at outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant.certificates.expected_error.constants import SquareCells
from calibrant.certificates.lower_bound import BUCKETS, buckets_of
from calibrant.distributions.bisection import bisect
from calibrant.distributions.mean_limits import bernstein_rate, psi
from calibrant.errors import DataError
from calibrant.table.pooling import FloatArray, IndexArray, run_starts
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import UNIT

# Numbers of cells tried, in units of the order that the rate of Theorem 4.1 gives; shares of the score axis in the
# measure that they divide equally, the rest being rows; and lambda, in units of what is best for square cells alone.
_SIZES = (0.1, 0.15, 0.22, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6)
_AXIS_SHARES = (0.0, 0.15, 0.3)
_LAMBDAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_FOR_SAMPLE = 0.9  # share of delta for the rows at hand; the rest is for the step to the population
_MOST_SQUARE_CELLS = 20_000  # a fifth of a second for each 3,000
_SMALL_VARIANCE = 0.15  # added to that of a cell, so that q is not too small where scores are near 0 or 1


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of rows that no cell divides, in increasing order of their scores: distinct scores where they are known.

    `score_sum`, `variance` and `squared` are sums of ``s``, ``s (1 - s)`` and ``(y - s)**2``; `low` and `high` limits
    of the scores that do not depend on outcomes; `mixed` the rows that are not known to have the same score as the most
    that are known to share one, 0 for a single score.
    """

    n: FloatArray
    k: FloatArray
    score_sum: FloatArray
    variance: FloatArray
    squared: FloatArray
    low: FloatArray
    high: FloatArray
    mixed: FloatArray

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def total(self) -> float:
        """Number of rows."""
        return float(self.n.sum())

    @cached_property
    def most(self) -> float:
        """Rows of the largest unit."""
        return float(self.n.max())

    @cached_property
    def middles(self) -> FloatArray:
        """Place of the middle row of each unit, in [0, 1]."""
        return np.asarray((np.cumsum(self.n) - self.n / 2.0) / self.total)

    @classmethod
    def of(cls, table: ScoreTable) -> Runs:
        """Return the distinct scores of a table; of one with cells, the widest buckets that its cells may have.

        Which cells of a table are narrower depends on outcomes, so those of one bucket are put together. A `DataError`
        if a cell reaches over the border of such a bucket.
        """
        n, k, score = table.n.astype(np.float64), table.k.astype(np.float64), table.score
        if table.exact:
            none = np.zeros(len(table))
            return cls(n, k, n * score, n * score * (1.0 - score), table.squared, table.low, table.high, none)
        bucket = buckets_of(table)
        if bucket is None:
            expected = "a table whose cells lie within equal buckets of the scores, as reading rows makes them"
            raise DataError(expected, "a cell that reaches over a border", "pass the rows")
        starts = run_starts(bucket)
        add = np.add.reduceat
        total, positives = add(n, starts), add(k, starts)
        rise, squared = add(table.rise, starts), add(table.squared, starts)
        score_sum = positives - rise + add(table.fall, starts)
        variance = np.maximum(score_sum - (squared - positives + 2.0 * (positives - rise)), 0.0)
        width = 2.0**BUCKETS.shift
        low = np.maximum((bucket[starts] * width - 0.5) * UNIT, 0.0)
        high = np.minimum(((bucket[starts] + 1) * width) * UNIT, 1.0)
        mixed = total - np.maximum.reduceat(np.where(table.low == table.high, n, 0.0), starts)
        return cls(total, positives, score_sum, variance, squared, low, high, mixed)


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums over cells of consecutive scores; all but `residual` and `squared` are functions of the scores.

    `variance`, `residual` and `squared` are sums of ``s (1 - s)``, ``y - s`` and ``(y - s)**2``, `width` the largest
    difference between two scores; `loose` says how much a rise of the event rate inside the cell matters, as in Lemma
    4.4, and is 0 if the cell holds one score.
    """

    n: FloatArray
    mean: FloatArray
    variance: FloatArray
    width: FloatArray
    loose: FloatArray
    residual: FloatArray
    squared: FloatArray

    @classmethod
    def of(cls, units: Runs, starts: IndexArray) -> Cells:
        """Add up the units from each start to the next."""
        ends = np.append(starts[1:], len(units)) - 1
        n, score_sum, k, variance, squared = (
            np.add.reduceat(values, starts)
            for values in (units.n, units.score_sum, units.k, units.variance, units.squared)
        )
        mean, width = np.clip(score_sum / n, 0.0, 1.0), units.high[ends] - units.low[starts]
        loose = np.where(ends > starts, n / 4.0, np.minimum(n / 4.0, units.mixed[starts]))
        return cls(n, mean, variance, width, loose, k - score_sum, squared)


class CellPlan(NamedTuple):
    """First unit of each cell, lambda of Theorem 4.1, whether cells may be charged by squares; from scores alone."""

    starts: IndexArray
    lam: float
    square: bool


class Terms(NamedTuple):
    """What Theorem 4.1 fixes by the number of rows and delta alone.

    `log_term` is L, the logarithm of one over the part of delta that is for the rows at hand, `kappa` the weight of
    squared distances, `to_population` what the step from these rows to the population costs, times the number of rows.
    """

    log_term: float
    kappa: float
    to_population: float

    @classmethod
    def of(cls, n: float, delta: float) -> Terms:
        """Return the terms for n rows."""
        step = min(0.5, 5.0 * n**-0.25)
        kappa = psi(step) / step
        return cls(-math.log(_FOR_SAMPLE * delta), kappa, -math.log((1.0 - _FOR_SAMPLE) * delta) / step)


def squares_rate(lam: FloatArray | float, kappa: float) -> FloatArray:
    """What a direct cell is charged per unit of its squared residuals, ``psi(lam (1 + 2 kappa)) / lam``."""
    return psi(np.asarray(lam * (1.0 + 2.0 * kappa))) / lam


def huber_width(variance: FloatArray, lam: FloatArray | float) -> FloatArray:
    """Return q, also the Huber width a: within 5 per cent of the best of both where variances are over 1."""
    return np.asarray(np.cbrt(lam * (variance + _SMALL_VARIANCE) ** 2))


def direct_noise(variance: FloatArray) -> FloatArray:
    """About what a calibrated direct cell shows: the mean size of a normal sum."""
    return np.sqrt(2.0 / math.pi * variance)


def direct_cost(variance: FloatArray, spread: FloatArray, lam: FloatArray | float, kappa: float) -> FloatArray:
    """Return about what a calibrated direct cell is charged; `spread` is the number of rows times the score width."""
    return np.asarray(direct_noise(variance) + squares_rate(lam, kappa) * variance + spread / 2.0)


def square_cost(variance: FloatArray, spread: FloatArray, lam: FloatArray | float) -> FloatArray:
    """Return about what a calibrated square cell is charged: a fit to `SquareCells.constant`.

    It is off by 3 per cent at most for variances over 1.
    """
    q = huber_width(variance, lam)
    return np.asarray(0.755 * q + 0.46 * lam * variance + np.maximum(spread - q, 0.0) / 2.0)


def positions(units: Runs, axis_share: float = 0.0) -> FloatArray:
    """Place of each unit in [0, 1], never decreasing: of its middle row, and partly of its score between the ends."""
    span = units.high[-1] - units.low[0]
    if axis_share == 0.0 or span == 0.0:
        return units.middles
    return np.asarray((1.0 - axis_share) * units.middles + axis_share * (units.low - units.low[0]) / span)


def cut_evenly(units: Runs, position: FloatArray, n_cells: int) -> IndexArray:
    """Return the first units of about so many cells of equally wide ranges of positions.

    A unit with half of the rows of such a cell, or more, is a cell of its own.
    """
    starts = np.searchsorted(position, np.arange(n_cells) / n_cells)
    least = 0.5 * units.total / n_cells
    # Most tables of distinct scores have no such unit: cells are tried in many numbers, and need not look at all units.
    heavy = np.flatnonzero(units.n >= least) if units.most >= least else np.zeros(0, dtype=np.intp)
    starts = np.union1d(starts, np.union1d(heavy, heavy + 1))
    return starts[starts < len(units)]


def plan_cells(units: Runs, terms: Terms, *, one_score_each: bool) -> CellPlan:
    """Choose cells and lambda, from scores alone, for the smallest bound to be expected where scores are calibrated."""
    n_up_to, variance_up_to = (np.append(0.0, np.cumsum(values)) for values in (units.n, units.variance))
    log_term, kappa, _ = terms

    def best_lambda(starts: IndexArray, *, square: bool) -> tuple[float, float]:
        """Return the best lambda of those tried, and about the bound on n times the error."""
        ends = np.append(starts[1:], len(units))
        n, variance = n_up_to[ends] - n_up_to[starts], np.maximum(variance_up_to[ends] - variance_up_to[starts], 0.0)
        width = units.high[ends - 1] - units.low[starts]
        jump = (0.5 + kappa / 4.0) * float((n * (ends - starts > 1)).max())
        ideal = (4.0 * log_term / ((variance + _SMALL_VARIANCE) ** (2.0 / 3.0)).sum()) ** 0.75
        lam = np.minimum(np.array(_LAMBDAS) * ideal, 0.9 / (1.0 + 2.0 * kappa))[:, None]
        cost = direct_cost(variance, n * width, lam, kappa)
        if square:
            cost = np.minimum(cost, square_cost(variance, n * width, lam))
        bound = cost.sum(axis=1) + log_term / lam[:, 0] + jump
        best = int(bound.argmin())
        return float(lam[best, 0]), float(bound[best])

    everyone = np.arange(len(units))
    few = len(units) <= _MOST_SQUARE_CELLS
    if one_score_each:
        lam, _ = best_lambda(everyone, square=few)
        return CellPlan(everyone, lam, few)
    # The leading terms of Theorem 4.1 are (4 L)**(1/4) sqrt(v) m**(1/4) / sqrt(n) + 1 / (2 m) for m cells.
    usual = (2.0 * units.total / math.sqrt(max(units.variance.sum(), 1.0)) / (4.0 * log_term) ** 0.25) ** 0.8
    sizes = {min(max(2, round(usual * size)), _MOST_SQUARE_CELLS) for size in _SIZES}
    candidates = [everyone] if few else []
    for share in _AXIS_SHARES:
        position = positions(units, share)
        candidates += [cut_evenly(units, position, size) for size in sizes]
    bounds = [best_lambda(starts, square=True) for starts in candidates]
    best = min(range(len(bounds)), key=lambda i: bounds[i][1])
    return CellPlan(candidates[best], bounds[best][0], square=True)


_BLOCK = 2000  # cells whose constants are computed together
_LOOK_BACK = (16, 4)  # how many cells before it tell of the error of a cell
_SHOWN = 2.3  # standard deviations from which on they tell anything
_SIGN_FROM = 4  # cells before it that tell the sign of the error of a cell
# Mean squares of a residual for which the lower bound is best, and their weights in the mixture.
_VARIANCES = {0.12: 0.7, 0.01: 0.2, 0.001: 0.1}


class UpperBound(NamedTuple):
    """An upper bound, not cut to [0, 1], the number of its cells, and whether some may hold more than one score."""

    value: float
    n_cells: int
    assumes_monotone: bool


def upper_bound(units: Runs, delta: float, *, one_score_each: bool) -> UpperBound:
    """Bound the expected calibration error from above (Theorem 4.1)."""
    terms = Terms.of(units.total, delta)
    plan = plan_cells(units, terms, one_score_each=one_score_each)
    cells = Cells.of(units, plan.starts)
    charged = _charged(cells, plan.lam, terms.kappa, square=plan.square) + terms.log_term / plan.lam
    return UpperBound((charged + terms.to_population) / units.total, len(cells.n), bool(cells.loose.any()))


def _charged(cells: Cells, lam: float, kappa: float, *, square: bool) -> float:
    """What cells are charged, each as a square or directly, whichever those before it suggest; `lam` of Theorem 4.1.

    What they are charged besides their residuals is a function of the scores: `constant`, of square cells, that of
    Lemma 4.3, the price of the width of the scores included, infinite if none may be square; and `jump`, the largest
    cost per unit by which the event rate rises inside a cell, whatever its kind (Lemma 4.4).
    """
    n, residual, variance, width = cells.n, cells.residual, cells.variance, cells.width
    q = huber_width(variance, lam)
    constant = np.full(len(q), np.inf)
    jump = (2.0 + kappa) * float(cells.loose.max())
    if square:
        for start in range(0, len(q), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = SquareCells(n[part], cells.mean[part], variance[part], np.full(len(n[part]), lam), q[part], kappa)
            constant[part] = block.constant(q[part])
            loose = cells.loose[part]
            price = np.where(loose > 0.0, block.jump_price(q[part], constant[part], loose), 0.0)
            jump = max(jump, float(price.max()))
        constant += np.maximum(n * width - q, 0.0) / 2.0
    rate = squares_rate(lam, kappa)
    y = residual * residual - (1.0 - 2.0 * cells.mean) * residual - variance
    as_square = y / (2.0 * q) + constant
    direct = np.abs(residual) + kappa * residual * residual / n + rate * cells.squared + n * width / 2.0
    size = expected_size(cells)
    spread = variance + 0.5
    # What either is expected to cost beyond |mu|; E|N(mu, V)| - |mu| falls about like this.
    ratio = size / np.sqrt(spread)
    seen = direct_noise(spread) * np.exp(-ratio * (ratio + 1.0) / 2.0) + (rate + kappa / n) * spread
    is_direct = seen + n * width / 2.0 < constant + size * size / (2.0 * q) - size
    is_direct[0] = True  # nothing is known before it
    return float((np.where(is_direct, direct, as_square) + kappa * n * width * width / 4.0).sum()) + jump


def expected_size(cells: Cells) -> FloatArray:
    """Return the size of the residual sum of each cell that those before it suggest; 0 where they show no error."""
    index = np.arange(len(cells.n))
    residual, n, variance = (
        np.append(0.0, np.cumsum(values)) for values in (cells.residual, cells.n, cells.variance + 0.5)
    )
    size = np.zeros(len(index))
    for back in _LOOK_BACK:
        first = np.maximum(index - back, 0)
        shown = np.abs(residual[index] - residual[first])
        clear = shown > _SHOWN * np.sqrt(variance[index] - variance[first])
        size = np.where(clear, shown / np.maximum(n[index] - n[first], 1.0) * cells.n, size)
    return size


def lower_bound(units: Runs, delta: float) -> float:
    """Bound the expected calibration error from below, whatever the event rate is (Theorem 4.5)."""
    from scipy.special import logsumexp, ndtr

    total = units.total
    cells = Cells.of(units, cut_evenly(units, positions(units), max(4, int(total**0.4))))
    index = np.arange(len(cells.n))
    residual, noise = (np.append(0.0, np.cumsum(values)) for values in (cells.residual, cells.variance + 0.5))
    first = np.maximum(index - _SIGN_FROM, 0)
    shown = (residual[index] - residual[first]) / np.sqrt(np.maximum(noise[index] - noise[first], 0.5))
    least = 0.25 / len(index)
    above = np.clip(ndtr(shown), least, 1.0 - least)
    # A bet on either sign, or none, by what the cells before show.
    bets = np.log([above**2, (1.0 - above) ** 2, 2.0 * above * (1.0 - above)])
    variance, weight = np.array(list(_VARIANCES)), np.array(list(_VARIANCES.values()))
    normal = np.sqrt(2.0 * math.log(1.0 / delta) / (total * variance))
    step = bernstein_rate(normal)[:, None]
    gain, charge = step * cells.residual, psi(step) * cells.squared
    log_wealth = logsumexp(
        [bets[0] + gain - charge, bets[1] - gain - charge, np.broadcast_to(bets[2], gain.shape)], axis=0
    ).sum(axis=1)

    def refuted(error: float) -> bool:
        at_most = log_wealth - total * np.log1p(step[:, 0] * error) + np.log(weight)
        return bool(np.logaddexp.reduce(at_most) > math.log(1.0 / delta))

    return bisect(refuted, 0.0, 1.0, rtol=1e-15)[0] if refuted(0.0) else 0.0


_BLOCKS = 64


def reversal_p_value(units: Runs) -> float:
    """Test the hypothesis that the event rate is nondecreasing, for every number of rows (Proposition 4.6).

    The smallest p-value of Fisher's one-sided test for "higher on the left" over neighbouring blocks of 1, 2, 4, ... of
    about 64 cells, times the number of pairs of that size, times the number of sizes.
    """
    starts = cut_evenly(units, positions(units), _BLOCKS)
    n, k = (np.append(0.0, np.cumsum(np.add.reduceat(values, starts))) for values in (units.n, units.k))
    best, sizes, size = 1.0, 0, 1
    while 2 * size < len(n):
        left = np.arange(0, len(n) - 2 * size, size)
        middle, right = left + size, left + 2 * size
        tail = hypergeometric_tail(k[middle] - k[left], n[middle] - n[left], k[right] - k[left], n[right] - n[left])
        best = min(best, len(left) * float(tail.min()))
        sizes, size = sizes + 1, 2 * size
    return min(1.0, best * max(sizes, 1))


def hypergeometric_tail(seen: FloatArray, drawn: FloatArray, good: FloatArray, total: FloatArray) -> FloatArray:
    """Bound the chance of at least `seen` good ones among those drawn; sharp in the tail, for any size of numbers.

    Ratios of neighbouring probabilities fall, so a geometric series is above the tail.
    """
    from scipy.special import gammaln

    def log_choose(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0))

    log_first = log_choose(good, seen) + log_choose(total - good, drawn - seen) - log_choose(total, drawn)
    ratio = (good - seen) * (drawn - seen) / ((seen + 1.0) * (total - good - drawn + seen + 1.0))
    gap = 1.0 - ratio
    return np.where(gap > 0.0, np.minimum(np.exp(log_first) / np.where(gap > 0.0, gap, 1.0), 1.0), 1.0)
