"""All likely outcomes of the labels of several classes, where rows have few different probabilities.

Rows with the same probabilities are a group, and the labels of a group matter by their numbers alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.distributions.binomial import UNLIKELY, likely_counts
from calibrant.table.pooling import FloatArray, IntArray, number_values, score_order, sorted_values

_MOST_GROUPS = 64
_MOST = 1 << 20  # numbers of labels in all outcomes that are kept
_SLACK = 1e-7  # statistics that agree but for rounding count as reaching each other
_EQUAL = 1e-12  # probabilities of outcomes that agree but for rounding
_TINY = 1e-300


class Groups(NamedTuple):
    """Different rows of probabilities, how many rows have each, and the class predicted in each."""

    proba: FloatArray  # (D, K)
    rows: IntArray
    predicted: IntArray


class ClassOutcomes(NamedTuple):
    """Statistics of the labels that were observed, and of all likely ones with their chances; that of all others."""

    observed: FloatArray
    values: FloatArray
    chance: FloatArray
    left_out: float

    def reached(self) -> tuple[float, FloatArray]:
        """P-value of what was observed, and that of each statistic by itself.

        As in the simulated test the smallest of the p-values decides, and among outcomes where it is the same, the
        second smallest. Each is a function of the outcome alone.
        """
        all_values = np.vstack([self.observed, self.values])
        tails = np.column_stack([self._tail(column) for column in all_values.T])
        smallest, second = sorted_values(tails)[:, :2].T
        equal = np.abs(smallest - smallest[0]) <= _EQUAL
        as_far = (smallest < smallest[0] - _EQUAL) | (equal & (second <= second[0] + _EQUAL))
        return min(1.0, float(self.chance[as_far[1:]].sum()) + self.left_out), tails[0]

    def _tail(self, values: FloatArray) -> FloatArray:
        """Return the probability of reaching each of some values of a statistic, the first of them the observed one."""
        order = score_order(values[1:])
        at_least = np.append(np.cumsum(self.chance[order][::-1])[::-1], 0.0) + self.left_out
        slack = _SLACK * float(np.abs(values).max())
        return np.asarray(at_least[np.searchsorted(values[1:][order], values - slack)])

    def sample(self, size: int) -> FloatArray:
        """Return the statistics of the observed labels and of so many others, each as often as it is likely."""
        cumulative = np.cumsum(self.chance)
        at = np.searchsorted(cumulative, (np.arange(size) + 0.5) / size * cumulative[-1])
        return np.vstack([self.observed, self.values[at]])


def likely_class_outcomes(proba: FloatArray, code: IntArray, predicted: IntArray) -> ClassOutcomes | None:
    """List the likely outcomes of the labels of some rows; None if there are too many.

    Only the probabilities decide whether there are, not the labels.
    """
    grouped = _groups(proba, predicted)
    if grouped is None:
        return None
    groups, number = grouped
    listed = _tables(groups)
    if listed is None:
        return None
    counts, chance, left_out = listed
    n_classes = proba.shape[1]
    observed = np.bincount(number * n_classes + code, minlength=groups.proba.size).reshape(1, -1, n_classes)
    return ClassOutcomes(_statistics(groups, observed)[0], _statistics(groups, counts), chance, left_out)


def _groups(proba: FloatArray, predicted: IntArray) -> tuple[Groups, IntArray] | None:
    """Return the groups, and which of them each row is in; None if there are many."""
    number = np.zeros(len(proba), np.int64)
    for column in proba.T:
        of_column = number_values(column)
        number = number_values(number * (int(of_column.max()) + 1) + of_column)
        if number.max() >= _MOST_GROUPS:
            return None
    first = np.empty(int(number.max()) + 1, np.int64)
    first[number[::-1]] = np.arange(len(proba))[::-1]
    return Groups(proba[first], np.bincount(number).astype(np.int64), predicted[first]), number


def _tables(groups: Groups) -> tuple[IntArray, FloatArray, float] | None:
    """Return numbers of labels, (T, D, K), with their chances, and the chance of all that are left out."""
    n_classes = groups.proba.shape[1]
    most = _MOST // groups.proba.size
    counts, chance, left_out = np.zeros((1, 0, n_classes), np.int64), np.ones(1), 0.0
    for proba, rows in zip(groups.proba, groups.rows.tolist(), strict=True):
        listed = _multinomial(rows, proba, most)
        if listed is None or len(listed[1]) * len(chance) > _MOST:
            return None
        further, of_further, lost = listed
        left_out += lost
        joint = (chance[:, None] * of_further).ravel()
        likely = np.flatnonzero(joint >= UNLIKELY)
        left_out += max(0.0, float(joint.sum() - joint[likely].sum()))
        if len(likely) > most:
            return None
        before, here = np.divmod(likely, len(of_further))
        counts, chance = np.concatenate([counts[before], further[here][:, None]], axis=1), joint[likely]
    return counts, chance, left_out


def _multinomial(n: int, proba: FloatArray, most: int) -> tuple[IntArray, FloatArray, float] | None:
    """Return the likely numbers of labels of one group, class after class; None if there are too many."""
    possible = np.flatnonzero(proba > 0.0)
    rest = np.cumsum(proba[possible][::-1])[::-1]
    counts, left, chance, left_out = np.zeros((1, len(proba)), np.int64), np.array([n]), np.ones(1), 0.0
    for k, of_rest in zip(possible[:-1].tolist(), (proba[possible] / rest)[:-1].tolist(), strict=True):
        parts = []
        for rows in sorted(set(left.tolist())):
            here = np.flatnonzero(left == rows)
            labels, weight = likely_counts(rows, of_rest) if rows else (np.zeros(1, np.int64), np.ones(1))
            parts.append((np.repeat(here, len(labels)), np.tile(labels, len(here)), np.tile(weight, len(here))))
        before, labels, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        joint = chance[before] * weight
        likely = joint >= UNLIKELY
        left_out += float(joint[~likely].sum())
        before, labels, chance = before[likely], labels[likely], joint[likely]
        counts, left = counts[before], left[before] - labels
        counts[:, k] = labels
        if len(chance) > most:
            return None
    counts[:, possible[-1]] = left
    return counts, chance, left_out


def _statistics(groups: Groups, counts: IntArray) -> FloatArray:
    """Return the statistics of some outcomes in the order of their names, as those of simulated labels."""
    from scipy.spatial.distance import cdist
    from scipy.special import xlogy

    proba, n, at = groups.proba, groups.rows, np.arange(len(groups.rows))
    residual = counts - n[:, None] * proba  # (T, D, K)
    expected, variance = n @ proba, n @ (proba * (1.0 - proba))
    by_class = np.stack([_ranges(proba[:, k], residual[:, :, k]) for k in range(proba.shape[1])], axis=1)
    top, own = proba[at, groups.predicted], residual[:, at, groups.predicted]
    of_top = [groups.predicted == k for k in set(groups.predicted.tolist())]
    logs = np.log(np.maximum(proba, _TINY))
    likelihood = counts.reshape(len(counts), -1) @ logs.ravel() - float(n @ xlogy(proba, proba).sum(axis=1))
    distance = cdist(proba, proba, "cityblock")
    kernel = np.exp(-distance / _median_distance(distance, n))
    pairs = np.einsum("tdk,de,tek->t", residual, kernel, residual, optimize=True)
    # what each row has with itself, but for what does not depend on the labels
    alone = counts.sum(axis=(1, 2)) - 2.0 * np.einsum("tdk,dk->t", counts, proba)
    return np.column_stack(
        [
            (by_class / np.sqrt(variance + 1.0)).max(axis=1),
            (residual.sum(axis=1) ** 2 / (expected + 1.0)).sum(axis=1),
            _ranges(top, own),
            _ranges(proba.ravel(), residual.reshape(len(counts), -1)),
            np.abs(likelihood),
            sum(_ranges(top[of], own[:, of]) for of in of_top),
            pairs - alone,
        ]
    )


def _median_distance(distance: FloatArray, rows: IntArray) -> float:
    """Return the median distance of two rows that are not the same; 1 if all are."""
    first, second = np.triu_indices(len(rows), 1)
    if not len(first):
        return 1.0
    apart = distance[first, second]
    order = score_order(apart)
    pairs = np.cumsum((rows[first] * rows[second])[order])
    middle = [int(np.searchsorted(pairs, 0.5 * pairs[-1], side=side)) for side in ("left", "right")]
    return float(apart[order][middle].mean())


def _ranges(score: FloatArray, residual: FloatArray) -> FloatArray:
    """Return the range of the cumulative residuals of each outcome, read where a score ends."""
    order = score_order(score)
    last = np.append(np.diff(score[order]) > 0.0, True)
    walk = np.cumsum(residual[:, order], axis=1)[:, last]
    return np.asarray(np.maximum(walk.max(axis=1), 0.0) - np.minimum(walk.min(axis=1), 0.0))
