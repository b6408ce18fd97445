"""Confidence limits from leaving out one cluster at a time: not proved, tried in docs/theory/12-cluster-intervals.md.

A number f(all rows) becomes f(all but those of cluster g). The sum of the squared changes, times (G - 1) / G, is the
jackknife's estimate of its variance (CR3 for a regression, MacKinnon, Nielsen & Webb 2023), and the limits are those of
Student's distribution with one degree of freedom less than there are effective clusters. What is positive has them on
the scale of logarithms, since totals of clusters are skewed where these differ much or have few events; a mean of
signed terms has those of what rows add and of what they take off together (as in MOVER, Zou & Donner 2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray

# What limits with clusters allow for: only clusters like these, or also some of a kind that none of them shows.
Guarantee = Literal["ordinary", "unseen clusters"]

LEAST_CLUSTERS, LEAST_EFFECTIVE = 3, 2.0
_ROUNDING = 1e-12


def allows_unseen(guarantee: str) -> bool:
    """Whether limits have to allow for clusters of a kind that none shows; an `ArgumentError` for unknown names."""
    return check_choice("guarantee", guarantee, ("ordinary", "unseen clusters")) == "unseen clusters"


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
