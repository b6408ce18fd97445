"""The exact range of the cumulative residuals without sorting.

One pass adds up, for each bucket of neighbouring scores, how far the walk can climb in it (`rise`, the residuals
of its positives) and how far it can drop (`fall`). That gives the walk at every bucket edge and bounds it inside:
few buckets can still hold the highest or the lowest point. A second pass fetches the rows of those buckets only.
Equal scores share a bucket, so ties stay pooled; all sums are whole numbers, so the answer does not depend on the
order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.cells.refinement import can_hold_extreme, rounding_slack
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, LabelArray, ScoreArray
from calibrant.table.table_sums import BITS, UNIT, FixedPoint, score_units

_CHUNK = 1 << 16  # rows at a time, so that temporaries stay in the cache
_SAMPLE = 1 << 14  # rows looked at to choose the buckets
_COARSE_BITS = 10  # of the cells of the map before it is refined by the sample
_COARSE = 1 << _COARSE_BITS
_ATOM = 4  # a score met this often in the sample is kept apart from its bucket
_FLUSH = 1 << 20  # rows after which the low words of sums are carried over (2**20 rows * 2**42 units < 2**63)
_WORD = 32
_RANGES = 4  # score ranges that are compared with every row; more would cost as much as the bucket map


@dataclass(frozen=True)
class _EqualWidth:
    """Two to the power of `bits` buckets of equal width, and one for the score 1."""

    bits: int

    @property
    def n_buckets(self) -> int:
        return (1 << self.bits) + 1

    def __call__(self, units: IntArray, out: IntArray | None = None) -> IntArray:
        return np.right_shift(units, BITS - self.bits, out=out)


@dataclass(frozen=True)
class _EqualMass:
    """Buckets of about equal mass: equal width inside each of `_COARSE` cells, as many as the cell has rows."""

    base: IntArray
    width: IntArray

    @property
    def n_buckets(self) -> int:
        return int(self.base[-1] + self.width[-1])

    def __call__(self, units: IntArray, out: IntArray | None = None) -> IntArray:
        index = np.bitwise_and(units, (1 << (BITS - _COARSE_BITS)) - 1, out=out)
        cell = units >> (BITS - _COARSE_BITS)
        index *= np.take(self.width, cell)
        index >>= BITS - _COARSE_BITS
        index += np.take(self.base, cell)
        return index


def pruned_range(label: LabelArray, score: ScoreArray) -> float | None:
    """Return the range of the cumulative residuals of unweighted rows, or None if too many rows would need sorting.

    It is the same number, to the last bit, as ``extremes(cumulative_residuals(table)).value``.
    """
    buckets, atoms = _choose_buckets(score)
    sums = _bucket_sums(label, score, buckets, atoms)
    fall, rise = (sums[:, first::2].to_float().sum(axis=1) for first in (0, 1))  # how far the walk drops and climbs
    uncertain = can_hold_extreme(rise, fall, slack=rounding_slack(rise, fall))
    if atoms is not None:
        uncertain &= ((sums.upper != 0) | (sums.lower != 0))[:, 2:].any(axis=1)  # rows at another score than the atom
    net = _net(sums)
    edges = net.cumsum()
    points = [edges.to_float()]
    if uncertain.any():
        rows = _fetch(label, score, buckets, uncertain, atoms, most=len(score) // 4)
        if rows is None:
            return None
        points.append(_inside(*rows, sums, edges - net, buckets, atoms, uncertain))
    value = np.concatenate([[0.0], *points])
    spread = (float(value.max()) / len(score)) - (float(value.min()) / len(score))
    return spread if spread > UNIT else 0.0


def _net(sums: FixedPoint) -> FixedPoint:
    """Net residual of each bucket."""
    net = sums[:, 1] - sums[:, 0]
    return net if sums.upper.shape[1] == 2 else net + (sums[:, 3] - sums[:, 2])


_BucketMap = _EqualWidth | _EqualMass  # from scores, in units, to bucket numbers that never decrease


def _choose_buckets(score: ScoreArray) -> tuple[_BucketMap, FloatArray | None]:
    """Look at a sample: equal widths if it is spread out and untied, equal masses with atoms apart if not."""
    n = len(score)
    sample = np.sort(score[:: max(1, n // _SAMPLE)].astype(np.float64)) + 0.0
    # Measured from 3e4 to 1e8 rows: more buckets miss the cache, fewer leave too many rows to be fetched.
    bits = min(17 if n < 1 << 28 else 18, max(12, round(math.log2(n)) - 6))
    ends = np.flatnonzero(np.append(sample[1:] != sample[:-1], True))
    often = np.diff(ends, prepend=-1) >= _ATOM
    cells = score_units(sample) >> (BITS - _COARSE_BITS)
    share = np.bincount(cells, minlength=_COARSE + 1) / len(sample)
    crowded = float(share[share > 8.0 / _COARSE].sum())
    if not often.any() and crowded < 0.25:
        return _EqualWidth(bits), None
    width = np.maximum(1, (share * (1 << bits)).astype(np.int64))
    buckets = _EqualMass(np.cumsum(width) - width, width)
    if not often.any():
        return buckets, None
    # One atom per bucket; where two share a bucket the later one is kept apart and the other stays a plain score.
    atoms = np.full(buckets.n_buckets, np.nan)
    common = sample[ends][often]
    atoms[buckets(score_units(common))] = common
    return buckets, atoms


class _Chunks:
    """Rows a chunk at a time, as scores in units and labels in 64 bits, in buffers that are used again."""

    def __init__(self, label: LabelArray, score: ScoreArray) -> None:
        self._label, self._score = label, score
        size = min(_CHUNK, len(score))
        self._scaled = np.empty(size)
        self._units, self._place, self._wide = np.empty((3, size), dtype=np.int64)

    def __iter__(self) -> Iterator[tuple[ScoreArray, IntArray, IntArray, IntArray]]:
        """Yield scores, their units, an array for bucket numbers, and labels."""
        for start in range(0, len(self._score), _CHUNK):
            s = self._score[start : start + _CHUNK]
            scaled, units = self._scaled[: len(s)], self._units[: len(s)]
            index, wide = self._place[: len(s)], self._wide[: len(s)]
            np.multiply(s, 1.0 / UNIT, out=scaled, dtype=np.float64)
            np.add(scaled, 0.5, out=scaled)
            np.copyto(units, scaled, casting="unsafe")  # as score_units, without new arrays
            np.copyto(wide, self._label[start : start + _CHUNK])
            yield s, units, index, wide


def _bucket_sums(label: LabelArray, score: ScoreArray, buckets: _BucketMap, atoms: FloatArray | None) -> FixedPoint:
    """Add up the residuals of each bucket: of negatives and positives, then the same of rows apart from the atoms."""
    columns = 2 if atoms is None else 4
    upper, lower = np.zeros((2, columns * buckets.n_buckets), dtype=np.int64)
    for i, chunk in enumerate(_Chunks(label, score), start=1):
        s, units, index, y = chunk
        buckets(units, out=index)
        if atoms is None:
            index <<= 1
        else:
            other = s != np.take(atoms, index)
            index <<= 1
            index += other
            index <<= 1
        index |= y
        y <<= BITS
        units -= y
        np.abs(units, out=units)
        np.add.at(lower, index, units)
        if i * _CHUNK % _FLUSH == 0:
            upper += lower >> _WORD
            lower &= (1 << _WORD) - 1
    return FixedPoint.of(upper.reshape(-1, columns), lower.reshape(-1, columns))


def _fetch(
    label: LabelArray, score: ScoreArray, buckets: _BucketMap, uncertain: BoolArray, atoms: FloatArray | None, most: int
) -> tuple[FloatArray, FixedPoint] | None:
    """Copy out the rows of the wanted buckets, atoms left out; sorted scores and residuals, or None if too many."""
    ranges = _score_ranges(buckets, uncertain)
    scores, labels, fetched = [], [], 0
    for start in range(0, len(score), _CHUNK):
        s = score[start : start + _CHUNK]
        near = np.zeros(len(s), dtype=bool)
        for low, high in ranges:
            near |= (s >= low) & (s <= high)
        at = np.flatnonzero(near)
        index = buckets(score_units(s[at]))
        chosen = uncertain[index]
        if atoms is not None:
            chosen &= s[at] != atoms[index]
        at = at[chosen]
        if len(at):
            scores.append(s[at])
            labels.append(label[start : start + _CHUNK][at])
            fetched += len(at)
            if fetched > most:
                return None
    s = np.concatenate(scores).astype(np.float64) + 0.0
    y = np.concatenate(labels)
    order = np.argsort(s, kind="stable")
    residual = (y[order].astype(np.int64) << BITS) - score_units(s[order])
    return s[order], FixedPoint.of_units(residual)


def _score_ranges(buckets: _BucketMap, uncertain: BoolArray) -> list[tuple[float, float]]:
    """Return a few score ranges that cover the wanted buckets: to compare scores is cheaper than to map them."""
    numbers = np.flatnonzero(uncertain)
    gaps = np.diff(numbers)
    # Split at the widest gaps; to skip a narrow one saves less than a further comparison costs.
    widest = np.argsort(gaps, kind="stable")[::-1][: _RANGES - 1]
    cuts = np.sort(widest[gaps[widest] > buckets.n_buckets // 64])
    firsts, lasts = numbers[np.append(0, cuts + 1)], numbers[np.append(cuts, len(numbers) - 1)]
    # A unit more on either side makes up for the rounding of scores to units.
    low = (_first_unit(buckets, firsts) - 1) * UNIT
    high = (_first_unit(buckets, lasts + 1) + 1) * UNIT
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _first_unit(buckets: _BucketMap, numbers: IntArray) -> IntArray:
    """Smallest score, in units, that falls into each bucket or a later one, by bisection."""
    low, high = np.full(len(numbers), -1), np.full(len(numbers), 1 << BITS)
    while (high - low > 1).any():
        middle = (low + high) >> 1
        reached = buckets(np.maximum(middle, 0)) >= numbers
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _inside(
    s: FloatArray,
    step: FixedPoint,
    sums: FixedPoint,
    below: FixedPoint,
    buckets: _BucketMap,
    atoms: FloatArray | None,
    uncertain: BoolArray,
) -> FloatArray:
    """Walk at the end of every score inside the wanted buckets, from where it is `below` each bucket."""
    if atoms is not None:
        # An atom enters as a single step with its whole residual.
        at = np.flatnonzero(uncertain & ~np.isnan(atoms))
        s = np.concatenate([s, atoms[at]])
        step = FixedPoint.joined([step, (sums[:, 1] - sums[:, 0])[at]])
        order = np.argsort(s, kind="stable")
        s, step = s[order], step[order]
    index = buckets(score_units(s))
    first = np.flatnonzero(np.append(True, index[1:] != index[:-1]))
    sizes = np.diff(np.append(first, len(s)))
    before = below[index[first]]
    run = step.cumsum()
    cumulative = run + (before - (run[first] - step[first]))[np.repeat(np.arange(len(first)), sizes)]
    return cumulative[np.append(s[1:] != s[:-1], True)].to_float()
