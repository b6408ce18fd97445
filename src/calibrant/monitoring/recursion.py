"""The recursion of all components over many rows at once, docs/theory/11-monitor.md, equation (1).

W_t = (W_{t-1} + g_t) L_t is an affine map of W_{t-1}. Rows are cut into lanes of equal length. The maps of whole lanes
are found side by side, a place in all lanes at a time, and applied one lane after the other; with W before each lane
known, the recursion itself runs in all of them at once. Nothing is divided, so factors may become arbitrarily small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, score_order

__all__ = ["Lanes", "advance", "lanes_of", "one_list"]

IntArray = npt.NDArray[np.int64]


class Lanes(NamedTuple):
    """Lists of rows, each cut into lanes: `rows` of shape (length, lanes), filled up with the number after the last.

    `first` is the first lane of each list, and at its end the number of lanes.
    """

    rows: IntArray
    first: IntArray


def lanes_of(lists: list[IntArray], length: int, beyond: int) -> Lanes:
    """Cut lists of rows into lanes; `beyond` stands for no row."""
    sizes = np.array([len(rows) for rows in lists], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(-(-sizes // length))]).astype(np.int64)
    flat = np.full(int(first[-1]) * length, beyond, dtype=np.int64)
    for rows, lane in zip(lists, first[:-1].tolist(), strict=True):
        flat[lane * length : lane * length + len(rows)] = rows
    return Lanes(np.ascontiguousarray(flat.reshape(-1, length).T), first)


def one_list(n: int) -> Lanes:
    """Cut all of `n` rows, in their order, into about four times as many lanes as rows in each.

    So many make arrays long enough that calls of numpy cost little, and short enough to stay in a fast cache.
    """
    return lanes_of([np.arange(n)], max(1, round(0.5 * n**0.5)), n)


def advance(
    before: FloatArray, factor: Callable[[int, FloatArray], None], masses: FloatArray, lanes: Lanes, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Follow the recursion along every list.

    Parameters
    ----------
    before : ndarray of shape (components, lists)
        W before the first row.
    factor : callable
        Writes L at a place of all lanes, of shape (components, lanes), into an array; 1 where there is no row.
    masses : ndarray of shape (length, lanes)
        g at every row; 0 where there is none.
    lanes : Lanes
        Where the lists begin.
    weights : ndarray of shape (components,)
        What W is multiplied by where components are added up.

    Returns
    -------
    totals : ndarray of shape (length, lanes)
        Weighted sum of the components of a list after every row.
    after : ndarray of shape (components, lists)
        W after the last row.
    """
    factors = np.empty((len(masses), len(before), masses.shape[1]))
    slope, rise = np.ones(factors.shape[1:]), np.zeros(factors.shape[1:])
    idle = np.flatnonzero(weights == 0.0)
    for i, mass in enumerate(masses):
        here = factors[i]
        factor(i, here)
        if len(idle):
            here[idle] = 0.0  # what does not count may grow until it is not a number
        slope *= here
        rise += mass
        rise *= here
    w, after = _before_lanes(before, slope, rise, lanes.first)
    totals = np.empty_like(masses)
    for i, mass in enumerate(masses):
        w += mass
        w *= factors[i]
        np.matmul(weights, w, out=totals[i])
    return totals, after


def _before_lanes(
    before: FloatArray, slope: FloatArray, rise: FloatArray, first: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Apply the maps of whole lanes one after the other: return W before each lane, and after the last of each list."""
    counts = np.diff(first)
    longest_first = score_order(-counts)
    lists, begin = before.T[longest_first], first[:-1][longest_first]
    slope, rise = np.ascontiguousarray(slope.T), np.ascontiguousarray(rise.T)  # components of a lane side by side
    w = np.empty_like(slope)
    for lane in range(int(counts.max(initial=0))):
        active = int(np.count_nonzero(counts > lane))
        # Slices take less time than lists of one entry.
        here = slice(begin[0] + lane, begin[0] + lane + 1) if active == 1 else begin[:active] + lane
        now = lists[:active]
        w[here] = now
        now *= slope[here]
        now += rise[here]
    after = np.empty_like(before)
    after[:, longest_first] = lists.T
    return np.ascontiguousarray(w.T), after
