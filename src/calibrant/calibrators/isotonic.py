"""Isotonic calibration with ties pooled, safe for the log loss."""

from __future__ import annotations

from typing import Literal

from calibrant.calibrators.base import Calibrator
from calibrant.fits.isotonic import IsotonicFit, isotonic_fit
from calibrant.table.numbers import short
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class IsotonicCalibrator(Calibrator):
    """Best nondecreasing map from scores to probabilities (pool adjacent violators).

    Equal scores are pooled before the fit, without which the guarantees of Gao et al. (2017), Claim 5, fail. Outside
    the range of the sample the map keeps its end values.

    Parameters
    ----------
    interpolation : {"linear", "step"}, default="linear"
        Between neighbouring blocks: a straight line, or a jump at the first score of the next block. Both keep
        the fitted value at every score of the sample.
    log_safe : bool, default=True
        Keep all probabilities strictly between 0 and 1 by adding half a positive before the first score and half
        a negative after the last. The calibration error on the sample is then below ``1 / (2 n)`` instead of 0.

    Attributes
    ----------
    fit_ : IsotonicFit
        Blocks of scores with their probabilities.

    References
    ----------
    Ayer, Brunk, Ewing, Reid & Silverman (1955). An empirical distribution function for sampling with incomplete
    information. Gao, Parameswaran & Peng (2017), Algorithm 1.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> scores, y = [0.1, 0.3, 0.3, 0.8], [0, 1, 0, 1]
    >>> IsotonicCalibrator(log_safe=False).fit(scores, y).predict([0.0, 0.3, 0.55, 0.9]).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """

    def __init__(self, *, interpolation: Literal["linear", "step"] = "linear", log_safe: bool = True) -> None:
        self.interpolation = interpolation
        self.log_safe = log_safe

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("interpolation", self.interpolation, ("linear", "step"))
        self.fit_: IsotonicFit = isotonic_fit(table, log_safe=self.log_safe)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return self.fit_.linear(scores) if self.interpolation == "linear" else self.fit_.step(scores)

    def _in_words(self) -> str:
        fit, jumps = self.fit_, self.interpolation == "step"
        if len(fit.value) == 1:
            return f"Maps every score to {short(fit.value[0])}: higher scores do not go with a higher rate."
        return (
            f"Nondecreasing map with {len(fit.value)} levels, from {short(fit.value[0])} for scores up to "
            f"{short(fit.high[0])} to {short(fit.value[-1])} from {short(fit.low[-1])} on; between levels "
            f"{'it jumps' if jumps else 'it is linear'}."
        )
