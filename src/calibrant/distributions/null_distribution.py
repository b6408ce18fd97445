"""What chance makes of cumulative residuals: of those of exactly calibrated scores, and of those of clusters."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.distributions.brownian import LEAST_EVENTS, MEAN_RANGE, range_quantile, range_survival
from calibrant.errors import ArgumentError
from calibrant.table.pooling import FloatArray
from calibrant.table.progress import report_progress
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import UNIT

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


def calibrated_p_value(rows: float, variance: float) -> float:
    """Smallest chance for which a range of so many rows passes the limit of `calibrated_limit`; `variance` > 0."""

    def chance_beside(few: float) -> float:
        return range_survival((rows - few) / math.sqrt(variance))

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


# Rotated sums are enlarged: of skewed walks, such as those of rare events, the spread is underrated where few go far.
# 4% keep the test of 5 to 50 clusters with shared effects at its level.
_WIDER = 1.04
_FACTORS = 1 << 21  # random factors held at a time
_SLACK = 1e-12  # ranges that agree with the observed one but for rounding count as reaching it
_STEPS = 16  # errors tried on a way to the lower bound, of which the last step is halved
_HALVINGS = 8


@dataclass(frozen=True, eq=False)
class Rotations:
    """The sum of the walks of all clusters at some scores, its rotations, and ranges of walks of independent rows.

    All are errors: relative to all rows. An error c is rejected if walks less their parts ``m_g c S / M`` of a drift of
    that error seldom go as far as what is left of S, and neither do independent rows: the dependence of rows within a
    cluster only adds to what these do, but few clusters with few events may all agree by chance.
    """

    walk: FloatArray  # shape (k,), from 0 on
    rotated: FloatArray  # shape (b, k)
    size: FloatArray  # rows rotated like the walks, over all rows, shape (b,)
    independent: FloatArray  # ranges, shape (b,)
    student: FloatArray  # factors that make of rotations what normal walks of so few clusters may show, shape (b,)
    hidden: Callable[[float, float], float]  # largest error that nothing shows: with a probability, at a share of S

    @cached_property
    def observed(self) -> float:
        """Range of the sum."""
        return float(np.ptp(self.walk))

    def p_value(self) -> float:
        """Smallest level at which no error at all is rejected."""
        levels = range(1, len(self.size) + 1)
        ranges = self._ranges(0.0)
        # the larger the level, the less is hidden and the fewer rotations reach the rest
        level = 1 + bisect_left(levels, True, key=lambda level: self._reached(ranges, level) <= level)
        return level / (len(self.size) + 1.0)

    def quantile(self, level: float) -> float:
        """Range that is just not significant at a level; infinite where there are too few rotations for it."""
        rank = math.floor(level * (len(self.size) + 1) + 1e-9)
        ranges = self._ranges(0.0)
        return max(float(np.partition(one, -rank)[-rank]) for one in ranges) if rank else math.inf

    def lower_bound(self, delta: float, side: int = 0) -> float:
        """Largest error up to which all are rejected at a level; above 0 only if the p-value is at most that.

        Of one `side`, only a rise of the walk counts (1: predictions are too low), or a fall (-1).
        """
        level, value = self._level(delta), self.observed
        if side:
            value = float((side * self.walk - np.minimum.accumulate(side * self.walk)).max())

        def rejected(share: float) -> bool:
            return self._reached(self._ranges(share), level, value, share) <= level

        share, step = 0.0, 1.0 / _STEPS
        if not value or not rejected(0.0):
            return 0.0
        while share + step < 1.0 and rejected(share + step):
            share += step
        for _ in range(_HALVINGS):
            step *= 0.5
            share += step * rejected(share + step)
        return share * value

    def width(self, delta: float) -> float:
        """Width of a band around the errors seen on all intervals at once.

        The larger of three quantiles: of the ranges of multiplied walks around their expectation, of these walks
        themselves, which is safe where clusters happen to agree, and of independent rows.
        """
        rank = len(self.size) + 1 - self._level(delta)
        ranges = (*(self.student * self._ranges(share)[0] for share in (0.0, 1.0)), self.independent)
        quantile = max(float(np.partition(one, rank - 1)[rank - 1]) for one in ranges)
        return math.hypot(quantile, self.hidden(delta, 0.0))

    def _ranges(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Ranges of the rotated walks less a share of the drift seen, and those of independent rows."""
        moved = self.rotated if share == 0.0 else self.rotated - np.outer(share * self.size, self.walk)
        return np.ptp(moved, axis=1), self.independent

    def _reached(
        self, ranges: tuple[FloatArray, FloatArray], level: int, value: float | None = None, share: float = 0.0
    ) -> int:
        """Count ranges that, with what is hidden, reach what a share leaves of a value: of the two, the most."""
        rest = (1.0 - share) * (self.observed if value is None else value) - _SLACK
        hidden = self.hidden(min(level / (len(self.size) + 1.0), 1.0), share)
        return 1 + max(int(np.count_nonzero(np.hypot(one, hidden) >= rest)) for one in ranges)

    def _level(self, delta: float) -> int:
        """Most rotations, and the observed walk, that may reach what is rejected."""
        rotations = len(self.size)
        level = math.floor(delta * (rotations + 1) + 1e-9)
        if not level:
            expected = f"at least {math.ceil(1.0 / delta - 1e-9) - 1} simulations for this delta"
            raise ArgumentError(expected, f"{rotations}", "raise n_simulations, or choose a larger delta")
        return level


def nothing_hidden(delta: float, share: float) -> float:
    """Say that there are no errors but those that clusters show."""
    return 0.0


def rotations_of(
    clusters: int, n_rotations: int, rng: np.random.Generator, *, total: float = 1.0, each: int = 1
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield factors over a total that rotate clusters, shape (b, g), some at a time, and which of all these are.

    So many at a time that they, and `each` value made of one of them, are not too many.
    """
    at_once = max(1, min(n_rotations, _FACTORS // max(clusters, each)))
    for start in range(0, n_rotations, at_once):
        report_progress("Rotating clusters", start / n_rotations)
        part = slice(start, min(n_rotations, start + at_once))
        u = rng.standard_normal((part.stop - start, clusters))
        u *= _WIDER * math.sqrt(clusters) / np.sqrt(np.einsum("rg,rg->r", u, u))[:, None] / total
        yield part, u


def rotate(
    walks: FloatArray,
    size: FloatArray,
    variance: FloatArray,
    n_rotations: int,
    rng: np.random.Generator,
    hidden: Callable[[float, float], float] = nothing_hidden,
) -> Rotations:
    """Rotate the walks of g clusters at k scores, given in shape (k, g), with 0 in the first row.

    `size` has the rows of each cluster, as they count, and `variance` that of the sum from each of the scores to the
    next, k - 1 numbers, were rows independent and every score right.
    """
    clusters, total = len(size), float(size.sum())
    rotated, moved = np.empty((n_rotations, len(walks))), np.empty(n_rotations)
    for part, u in rotations_of(clusters, n_rotations, rng, total=total):
        rotated[part], moved[part] = u @ walks.T, u @ size
    deviation = np.sqrt(np.append(0.0, variance)) / total
    independent = np.ptp(np.cumsum(rng.standard_normal(rotated.shape) * deviation, axis=1), axis=1)
    freedom = total**2 / float(size @ size) - 1.0
    squares = rng.chisquare(clusters, n_rotations) / (clusters - 1.0)  # a normal vector is a rotation of its length
    student = np.sqrt(squares * freedom / rng.chisquare(freedom, n_rotations))
    return Rotations(walks.sum(axis=1) / total, rotated, moved, independent, student, hidden)
