"""Sort rows by their score and add up those that stand at the same one.

Apart from `pruning`, which exists to avoid it, no other file sorts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
IndexArray = npt.NDArray[np.intp]
NumberArray = npt.NDArray[Any]  # int64 of rows, and of weights that are all the same, float64 otherwise
LabelArray = npt.NDArray[np.int8]
ScoreArray = npt.NDArray[np.floating]  # as they were given, float32 or float64
Pooled = tuple[FloatArray, NumberArray, NumberArray]

_BLOCK = 1 << 15  # rows of which all temporary arrays fit the cache


def score_order(score: npt.NDArray[Any], *further: npt.NDArray[Any]) -> IndexArray:
    """Return the order by score, where that is equal by each further key, and where all are by place."""
    packed = score.dtype.kind == "f" and bool(score.min(initial=0.0) >= 0.0)
    if packed:
        # Bit patterns order numbers that are not negative. The place is put where their lowest bits were: numbers that
        # only these tell apart count as equal at first.
        key = (score.astype(np.float64, copy=False) + 0.0).view(np.int64)
        key >>= len(score).bit_length()
        order = key_order(key)
    else:
        key, order = score, np.argsort(score)
    ordered = key[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any() or (packed and not further and (score[order[1:]] >= score[order[:-1]]).all()):
        return order
    # Sorting that need not keep the order of equal keys is several times faster: mend it where keys are equal.
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    part = np.sort(order[tied])
    for column in (*reversed(further), score):
        part = part[np.argsort(column[part], kind="stable")]
    order[tied] = part
    return order


def merged_order(values: npt.NDArray[Any]) -> IndexArray:
    """Return the order of a few parts that each are in order, or of a few values, faster than `score_order`."""
    return np.argsort(values, kind="stable")


def sorted_values(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Put values in increasing order, along the last axis."""
    return np.sort(values)


def key_order(key: IntArray) -> IntArray:
    """Return the order by a whole number from 0 on, and where that is equal by place.

    Key and place are sorted as one number, several times faster than an index; their product must fit 63 bits.
    """
    entries = len(key)
    return np.asarray(np.sort(key * entries + np.arange(entries)) % max(1, entries))


def places_of(code: IntArray, codes: int) -> list[IndexArray]:
    """Return where each of the whole numbers from 0 on, so many, stands, in increasing order."""
    ends = np.bincount(code, minlength=codes)[:codes].cumsum()
    return np.split(key_order(code), ends)[:codes]


def run_starts(values: npt.NDArray[Any]) -> IndexArray:
    """Return where runs of equal values begin."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])


def distinct_numbers(*numbers: npt.NDArray[np.integer]) -> IntArray:
    """Put whole numbers in increasing order, equal ones once."""
    # `np.unique` looks each up in a hash table, which takes several times as long as to sort those that differ.
    put = np.sort(np.concatenate(numbers).astype(np.int64, copy=False))
    return np.asarray(put[np.append(True, put[1:] != put[:-1])[: len(put)]])


def number_values(values: npt.NDArray[Any]) -> IntArray:
    """Number whole numbers, or floats, in the order of their values, equal ones (and all NaN) alike, from 0."""
    if values.dtype.kind == "f":
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    if most - least > 4 * len(values):  # a table of what may occur would be too long
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    shifted = values.astype(np.int64) - least
    seen = np.bincount(shifted) > 0
    return (np.cumsum(seen) - 1)[shifted]


def pool_rows(label: LabelArray, score: ScoreArray) -> Pooled:
    """Return distinct scores with their rows and positives, from single rows.

    All steps but the sort work on blocks that stay in the cache: passes over arrays as long as the data took eight
    times as long as the sort.
    """
    if score.min(initial=0.0) < 0.0:
        return pool_weighted(label, score, np.ones(len(score), np.int64))
    key = _sorted_keys(label, score)
    one = key.dtype.type(1)
    # Memory never used before takes several times as long as memory read again: scores are put where keys have been.
    distinct = key if key.itemsize == 8 else np.empty(len(key), np.uint64)
    n, k = np.empty(len(key), np.int64), np.empty(len(key), np.int64)
    begin = n_distinct = 0
    while begin < len(key):
        # A block ends where a score ends, so each can be added up by itself.
        end = begin + int(np.searchsorted(key[begin:], key[begin:][:_BLOCK][-1] | one, side="right"))
        block = key[begin:end]
        bits = block >> one
        lasts = np.append(np.flatnonzero(bits[1:] != bits[:-1]), len(bits) - 1)
        target = slice(n_distinct, n_distinct + len(lasts))
        if len(lasts) == len(bits):  # no score twice
            n[target], k[target] = 1, block & one
        else:
            n[target] = np.diff(lasts, prepend=-1)
            k[target] = np.diff(np.cumsum(block & one, dtype=np.uint64).view(np.int64)[lasts], prepend=0)
            bits = bits[lasts]
        distinct[target].view(np.float64)[:] = bits.view(score.dtype)
        begin, n_distinct = end, target.stop
    for column in (distinct, n, k):
        column.resize(n_distinct, refcheck=False)  # gives back what was never written
    return distinct.view(np.float64), n, k


def _sorted_keys(label: LabelArray, score: ScoreArray) -> npt.NDArray[np.unsignedinteger]:
    """Return rows in the order of their scores, as whole numbers that carry the label in the lowest bit.

    Scores are not negative, so their bit pattern orders them and its sign bit is free: shifted left by one it leaves a
    bit for the label, and sorting values is several times faster than sorting an index.
    """
    key = np.empty(len(score), f"u{score.dtype.itemsize}")
    one = key.dtype.type(1)
    for start in range(0, len(key), _BLOCK):
        rows = slice(start, start + _BLOCK)
        np.add(score[rows], score.dtype.type(0.0), out=key[rows].view(score.dtype))  # -0.0 becomes 0.0
        key[rows] <<= one
        key[rows] |= label[rows].view(np.uint8)
    key.sort()
    return key


def pool_weighted(label: LabelArray, score: ScoreArray, weight: NumberArray) -> Pooled:
    """Return distinct scores with their weight and the weight of positives; rows without weight are dropped."""
    with_weight = weight > 0
    s, w, y = score[with_weight].astype(np.float64) + 0.0, weight[with_weight], label[with_weight]
    if w.dtype.kind == "f":
        # Sums of floats depend on their order: fix it, so that the order of the rows cannot show.
        order = score_order(s, y, w)
        s, w, y = s[order], w[order], y[order]
        # Equal rows are counted, as databases do, so that both round alike.
        new = np.append(True, (s[1:] != s[:-1]) | (y[1:] != y[:-1]) | (w[1:] != w[:-1]))
        first = np.flatnonzero(new[: len(s)])
        s, y, w = s[first], y[first], w[first] * np.diff(first, append=len(order))
    return pool_counts(s, w, w * y)


def pool_counts(score: FloatArray, n: NumberArray, k: NumberArray) -> Pooled:
    """Add up what stands at the same score, in the order given; the same arrays if they are in order and distinct."""
    if not len(score):
        return score, n, k
    if (score[1:] < score[:-1]).any():
        order = np.argsort(score, kind="stable")
        score, n, k = score[order], n[order], k[order]
    starts = run_starts(score)
    if len(starts) == len(score):
        return score, n, k
    return score[starts], np.add.reduceat(n, starts), np.add.reduceat(k, starts)
