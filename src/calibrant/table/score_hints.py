"""What scores outside of 0 and 1 seem to be, and what to do about them, from a few counts that every engine has."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.errors import COLUMN, ROWS
from calibrant.table.missing import is_code

# Scores this far outside of 0 and 1 are what rounding leaves, as of 1 less the sum of others in single precision.
OFF_BY_ROUNDING = 1e-6
_HUGE = 1e10  # from here on a number that stands alone is what formats fill gaps with
_MOST_RATING, _LEAST_PERCENT = 10.0, 2.0

_READ = f"read them so: `query=SELECT * REPLACE ({{}} AS {COLUMN}) FROM {ROWS}`"
_ROUNDED = (
    "these are off by rounding alone: take 0 for those below 0, 1 for those above 1; pass `numpy.clip(scores, 0, 1)`; "
    + _READ.format(f"least(greatest({COLUMN}, 0), 1)")
)
_LOGIT = (
    "these look like logits or margins, not probabilities: pass 1 / (1 + exp(-score)) if they are log-odds, "
    "or calibrate them first"
)
_PERCENT = f"divide them by 100; {_READ.format(f'{COLUMN} / 100')}"
_TWO_SCALES = (
    "some scores are between 0 and 1, others at least {above:g}, as if two scales were in one column: find out which "
    "rows have which, and divide by 100 those that are percentages"
)
_RATINGS = (
    "these look like ratings or classes from {low:g} to {high:g}, not probabilities: divide them by {high:g}, and fit "
    "a calibrator such as AutoCalibrator to the quotients first"
)
_CODE = (
    "{code:g} seems to stand for a missing score: drop those rows; or make it NaN, and leave it out by "
    f"`missing='drop'`; {_READ.format(f'nullif({COLUMN}, {{code!r}})')} and `missing='drop'`"
)
_RANGE = "pass the predicted probability of the positive class"


class ScoreRange(NamedTuple):
    """What is known of finite scores: how many there are of some kinds, and where they lie.

    Attributes
    ----------
    n, inside, between, whole : int
        All of them; those from 0 to 1, but for rounding; those above 0 and below 1; and whole numbers.
    low, below, above, high : float
        The least, the largest below 0, the least above 1, and the largest; the two in the middle but for rounding, and
        anything where there are none.
    """

    n: int
    inside: int
    between: int
    whole: int
    low: float
    below: float
    above: float
    high: float

    @classmethod
    def of(cls, score: npt.NDArray[Any]) -> Self:
        """Look at finite scores in memory."""
        below, above = score[score < -OFF_BY_ROUNDING], score[score > 1.0 + OFF_BY_ROUNDING]
        between, whole = (score > 0.0) & (score < 1.0), score == np.floor(score)
        inside = len(score) - len(below) - len(above)
        ends = (score.min(), below.max(initial=-math.inf), above.min(initial=math.inf), score.max())
        return cls(len(score), inside, int(between.sum()), int(whole.sum()), *map(float, ends))

    def remedy(self) -> str:
        """Return what to do about the scores that are no probabilities."""
        low, high = bool(self.low < -OFF_BY_ROUNDING), bool(self.high > 1.0 + OFF_BY_ROUNDING)
        ends = [float(end) for end in [self.low, self.below] * low + [self.above, self.high] * high]
        most = 2 * self.inside > self.n
        if not ends:
            return _ROUNDED
        if most and all(is_code(end) or abs(end) > _HUGE for end in ends):
            return _CODE.format(code=ends[0])
        if low:
            return _RANGE if most else _LOGIT
        if self.above > _MOST_RATING and self.between > self.n / 10:
            return _TWO_SCALES.format(above=self.above)
        if not _LEAST_PERCENT <= self.high <= 100.0:
            return _RANGE
        if self.high > _MOST_RATING:
            return f"these look like percentages: {_PERCENT}"
        if self.whole == self.n:
            return _RATINGS.format(low=self.low, high=self.high)
        return f"{_RANGE}; if these are percentages, {_PERCENT}"
