"""What clusters tell, as independent draws: limits from leaving out one at a time, and a summary of one number each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant.distributions.bisection import bisect_all
from calibrant.distributions.bounded_mean import Draws
from calibrant.table.pooling import FloatArray, score_order

LEAST_CLUSTERS, LEAST_EFFECTIVE = 3, 2.0
_ROUNDING = 1e-12


class Link(NamedTuple):
    """Where limits are symmetric, and the way back."""

    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]


def _log_odds(value: FloatArray) -> FloatArray:
    return np.asarray(np.log(value) - np.log1p(-value))


def _logistic(value: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(value))


PLAIN = Link(np.asarray, np.asarray)
LOG = Link(np.log, np.exp)
LOG_ODDS = Link(_log_odds, _logistic)


class Parts(NamedTuple):
    """Signed numbers as what rows add less what they take off, neither negative.

    `products` is that of `log_products`, without a factor for the number of clusters.
    """

    added: FloatArray
    taken: FloatArray
    products: FloatArray


def log_products(parts: FloatArray, without: FloatArray) -> FloatArray:
    """Squared changes of logarithms without each cluster, of the first part, of the second, and their product, summed.

    The parts stand in the first axis, the clusters in the last one of `without`. A part of 0 does not change.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(without) - np.log(parts)[..., None]
        first, second = np.where(parts[..., None] == 0.0, 0.0, change)
        return np.stack([(one * two).sum(axis=-1) for one, two in ((first, first), (second, second), (first, second))])


def effective_number(size: FloatArray) -> float:
    """Number of clusters of equal size that would be worth as much as those of such sizes."""
    return float(size.sum() ** 2 / np.dot(size, size))


