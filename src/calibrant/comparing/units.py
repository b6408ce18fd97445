"""What rows are drawn by: each row alone, or clusters of rows that may depend on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant.distributions.cluster_draws import hidden_share
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.table.pooling import FloatArray

_SUMS = 1 << 22  # numbers held at a time where rows are added up by cluster


def quantile(tail: float, freedom: float) -> float:
    """Upper quantile of Student's distribution; of the normal one where its degrees of freedom are infinite."""
    from scipy.special import ndtri, stdtrit

    return -float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail))


@dataclass(frozen=True, eq=False)
class Units:
    """The independent draws behind n rows; `cluster` is the number of the cluster of each row, None for single rows.

    `unseen` says whether rows, or clusters, of a kind that none shows are allowed for.
    """

    n: int
    cluster: npt.NDArray[np.int64] | None = None
    unseen: bool = False

    @cached_property
    def size(self) -> FloatArray:
        """Rows of each draw."""
        return np.ones(self.n) if self.cluster is None else np.bincount(self.cluster).astype(np.float64)

    @cached_property
    def effective(self) -> float:
        """Number of draws of equal size that would be worth as much."""
        return float(self.size.sum() ** 2 / np.dot(self.size, self.size))

    @property
    def jackknife(self) -> Jackknife | None:
        """What leaves out one cluster at a time; None for single rows, and where unseen clusters are allowed for."""
        return None if self.cluster is None or self.unseen else Jackknife(self.size)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's distribution for few clusters; infinite for single rows."""
        return math.inf if self.cluster is None else self.effective - 1.0

    @property
    def few(self) -> float:
        """Factor by which the squares of so many draws underrate a variance."""
        return 1.0 if self.cluster is None else len(self.size) / (len(self.size) - 1.0)

    def quantile(self, tail: float) -> float:
        """Upper quantile of the standard normal distribution, or of Student's for clusters."""
        return quantile(tail, self.freedom)

    def hidden(self, tail: float, share: float = 1.0) -> float:
        """Largest part of a class that events can take hold of without being seen, except with probability `tail`.

        `share` is that of the class among the rows. Clusters that were not seen may hold rows of the class alone;
        where these are not allowed for, the events are those of single rows.
        """
        if self.cluster is None or not self.unseen:
            return -math.expm1(math.log(tail) / (share * self.n))
        return min(1.0, hidden_share(self.size, tail) / share)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up values of rows, along the last axis, within each draw."""
        if self.cluster is None:
            return values
        flat = values.reshape(-1, self.n)
        added = np.array([np.bincount(self.cluster, row, len(self.size)) for row in flat])
        return added.reshape(*values.shape[:-1], len(self.size))

    def products(self, cells: Sequence[npt.NDArray[np.intp]], values: Sequence[FloatArray], n_cells: int) -> FloatArray:
        """Sum over the draws of the products of what each adds to two cells, as one matrix.

        `cells` and `values` say, in one array each, in which cell every row stands and what it adds; the cells of the
        second array are numbered after those of the first, and so on. Clusters are centred: of their sums their rows
        times the mean of all is taken off, since clusters of different size are compared.
        """
        size, parts = n_cells * len(cells), list(zip(cells, values, strict=True))
        total = np.concatenate([np.bincount(cell, value, n_cells) for cell, value in parts])
        if self.cluster is None:
            blocks = [
                [np.bincount(one * n_cells + two, first * second, n_cells**2) for two, second in parts]
                for one, first in parts
            ]
            products = np.block([[part.reshape(n_cells, n_cells) for part in row] for row in blocks])
            return np.asarray(products - np.outer(total, total) / self.n)
        products = np.zeros((size, size))
        at_once = max(1, _SUMS // size)
        for start in range(0, len(self.size), at_once):
            stop = min(len(self.size), start + at_once)
            members = np.flatnonzero((self.cluster >= start) & (self.cluster < stop))
            row = (self.cluster[members] - start) * size
            added = np.zeros((stop - start) * size)
            for i, (where, what) in enumerate(parts):
                added += np.bincount(row + i * n_cells + where[members], what[members], len(added))
            centred = added.reshape(-1, size) - np.outer(self.size[start:stop], total / self.n)
            products += centred.T @ centred
        return np.asarray(products * self.few)
