"""Limits for the difference of two calibration errors on the same rows (docs/theory/9-comparison.md, section 9.1).

The error of the first model is that of one fixed interval of scores and one fixed sign. There three things bound the
difference from above: that error itself (A), that error less the one of the second model between the same scores (B),
and that error less the one of the second model wherever it is largest (C). The limit is the largest, over all
intervals, of the least of the three: only C asks for a quantile over all intervals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.comparing.joint import LEAST_TAIL, Units, symmetric_root
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, distinct_numbers, key_order, score_order

# Parts into which the scores are cut for standard errors and simulated paths; the estimates are exact everywhere.
_CELLS = 40
# Simulated paths, the same ones for all rows, so that limits change no more than the rows do.
_SEED, _DRAWS = 1, 20_000

_Two = tuple[FloatArray, FloatArray]  # one for each model


class _Cells(NamedTuple):
    """Scores of both models, cut at the same places. A path has the sum of residuals up to each score, from 0 on.

    What is said of all intervals is said of those that begin in one cell and end in one, first of how much a path rises
    over them, then of how much it falls.
    """

    order: IndexArray  # that of the scores of both models, those of the first counted first
    of_rows: tuple[IndexArray, IndexArray]  # the cell of each row by its score of either model
    starts: IndexArray  # where each cell begins among the distinct scores
    single: BoolArray  # whether a cell is one score
    left: IndexArray  # first and last cell of every interval of cells
    right: IndexArray

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.starts)

    def ends(self, path: FloatArray) -> tuple[IndexArray, IndexArray]:
        """Places between which a path rises most, from the first cell of each interval to its last; or falls."""
        parts = [slice(*ends) for ends in zip(self.starts, [*self.starts[1:], len(path) - 1], strict=True)]
        before, after = path[:-1], path[1:]
        low, high = (np.array([i.start + int(find(before[i])) for i in parts]) for find in (np.argmin, np.argmax))
        bottom, top = (np.array([i.start + 1 + int(find(after[i])) for i in parts]) for find in (np.argmin, np.argmax))
        return np.concatenate([low[self.left], bottom[self.right]]), np.concatenate([top[self.right], high[self.left]])

    def deviations(self, products: FloatArray, parts: FloatArray | None = None) -> FloatArray:
        """Standard error of the rise and of the fall over each interval, from products of what cells add.

        `parts` has the largest variances of what an interval that ends inside a cell leaves out there, see `_parts`.
        """
        summed = np.zeros((self.size + 1, self.size + 1))
        summed[1:, 1:] = products.cumsum(axis=0).cumsum(axis=1)
        own = summed.diagonal()
        squares = own[self.right + 1] + own[self.left] - 2.0 * summed[self.left, self.right + 1]
        squares = np.maximum(0.0, squares)
        if parts is not None:
            squares = squares + parts[0, self.left] + parts[1, self.right]
        return np.tile(np.sqrt(squares), 2)


class _Deviations(NamedTuple):
    """Simulated deviations of a path from its expectation: at the ends of the cells, and their extremes inside.

    The first axis has the cells, the second the draws.
    """

    path: FloatArray
    top: FloatArray
    bottom: FloatArray

    def most(self, cells: _Cells, near: BoolArray) -> FloatArray:
        """Largest rise or fall, in each draw, over the intervals that are `near`; not below 0."""
        rising, falling = near.reshape(2, -1)
        sides = ((rising, self.top, self.bottom), (falling, -self.bottom, -self.top))
        largest = np.zeros(self.path.shape[1])
        for left in range(cells.size):
            for chosen, ends, starts in sides:
                right = cells.right[(cells.left == left) & chosen]
                np.maximum(largest, ends[right].max(axis=0, initial=-math.inf) - starts[left], out=largest)
        return largest


def calibration_limits(
    label: FloatArray,
    scores: _Two,
    errors: tuple[float, float],
    units: Units,
    delta: float,
    ranks: FloatArray | None = None,
) -> tuple[float, float]:
    """Limits for the calibration error of the second model less that of the first, wrong with probability `delta`.

    `errors` are the errors of either in these rows. Where both scores are in one order, `ranks` has the place of every
    row in it: bound B then compares the same rows, not the same scores.
    """
    tail = delta / 6.0  # of each of the three bounds, on either side
    hidden = units.hidden(tail)
    if np.array_equal(*scores):  # bound B is 0 at every interval
        return -hidden, hidden
    residuals = label - scores[0], label - scores[1]
    cells, paths = _cut(scores if ranks is None else (ranks, ranks), residuals, units.n)
    products = units.products(cells.of_rows, residuals, cells.size) / units.n**2
    shortfall = _shortfall(scores, residuals, cells, products, units)
    simulated = _simulate(cells, products + np.diag(shortfall), units, tail)
    k, z = cells.size, units.quantile(tail)
    own = products[:k, :k], products[k:, k:]
    cross = products[:k, k:]
    places = scores if ranks is None else (ranks, ranks)
    paired = z * cells.deviations(own[0] + own[1] - cross - cross.T, _parts((0, 1), places, residuals, cells, units))
    # What a row of a kind that was not seen adds to B: where the rows are the same, no more than its scores differ.
    paired += hidden * (1.0 if ranks is None else float(np.abs(scores[1] - scores[0]).max()))
    alone_parts: list[FloatArray | None] = [None, None]  # single rows cannot cancel within one path
    if units.cluster is not None:
        alone_parts = [_parts((i,), places, residuals, cells, units) for i in range(2)]
    ends = [cells.ends(path) for path in paths]
    largest = []
    for path, (start, stop), of_cells, error, drawn in zip(paths, ends, own, errors, simulated, strict=True):
        near = path[stop] - path[start] >= error - math.sqrt(of_cells.trace() * math.log(units.effective))
        largest.append(drawn.most(cells, near))
    limits = []
    for one, two in ((0, 1), (1, 0)):
        start, stop = ends[one]
        alone = paths[one][stop] - paths[one][start]
        beside = alone - (paths[two][stop] - paths[two][start])
        least = np.minimum(alone + z * cells.deviations(own[one], alone_parts[one]) + hidden, beside + paired)
        limits.append(_largest_least(least, alone, cells, simulated[one], largest[two], hidden - errors[two], tail))
    return max(-1.0, -limits[0]), min(1.0, limits[1])


def _cut(scores: _Two, residuals: _Two, n: int) -> tuple[_Cells, _Two]:
    """Cut all scores into cells of about equally many, and add up the residuals of either model over them."""
    both = np.concatenate(scores)
    order = score_order(both)
    both = both[order]
    ends = np.flatnonzero(np.append(both[1:] != both[:-1], True))
    nothing = np.zeros(n)
    added = (np.concatenate([residuals[0], nothing]), np.concatenate([nothing, residuals[1]]))
    paths = [np.append(0.0, np.cumsum(values[order])[ends] / n) for values in added]
    parts = min(len(ends), _CELLS)
    even_ends = np.arange(1, parts + 1) * len(both) / parts - 1.0
    last = np.arange(len(ends)) if len(ends) <= _CELLS else distinct_numbers(np.searchsorted(ends, even_ends))
    cuts = both[ends[last]]
    left, right = np.triu_indices(len(last))
    cells = _Cells(
        order=order,
        of_rows=(np.searchsorted(cuts, scores[0]), np.searchsorted(cuts, scores[1])),
        starts=np.append(0, last[:-1] + 1),
        single=np.diff(last, prepend=-1) == 1,
        left=left,
        right=right,
    )
    return cells, (paths[0], paths[1])


def _parts(models: tuple[int, ...], scores: _Two, residuals: _Two, cells: _Cells, units: Units) -> FloatArray:
    """Largest variance, in each cell, of what an interval leaves out that begins inside it, and of one that ends there.

    It is that of the rise of the first path less that of the second, or of one path alone. Where both models hold the
    same rows in another order, or rows of a cluster differ in sign, a whole cell varies far less than a part of it.
    """
    order = cells.order
    if len(models) == 1:
        order = order[order // units.n == models[0]] % units.n
    score = np.concatenate([scores[i] for i in models])[order]
    cell = np.concatenate([cells.of_rows[i] for i in models])[order]
    draw = order % units.n if units.cluster is None else units.cluster[order % units.n]
    added = np.concatenate([residuals[models[0]], *(-residuals[i] for i in models[1:])])[order]
    by_draw = key_order(cell * len(units.size) + draw)
    same = (cell[by_draw[1:]] == cell[by_draw[:-1]]) & (draw[by_draw[1:]] == draw[by_draw[:-1]])
    starts = np.flatnonzero(np.append(True, ~same))
    # A part is all up to a place at which the score changes but the cell does not.
    inside = np.append((score[1:] != score[:-1]) & (cell[1:] == cell[:-1]), False)
    forward = _largest_squares(cell, by_draw, starts, added, inside, cells.size)
    # Backward, what each draw adds to a cell comes in the opposite order.
    counts = np.diff(starts, append=len(order))
    by_draw = len(order) - 1 - by_draw[np.repeat(2 * starts + counts - 1, counts) - np.arange(len(order))]
    inside = np.append(inside[-2::-1], False)
    backward = _largest_squares(cell[::-1], by_draw, starts, added[::-1], inside, cells.size)
    return np.array([forward, backward]) * units.few / units.n**2


def _largest_squares(
    cell: IndexArray, by_draw: IndexArray, starts: IndexArray, added: FloatArray, inside: BoolArray, n_cells: int
) -> FloatArray:
    """Largest sum, in each cell, of squares of what each draw has added to it up to a place `inside`; at least 0.

    `by_draw` is the order by cell and draw, in which every draw in a cell begins at one of `starts`.
    """
    values = added[by_draw]
    total = np.cumsum(values)
    after = total - np.repeat((total - values)[starts], np.diff(starts, append=len(values)))
    rise = np.empty(len(values))
    rise[by_draw] = after**2 - (after - values) ** 2
    squares = np.cumsum(rise)
    begins = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    squares -= np.repeat(np.append(0.0, squares)[begins], np.diff(begins, append=len(cell)))
    largest = np.zeros(n_cells)
    largest[cell[begins]] = np.maximum.reduceat(np.where(inside, squares, 0.0), begins)
    return largest


def _shortfall(scores: _Two, residuals: _Two, cells: _Cells, products: FloatArray, units: Units) -> FloatArray:
    """Variance that calibrated scores would show in each cell of either model beyond what was seen.

    Where positives are rare and none was seen, residuals say nothing of how far chance can carry them.
    """
    missing = []
    for i, (score, residual, cell) in enumerate(zip(scores, residuals, cells.of_rows, strict=True)):
        seen = np.bincount(cell, residual**2, cells.size)
        lacking = np.maximum(0.0, np.bincount(cell, score * (1.0 - score), cells.size) - seen)
        together = products.diagonal()[i * cells.size : (i + 1) * cells.size].sum() * units.n**2
        effect = 1.0
        if units.cluster is not None:  # rows that move together
            effect = max(1.0, float(together) / float(seen.sum())) if seen.any() else float(units.size.max())
        missing.append(effect * lacking / units.n**2)
    return np.concatenate(missing)


def _simulate(cells: _Cells, covariance: FloatArray, units: Units, tail: float) -> tuple[_Deviations, _Deviations]:
    """Draw deviations of both paths together: normal at the ends of cells, and in between a Brownian bridge.

    Quantiles of a largest one at a tail below the least that is simulated are at most as many times larger as those of
    a single one (Ehrhard's inequality, section 9.1).
    """
    rng = np.random.default_rng(_SEED)
    stretch = units.quantile(tail) / units.quantile(max(tail, LEAST_TAIL))
    steps = stretch * rng.standard_normal((_DRAWS, len(covariance))) @ symmetric_root(covariance)
    scale = None if units.cluster is None else np.sqrt(units.freedom / rng.chisquare(units.freedom, _DRAWS))
    deviations = []
    for i in range(2):
        part = slice(i * cells.size, (i + 1) * cells.size)
        step, variance = steps[:, part], np.where(cells.single, 0.0, stretch**2 * covariance.diagonal()[part])
        path = np.zeros((_DRAWS, cells.size + 1))
        np.cumsum(step, axis=1, out=path[:, 1:])
        # Largest value of a Brownian bridge over a cell, from its ends and an exponential variable.
        far = [np.sqrt(step**2 + 2.0 * variance * rng.standard_exponential(step.shape)) for _ in range(2)]
        top, bottom = path[:, :-1] + 0.5 * (step + far[0]), path[:, :-1] + 0.5 * (step - far[1])
        by_cell = (np.ascontiguousarray(values.T) for values in (path, top, bottom))
        deviations.append(_Deviations(*(values if scale is None else values * scale for values in by_cell)))
    return deviations[0], deviations[1]


def _largest_least(
    least: FloatArray,
    alone: FloatArray,
    cells: _Cells,
    own: _Deviations,
    other: FloatArray,
    added: float,
    tail: float,
) -> float:
    """Largest over all intervals, the empty one among them, of the smaller of `least` and of bound C.

    Bound C is `alone`, the error of the interval, plus the quantile of how far it and the other model's may be off
    together, plus `added`. It is found where it can matter only: for intervals with a large `least` first.
    """
    rank = math.ceil((1.0 - max(tail, LEAST_TAIL)) * (_DRAWS + 1)) - 1
    largest = min(0.0, float(np.partition(other, rank)[rank]) + added)
    for interval in score_order(-least):
        if least[interval] <= largest:
            break
        falls, pair = divmod(interval, len(cells.left))
        change = own.path[cells.right[pair] + 1] - own.path[cells.left[pair]]
        off = alone[interval] + added + (other + change if falls else other - change)
        # Counting is much faster than finding the quantile, and tells for most intervals that theirs is smaller.
        if np.count_nonzero(off > largest) >= _DRAWS - rank:
            largest = max(largest, min(float(least[interval]), float(np.partition(off, rank)[rank])))
    return largest
