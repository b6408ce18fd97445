"""Isotonic fit of a score table whose slope is limited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.errors import DataError
from calibrant.fits.score_map import interpolate
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable

Floats = list[float]

# Fewer scores than this are fitted at once. Larger tables first get a guess from groups of so many scores.
_FEW = 2000
_GROUP = 8
_FIRST_REACH = 8

_OPEN, _FLAT, _STEEP = 0, 1, 2


@dataclass(frozen=True, eq=False)
class LipschitzFit(Result):
    """A nondecreasing map with a limited slope, linear between its knots: the scores outside flat pieces.

    Attributes
    ----------
    score, value : ndarray
        Knots, increasing, in [0, 1], and the values of the map there.
    """

    score: FloatArray
    value: FloatArray

    def linear(self, score: FloatArray) -> FloatArray:
        """Evaluate the map; outside the range of the table it keeps its end values."""
        return interpolate(score, self.score, self.value)


def lipschitz_fit(table: ScoreTable, *, lipschitz: float, log_safe: bool = False) -> LipschitzFit:
    """Fit the nondecreasing map with a limited slope that minimises squared error, exact up to rounding.

    Parameters
    ----------
    table : ScoreTable
        Scores and labels; cells count at their mean score.
    lipschitz : float
        Largest slope. 0 gives a constant, infinity the isotonic fit.
    log_safe : bool
        Add half a positive to the first score and half a negative to the last, so that values lie strictly between 0
        and 1.

    Returns
    -------
    LipschitzFit
        Its method `linear` maps scores.

    Notes
    -----
    Dynamic programming finds the minimum, but its time grows faster than the number of scores. Where steps from one
    score to the next are known to be flat or as steep as allowed, as most are, the scores on both sides can be pooled:
    large tables are fitted so, with a guess from a coarser table. The guess is right if the residuals of the scores up
    to a flat step add up to at least 0, and up to a steep one to at most 0 (the conditions of Karush, Kuhn & Tucker,
    sufficient here). Other steps are opened, and the fit is repeated.

    References
    ----------
    Agarwal, Phillips & Sadri (2010). Lipschitz unimodal and isotonic regression on paths and trees. LATIN. Kakade,
    Kalai, Kanade & Shamir (2011). Efficient learning of generalized linear and single index models. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ScoreTable
    >>> from calibrant.papers import lipschitz_fit
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.2, 0.4, 0.6, 0.8])
    >>> lipschitz_fit(table, lipschitz=2.0).linear(np.array([0.0, 0.4, 0.5, 0.6, 0.7])).round(6).tolist()
    [0.0, 0.3, 0.5, 0.7, 0.85]
    """
    if not len(table):
        raise DataError("at least one row to fit", "an empty table", "fit on more data")
    n, k = table.n.astype(np.float64), table.k.astype(np.float64)
    if log_safe:
        n[0], k[0] = n[0] + 0.5, k[0] + 0.5
        n[-1] += 0.5
    # Values are in [0, 1] anyway, so a step never needs to be larger than 1.
    value = np.clip(_fit(k / n, n, np.minimum(lipschitz * np.diff(table.score), 1.0)), 0.0, 1.0)
    level = value[1:] == value[:-1]
    corner = ~(np.append(False, level) & np.append(level, False))
    return LipschitzFit(table.score[corner], value[corner])


def _fit(mean: FloatArray, weight: FloatArray, step: FloatArray) -> FloatArray:
    """Return the fitted values; `step` holds the largest differences between neighbours."""
    m = len(mean)
    if m <= _FEW:
        return limited_rise(mean, weight, step)
    kind = _guess(mean, weight, step)
    reach = _FIRST_REACH
    while True:
        climbed = np.append(0.0, np.cumsum(np.where(kind == _STEEP, step, 0.0)))
        first = np.flatnonzero(np.append(True, kind == _OPEN))
        pooled = np.add.reduceat(weight, first)
        start = limited_rise(np.add.reduceat(weight * (mean - climbed), first) / pooled, pooled, step[first[1:] - 1])
        value = np.repeat(start, np.diff(np.append(first, m))) + climbed
        residual = np.cumsum(weight * (mean - value))[:-1]
        wrong = ((kind == _FLAT) & (residual < 0.0)) | ((kind == _STEEP) & (residual > 0.0))
        wrong &= step > 0.0  # a step of 0 is both
        if not wrong.any():
            return np.asarray(value)
        # Neighbours are opened too, twice as many each time: after about log2(m) rounds all steps would be open.
        up_to, at = np.append(0, np.cumsum(wrong)), np.arange(m - 1)
        near = up_to[np.minimum(at + reach + 1, m - 1)] > up_to[np.maximum(at - reach, 0)]
        kind = np.where(near, _OPEN, kind)
        reach *= 2


def _guess(mean: FloatArray, weight: FloatArray, step: FloatArray) -> IndexArray:
    """Guess from the fit of a coarser table which steps are flat or steep; those in doubt are left open."""
    start = np.arange(0, len(mean), _GROUP)
    pooled = np.add.reduceat(weight, start)
    position = np.add.reduceat(weight * np.append(0.0, np.cumsum(step)), start) / pooled
    coarse_step = np.maximum(np.diff(position), 0.0)
    rise = np.diff(_fit(np.add.reduceat(weight * mean, start) / pooled, pooled, coarse_step))
    kind = np.where(rise <= 0.0, _FLAT, np.where(rise > 0.999 * coarse_step, _STEEP, _OPEN))
    before, behind = np.append(kind[0], kind), np.append(kind, kind[-1])
    of_group = np.where(before == behind, before, _OPEN)
    of_score = np.repeat(of_group, np.diff(np.append(start, len(mean))))
    return np.where(of_score[1:] == of_score[:-1], of_score[1:], _OPEN)


def limited_rise(mean: FloatArray, weight: FloatArray, step: FloatArray) -> FloatArray:
    """Minimise ``sum(weight * (mean - u)**2)`` subject to ``0 <= u[i + 1] - u[i] <= step[i]``; the minimum is unique.

    ``F(u)`` is the least loss of the points so far if the last of them has value u. Its derivative is increasing and
    piecewise linear, and is kept as two stacks of its bends, those on the left and those on the right of its zero. To
    move on by a step of at most d, the zero is stretched into a flat piece of length d, and what is to the right of it
    moves by d, all at once by an offset. The loss of the next point then adds a straight line, and the new zero is
    found by walking from the old one. The values follow backwards. Every point adds two bends. The walks pass few of
    them on data, but may pass all in the worst case, which balanced trees would avoid (Agarwal, Phillips & Sadri 2010).
    """
    steps = step.tolist()
    value = _zeros(mean.tolist(), weight.tolist(), steps, float(mean.max()), float(mean.max() - mean.min()))
    above = value[-1]
    for i in range(len(steps) - 1, -1, -1):
        above = value[i] = min(max(value[i], above - steps[i]), above)
    return np.array(value)


def _zeros(mean: Floats, weight: Floats, step: Floats, top: float, span: float) -> Floats:
    """Return, for each point, its best value if only the points up to it counted.

    The derivative is 0 on ``[low, high]``, has the slopes `below` and `above` next to it, and bends at the positions in
    the stacks; a bend is the slope on its right minus the slope on its left. Positions on the right are kept minus
    `offset`. All zeros are at most `top`, and at least `top - span`.
    """
    left: Floats = []
    left_bend: Floats = []
    right: Floats = []
    right_bend: Floats = []
    offset, low, below = 0.0, mean[0], weight[0]
    above, zeros = below, [low]
    for y, w, d in zip(mean[1:], weight[1:], step, strict=True):
        high = low + d
        offset += d
        if offset > span:
            # Bends above the top are never reached. Without them no bend is moved twice, and offsets stay accurate.
            right_bend = [bend for position, bend in zip(right, right_bend, strict=True) if position + offset <= top]
            right = [position + offset for position in right if position + offset <= top]
            offset = 0.0
        if y < low:
            right += (high - offset, low - offset)
            right_bend += (above, -below)
            slope, excess = below + w, w * (low - y)
            while left and slope * (low - left[-1]) <= excess:
                position, bend = left.pop(), left_bend.pop()
                excess -= slope * (low - position)
                slope -= bend
                right.append(position - offset)
                right_bend.append(bend)
                low = position
            low -= excess / max(slope, w)  # no slope is below w but by rounding
        elif y > high:
            left += (low, high)
            left_bend += (-below, above)
            slope, excess = above + w, w * (y - high)
            while right and slope * (right[-1] + offset - high) <= excess:
                position, bend = right.pop() + offset, right_bend.pop()
                excess -= slope * (position - high)
                slope += bend
                left.append(position)
                left_bend.append(bend)
                high = position
            low = high + excess / max(slope, w)
        elif low < high:
            left.append(low)
            left_bend.append(-below)
            right.append(high - offset)
            right_bend.append(above)
            slope, low = w, y
        else:
            slope = below + w
        below = above = slope
        zeros.append(low)
    return zeros
