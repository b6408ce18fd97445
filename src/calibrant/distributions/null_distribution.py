"""What the cutoff calibration error of exactly calibrated scores would be: its mean and its upper quantiles.

The scores are given and the labels are drawn from them, so nothing is unknown: theorems, checks and figures are in
docs/theory/6-null.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.distributions.brownian import LEAST_EVENTS, MEAN_RANGE, range_quantile, range_survival
from calibrant.table.fixed_point import UNIT
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable

# Scores with less than this share of the sum of s (1 - s) count as spread out: that enlarges a limit by 6% at most.
_SMALLEST_STEP = 1.0 / 64.0
_CELLS, _WAVES = 64, 512  # of the strip in which the cumulative residuals are followed
_STRIPS = 6  # heights of the strip between which its probabilities are interpolated
_WIDE = 5.0  # standard deviations that the range exceeds with a chance of 2e-6
_CHORD = 0.02  # of a height, to the right of which the slope is taken
# How far above its largest value at steps of 1 a Brownian motion goes in between, on average: -zeta(1/2) / sqrt(2 pi)
# (Chernoff 1965; Siegmund 1979).
_BETWEEN = 0.5826
_ROUNDING = 1e-9


def null_limit(table: ScoreTable, probability: float) -> float:
    """Upper limit that the error of a table keeps to with this probability if its labels are drawn from its scores.

    Its own labels do not count; NaN if weights do not count rows. Theorems 6.1 and 6.2 and Check 6.4 of
    docs/theory/6-null.md.
    """
    if not table.independent:
        return math.nan
    score, n = table.score, table.n
    likely = np.maximum(score, 1.0 - score)
    expected = table.total * table.mean_score
    most = max(expected, table.total - expected)
    if -float(np.dot(n, np.log(likely))) <= -math.log(probability):
        most = min(most, _likeliest_range(table))
    variance = table.variance
    total = float(variance.sum())
    limit = calibrated_limit(total, probability)
    if total >= LEAST_EVENTS and (steps := _steps(variance)):
        single = _few_events(math.log1p(-probability))
        limit = min(limit, _quantile(steps, probability) * math.sqrt(total) + single)
    return (1.0 + _ROUNDING) * min(most, limit) / table.total + UNIT


def null_mean(table: ScoreTable) -> float:
    """Mean of the cutoff calibration error for labels drawn from the scores, about; NaN if weights are no counts.

    The mean of the asymptotic distribution (Theorem 6.3), or, where it is less, an upper bound that is close where
    hardly any event is expected (Theorem 6.1).
    """
    if not table.independent:
        return math.nan
    variance = table.variance
    unlikely = float(np.dot(table.n, np.minimum(table.score, 1.0 - table.score)))
    steps = _steps(variance)
    constant = _WIDE - _expected_gap(_WIDE, steps) if steps else MEAN_RANGE
    mean = constant * math.sqrt(float(variance.sum()))
    return (mean if mean <= unlikely else min(mean, _likeliest_range(table) + unlikely)) / table.total


def null_lower_tail(table: ScoreTable, error: float) -> float:
    """Chance, about, of no larger an error if the labels of a table are drawn from its scores; NaN if unknown.

    That of the asymptotic distribution for an error larger by one row, since labels come in whole numbers, and by what
    the range of a Brownian motion loses if it is read at the scores only: at either end `_BETWEEN` times the root of
    the largest variance at one of many scores. It is unknown if weights do not count rows or no label is in doubt.
    """
    variance = table.variance
    total = float(variance.sum())
    if not table.independent or total == 0.0:
        return math.nan
    steps = _steps(variance) or (1.0,)
    between = float(variance[variance <= _SMALLEST_STEP * total].max(initial=0.0))
    height = (error * table.total + 1.0 + 2.0 * _BETWEEN * math.sqrt(between)) / math.sqrt(total)
    if height >= _WIDE:
        return 1.0
    # The gap is convex, and its slope the distribution function: a chord to the right is no less steep.
    right = (1.0 + _CHORD) * height
    return min(1.0, (_expected_gap(right, steps) - _expected_gap(height, steps)) / (right - height))


def calibrated_limit(variance: float, probability: float) -> float:
    """Upper limit of the range of the cumulative residuals of exactly calibrated scores, in rows.

    It holds for all scores: `variance` is the sum of ``s (1 - s)`` over the rows. The quantile of the range of a
    Brownian motion, and a term for few events (Check 6.4).
    """
    return range_quantile(probability) * math.sqrt(variance) + _few_events(math.log1p(-probability))


def calibrated_p_value(rows: float, variance: float, survival: Callable[[float], float] = range_survival) -> float:
    """Smallest chance for which a range of so many rows passes the limit of `calibrated_limit`; `variance` > 0.

    With another `survival` function, that of another size of the cumulative residuals.
    """

    def chance_beside(few: float) -> float:
        return survival((rows - few) / math.sqrt(variance))

    def too_little(few: float) -> bool:
        chance = chance_beside(few)
        return chance <= 0.0 or few < _few_events(math.log(chance))

    # The term for few events is sought: the larger it is, the larger is the chance.
    return chance_beside(bisect(too_little, 0.0, max(0.5, rows), rtol=1e-9)[1])


def _few_events(log_chance: float) -> float:
    """Return what is added to an upper quantile for the steps of single events: half a row at .95, more beyond."""
    return max(0.5, -log_chance / 3.0 - 0.9)


def _likeliest_range(table: ScoreTable) -> float:
    """Range of the cumulative residuals, in rows, if each label is the likelier one."""
    likelier = table.n * (table.score > 0.5)
    cumulative = np.cumsum(likelier - table.n * table.score)
    return float(max(0.0, cumulative.max()) - min(0.0, cumulative.min()))


def _steps(variance: FloatArray) -> tuple[float, ...]:
    """Shares of the variance from the lowest score to the highest, negative where one score holds it; () if none does.

    Positive shares stand for many scores, along which the limit is a Brownian motion.
    """
    total = float(variance.sum())
    large = np.flatnonzero(variance > _SMALLEST_STEP * total)
    if not len(large):
        return ()
    before = np.concatenate([[0.0], np.cumsum(variance)]) / total
    steps, last = [], 0
    for at in large.tolist():
        steps += [float(before[at] - before[last]), -float(variance[at]) / total]
        last = at + 1
    steps.append(float(before[-1] - before[last]))
    return tuple(step for step in steps if abs(step) > 1e-12)


def _quantile(steps: tuple[float, ...], probability: float) -> float:
    """Quantile of the range of a standard Brownian motion that is read only at the ends of steps."""
    from numpy.polynomial import Chebyshev

    centre = range_quantile(probability)
    ends = [max(0.5, centre - 0.75), centre + 0.1]
    gap = Chebyshev.interpolate(
        lambda heights: np.array([_expected_gap(height, steps) for height in heights]), _STRIPS - 1, domain=ends
    )
    chance = gap.deriv()
    return bisect(lambda height: bool(chance(height) < probability), *ends, atol=1e-6)[1]


def _expected_gap(height: float, steps: tuple[float, ...]) -> float:
    r"""Mean of ``max(0, height - range)``: how far a strip of this height can be moved and still hold all that is read.

    It is the height times the chance of never leaving a strip that starts evenly spread around 0; its derivative
    in `height` is the distribution of the range (Theorem 6.3).
    """
    from scipy.special import ndtr

    waves, away = _waves(), np.abs(np.subtract.outer(np.arange(_CELLS), np.arange(_CELLS)))
    decay = -0.5 * (math.pi / height * np.arange(1, _WAVES + 1)) ** 2
    mass = np.full(_CELLS, 1.0 / _CELLS)
    for step in steps:
        if step > 0.0:
            mass = waves @ (np.exp(decay * step) * (mass @ waves))
        else:
            edges = (np.arange(-1, _CELLS) + 0.5) * (height / _CELLS / math.sqrt(-step))
            mass = np.diff(ndtr(edges))[away] @ mass
    return height * float(mass.sum())


@cache
def _waves() -> FloatArray:
    """Means over the cells of the sine waves that vanish at the ends of the strip, scaled to be almost orthonormal."""
    at, half = np.arange(_CELLS) + 0.5, 0.5 * math.pi / _CELLS * np.arange(1, _WAVES + 1)
    return np.asarray(math.sqrt(2.0 / _CELLS) * np.sin(2.0 * np.outer(at, half)) * (np.sin(half) / half))
