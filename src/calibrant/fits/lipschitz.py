"""Isotonic fit of a score table whose slope is limited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.fits.interpolation import interpolate
from calibrant.fits.limited_rise import limited_rise
from calibrant.table.score_table import FloatArray, ScoreTable

__all__ = ["LipschitzFit", "lipschitz_fit"]

# Fewer scores than this are fitted at once. Larger tables first get a guess from groups of so many scores.
_FEW = 2000
_GROUP = 8
_FIRST_REACH = 8

_OPEN, _FLAT, _STEEP = 0, 1, 2


@dataclass(frozen=True, eq=False)
class LipschitzFit:
    """A nondecreasing map with a limited slope, linear between its knots.

    Attributes
    ----------
    score : ndarray of float64, shape (j,)
        Knots: the scores of the table, without those inside flat pieces.
    value : ndarray of float64, shape (j,)
        The map at the knots, nondecreasing, in [0, 1].
    """

    score: FloatArray
    value: FloatArray

    def linear(self, score: FloatArray) -> FloatArray:
        """Evaluate the map; outside the range of the table it keeps its end values."""
        return interpolate(score, self.score, self.value)


def lipschitz_fit(table: ScoreTable, *, lipschitz: float, log_safe: bool = False) -> LipschitzFit:
    """Fit the nondecreasing map with at most a given slope that minimises squared error.

    Parameters
    ----------
    table : ScoreTable
        The rows to fit. Cells are treated as rows at their mean score.
    lipschitz : float
        Largest slope, at least 0. With 0 the map is the share of positives; infinity sets no limit.
    log_safe : bool
        Add half a positive to the first score and half a negative to the last. All values then lie strictly between 0
        and 1.

    Returns
    -------
    LipschitzFit
        The exact minimum, up to rounding.

    Notes
    -----
    Dynamic programming from the left finds the minimum (see `limited_rise`), but its time grows faster than the number
    of scores. Most steps from one score to the next are either flat or as steep as allowed, and if it is known which,
    the scores on both sides can be pooled: large tables are fitted so, with a guess from a coarser table. Sums of
    residuals show if the guess was right. At the optimum, the residuals of the scores up to a flat step add up to at
    least 0, and up to a steep one to at most 0 (the conditions of Karush, Kuhn & Tucker, which are sufficient here).
    Where they do not, the steps are opened, and the fit is repeated.

    References
    ----------
    Agarwal, Phillips & Sadri (2010). Lipschitz unimodal and isotonic regression on paths and trees. LATIN.
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
    kept = ~(np.append(False, level) & np.append(level, False))
    return LipschitzFit(table.score[kept], value[kept])


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


def _guess(mean: FloatArray, weight: FloatArray, step: FloatArray) -> npt.NDArray[np.intp]:
    """Guess from the fit of a coarser table which steps are flat or steep; those in doubt are left open."""
    start = np.arange(0, len(mean), _GROUP)
    pooled = np.add.reduceat(weight, start)
    place = np.add.reduceat(weight * np.append(0.0, np.cumsum(step)), start) / pooled
    coarse_step = np.maximum(np.diff(place), 0.0)
    rise = np.diff(_fit(np.add.reduceat(weight * mean, start) / pooled, pooled, coarse_step))
    kind = np.where(rise <= 0.0, _FLAT, np.where(rise > 0.999 * coarse_step, _STEEP, _OPEN))
    before, behind = np.append(kind[0], kind), np.append(kind, kind[-1])
    of_group = np.where(before == behind, before, _OPEN)
    of_score = np.repeat(of_group, np.diff(np.append(start, len(mean))))
    return np.where(of_score[1:] == of_score[:-1], of_score[1:], _OPEN)
