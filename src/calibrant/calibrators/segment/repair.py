"""Repair of segments: offsets of log-odds, shrunk by empirical Bayes, small regression trees, and what they gain."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.fits.log_odds import probability
from calibrant.fits.score_map import FittedMap, ScoreMap
from calibrant.segments.columns import SegmentColumn
from calibrant.table.numbers import text_grid
from calibrant.table.pooling import FloatArray, IntArray, distinct_numbers, number_values, score_order
from calibrant.table.results import Tabular
from calibrant.typed_json import Count, Finite, Positive, sized, within

BinaryLabels = npt.NDArray[np.int8]

CUT = 2.5  # standard deviations beyond which slopes have no further effect
_ORDINARY = 10.0  # log-odds beyond it are brought to it before mean and standard deviation are taken
# Log-odds whose standard deviation is below this have no slopes: their odds differ by some 5%, so it takes tens of
# thousands of rows of a segment to tell whether that difference is half as large there, and a division by a smaller
# number would blow up the last digits of logarithms.
_LEAST_SPREAD = 0.05
_SWEEPS = 50
_STILL = 1e-5  # largest change, in log-odds, of a sweep after which no other follows
_LONGEST = 1.0  # change of a coefficient in one step
_NO_INFORMATION = 1e-9
_LARGEST_VARIANCE = 100.0


@dataclass(frozen=True, eq=False)
class OffsetTable:
    """Offsets of the segments of one column, or of those that two columns make together.

    Attributes
    ----------
    columns : tuple of int
        Numbers of the column, or of both.
    codes : ndarray of int64, shape (m, 1) or (m, 2)
        The segment of each column, in increasing order.
    intercept, slope : ndarray of float64, shape (m,)
        What is added to the log-odds: ``intercept + slope * t``.
    variances : tuple of two floats
        Estimated variances of intercepts and slopes in the population; 0 where nothing is added.
    """

    columns: Annotated[tuple[int, ...], sized(1, 2)]
    codes: Annotated[IntArray, sized(1)]
    intercept: Annotated[FloatArray, within()]
    slope: Annotated[FloatArray, within()]
    variances: tuple[Finite, Finite]

    def scaled(self, share: float) -> OffsetTable:
        """Return the table with a share of every offset."""
        return OffsetTable(self.columns, self.codes, share * self.intercept, share * self.slope, self.variances)


@dataclass(frozen=True, eq=False)
class LogOddsOffsets:
    """Tables of offsets, and how log-odds are standardised for their slopes."""

    centre: Finite
    scale: Positive
    tables: tuple[OffsetTable, ...]

    def standardised(self, log_odds: FloatArray) -> FloatArray:
        """Return t, what slopes are multiplied by."""
        return np.asarray(np.clip((log_odds - self.centre) / self.scale, -CUT, CUT))

    def of(self, log_odds: FloatArray, codes: Sequence[IntArray]) -> FloatArray:
        """Return what is added to the log-odds of each row, 0 where a row belongs to no segment."""
        t, total = self.standardised(log_odds), np.zeros(len(log_odds))
        for table in self.tables:
            index, known = _places(table.codes, [codes[column] for column in table.columns])
            total += np.where(known, table.intercept[index] + table.slope[index] * t, 0.0)
        return total

    def scaled(self, share: float) -> LogOddsOffsets:
        """Return a share of all offsets."""
        return LogOddsOffsets(self.centre, self.scale, tuple(table.scaled(share) for table in self.tables))


def fit_offsets(log_odds: FloatArray, codes: Sequence[IntArray], label: BinaryLabels) -> LogOddsOffsets:
    """Fit the offsets of all columns and of all pairs of them.

    Intercepts, then slopes, of one table after the other are brought to the maximum of their posterior density, given
    all others, until none moves. Equal rows in another order give the same but for rounding. Where log-odds hardly
    differ there are intercepts only.
    """
    ordinary = np.clip(log_odds, -_ORDINARY, _ORDINARY)
    centre, spread = float(ordinary.mean()), float(ordinary.std())
    scale = max(spread, _LEAST_SPREAD)
    regressors = [np.ones(len(log_odds))]
    if spread >= _LEAST_SPREAD:
        regressors.append(LogOddsOffsets(centre, scale, ()).standardised(log_odds))
    families = [*itertools.combinations(range(len(codes)), 1), *itertools.combinations(range(len(codes)), 2)]
    cells = [_cells([codes[column] for column in family]) for family in families]
    effects = [[np.zeros(len(there)), np.zeros(len(there))] for there, _ in cells]
    variances = [[0.0, 0.0] for _ in cells]
    total = log_odds.copy()
    for _ in range(_SWEEPS):
        moved = 0.0
        for (there, cell), effect, variance in zip(cells, effects, variances, strict=True):
            for i, x in enumerate(regressors):
                p = probability(total)
                information = sums(cell, p * (1.0 - p) * x * x, len(there))
                score = sums(cell, (label - p) * x, len(there)) + information * effect[i]
                variance[i] = variance_between(score, information)
                step = np.clip(shrunken(score, information, variance[i]) - effect[i], -_LONGEST, _LONGEST)
                total += step[cell] * x
                effect[i] = effect[i] + step
                moved = max(moved, float(np.abs(step).max()))
        if moved < _STILL:
            break
    tables = (
        OffsetTable(family, there, effect[0], effect[1], (variance[0], variance[1]))
        for family, (there, _), effect, variance in zip(families, cells, effects, variances, strict=True)
        if any(variance)
    )
    return LogOddsOffsets(centre, scale, tuple(tables))


def sums(cell: IntArray, values: FloatArray, cells: int) -> FloatArray:
    """Add up values by cell."""
    return np.bincount(cell, values, cells).astype(np.float64)


def variance_between(score: FloatArray, information: FloatArray) -> float:
    """Return the variance v of effects that are estimated by ``score / information`` with variance ``1 / information``.

    It is that of Paule and Mandel: ``sum (effect**2 / (v + 1 / information))`` is the number of effects. Where that sum
    at ``v = 0`` is within one standard deviation of what chance alone gives, v is 0.
    """
    told = information > _NO_INFORMATION
    squared, noise = (score[told] / information[told]) ** 2, 1.0 / information[told]
    count = len(noise)
    if (squared / noise).sum() <= count + np.sqrt(2.0 * count):
        return 0.0
    return bisect(lambda v: bool((squared / (v + noise)).sum() > count), 0.0, _LARGEST_VARIANCE, rtol=1e-9)[1]


def shrunken(score: FloatArray, information: FloatArray, variance: float) -> FloatArray:
    """Return the posterior means of effects around 0 with that variance."""
    return score / (information + 1.0 / variance) if variance > 0.0 else np.zeros(len(score))


def _cells(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the combinations of segments that occur, in increasing order, and which of them each row has."""
    sizes = [1 + int(code.max()) for code in codes]
    key = np.ravel_multi_index(tuple(codes), sizes)
    there = distinct_numbers(key)
    return np.stack(np.unravel_index(there, sizes), axis=1), np.searchsorted(there, key)


