"""Regression trees as R's rpart grows and prunes them: method "anova", with the complexity parameter cp."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

__all__ = ["PrunableTree", "cross_validation", "grow"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]


def grow(x: FloatArray, y: Labels, min_rows: int, max_depth: int | None = 30) -> DecisionTreeRegressor:
    """Grow a tree as rpart does with ``cp = 0``.

    Leaves hold at least `min_rows` rows, nodes with fewer than three times that are not split, and no leaf lies deeper
    than 30 splits, which is rpart's own limit.
    """
    tree = DecisionTreeRegressor(
        min_samples_leaf=min_rows, min_samples_split=3 * min_rows, max_depth=max_depth, random_state=0
    )
    return tree.fit(x, y)


@dataclass(frozen=True, eq=False)
class PrunableTree:
    """A tree with all its prunings; they are nested.

    Attributes
    ----------
    grown : DecisionTreeRegressor
        The tree before pruning.
    level : ndarray of float64
        For each node the cp from which on it is a leaf, if no node above it is one: 0 for the leaves as grown.
    above : ndarray of float64
        The same of the node above it; infinite for the root.
    parent : ndarray of int
        The node above each node; -1 for the root. Parents have smaller numbers than their children.
    """

    grown: DecisionTreeRegressor
    level: FloatArray
    above: FloatArray
    parent: npt.NDArray[np.intp]

    @classmethod
    def from_rows(cls, x: FloatArray, y: Labels, min_rows: int) -> PrunableTree:
        """Grow a tree and find its prunings."""
        grown = grow(x, y, min_rows)
        parent = _parents(grown)
        level = _levels(grown, parent)
        return cls(grown, level, np.append(np.inf, level[parent[1:]]), parent)

    def prices(self, cp: float = 0.0) -> FloatArray:
        """Return the cp at which the pruning changes, in decreasing order, down to a last one."""
        prices = np.unique(self.level)[::-1]
        return np.append(prices[prices > cp], cp)

    def is_leaf(self, cp: float) -> npt.NDArray[np.bool_]:
        """Return which nodes are leaves of the pruning at a cp."""
        return (self.level <= cp) & (self.above > cp)

    def leaves(self, cp: float) -> int:
        """Return the number of leaves of the pruning at a cp."""
        return int(np.count_nonzero(self.is_leaf(cp)))

    def predict(self, x: FloatArray, cp: float) -> FloatArray:
        """Return the share of positives in the leaf of each row, in the pruning at a cp."""
        share = self.grown.tree_.value[:, 0, 0].copy()
        for node in np.flatnonzero(self.above <= cp):
            share[node] = share[self.parent[node]]
        return share[self.grown.apply(x)]

    def squared_error(self, x: FloatArray, y: Labels, cps: FloatArray) -> FloatArray:
        """Return the sum of squared errors on other rows, for prunings at several cp in increasing order."""
        passing = self.grown.decision_path(x)
        rows = np.asarray(passing.sum(axis=0)).ravel()
        positives = np.asarray(passing[np.flatnonzero(y)].sum(axis=0)).ravel()
        share = self.grown.tree_.value[:, 0, 0]
        error = positives * (1.0 - share) ** 2 + (rows - positives) * share**2
        # A node counts at every cp from its own level up to that of the node above.
        first, last = np.searchsorted(cps, self.level), np.searchsorted(cps, self.above)
        change = np.bincount(first, error, len(cps) + 1) - np.bincount(last, error, len(cps) + 1)
        return np.cumsum(change)[:-1]


def cross_validation(x: FloatArray, y: Labels, tables: list[FloatArray], min_rows: int, seed: int) -> list[FloatArray]:
    """Return the error of prunings in ten-fold cross-validation, as a part of the variance: rpart's xerror.

    Parameters
    ----------
    x, y : ndarray
        Features and labels.
    tables : list of ndarray
        Prices as `PrunableTree.prices` gives them. As in rpart, a pruning stands for the geometric mean of the two cp
        between which it lasts.
    min_rows : int
        Of the trees grown without a fold.
    seed : int
        Of the folds.
    """
    middles = [np.append(1.0, np.sqrt(prices[1:] * prices[:-1])) for prices in tables]
    at = np.unique(np.concatenate(middles))
    error = np.zeros(len(at))
    for train, held_out in KFold(10, shuffle=True, random_state=seed).split(x):
        fold = PrunableTree.from_rows(x[train], y[train], min_rows)
        error += fold.squared_error(x[held_out], y[held_out], at)
    error /= len(y) * y.var()
    return [error[np.searchsorted(at, middle)] for middle in middles]


def _parents(grown: DecisionTreeRegressor) -> npt.NDArray[np.intp]:
    tree = grown.tree_
    parent = np.full(tree.node_count, -1, dtype=np.intp)
    inner = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    return parent


def _levels(grown: DecisionTreeRegressor, parent: npt.NDArray[np.intp]) -> FloatArray:
    """Prune the weakest link again and again (Breiman et al. 1984), and note for each node when it became a leaf."""
    tree = grown.tree_
    is_inner = tree.children_left >= 0
    # Plain lists, since nodes are touched one at a time. Errors are parts of the error of the root alone.
    own = (tree.impurity * tree.n_node_samples / (tree.n_node_samples[0] * tree.impurity[0])).tolist()
    below = np.where(is_inner, 0.0, own).tolist()
    leaves = np.where(is_inner, 0, 1).tolist()
    size = [1] * tree.node_count
    for node in range(tree.node_count - 1, 0, -1):
        up = parent[node]
        below[up] += below[node]
        leaves[up] += leaves[node]
        size[up] += size[node]
    level = np.where(is_inner, np.inf, 0.0)
    price = {node: (own[node] - below[node]) / (leaves[node] - 1) for node in np.flatnonzero(is_inner).tolist()}
    links = [(cp, node) for node, cp in price.items()]
    heapq.heapify(links)
    reached = 0.0
    while links:
        cp, node = heapq.heappop(links)
        if price[node] != cp or np.isfinite(level[node]):
            continue  # its price has changed since, or it has gone with a node above it
        reached = max(reached, cp)
        # The nodes below a node are the next ones in number.
        branch = level[node : node + size[node]]
        np.minimum(branch, reached, out=branch)
        gained, removed = own[node] - below[node], leaves[node] - 1
        node = parent[node]
        while node >= 0:
            below[node] += gained
            leaves[node] -= removed
            if leaves[node] > 1:
                price[node] = (own[node] - below[node]) / (leaves[node] - 1)
                heapq.heappush(links, (price[node], node))
            node = parent[node]
    return level
