"""The likely outcomes of rows whose scores are all exact, one by one, where they are few."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable

_MOST = 1 << 17  # outcomes kept
_TRIED = 1 << 21  # outcomes looked at, at all scores together
_SCORES = 20  # scores that can turn out either way; beyond, hardly any outcome is likely by itself
_UNLIKELY = 1e-12  # outcomes less likely are not kept, but counted as if they spoke for the hypothesis
_TAIL = 41.5  # exp(-41.5) = 1e-18: what a binomial distribution has beyond the counts looked at


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Ranges of the cumulative residuals, in rows, with their chances if every score is right; that of all others."""

    ranges: FloatArray
    chance: FloatArray
    left_out: float

    def chance_of(self, range_: float) -> float:
        """Probability of a range of at least `range_`, never too small but for rounding."""
        return min(1.0, float(self.chance[self.ranges >= range_].sum()) + self.left_out)


def likely_outcomes(table: ScoreTable) -> Outcomes | None:
    """List the likely outcomes of an exact table; None if there are too many.

    Only the scores and the rows at each decide whether there are too many, not the labels.
    """
    open_ = np.flatnonzero((table.score > 0.0) & (table.score < 1.0))
    score = table.score[open_]
    # Rows can turn out in at least 2^bits ways that are about equally likely; one row at each score has fewer bits.
    bits = -(score * np.log2(score) + (1.0 - score) * np.log1p(-score) / math.log(2.0)).sum()
    if len(open_) > _SCORES or bits > math.log2(_MOST):
        return None
    position, top, bottom, left_out = np.zeros(1), np.zeros(1), np.zeros(1), 0.0
    chance, tried = np.ones(1), 0
    for s, n in zip(score.tolist(), table.n[open_].tolist(), strict=True):
        k, of_k = _binomial(n, s)
        tried += len(k) * len(chance)
        if tried > _TRIED:
            return None
        position = (position[:, None] + (k - n * s)).ravel()
        top = np.maximum(np.repeat(top, len(k)), position)
        bottom = np.minimum(np.repeat(bottom, len(k)), position)
        chance = (chance[:, None] * of_k).ravel()
        kept = chance >= _UNLIKELY
        left_out += float(chance[~kept].sum())
        position, top, bottom, chance = position[kept], top[kept], bottom[kept], chance[kept]
        if len(chance) > _MOST:
            return None
    return Outcomes(top - bottom, chance, left_out)


def _binomial(n: int, s: float) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Numbers of positives among n rows, and their probabilities; by Bernstein's inequality no others matter."""
    variance = n * s * (1.0 - s)
    reach = _TAIL / 3.0 + math.sqrt((_TAIL / 3.0) ** 2 + 2.0 * _TAIL * variance)
    mode = min(n, int((n + 1) * s))
    k = np.arange(max(0, math.floor(n * s - reach)), min(n, math.ceil(n * s + reach)) + 1)
    # From one count to the next: (n - k) / (k + 1) * s / (1 - s).
    steps = np.log((n - k[:-1]) / (k[:-1] + 1.0)) + (math.log(s) - math.log1p(-s))
    logs = np.append(0.0, np.cumsum(steps))
    weight = np.exp(logs - logs[mode - k[0]])
    return k, weight / weight.sum()
