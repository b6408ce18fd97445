"""The exact range of the residual walk without sorting.

One pass adds up, for each bucket of neighbouring scores, how far the walk can climb in it (`rise`, the residuals
of its positives) and how far it can drop (`fall`). That gives the walk at every bucket edge and bounds it inside:
few buckets can still hold the highest or the lowest point. A second pass fetches the rows of those buckets only.
Equal scores share a bucket, so ties stay pooled; all sums are whole numbers, so the answer does not depend on the
order of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from calibrant.core.table import FloatArray
from calibrant.core.walk import UNIT, score_units

__all__ = ["can_hold_extreme", "pruned_range"]

IntArray = npt.NDArray[np.int64]

_CHUNK = 1 << 16  # rows at a time, so that temporaries stay in the cache
_SAMPLE = 1 << 14  # rows looked at to choose the buckets
_COARSE = 1 << 10  # cells of the map before it is refined by the sample
_ATOM = 4  # a score met this often in the sample is kept apart from its bucket
_FLUSH = 1 << 20  # rows after which the low words of sums are carried over (2**20 rows * 2**42 units < 2**63)
_WORD = 32


class _BucketMap(Protocol):
    """A map from scores to bucket numbers that never decreases."""

    @property
    def n_buckets(self) -> int: ...

    def __call__(self, score: npt.NDArray[np.floating]) -> npt.NDArray[np.intp]: ...


@dataclass(frozen=True)
class _EqualWidth:
    """Buckets of equal width; a power of two of them, so that scaling is exact."""

    scale: int

    @property
    def n_buckets(self) -> int:
        return self.scale + 1

    def __call__(self, score: npt.NDArray[np.floating]) -> npt.NDArray[np.intp]:
        return np.asarray((score * score.dtype.type(self.scale)).astype(np.intp))


@dataclass(frozen=True)
class _EqualMass:
    """Buckets of about equal mass: equal width inside each of `_COARSE` cells, as many as the cell has rows."""

    base: npt.NDArray[np.intp]
    width: FloatArray
    n_buckets: int

    @classmethod
    def from_sample(cls, sample: FloatArray, n_buckets: int) -> _EqualMass:
        share = np.bincount((sample * _COARSE).astype(np.intp), minlength=_COARSE + 1) / len(sample)
        width = np.maximum(1.0, np.floor(share * n_buckets))
        base = np.concatenate([[0], np.cumsum(width)]).astype(np.intp)
        return cls(base[:-1], width, int(base[-1]) + 1)

    def __call__(self, score: npt.NDArray[np.floating]) -> npt.NDArray[np.intp]:
        place = score.astype(np.float64, copy=False) * _COARSE
        cell = place.astype(np.intp)
        place = place - cell
        place *= self.width[cell]
        inside = place.astype(np.intp)
        inside += self.base[cell]
        return inside


def can_hold_extreme(rise: FloatArray, fall: FloatArray, slack: float) -> npt.NDArray[np.bool_]:
    """Tell which buckets can hold the highest or lowest point of the walk strictly inside them.

    Parameters
    ----------
    rise, fall : ndarray of float64
        Sum of `1 - s` over the positives and of `s` over the negatives of each bucket, in the order of scores.
    slack : float
        How far sums can be off by rounding; buckets within it are kept.

    Returns
    -------
    ndarray of bool
        False only where the walk provably stays within what its bucket edges already show.

    Notes
    -----
    From the edge before a bucket the walk climbs at most `rise`; to the edge after it, it can have at most `fall`
    still to drop. So inside, ``walk <= min(before + rise, after + fall)``, and likewise from below.
    """
    after = np.cumsum(rise - fall)
    before = after - (rise - fall)
    top, bottom = max(float(after.max()), 0.0), min(float(after.min()), 0.0)
    above = np.minimum(before + rise, after + fall) > top - slack
    below = np.maximum(before - fall, after - rise) < bottom + slack
    return np.asarray((above | below) & (rise + fall > 0.0))


def pruned_range(label: npt.NDArray[np.int8], score: npt.NDArray[np.floating]) -> float | None:
    """Return the range of the residual walk of unweighted rows, or None if too many rows would need sorting.

    Parameters
    ----------
    label : ndarray of int8, shape (n,)
        Labels 0 and 1.
    score : ndarray of float32 or float64, shape (n,)
        Scores in [0, 1].

    Returns
    -------
    float or None
        The same number, to the last bit, as ``extremes(residual_walk(table)).value``.
    """
    buckets, atoms = _choose_buckets(score)
    sums = _bucket_sums(label, score, buckets, atoms)
    rise, fall = sums.totals()
    wanted = can_hold_extreme(rise, fall, slack=1e-9 * max(1.0, float(rise.sum()), float(fall.sum())))
    if atoms is not None:
        wanted &= sums.has_others()
    edges = sums.edges()
    points = [_to_float(*edges)]
    if wanted.any():
        rows = _fetch(label, score, buckets, wanted, atoms, most=len(score) // 4)
        if rows is None:
            return None
        points.append(_inside(rows, edges, sums, buckets, atoms, wanted))
    value = np.concatenate([[0.0], *points])
    spread = (float(value.max()) / len(score)) - (float(value.min()) / len(score))
    return spread if spread > UNIT else 0.0


@dataclass
class _Sums:
    """Whole-number residual sums in two words: column 2 * b + y, then the same for rows apart from the atoms."""

    upper: IntArray
    lower: IntArray
    n_columns: int

    def carry(self) -> None:
        self.upper += self.lower >> _WORD
        self.lower &= (1 << _WORD) - 1

    def _column(self, which: int) -> tuple[IntArray, IntArray]:
        return self.upper[which :: self.n_columns], self.lower[which :: self.n_columns]

    def totals(self) -> tuple[FloatArray, FloatArray]:
        fall = sum(_to_float(*self._column(c)) for c in range(0, self.n_columns, 2))
        rise = sum(_to_float(*self._column(c)) for c in range(1, self.n_columns, 2))
        return np.asarray(rise), np.asarray(fall)

    def has_others(self) -> npt.NDArray[np.bool_]:
        """Whether a bucket has rows at another score than its atom."""
        return np.asarray(sum((u != 0) | (v != 0) for u, v in (self._column(2), self._column(3))) > 0)

    def steps(self, columns: range) -> tuple[IntArray, IntArray]:
        """Net residual of each bucket over the named columns (falls even, rises odd)."""
        upper = sum((-1 if c % 2 == 0 else 1) * self._column(c)[0] for c in columns)
        lower = sum((-1 if c % 2 == 0 else 1) * self._column(c)[1] for c in columns)
        return np.asarray(upper), np.asarray(lower)

    def edges(self) -> tuple[IntArray, IntArray]:
        """Walk after each bucket."""
        upper, lower = self.steps(range(self.n_columns))
        return _carried(np.cumsum(upper), np.cumsum(lower))


def _carried(upper: IntArray, lower: IntArray) -> tuple[IntArray, IntArray]:
    return upper + (lower >> _WORD), lower & ((1 << _WORD) - 1)


def _to_float(upper: IntArray, lower: IntArray) -> FloatArray:
    """Round a two-word whole number of units to float64, once."""
    return np.asarray((upper.astype(np.float64) * 2.0**_WORD + lower) * UNIT)


def _choose_buckets(score: npt.NDArray[np.floating]) -> tuple[_BucketMap, FloatArray | None]:
    """Look at a sample: equal widths if it is spread out and untied, equal masses with atoms apart if not."""
    n = len(score)
    sample = np.sort(score[:: max(1, n // _SAMPLE)].astype(np.float64)) + 0.0
    n_buckets = 1 << min(18, max(10, round(math.log2(n)) - 7))
    ends = np.flatnonzero(np.append(sample[1:] != sample[:-1], True))
    often = np.diff(ends, prepend=-1) >= _ATOM
    share = np.bincount((sample * _COARSE).astype(np.intp), minlength=_COARSE + 1) / len(sample)
    crowded = float(share[share > 8.0 / _COARSE].sum())
    if not often.any() and crowded < 0.25:
        return _EqualWidth(n_buckets), None
    buckets = _EqualMass.from_sample(sample, n_buckets)
    # One atom per bucket; where two share a bucket the later one is kept apart and the other stays a plain score.
    atoms = np.full(buckets.n_buckets, np.nan)
    common = sample[ends][often]
    atoms[buckets(common)] = common
    return buckets, atoms if often.any() else None


def _bucket_sums(
    label: npt.NDArray[np.int8],
    score: npt.NDArray[np.floating],
    buckets: _BucketMap,
    atoms: FloatArray | None,
) -> _Sums:
    columns = 2 if atoms is None else 4
    size = columns * buckets.n_buckets
    sums = _Sums(np.zeros(size, np.int64), np.zeros(size, np.int64), columns)
    for start in range(0, len(score), _CHUNK):
        s, y = score[start : start + _CHUNK], label[start : start + _CHUNK]
        place = buckets(s)
        if atoms is None:
            place *= 2
        else:
            other = s != atoms[place]
            place *= 4
            place += 2 * other
        place += y
        residual = score_units(s)
        residual -= y * np.int64(round(1 / UNIT))
        np.abs(residual, out=residual)
        np.add.at(sums.lower, place, residual)
        if (start + _CHUNK) % _FLUSH == 0:
            sums.carry()
    sums.carry()
    return sums


def _fetch(
    label: npt.NDArray[np.int8],
    score: npt.NDArray[np.floating],
    buckets: _BucketMap,
    wanted: npt.NDArray[np.bool_],
    atoms: FloatArray | None,
    most: int,
) -> tuple[FloatArray, IntArray] | None:
    """Copy out the rows of the wanted buckets, atoms left out; sorted scores and residuals, or None if too many."""
    scores, labels, fetched = [], [], 0
    for start in range(0, len(score), _CHUNK):
        s = score[start : start + _CHUNK]
        place = buckets(s)
        kept = wanted[place]
        if atoms is not None:
            kept &= s != atoms[place]
        if kept.any():
            scores.append(s[kept])
            labels.append(label[start : start + _CHUNK][kept])
            fetched += len(labels[-1])
            if fetched > most:
                return None
    s = np.concatenate(scores).astype(np.float64) + 0.0
    y = np.concatenate(labels)
    order = np.argsort(s, kind="stable")
    s, y = s[order], y[order]
    return s, y * np.int64(round(1 / UNIT)) - score_units(s)


def _inside(
    rows: tuple[FloatArray, IntArray],
    edges: tuple[IntArray, IntArray],
    sums: _Sums,
    buckets: _BucketMap,
    atoms: FloatArray | None,
    wanted: npt.NDArray[np.bool_],
) -> FloatArray:
    """Walk at the end of every score inside the wanted buckets."""
    s, step_lower = rows
    step_upper = np.zeros_like(step_lower)
    if atoms is not None:
        # An atom enters as a single step with its whole residual.
        at = np.flatnonzero(wanted & ~np.isnan(atoms))
        upper, lower = (values[at] for values in sums.steps(range(2)))
        s = np.concatenate([s, atoms[at]])
        step_upper = np.concatenate([step_upper, upper])
        step_lower = np.concatenate([step_lower, lower])
        order = np.argsort(s, kind="stable")
        s, step_upper, step_lower = s[order], step_upper[order], step_lower[order]
    step_upper, step_lower = _carried(step_upper, step_lower)
    place = buckets(s)
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    sizes = np.diff(np.append(first, len(s)))
    before = [
        word[place[first]] - step[place[first]]
        for word, step in zip(edges, sums.steps(range(sums.n_columns)), strict=True)
    ]
    walk = []
    for step, start in zip((step_upper, step_lower), before, strict=True):
        run = np.cumsum(step)
        walk.append(run + np.repeat(start - (run[first] - step[first]), sizes))
    ends = np.append(s[1:] != s[:-1], True)
    return _to_float(*_carried(walk[0][ends], walk[1][ends]))
