"""Platt scaling: a logistic curve of the log-odds or of the score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calibrant.calibrators.log_odds import LogOddsCalibrator, constant_in_words, spread_in_words
from calibrant.fits.log_odds import find_clip, fit_platt, platt_columns, target_positives
from calibrant.table.numbers import plus, short
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class PlattCalibrator(LogOddsCalibrator):
    """Logistic calibration: ``logit P(y = 1) = slope * x + intercept``, by maximum likelihood.

    Where scores are probabilities, `x` should be their logit, so that the identity is among the maps; on the score
    itself, as the method was invented for margins of support vector machines, it is not.

    Parameters
    ----------
    on : {"logit", "score"}, default="logit"
        What `x` is.
    increasing : bool, default=False
        Allow no negative slope: scores that rank the classes the wrong way are then mapped to a constant.
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999), ``(P + 1) / (P + 2)`` and ``1 / (N + 2)`` for P positives and N negatives,
        instead of 1 and 0. The fit is then finite for every sample, and better on most small ones. False gives the
        plain maximum likelihood of ``glm``, and an error where that is infinite.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken; used with ``on="logit"``. Scores of exactly 0
        and 1, as nearest neighbours and trees give, have no logit, and what is put in its place matters much. "auto"
        goes half way from 0 to the smallest positive score of the sample, and from 1 to the largest score below, at
        most 1/4; at an end where the sample has no such score, no further than ``1 / (2 m)`` for m distinct scores.

    Attributes
    ----------
    slope_, intercept_ : float
        Of the logit of the probability. A negative slope means that the scores rank the classes the wrong way. If all
        scores are equal the slope is 0 and the map a constant.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped; 0 with ``on="score"``.

    Notes
    -----
    Predictions are strictly between 0 and 1: the largest is ``1 - 2**-53``. With all labels alike the slope is 0 and
    the probability the target. With weights, P and N are sums of weights.

    References
    ----------
    Platt (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods.
    Lin, Lin & Weng (2007). A note on Platt's probabilistic outputs for support vector machines. Machine Learning 68.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> fitted = PlattCalibrator(smooth_targets=False).fit([0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> fitted.predict([0.2, 0.5, 0.8]).round(6).tolist()
    [0.25, 0.5, 0.75]
    """

    _COEFFICIENTS = ("slope_", "intercept_")

    def __init__(
        self,
        *,
        on: Literal["logit", "score"] = "logit",
        increasing: bool = False,
        smooth_targets: bool = True,
        clip: float | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(smooth_targets=smooth_targets, clip=clip)
        self.on = on
        self.increasing = increasing

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("on", self.on, ("logit", "score"))
        self.clip_ = find_clip(table, self.clip) if self.on == "logit" else (0.0, 0.0)
        positives = target_positives(table, self.smooth_targets)
        columns = self._columns(table.score)
        self.slope_, self.intercept_ = fit_platt(table, columns, positives, increasing=self.increasing)

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        if self.on == "score":
            return [scores, np.ones(len(scores))]
        return platt_columns(scores, self.clip_)

    def _in_words(self) -> str:
        slope, intercept = short(self.slope_), short(abs(self.intercept_))
        if self.slope_ == 0.0:
            return constant_in_words(self.intercept_)
        moved = (
            "" if intercept == "0" else f" and {'raises' if self.intercept_ > 0.0 else 'lowers'} them by {intercept}"
        )
        if self.on == "logit":
            return f"Multiplies the log odds by {slope}{moved}: {spread_in_words(self.slope_)}."
        return f"Takes {slope} times the score {plus(self.intercept_)} for the log odds."
