"""Random-effects summary of one number per cluster.

The variance between clusters is that of Paule & Mandel (1982), at which the factor of Hartung & Knapp is 1 (less where
the variance is 0, and then 1 is taken), so that the mean has limits of Student's t. The prediction interval carries the
uncertainty of the variance by its Q profile (Viechtbauer 2007; the idea is that of Nagashima, Noma & Furukawa 2019), on
a grid, so that nothing is drawn at random.
Derivation: docs/theory/19-between-clusters.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.distributions.bisection import bisect_all
from calibrant.table.pooling import FloatArray

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
