"""Isotonic calibration whose slope is limited."""

from __future__ import annotations

import math

from calibrant.calibrators.base import Calibrator
from calibrant.fits.lipschitz import LipschitzFit, lipschitz_fit
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class LipschitzIsotonicCalibrator(Calibrator):
    """Best nondecreasing map from scores to probabilities that nowhere rises faster than a given slope.

    The limit makes the map continuous: scores that differ little get probabilities that differ little, where plain
    isotonic calibration jumps. It is the map that Kakade et al. (2011) fit at each step of their algorithm.

    Parameters
    ----------
    lipschitz : float, default=5.0
        Largest slope: two scores that differ by d are mapped to probabilities that differ by at most ``lipschitz * d``.
        0 gives a constant, 1 only maps that shrink differences, infinity the plain isotonic fit. The fit is best with
        the largest slope of the right map; a larger limit loses little, a smaller one leaves a bias at any number of
        rows. Log-odds that are too flat by a factor of 5 need 5.
    log_safe : bool, default=True
        Keep probabilities inside (0, 1): half a positive more at the first score, half a negative more at the last.

    Attributes
    ----------
    fit_ : LipschitzFit
        The map by its knots.

    Notes
    -----
    Between the scores of the sample the map is linear, outside their range constant. Where the limit binds, the
    calibration error on the sample is not 0, as it is for the plain isotonic fit. The map is monotone, so statements
    about monotone recalibration cover it. The fit is exact; it takes about half a second for 10^5 distinct scores and
    up to some seconds for 10^6.

    References
    ----------
    Agarwal, Phillips & Sadri (2010). Lipschitz unimodal and isotonic regression on paths and trees. LATIN.
    Kakade, Kalai, Kanade & Shamir (2011). Efficient learning of generalized linear and single index models with
    isotonic regression. NeurIPS.

    Examples
    --------
    >>> from calibrant.calibrators import LipschitzIsotonicCalibrator
    >>> scores, y = [0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]
    >>> fitted = LipschitzIsotonicCalibrator(lipschitz=2, log_safe=False).fit(scores, y)
    >>> fitted.predict([0.0, 0.4, 0.5, 0.6, 0.7]).round(6).tolist()
    [0.0, 0.3, 0.5, 0.7, 0.85]
    """

    def __init__(self, *, lipschitz: float = 5.0, log_safe: bool = True) -> None:
        self.lipschitz = lipschitz
        self.log_safe = log_safe

    def _fit_table(self, table: ScoreTable) -> None:
        limit = check_between("lipschitz", self.lipschitz, 0.0, math.inf, closed="both", remedy="it is a largest slope")
        self.fit_: LipschitzFit = lipschitz_fit(table, lipschitz=limit, log_safe=self.log_safe)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return self.fit_.linear(scores)

    def _in_words(self) -> str:
        score, value = self.fit_.score, self.fit_.value
        limit = (
            "" if math.isinf(self.lipschitz) else f"; it rises at most {self.lipschitz:g} times as fast as the score"
        )
        return (
            f"Nondecreasing map, linear between {len(score)} points, from {short(value[0])} for scores up to "
            f"{short(score[0])} to {short(value[-1])} from {short(score[-1])} on{limit}."
        )
