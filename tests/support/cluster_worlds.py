"""Populations of clusters, and the numbers of a validation report without each cluster, for many samples at once.

The limits are those of the library; what each number is without a cluster is written again here, in whole arrays, and
`tests/guarantees/test_cluster_intervals.py` checks that it is what the library finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from calibrant.distributions.cluster_jackknife import LOG, LOG_ODDS, PLAIN, Link, Parts, log_products
from calibrant.metrics.ranking import areas_without

SCALES: dict[str, Link] = {
    "roc_auc": LOG_ODDS,
    "observed_expected": LOG,
    "brier": LOG,
    "log_loss": LOG,
    "scaled_brier": LOG,  # of 1 less the skill
    "observed_minus_predicted": PLAIN,
    "calibration_intercept": PLAIN,
    "calibration_slope": PLAIN,
    "net_benefit": PLAIN,
    "cost": LOG,
    "brier_difference": PLAIN,
    "log_loss_difference": PLAIN,
    "roc_auc_difference": PLAIN,
}


def lognormal(clusters: int, rows: float, spread: float = 1.0) -> np.ndarray:
    """Sizes at the quantiles of a log-normal distribution; of 20 with spread 1, the largest has about a fifth."""
    size = np.exp(spread * norm.ppf((np.arange(clusters) + 0.5) / clusters))
    return np.maximum(4, np.round(size / size.mean() * rows)).astype(int)


@dataclass(frozen=True, eq=False)
class ClusterWorld:
    """Log-odds of a row are ``a + (1 + b) x + u``, u and b of its cluster; the model has ``a' + x``.

    In a `shock`, a share of the clusters has log-odds so much higher; in an `outbreak`, all rows of a share of them are
    positive. `over` is added to the scores' log-odds, and `common` is the part of x, of standard deviation 1.04, that
    all rows of a cluster share. With `sizes`, these depend on u and are drawn with each sample.
    """

    size: np.ndarray
    rate: float
    spread: float
    slopes: float = 0.0
    shock: tuple[float, float] = (0.0, 0.0)
    outbreak: float = 0.0
    over: float = 0.0
    exponential: bool = False
    common: float = 0.3
    sizes: Callable[[np.random.Generator, np.ndarray], np.ndarray] | None = None

    @property
    def threshold(self) -> float:
        return min(0.5, 1.2 * self.rate)

    def _effects(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        normal = rng.exponential(1.0, shape) - 1.0 if self.exponential else rng.standard_normal(shape)
        shock = self.shock[1] * (rng.random(shape) < self.shock[0])
        return self.spread * normal + shock, self.slopes * rng.standard_normal(shape)

    @cached_property
    def _levels(self) -> tuple[float, float]:
        """Log-odds at x = 0 of the outcome, and of a model that is right on the whole."""
        rng = np.random.default_rng(7)
        x = 1.04 * rng.standard_normal(200_000)
        u, b = self._effects(rng, x.shape)
        return _level((1.0 + b) * x + u, self.rate), _level(x, self.rate)

    def draw(self, rng: np.random.Generator, samples: int) -> tuple[np.ndarray, ...]:
        """Labels and the log-odds of both models, one sample in each line, and the sizes of the clusters."""
        u, b = self._effects(rng, (samples, len(self.size)))
        size = self.size
        if self.sizes is not None:
            assert samples == 1
            size = self.sizes(rng, u[0])
        at = np.repeat(np.arange(len(size)), size)
        own = np.sqrt(1.09 - self.common**2) * rng.standard_normal((samples, len(at)))
        x = own + self.common * rng.standard_normal(u.shape)[:, at]
        y = rng.random(x.shape) < expit(self._levels[0] + (1.0 + b[:, at]) * x + u[:, at])
        if self.outbreak:
            y |= (rng.random(u.shape) < self.outbreak)[:, at]
        mean = self._levels[1]
        return y, mean + self.over + x, mean + 0.6 * x + 0.5 * rng.standard_normal(x.shape), size

    def truth(self) -> dict[str, float]:
        """The numbers in a very large sample: all rows count the same."""
        rng = np.random.default_rng(11)
        # One row stands for a cluster, unless sizes and outcomes go together.
        clusters = 400_000 if self.sizes is None else 10_000
        one = replace(self, size=np.ones(clusters, dtype=int))
        one.__dict__["_levels"] = self._levels
        y, z, other, _ = one.draw(rng, 1)
        return {name: float(value[0]) for name, value in values(y, z, other, self.threshold).items()}


def _level(rest: np.ndarray, rate: float) -> float:
    low, high = -14.0, 6.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if expit(middle + rest).mean() < rate else (low, middle)
    return low


class Number(NamedTuple):
    """Values in the samples, what they are without each cluster, and of a signed mean what rows add and take off.

    What sets one class against the other also has the rows of the rarer class in each cluster, `deciding`.
    """

    name: str
    value: np.ndarray
    without: np.ndarray
    parts: Parts | None = None
    deciding: np.ndarray | None = None


def values(y: np.ndarray, z: np.ndarray, other: np.ndarray, threshold: float) -> dict[str, np.ndarray]:
    """The numbers themselves."""
    return {one.name: one.value for one in numbers(y, z, other, np.array([y.shape[1]]), threshold, alone=True)}


def numbers(
    y: np.ndarray, z: np.ndarray, other: np.ndarray, size: np.ndarray, threshold: float, *, alone: bool = False
) -> Iterator[Number]:
    """Each number with what it is without each cluster, unless `alone`."""
    n, starts = y.shape[1], np.append(0, np.cumsum(size)[:-1])

    def sums(term: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Over all rows, and over those without each cluster."""
        of_cluster = np.add.reduceat(term, starts, axis=1)
        total = of_cluster.sum(axis=1, keepdims=True)
        return total[:, 0], total - of_cluster

    def mean(term: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total, rest = sums(term)
        return total / n, rest / np.maximum(n - size, 1)

    def signed(term: np.ndarray) -> tuple[np.ndarray, np.ndarray, Parts]:
        (added, added_without), (taken, taken_without) = (mean(np.maximum(0.0, one)) for one in (term, -term))
        products = log_products(np.array([added, taken]), np.array([added_without, taken_without]))
        return *mean(term), Parts(added, taken, products)

    s, t, positive = expit(z), expit(other), expit(z) >= threshold
    odds = threshold / (1.0 - threshold)
    loss, other_loss = (np.logaddexp(0.0, np.where(y, -one, one)) for one in (z, other))
    squared, other_squared = (y - s) ** 2, (y - t) ** 2
    brier, rate = mean(squared), mean(y * 1.0)
    yield Number("brier", *brier)
    with np.errstate(divide="ignore", invalid="ignore"):
        yield Number("scaled_brier", *(b / (r * (1.0 - r)) for b, r in zip(brier, rate, strict=True)))
        observed, expected = sums(y * 1.0), sums(s)
        yield Number("observed_expected", observed[0] / expected[0], observed[1] / expected[1])
    yield Number("log_loss", *mean(loss))
    yield Number("observed_minus_predicted", *signed(y - s))
    yield Number("net_benefit", *signed(np.where(positive, y - odds * ~y, 0.0)))
    yield Number("cost", *mean(np.where(positive, threshold * ~y, (1.0 - threshold) * y)))
    yield Number("brier_difference", *signed(other_squared - squared))
    yield Number("log_loss_difference", *signed(other_loss - loss))
    a = np.zeros((len(y), 1))
    for _ in range(8):
        p = expit(z + a)
        a = a + np.clip((y - p).sum(1, keepdims=True) / (p * (1.0 - p)).sum(1, keepdims=True), -3.0, 3.0)
    p = expit(z + a)
    (_, rest), (_, weight) = sums(y - p), sums(p * (1.0 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        yield Number("calibration_intercept", a[:, 0], a + rest / weight)
    b = np.ones((len(y), 1))
    for step in range(11):
        p = expit(a + b * z)
        v, r = p * (1.0 - p), y - p
        h0, h1, h2, u0, u1 = (sums(term) for term in (v, v * z, v * z * z, r, r * z))
        if step < 10:
            determinant = h0[0] * h2[0] - h1[0] ** 2
            a = a + np.clip((h2[0] * u0[0] - h1[0] * u1[0]) / determinant, -3.0, 3.0)[:, None]
            b = b + np.clip((h0[0] * u1[0] - h1[0] * u0[0]) / determinant, -1.0, 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = b + (h0[1] * u1[1] - h1[1] * u0[1]) / (h0[1] * h2[1] - h1[1] ** 2)
    deciding = _rarer(np.add.reduceat(y * 1.0, starts, axis=1), size)
    yield Number("calibration_slope", b[:, 0], slope, None, deciding)
    areas = [_areas(y, one, size, alone=alone) for one in (z, other)]
    yield Number("roc_auc", *areas[0], None, deciding)
    no_mean, difference = np.full((5, len(y)), np.nan), (two - one for one, two in zip(*areas, strict=True))
    yield Number("roc_auc_difference", *difference, Parts(no_mean[0], no_mean[1], no_mean[2:]), deciding)


def _rarer(events: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.where(2 * events.sum(1, keepdims=True) <= size.sum(), events, size - events)


def _areas(y: np.ndarray, z: np.ndarray, size: np.ndarray, *, alone: bool) -> tuple[np.ndarray, np.ndarray]:
    cluster = np.repeat(np.arange(len(size)), size)
    # A cluster without rows is left out too: what remains is all rows.
    found = []
    for label, score in zip(y, z, strict=True):
        order = np.argsort(score)
        clusters = np.ones(len(order), dtype=np.int64) if alone else cluster[order] + 1
        found.append(areas_without(score[order], np.ones(len(order)), label[order] * 1.0, clusters, len(size) + 1))
    whole = np.array(found)
    return whole[:, 0], whole[:, 1:]
