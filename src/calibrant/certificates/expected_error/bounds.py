"""Upper and lower confidence bound on the expected calibration error, and a test of what the upper one assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.certificates.expected_error.cells import (
    Cells,
    Terms,
    Units,
    cut_evenly,
    direct_noise,
    huber_width,
    plan_cells,
    positions,
    squares_rate,
)
from calibrant.certificates.expected_error.constants import SquareCells
from calibrant.distributions.bisection import bisect
from calibrant.distributions.empirical_bernstein import bernstein_rate, psi
from calibrant.table.pooling import FloatArray

_BLOCK = 2000  # cells whose constants are computed together
_LOOK_BACK = (16, 4)  # how many cells before it tell of the error of a cell
_SHOWN = 2.3  # standard deviations from which on they tell anything
_SIGN_FROM = 4  # cells before it that tell the sign of the error of a cell
# Mean squares of a residual for which the lower bound is best, and their weights in the mixture.
_VARIANCES = {0.12: 0.7, 0.01: 0.2, 0.001: 0.1}


@dataclass(frozen=True)
class UpperBound:
    """An upper bound, not cut to [0, 1], the number of its cells, and whether some may hold more than one score."""

    value: float
    n_cells: int
    assumes_monotone: bool


def upper_bound(units: Units, delta: float, *, one_score_each: bool) -> UpperBound:
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
    place = np.arange(len(cells.n))
    residual, n, variance = (
        np.append(0.0, np.cumsum(values)) for values in (cells.residual, cells.n, cells.variance + 0.5)
    )
    size = np.zeros(len(place))
    for back in _LOOK_BACK:
        first = np.maximum(place - back, 0)
        shown = np.abs(residual[place] - residual[first])
        clear = shown > _SHOWN * np.sqrt(variance[place] - variance[first])
        size = np.where(clear, shown / np.maximum(n[place] - n[first], 1.0) * cells.n, size)
    return size


def lower_bound(units: Units, delta: float) -> float:
    """Bound the expected calibration error from below, whatever the event rate is (Theorem 4.5)."""
    from scipy.special import logsumexp, ndtr

    total = units.total
    cells = Cells.of(units, cut_evenly(units, positions(units), max(4, int(total**0.4))))
    place = np.arange(len(cells.n))
    residual, noise = (np.append(0.0, np.cumsum(values)) for values in (cells.residual, cells.variance + 0.5))
    first = np.maximum(place - _SIGN_FROM, 0)
    shown = (residual[place] - residual[first]) / np.sqrt(np.maximum(noise[place] - noise[first], 0.5))
    least = 0.25 / len(place)
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


def reversal_p_value(units: Units) -> float:
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
