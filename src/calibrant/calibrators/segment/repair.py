"""The two members of a repair: offsets of segments, and what they cannot say, small regression trees added up.

Gradient boosting with Newton's steps (Friedman 2001; Chen & Guestrin 2016): each tree is fitted to the residuals that
those before it leave, and a leaf moves the log-odds by a share of ``sum of residuals / (sum of p (1 - p) + 1)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from calibrant.calibrators.segment.offsets import BinaryLabels, LogOddsOffsets, shrunken, sums, variance_between
from calibrant.fits.log_odds import probability
from calibrant.fits.score_map import FittedMap, ScoreMap
from calibrant.segments.columns import SegmentColumn
from calibrant.table.pooling import FloatArray, IntArray, distinct_numbers, score_order
from calibrant.typed_json import Count, Finite

_TREES, _DEPTH, _LEAST_ROWS = 20, 3, 50
_RATE = 0.2
_PENALTY = 1.0  # rows of information that every leaf begins with
_CUTS = 64  # parts of about equally many rows, between which scores can be split
_LEAST_VARIANCE = 1e-6  # of one label, so that none has infinite weight


@dataclass(frozen=True)
class Split:
    """Two ways on: the first for scores up to `at`, or for rows in one of some segments of a column.

    Attributes
    ----------
    column : int
        Number of the column; -1 for the score.
    at : float
        The largest score of the first way; 0 where a column decides.
    segments : tuple of int
        The segments of the first way; empty where the score decides.
    first, second : Split or float
        What comes then: another split, or what is added to the log-odds.
    """

    column: int
    at: Finite
    segments: tuple[Count, ...]
    first: Node
    second: Node


Node = Split | Finite


def fit_trees(
    score: FloatArray, log_odds: FloatArray, codes: Sequence[IntArray], label: BinaryLabels, sizes: Sequence[int]
) -> tuple[Node, ...]:
    """Fit trees to rows in the order of their scores, all of which belong to a segment of each column.

    `sizes` are the numbers of segments of the columns. Segments are put in the order of their shrunken effects, so that
    a column is split as a number is.
    """
    from sklearn.tree import DecisionTreeRegressor

    last = len(score) - 1
    cuts = score[distinct_numbers(np.arange(1, _CUTS) * len(score) // _CUTS)]
    cuts = cuts[np.append(True, cuts[1:] != cuts[:-1])[: len(cuts)] & (cuts < score[last])]
    ranks = [_ranks(log_odds, code, label, size) for code, size in zip(codes, sizes, strict=True)]
    # Whole numbers, which are exact in the single precision that scikit-learn works with.
    features = np.column_stack(
        [np.searchsorted(cuts, score), *(rank[code] for rank, code in zip(ranks, codes, strict=True))]
    ).astype(np.float32)
    total, trees = log_odds.copy(), []
    for _ in range(_TREES):
        p = probability(total)
        weight = np.maximum(p * (1.0 - p), _LEAST_VARIANCE)
        tree = DecisionTreeRegressor(max_depth=_DEPTH, min_samples_leaf=_LEAST_ROWS, random_state=0)
        leaf = tree.fit(features, (label - p) / weight, sample_weight=weight).apply(features)
        nodes = tree.tree_.node_count
        step = _RATE * sums(leaf, label - p, nodes) / (sums(leaf, weight, nodes) + _PENALTY)
        total += step[leaf]
        trees.append(_node(tree.tree_, 0, step, cuts, ranks))
    return tuple(trees)


def value_of(node: Node, score: FloatArray, codes: Sequence[IntArray]) -> FloatArray:
    """Return what a tree adds to the log-odds of each row."""
    if not isinstance(node, Split):
        return np.full(len(score), node)
    first = score <= node.at if node.column < 0 else np.isin(codes[node.column], node.segments)
    return np.where(first, value_of(node.first, score, codes), value_of(node.second, score, codes))


def splits_of(node: Node) -> Iterator[Split]:
    """Yield all splits of a tree."""
    if isinstance(node, Split):
        yield node
        yield from splits_of(node.first)
        yield from splits_of(node.second)


def scaled(node: Node, share: float) -> Node:
    """Return a tree that adds a share of what another adds."""
    if not isinstance(node, Split):
        return share * node
    return replace(node, first=scaled(node.first, share), second=scaled(node.second, share))


@dataclass(frozen=True, eq=False)
class SegmentRepair:
    """What is added to the log-odds of calibrated probabilities: offsets of segments, and trees."""

    offsets: LogOddsOffsets
    trees: tuple[Node, ...]

    def parts(self, score: FloatArray, log_odds: FloatArray, codes: Sequence[IntArray]) -> FloatArray:
        """Return what offsets and what trees add, shape (2, n)."""
        # A tree would send a row of no segment some way or other.
        known = np.all([code >= 0 for code in codes], axis=0)
        of_trees = np.zeros(len(score))
        for tree in self.trees:
            of_trees += value_of(tree, score, codes)
        return np.stack([self.offsets.of(log_odds, codes), np.where(known, of_trees, 0.0)])

    def scaled(self, shares: FloatArray) -> SegmentRepair:
        """Return shares of the offsets and of the trees; what has no share is left out."""
        of_offsets, of_trees = shares.tolist()
        offsets = self.offsets.scaled(of_offsets)
        if of_offsets == 0.0:
            offsets = LogOddsOffsets(offsets.centre, offsets.scale, ())
        return SegmentRepair(offsets, tuple(scaled(tree, of_trees) for tree in self.trees) if of_trees else ())


@dataclass(eq=False, repr=False)
class Segment(FittedMap):
    """A map for all rows and its repair, as a file holds them; `SegmentCalibrator` fits and applies them."""

    calibrator: ScoreMap | None = None
    _: KW_ONLY
    by: Sequence[str] | None = None
    n_folds: int = 5
    random_state: int | np.random.Generator = 0

    calibrator_: ScoreMap = field(init=False)
    columns_: list[SegmentColumn] = field(init=False)
    repair_: SegmentRepair = field(init=False)
    reason_: str = field(init=False)  # what was fitted, in words

    def _in_words(self) -> str:
        return self.reason_


NOTHING = SegmentRepair(LogOddsOffsets(0.0, 1.0, ()), ())


def _ranks(log_odds: FloatArray, code: IntArray, label: BinaryLabels, segments: int) -> IntArray:
    """Return the place of each segment of a column in the order of shrunken effects."""
    p = probability(log_odds)
    information, residual = sums(code, p * (1.0 - p), segments), sums(code, label - p, segments)
    effect = shrunken(residual, information, variance_between(residual, information))
    ranks = np.empty(len(effect), dtype=np.int64)
    ranks[score_order(effect)] = np.arange(len(effect))
    return ranks


def _node(tree: object, node: int, step: FloatArray, cuts: FloatArray, ranks: Sequence[IntArray]) -> Node:
    """Return a node of a tree of scikit-learn with all below it."""
    below = tree.children_left[node], tree.children_right[node]  # type: ignore[attr-defined]
    if below[0] < 0:
        return float(step[node])
    first, second = (_node(tree, int(child), step, cuts, ranks) for child in below)
    column = int(tree.feature[node]) - 1  # type: ignore[attr-defined]
    border = int(np.floor(tree.threshold[node]))  # type: ignore[attr-defined]
    if column < 0:
        return Split(-1, float(cuts[border]), (), first, second)
    return Split(column, 0.0, tuple(np.flatnonzero(ranks[column] <= border).tolist()), first, second)
