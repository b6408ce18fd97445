"""The area under the ROC curve without the rows of each cluster, exactly, from one pass over the rows by score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, NumberArray, key_order

__all__ = ["areas_without"]

_Index = npt.NDArray[np.int64]


def areas_without(score: FloatArray, n: NumberArray, k: NumberArray, cluster: _Index, clusters: int) -> FloatArray:
    """Area of the rows that are not of a cluster, for each cluster; NaN if these are of one class.

    An entry is some rows of one cluster at one score, `n` rows with `k` positives; entries are in the order of scores.
    Pairs that a cluster has a row in are taken from all pairs: those of its positives, and of its negatives, less those
    inside the cluster, which are among both.
    """
    positive, negative = np.asarray(k, dtype=np.float64), np.asarray(n - k, dtype=np.float64)
    whole = np.zeros(len(score), dtype=np.int64)
    below = _below(score, negative, whole)
    above = positive.sum() - _below(score, positive, whole)
    inside = positive * _below(score, negative, cluster)
    of_positives, of_negatives, both, positives, negatives = (
        np.bincount(cluster, values, clusters)
        for values in (positive * below, negative * above, inside, positive, negative)
    )
    won = of_positives.sum() - of_positives - of_negatives + both
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(won / ((positives.sum() - positives) * (negatives.sum() - negatives)))


def _below(score: FloatArray, count: FloatArray, key: _Index) -> FloatArray:
    """How much is counted at lower scores of the same key, and half of what is at the same score."""
    order = key_order(key)  # and within a key still by score
    counted, keys, scores = np.cumsum(count[order]), key[order], score[order]
    first = np.append(True, (keys[1:] != keys[:-1]))
    tied = np.flatnonzero(first | np.append(True, scores[1:] != scores[:-1]))
    start, length = np.append(0.0, counted)[tied], np.diff(tied, append=len(score))
    middle = np.repeat(0.5 * (start + counted[tied + length - 1]), length)
    starts = np.flatnonzero(first)
    before = np.repeat(np.append(0.0, counted)[starts], np.diff(starts, append=len(score)))
    found = np.empty(len(score))
    found[order] = middle - before
    return found
