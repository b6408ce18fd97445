"""The default upper bound on the true cutoff calibration error.

The true error is attained, or approached, by one fixed interval and sign. The empirical error is at least the average
residual over that interval, an average of independent terms in [-1, 1] whose mean is the true error. So a bound for
the lower tail of one average suffices, with no union over intervals. Its width depends on the squared terms, which are
residuals inside that interval only. Derivation: docs/theory/1-upper-bound.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant.distributions.mean_limits import (
    Choice,
    bernstein_mean_width,
    betting_width,
    choose_bound,
    line_above,
    mean_width,
    psi,
)
from calibrant.table.cumulative_residuals import Extremes
from calibrant.table.parameters import check_width
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, NumberArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import UNIT

# The width is bounded from above by straight lines, from its values at so many mean squares and 0.
_NODES = 96
# Lines tried, each touching at the squares of the interval found last; further ones change little.
_LINES = 2
# Steps in which the largest possible distance of a term from its mean is narrowed from 2.
_ROUNDS = 2
# Of sums over an interval of residuals, and of their negatives, those that a side is about.
_SIGNS = {0: slice(0, 2), 1: slice(0, 1), -1: slice(1, 2)}
# A margin for rounding where no bound need be found, and terms so small that formulas of their size would lose digits.
_CLEARLY, _LEAST_TERM = 1.0 + 1e-9, 1e-3


def default_width(
    n: float, brier: float, delta: float = 0.05, *, estimate: float = 0.0, mean_variance: float | None = None
) -> float:
    """Width of the default bound: true error <= empirical error + width, for every number of rows.

    Parameters
    ----------
    n, brier, delta : float
        Number of independent rows, their Brier score, and the probability with which the bound may fail, in (0, 1).
    estimate : float
        Empirical error of these rows, or more, in [0, 1]; the width holds for samples with an error up to this. With
        the default it is that of a sample whose error is 0, good enough to plan with.
    mean_variance : float, optional
        Mean of ``s (1 - s)`` over the scores s, which chooses the bound. By default the Brier score, which is expected
        of calibrated scores: good enough to plan with, but no bound for rows whose outcomes it was made of.

    Returns
    -------
    float
        In units of the error; smaller is tighter. `certify` uses the error of its rows, and is often tighter still,
        since it counts only the squared residuals inside the interval that a bound is about.

    Notes
    -----
    Where ``n * delta`` is at least 50, the smaller of the Berry-Esseen and the Bennett bound at the least favourable
    variance below a Chernoff limit (Theorem 1.4 of docs/theory/1-upper-bound.md); elsewhere `bernstein_width`. For many
    rows it tends to ``z sqrt(brier / n)``, with z the normal quantile at 0.975 delta. Where few events are expected
    (about 60 at delta 0.05), bets at rates that suit their number (Theorems 1.6 and 1.7).

    References
    ----------
    Shevtsova (2013). Informatics and Applications. Bennett (1962). JASA.

    Examples
    --------
    >>> from calibrant.certificates.widths import default_width
    >>> round(default_width(10_000, 0.15), 4)
    0.0071
    """
    check_width(n, delta, brier)
    choice = choose_bound(n, brier if mean_variance is None else mean_variance, delta)
    widths = [betting_width(n, brier, choice)] if choice.bets else []
    if choice.spent is not None:
        reach, _ = _reach(n, brier, delta, estimate, choice.spent)
        widths.append(float(mean_width(n, brier, delta, reach=reach, spent=choice.spent)))
    return max(widths)


def bernstein_width(n: float, brier: float, delta: float = 0.05) -> float:
    """Width of the empirical Bernstein bound: true error <= empirical error + width, for every number of rows.

    Parameters
    ----------
    n, brier, delta : float
        Number of independent rows, their Brier score, and the probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        In units of the error; smaller is tighter.

    Notes
    -----
    A mixture of two exponential supermartingales (Fan, Grama & Liu 2015; Theorem 1.2 of docs/theory/1-upper-bound.md):
    one rate is best for a Brier score of 0.12, the other, with a tenth of the weight, for 0.004.

    Examples
    --------
    >>> from calibrant.certificates.widths import bernstein_width
    >>> round(bernstein_width(10_000, 0.15), 4)
    0.0099
    """
    check_width(n, delta, brier)
    return float(bernstein_mean_width(n, brier, delta))


def charged_bound(
    table: ScoreTable, walk: Extremes, delta: float, side: int = 0, *, enough: float = -math.inf
) -> float:
    """Upper confidence bound that counts residuals only inside the interval that it is about; not capped at 1.

    By moments, or by bets where few events are expected (Theorem 1.7). Of one `side`, with the `walk` of
    `largest_move`, only intervals count whose predictions are too low (1) or too high (-1). A bound that is clearly no
    larger than `enough` is not looked for: it is -inf.
    """
    squares = min(1.0, max(1e-12, float(table.squared.sum()) / table.total)) * np.arange(_NODES + 1) / _NODES
    choice = choose_bound(table.total, table.mean_variance, delta)
    bounds = [_Bets(table, walk, side).smallest(choice, enough)] if choice.bets else []
    if choice.spent is not None:
        reach, widest = _reach(table.total, squares[-1], delta, walk.at_most, choice.spent)
        if _CLEARLY * (walk.at_most + widest) <= enough:
            return max(bounds, default=-math.inf)
        width = mean_width(table.total, squares, delta, reach=reach, spent=choice.spent)
        bounds.append(_by_squares(table, walk, squares, width, side))
    return max(bounds)


def _by_squares(table: ScoreTable, walk: Extremes, nodes: FloatArray, width: FloatArray, side: int) -> float:
    """Bound that charges an interval with the squared residuals inside.

    Theorem 1.5: with w(V) the `width` at a mean square V, known at `nodes`, the true error is at most the largest, over
    intervals, of their mean residual plus ``w(V)`` at their own mean square. A line ``level + slope V`` above w turns
    that into the largest rise of one walk. Every line above w gives a bound on the same event, so the best of several
    is one too. It is at most ``walk.at_most`` plus the width at the Brier score of all rows.
    """
    n = table.total
    squared = table.squared
    bound = walk.at_most + float(width[-1])
    charged = float(squared[walk.rows(table.score)].sum()) / n
    rise, fall = table.rise, table.fall
    hidden = table.low < table.high if table.cells is not None else None
    for _ in range(_LINES):
        slope, level = line_above(nodes, width, charged)
        extra = slope * squared
        rises = [_largest_rise(*each, hidden) for each in [(rise + extra, fall), (fall + extra, rise)][_SIGNS[side]]]
        largest, first, last = max(rises)
        bound = min(bound, largest / n + level)
        charged = float(squared[first : last + 1].sum()) / n
    return bound


@dataclass(frozen=True, eq=False)
class _Bets:
    """Bounds by bets (Theorem 1.6): the largest loss of one over intervals is the largest rise of one walk."""

    table: ScoreTable
    walk: Extremes
    side: int

    def smallest(self, choice: Choice, enough: float = -math.inf) -> float:
        """Bound by the bets chosen; -inf where it is clearly no larger than `enough`."""
        best = math.inf
        for rates, delta in choice.bets:
            if _CLEARLY * max(self.bound(rate, delta, max(self._most(rate).values())) for rate in rates) <= enough:
                return -math.inf
        for rates, delta in choice.bets:
            if max(self.bound(rate, delta, self._least(rate)) for rate in rates) < _CLEARLY * best:
                best = min(best, max(self.bound(rate, delta) for rate in rates))
        return best

    def bound(self, rate: float, delta: float, loss: float | None = None) -> float:
        """Bound by a bet at one rate that loses so much."""
        loss = self._loss(rate) if loss is None else loss
        return -math.expm1(-(loss - math.log(delta)) / self.table.total) / rate

    def _loss(self, rate: float) -> float:
        """Most that a bet at one rate loses; the side that seems to lose more comes first, and may be enough."""
        largest, limits = 0.0, self._most(rate)
        hidden = self.table.low < self.table.high if self.table.cells is not None else None
        for sign in sorted(limits, key=limits.__getitem__, reverse=True):
            if _CLEARLY * limits[sign] > largest:
                against, in_favour = self._away[::sign]
                moves = _bet(rate, against, in_favour, cells=hidden is not None)
                largest = max(largest, _largest_rise(*moves, hidden)[0])
        return largest

    @cached_property
    def _away(self) -> tuple[_Away, _Away]:
        """How far scores are from the outcome of positives, and of negatives."""
        table = self.table
        positives, negatives = np.flatnonzero(table.k), np.flatnonzero(table.negatives)
        return (
            _Away(table.k, table.rise, 1.0 - table.high, 1.0 - table.low, positives),
            _Away(table.negatives, table.fall, table.low, table.high, negatives),
        )

    def _least(self, rate: float) -> float:
        """Loss in the interval of the error seen, or less: ``-log(1 - x)`` is at least x."""
        return 0.0 if self.table.cells is not None else rate * self.table.total * (self.walk.value - 2.0 * UNIT)

    def _most(self, rate: float) -> dict[int, float]:
        """Limits of the loss on each side: for x up to m, ``-log(1 - l x)`` is at most ``l x + psi(l m) (x / m)^2``."""
        signs = (self.side,) if self.side else (1, -1)
        if self.table.cells is not None:
            return dict.fromkeys(signs, math.inf)
        moves = {1: (self.walk.under, 1.0 - self.table.score[0]), -1: (self.walk.over, self.table.score[-1])}
        losses = {}
        for sign in signs:
            move, farthest = moves[sign][0] + 2.0 * UNIT, max(_LEAST_TERM, float(moves[sign][1]))
            charge = psi(rate * farthest) / farthest**2
            losses[sign] = rate * self.table.total * move + charge * self.table.squared_total
        return losses


class _Away(NamedTuple):
    """How far scores are from one outcome, at each row of a table: rows, total, and limits for each of them."""

    rows: NumberArray
    total: FloatArray
    low: FloatArray
    high: FloatArray
    some: IndexArray  # where there are rows


def _bet(rate: float, against: _Away, in_favour: _Away, *, cells: bool) -> tuple[FloatArray, FloatArray]:
    """Most that a bet loses and wins at each row of the table, with the difference no less than it can be.

    Rows of a cell are not told apart: what they lose, which is convex, is below its chord, and what they win, which is
    concave, between chord and tangent.
    """
    if not cells:
        lost, won = np.zeros_like(against.low), np.zeros_like(against.low)
        lost[against.some] = against.rows[against.some] * -np.log1p(-rate * against.low[against.some])
        won[in_favour.some] = in_favour.rows[in_favour.some] * np.log1p(rate * in_favour.low[in_favour.some])
        return lost, won
    lost = _chord(against, -np.log1p(-rate * against.low), -np.log1p(-rate * against.high))
    at_low = np.log1p(rate * in_favour.low)
    won_least = _chord(in_favour, at_low, np.log1p(rate * in_favour.high))
    excess = in_favour.total - in_favour.rows * in_favour.low
    won_most = in_favour.rows * at_low + excess * rate / (1.0 + rate * in_favour.low)
    return lost + (won_most - won_least), won_most


def _chord(away: _Away, at_low: FloatArray, at_high: FloatArray) -> FloatArray:
    """Sum of a function over rows, as if it were straight between its values at the limits."""
    wide = away.high - away.low
    slope = np.divide(at_high - at_low, wide, out=np.zeros_like(wide), where=wide > 0.0)
    return np.asarray(away.rows * at_low + (away.total - away.rows * away.low) * slope)


def _reach(n: float, square: float, delta: float, estimate: float, spent: float) -> tuple[float, float]:
    """Most that a term is from its mean, 1 plus what the error can be, and a width that is not too small."""
    reach = 2.0
    for _ in range(_ROUNDS):
        width = float(mean_width(n, square, delta, reach=reach, spent=spent))
        reach = 1.0 + min(1.0, estimate + width)
    return reach, width


def _largest_rise(up: FloatArray, down: FloatArray, hidden: BoolArray | None) -> tuple[float, int, int]:
    """Largest sum of `up - down` over consecutive rows of the table or places inside them, and the rows it is over."""
    after = np.cumsum(up - down)
    top, start = after, np.append(0.0, after[:-1])
    if hidden is not None:
        # Inside a cell the sum is largest if the rows that raise it come first, and smallest if the others do.
        top = np.where(hidden, start + up, after)
        start = np.where(hidden, start - down, start)
    lowest = np.minimum.accumulate(start)
    last = int(np.argmax(top - lowest))
    first = int(np.argmin(start[: last + 1]))
    return max(0.0, float(top[last] - lowest[last])), first, last