@dataclass(frozen=True, eq=False)
class Jackknife:
    """Clusters of so many rows, each of which is left out in turn.

    What hangs on the rows of one class, such as the area under the ROC curve, has as many degrees of freedom as their
    number in each cluster, `deciding`, gives: 200 clusters of which ten have an event are worth no more than ten.
    """

    size: FloatArray
    deciding: FloatArray | None = None

    @cached_property
    def effective(self) -> float:
        """Number of clusters of equal size that would be worth as much."""
        return effective_number(self.size)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's distribution."""
        return (self.effective if self.deciding is None else effective_number(self.deciding)) - 1.0

    @property
    def refusal(self) -> str:
        """Why there are no limits at all; empty if there are."""
        if len(self.size) < LEAST_CLUSTERS:
            count = "one cluster" if len(self.size) == 1 else f"{len(self.size)} clusters"
            return f"no interval: {count}, and at least {LEAST_CLUSTERS} are needed"
        if self.effective < LEAST_EFFECTIVE:
            share = self.size.max() / self.size.sum()
            return f"no interval: one cluster has {share:.0%} of the rows, and they alone decide"
        return ""

    def quantile(self, tail: float) -> float:
        """Upper quantile of Student's distribution."""
        from scipy.special import stdtrit

        return -float(stdtrit(self.freedom, tail))

    def deviation(self, squares: FloatArray) -> FloatArray:
        """Standard error from the sum of the squared changes."""
        return np.sqrt(np.maximum(0.0, squares) * (len(self.size) - 1.0) / len(self.size))

    def means_without(self, sums: FloatArray) -> FloatArray:
        """Mean over the rows without each cluster, from its sums over the rows of each."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((sums.sum(axis=-1, keepdims=True) - sums) / (self.size.sum() - self.size))

    def parts(self, sums: FloatArray) -> Parts:
        """Means over the rows of what they add and take off, from the sums of each over the rows of each cluster."""
        both = sums.sum(axis=-1) / self.size.sum()
        return Parts(both[0], both[1], log_products(both, self.means_without(sums)))

    def limits(
        self, value: float, without: FloatArray, level: float, scale: Link = PLAIN, parts: Parts | None = None
    ) -> tuple[float, float, str]:
        """Lower and upper limit from a number and from what it is without each cluster; or NaN, and why."""
        if self.refusal:
            return math.nan, math.nan, self.refusal
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = scale.to(np.asarray(value))
            squares = np.asarray(((scale.to(without) - centre) ** 2).sum())
            lower, upper = self.limits_of_many(np.asarray(value), squares, level, scale, parts)
        why = ""
        if np.isnan(lower):
            why = "no interval: no cluster changes it"
            if not np.isfinite(centre):
                why = "no interval: it is at the end of its range"
            elif not np.isfinite(squares):
                why = "no interval: it has no value without a cluster"
        return float(lower), float(upper), why

    def limits_of_many(
        self, value: FloatArray, squares: FloatArray, level: float, scale: Link = PLAIN, parts: Parts | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Limits for many numbers from the sums of their squared changes on the scale; NaN where there are none.

        With `parts` on the plain scale, they are those of `signed_limits`.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            centre = scale.to(value)
            quantile = self.quantile(0.5 - 0.5 * level)
            half = quantile * self.deviation(squares)
            known = np.isfinite(squares) & (squares > _ROUNDING**2 * np.maximum(1.0, centre**2)) & (not self.refusal)
            half = np.where(known, half, np.nan)
            if parts is not None:
                return self.signed_limits(value, half, quantile, parts)
            return scale.back(centre - half), scale.back(centre + half)

    def signed_limits(
        self, value: FloatArray, half: FloatArray, quantile: float, parts: Parts
    ) -> tuple[FloatArray, FloatArray]:
        """Limits from those of both parts on the scale of logarithms, and from the correlation of these.

        Of a positive correlation r, a share r of what moves the parts moves both the same way. Limits are `half` off
        where a part has no logarithm without a cluster, and NaN where `half` is.
        """
        first, second, both = parts.products * ((len(self.size) - 1.0) / len(self.size))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            correlation = np.where(first * second > 0.0, both / np.sqrt(first * second), 0.0)
            same, opposite = np.maximum(correlation, 0.0), np.minimum(correlation, 0.0)
            added, taken = quantile * np.sqrt(first), quantile * np.sqrt(second)
            added_below, added_above = -parts.added * np.expm1(-added), parts.added * np.expm1(added)
            taken_below, taken_above = -parts.taken * np.expm1(-taken), parts.taken * np.expm1(taken)

            def distance(one: FloatArray, two: FloatArray, alike: FloatArray) -> FloatArray:
                """How far the number goes with one part, if the other goes so far against it or along with it."""
                apart = (1.0 - same) * (one**2 + two**2) - 2.0 * opposite * one * two
                square = apart + same * (one - alike) ** 2
                return np.where(np.isfinite(square + half), np.sqrt(square), half)

            lower = value - distance(added_below, taken_above, taken_below)
            return lower, value + distance(added_above, taken_below, taken_above)


def hidden_share(size: FloatArray, delta: float) -> float:
    """Largest share of rows that events take hold of, none of which is seen with probability `delta`.

    `size` are the rows of each cluster. An event that takes hold of cluster g with probability p_g adds ``sum p_g m_g``
    rows; none is seen with probability ``prod (1 - p_g)``. The largest such sum is ``sum (m_g - u)_+`` with u so that
    ``sum log(m_g / u)_+ = log(1 / delta)``: a share of ``1 - delta**(1 / G)`` for G clusters of equal size. Nothing the
    clusters have shown rules such events out, not even rows that seem independent of each other.
    """
    largest = size[score_order(-size)]
    # u for each number of clusters that pass it; the right number is the last that is consistent.
    logs = np.log(largest)
    level = (np.cumsum(logs) + math.log(delta)) / np.arange(1, len(logs) + 1)
    u = math.exp(float(level[np.flatnonzero(logs >= level)[-1]]))
    return float(np.maximum(0.0, largest - u).sum() / size.sum())


def equal_draws(size: FloatArray, delta: float) -> float:
    """Number of clusters of equal size in which events could hide as well as in these."""
    seen = 1.0 - hidden_share(size, delta)
    return math.log(delta) / math.log(seen) if seen > 0.0 else 0.0


def cluster_draws(value: float, parts: FloatArray, row_variance: float, size: FloatArray, tail: float) -> Draws:
    """Draws whose mean has the variance and the third moment that a mean over all rows has over clusters.

    The draws are clusters of equal size, so many that events could hide in them as well as in these. `value` is the
    mean, and `parts` is what each cluster adds to it, less what clusters of its size add on average. The variance is at
    least that of the mean of independent rows, and so much larger that the normal quantile at `tail` becomes Student's.
    """
    from scipy.special import ndtri, stdtrit

    size = size[size > 0.0]
    freedom = float(size.sum() ** 2 / np.dot(size, size)) - 1.0 if len(size) > 1 else 0.0
    if freedom <= 0.0:  # one cluster says nothing
        return Draws(np.array([value]), np.zeros(1))
    draws, student = equal_draws(size, tail), float(stdtrit(freedom, tail) / ndtri(tail))
    squares = float(np.dot(parts, parts))
    variance = student**2 * draws * max(squares * len(size) / (len(size) - 1.0), row_variance)
    # What the clusters add, in units in which the third moment is right, and the variance that is missing on each side.
    clusters = len(parts)
    unit = clusters * (draws / clusters) ** (2.0 / 3.0)
    missing = math.sqrt(max(0.0, variance - unit**2 * squares / clusters))
    values = value + unit * parts
    return Draws(np.concatenate([values - missing, values + missing]), np.full(2 * clusters, 0.5 * draws / clusters))


LEAST_TO_SUMMARISE, LEAST_TO_PREDICT = 3, 5
_GRID, _HALVINGS = 40, 60
_FARTHEST = 12.0  # standard deviations within which a quantile is sought
_ADDED = (
    0.25  # to counts before their roots are taken (Anscombe 1948: their mean is then nearest to the root of theirs)
)
_MANY = 32.0  # expected count from which on the moments of its root are those of large counts
_STRAIGHT = 1e-6  # least curvature, which stands for none


class RandomEffects(NamedTuple):
    """Mean with its limits and then those of a new cluster; standard deviation between clusters, with its limits.

    All are NaN where there are too few clusters.
    """

    ends: FloatArray
    tau: FloatArray


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def random_effects(value: FloatArray, variance: FloatArray, level: float, *, skew: float = 0.0) -> RandomEffects:
    """Summarise the values of clusters whose sampling variances are known, and positive.

    With `skew` they estimate ``(exp(skew x) - 1) / skew`` of an x that is normal between clusters, and what is returned
    is about x, by the moments of a log-normal distribution. With 1 they are ratios less 1, whose logarithm is x.
    """
    from scipy.special import chdtri, ndtr, stdtrit

    freedom, tails = len(value) - 1.0, np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
    if len(value) < LEAST_TO_SUMMARISE:
        return RandomEffects(np.full(5, math.nan), np.full(3, math.nan))
    # The first is for the estimate, two for its limits, the others are spread evenly over its confidence distribution.
    chances = np.concatenate([tails, (np.arange(_GRID) + 0.5) / _GRID])
    squares = np.concatenate([[freedom], chdtri(freedom, chances)])
    most = ((value - value.mean()) ** 2).sum() / squares
    between, _ = bisect_all(lambda at: pool(value, variance, at)[2] > squares, 0.0 * most, most, _HALVINGS)
    centre, error, _ = pool(value, variance, between)
    if skew:
        ratio = 1.0 + skew * centre
        error, between = error / ratio, np.log1p(between * (skew / ratio) ** 2) / skew**2
        centre = np.log(ratio) / skew - 0.5 * skew * between
    half = -float(stdtrit(freedom, tails[0])) * error[0]
    middle, deviation = centre[3:], np.sqrt(between + error**2)[3:]
    low, high = (np.full(2, end) for end in (min(middle - _FARTHEST * deviation), max(middle + _FARTHEST * deviation)))
    predicted, _ = bisect_all(
        lambda at: ndtr((at[:, None] - middle) / deviation).mean(axis=1) < tails, low, high, _HALVINGS
    )
    # A new cluster is no better known than the mean, of which Student's distribution makes more where clusters are few.
    limits = centre[0] - half, centre[0] + half
    wider = min(predicted[0], limits[0]), max(predicted[1], limits[1])
    new = wider if len(value) >= LEAST_TO_PREDICT else (math.nan, math.nan)
    return RandomEffects(np.array([centre[0], *limits, *new]), np.sqrt(between[:3]))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def root_scale(
    ratio: FloatArray, variance: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values of clusters, their variances and skews, as `random_effects` takes them, from ratios that vary like counts.

    A ratio estimates ``exp(curvature x)`` with this variance where x is 0, and varies like a Poisson count over its
    mean. The value is the root of the count, whose variance hardly depends on x, less its mean where x is 0, in units
    of its slope in x there. Its curvature over its slope is the skew.
    """
    from scipy.special import gammaln

    mean, count = 1.0 / variance, np.arange(5.0 * _MANY)
    few = np.minimum(mean, _MANY)[:, None]
    chance = np.exp(count * np.log(few) - few - gammaln(count + 1.0))
    roots, first, second = (chance @ np.sqrt(count + more + _ADDED) for more in range(3))
    slope = mean * (first - roots)
    bend = slope + mean**2 * (second - 2.0 * first + roots)
    many, large = mean >= _MANY, np.sqrt(mean)
    spread = np.where(many, 0.25, (chance * (np.sqrt(count + _ADDED) - roots[:, None]) ** 2).sum(axis=1))
    roots, slope, bend = (np.where(many, *both) for both in ((large, roots), (large / 2.0, slope), (large / 4.0, bend)))
    curvature = np.copysign(np.maximum(np.abs(curvature), _STRAIGHT), curvature)
    value = (np.sqrt(np.maximum(0.0, mean * ratio) + _ADDED) - roots) / (curvature * slope)
    return value, spread / (curvature * slope) ** 2, curvature * bend / slope


def pool(value: FloatArray, variance: FloatArray, between: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted mean for each variance between clusters, its standard error, and the weighted squared deviations."""
    weight = 1.0 / (variance + between[:, None])
    centre = weight @ value / weight.sum(axis=1)
    return centre, np.sqrt(1.0 / weight.sum(axis=1)), (weight * (value - centre[:, None]) ** 2).sum(axis=1)
