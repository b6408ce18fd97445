"""The recursion of all components over groups of rows, docs/theory/11-monitor.md, equation (1).

Evidence begins anew, with more mass, only where a group begins: within a group W is multiplied and nothing else. So a
group needs no more than the products of all its factors, and a bound on W on the way tells whether the rows of the
group have to be followed one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.table.pooling import FloatArray

GROUP = 32  # rows


class Growth(NamedTuple):
    """By what W is multiplied over each group, and at most on the way, of shape (groups, components)."""

    product: FloatArray
    largest: FloatArray

    @classmethod
    def ones(cls, groups: int, components: int) -> Growth:
        """Return arrays to be written to."""
        return cls(np.ones((groups, components)), np.ones((groups, components)))


class Layout:
    """Where rows lie in groups: a group begins at row 1 and after every `size` rows, whatever is passed at a time.

    With a `size` of 1, rows are followed one by one; evidence begins anew with every `GROUP` of them all the same.
    """

    def __init__(self, before: int, n: int, size: int) -> None:
        self.size = size
        self._offset, self._n = before % size, n
        self.groups = -(-(self._offset + n) // size)
        first = before - self._offset + size * np.arange(self.groups)
        starts = (first % GROUP == 0) & (first >= before)
        self.first = np.maximum(first, before)  # rows before those of each group that are passed
        self.last = np.minimum(first + size, before + n) - before - 1  # row, of those passed, that ends it
        self._start = np.maximum.accumulate(np.where(starts, np.arange(self.groups), -1))

    def of(self, column: Any, beyond: float = 0.0) -> Any:
        """Return a column in groups, of shape (groups, size), with `beyond` where there is no row."""
        found = np.full(self.groups * self.size, beyond, dtype=column.dtype)
        found[self._offset : self._offset + self._n] = column
        return found.reshape(self.groups, self.size)

    def since_start(self, found: FloatArray, before: float) -> FloatArray:
        """Return what was found where the latest group of `GROUP` rows began, or held before if none did."""
        return np.where(self._start < 0, before, found[self._start])


def accumulate(factors: FloatArray) -> None:
    """Multiply each row by all before it in its group, in place; `factors` has shape (kinds, rows of a group, groups).

    A row of all groups at a time takes less time than `np.multiply.accumulate`, which goes along each group.
    """
    for i in range(1, factors.shape[1]):
        factors[:, i] *= factors[:, i - 1]


def follow(
    before: FloatArray, growth: Growth, masses: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Follow the recursion over groups.

    Parameters
    ----------
    before : ndarray of shape (components,)
        W before the first row.
    growth : Growth
        Products of the factors.
    masses : ndarray of shape (groups,)
        What is added to W before each group.
    weights : ndarray of shape (components,)
        What W is multiplied by where components are added up.

    Returns
    -------
    path : ndarray of shape (groups,)
        Weighted sum of the components after every group.
    peak : ndarray of shape (groups,)
        At least what that sum reaches after any row of the group.
    after : ndarray of shape (components,)
        W after the last group.
    """
    begun, w = np.empty_like(growth.product), before
    for now, mass, factor in zip(begun, masses.tolist(), growth.product, strict=True):
        np.add(w, mass, out=now)
        w = now * factor
    path, peak = (np.einsum("gc,gc,c->g", begun, factor, weights) for factor in growth)
    return path, peak, w
