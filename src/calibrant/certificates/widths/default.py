"""The default upper bound on the true cutoff calibration error.

The true error is attained, or approached, by one fixed interval and sign. The empirical error is at least the average
residual over that interval, an average of independent terms in [-1, 1] whose mean is the true error. So a bound for
the lower tail of one average suffices, with no union over intervals. Its width depends on the squared terms, which are
residuals inside that interval only. Derivation: docs/theory/1-upper-bound.md.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from calibrant.distributions.mean_limits import bernstein_mean_width, line_above, mean_width
from calibrant.distributions.rare_events import betting_width, choose_bound, smallest_bet
from calibrant.table.cumulative_residuals import Extremes
from calibrant.table.parameters import check_width
from calibrant.table.pooling import BoolArray, FloatArray, NumberArray
from calibrant.table.score_table import ScoreTable

# The width is bounded from above by straight lines, from its values at so many mean squares and 0.
_NODES = 96
# Lines tried, each touching at the squares of the interval found last; further ones change little.
_LINES = 2
# Steps in which the largest possible distance of a term from its mean is narrowed from 2.
_ROUNDS = 2
# Of sums over an interval of residuals, and of their negatives, those that a side is about.
_SIGNS = {0: slice(0, 2), 1: slice(0, 1), -1: slice(1, 2)}


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
        widths.append(float(_narrowed(n, np.array([brier]), delta, estimate, choice.spent)[0]))
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


def charged_bound(table: ScoreTable, walk: Extremes, delta: float, side: int = 0) -> float:
    """Upper confidence bound that counts residuals only inside the interval that it is about; not capped at 1.

    By moments, or by bets where few events are expected (Theorem 1.7). Of one `side`, with the `walk` of
    `largest_move`, only intervals count whose predictions are too low (1) or too high (-1).
    """
    squares = min(1.0, max(1e-12, float(table.squared.sum()) / table.total)) * np.arange(_NODES + 1) / _NODES
    choice = choose_bound(table.total, table.mean_variance, delta)
    bounds = [smallest_bet(choice, partial(_betting_bound, table, side=side))] if choice.bets else []
    if choice.spent is not None:
        width = _narrowed(table.total, squares, delta, walk.at_most, choice.spent)
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


def _betting_bound(table: ScoreTable, rate: float, delta: float, side: int = 0) -> float:
    """Bound by a bet at one rate (Theorem 1.6): its largest loss over intervals is the largest rise of one walk."""
    hidden = table.low < table.high if table.cells is not None else None
    positives = _Away(table.k, table.rise, 1.0 - table.high, 1.0 - table.low)
    negatives = _Away(table.negatives, table.fall, table.low, table.high)
    loss = max(
        _largest_rise(*_bet(rate, against, in_favour), hidden)[0]
        for against, in_favour in [(positives, negatives), (negatives, positives)][_SIGNS[side]]
    )
    return -math.expm1(-(loss - math.log(delta)) / table.total) / rate


class _Away(NamedTuple):
    """How far scores are from one outcome, at each row of a table: rows, total, and limits for each of them."""

    rows: NumberArray
    total: FloatArray
    low: FloatArray
    high: FloatArray


def _bet(rate: float, against: _Away, in_favour: _Away) -> tuple[FloatArray, FloatArray]:
    """Most that a bet loses and wins at each row of the table, with the difference no less than it can be.

    Rows of a cell are not told apart: what they lose, which is convex, is below its chord, and what they win, which is
    concave, between chord and tangent.
    """
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


def _narrowed(n: float, squares: FloatArray, delta: float, estimate: float, spent: float) -> FloatArray:
    """Width at each mean square; a term is no further from its mean than 1 plus what the error can be."""
    reach = 2.0
    for _ in range(_ROUNDS):
        width = float(mean_width(n, squares[-1], delta, reach=reach, spent=spent))
        reach = 1.0 + min(1.0, estimate + width)
    return mean_width(n, squares, delta, reach=reach, spent=spent)


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