def _places(there: IntArray, codes: Sequence[IntArray]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the index of each row's combination among those of a table, and whether it is there."""
    sizes = [1 + max(int(own.max()), int(code.max(initial=0))) for own, code in zip(there.T, codes, strict=True)]
    # A code of -1, of no segment, is clipped to 0 and so may have the key of a combination that is there: asked below.
    keys, key = (np.ravel_multi_index(tuple(part), sizes, mode="clip") for part in (there.T, codes))
    index = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    in_segments = np.all([code >= 0 for code in codes], axis=0)
    return index, (keys[index] == key) & in_segments


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


@dataclass(frozen=True, eq=False)
class SegmentGains(Tabular):
    """Mean log loss of held-out rows in each segment, with one map for all rows and with the repair.

    Attributes
    ----------
    column, segment : ndarray of str
        The segment; the first entry is all rows.
    n : ndarray of int64
        Held-out rows.
    before, after, gain : ndarray of float64
        Mean log loss with the map for all rows, with the repair, and by how much it fell.
    standard_error : ndarray of float64
        Of the gain, over rows, or clusters of them.
    """

    column: npt.NDArray[np.str_]
    segment: npt.NDArray[np.str_]
    n: npt.NDArray[np.int64]
    before: FloatArray
    after: FloatArray
    gain: FloatArray
    standard_error: FloatArray

    def __str__(self) -> str:
        heads = ["", "rows", "log loss", "repaired", "gain", "s.e."]
        numbers = np.stack([self.before, self.after, self.gain, self.standard_error], axis=1).tolist()
        lines = [heads]
        for column, segment, n, values in zip(self.column, self.segment, self.n.tolist(), numbers, strict=True):
            name = f"{column} = {segment}" if segment else str(column)
            lines.append([name, f"{n:,}", *(f"{value:.4f}" for value in values)])
        return text_grid(lines)


def segment_gains(
    columns: Sequence[SegmentColumn],
    codes: Sequence[IntArray],
    before: FloatArray,
    after: FloatArray,
    group: IntArray | None,
) -> SegmentGains:
    """Return the gains of rows with these log losses, which belong to these segments of the columns."""
    named = [("all rows", "", np.ones(len(before), dtype=bool))]
    for column, code in zip(columns, codes, strict=True):
        named += [(column.name, label, code == i) for i, label in enumerate(column.labels)]
    names, segments, rows = zip(*named, strict=True)
    n = np.array([int(those.sum()) for those in rows], dtype=np.int64)
    (old, _), (new, _), (gain, error) = (
        np.array([mean_and_error(losses[those], None if group is None else group[those]) for those in rows]).T
        for losses in (before, after, before - after)
    )
    return SegmentGains(np.array(names), np.array(segments), n, old, new, gain, error)


def log_losses(log_odds: FloatArray, label: BinaryLabels) -> FloatArray:
    """Return the log loss of each row."""
    return np.asarray(np.logaddexp(0.0, np.where(label == 1, -log_odds, log_odds)))


def mean_and_error(values: FloatArray, group: IntArray | None) -> tuple[float, float]:
    """Return the mean and its standard error, over rows or by leaving out one group at a time; NaN of nothing."""
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    if group is None:
        return mean, float(values.std() / np.sqrt(len(values)))
    number = number_values(group)
    if not number.any():
        return mean, float("nan")
    jackknife = Jackknife(np.bincount(number).astype(np.float64))
    without = jackknife.means_without(np.bincount(number, values).astype(np.float64))
    return mean, float(jackknife.deviation(((without - mean) ** 2).sum()))
