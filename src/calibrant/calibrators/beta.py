"""Beta calibration: powers of the score and of its complement."""

from __future__ import annotations

from calibrant.calibrators.log_odds import LogOddsCalibrator, constant_in_words
from calibrant.fits.log_odds import beta_columns, find_clip, fit_beta, target_positives
from calibrant.table.numbers import plus, short
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class BetaCalibrator(LogOddsCalibrator):
    """Beta calibration: ``logit P(y = 1) = a log(score) - b log(1 - score) + c`` with ``a, b >= 0``.

    The right family if the scores of either class follow a beta distribution. It holds the identity (a = b = 1, c = 0),
    `PlattCalibrator` on the logit (a = b), and maps that bend the two ends differently. Fitted by maximum likelihood.
    If a comes out negative it is set to 0 and the others are fitted again, otherwise the same for b. Predictions are
    strictly between 0 and 1, see `PlattCalibrator`.

    Parameters
    ----------
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999) instead of 1 and 0, see `PlattCalibrator`. The fit is then finite for every
        sample, and better on small ones. False gives plain maximum likelihood, and an error where that is infinite.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logarithms are taken, see `PlattCalibrator`.

    Attributes
    ----------
    a_, b_, c_ : float
        The parameters. Where scores are too few or too close together to tell a from b, the two are equal. If the
        scores rank the classes the wrong way or are all equal, both are 0 and the map is a constant.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped.

    References
    ----------
    Kull, Silva Filho & Flach (2017). Beta calibration: a well-founded and easily implemented improvement on logistic
    calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> from calibrant.calibrators import BetaCalibrator
    >>> score, share = [0.2] * 5 + [0.5] * 4 + [0.8] * 5, [0, 0, 0, 0, 1] + [0, 0, 1, 1] + [1, 1, 1, 1, 0]
    >>> fitted = BetaCalibrator(smooth_targets=False).fit(score, share)
    >>> fitted.predict([0.1, 0.2, 0.7]).round(6).tolist()
    [0.1, 0.2, 0.7]
    """

    _COEFFICIENTS = ("a_", "b_", "c_")

    def _fit_table(self, table: ScoreTable) -> None:
        self.clip_ = find_clip(table, self.clip)
        positives = target_positives(table, self.smooth_targets)
        self.a_, self.b_, self.c_ = fit_beta(table, self._columns(table.score), positives)

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        return beta_columns(scores, self.clip_)

    def _in_words(self) -> str:
        if self.a_ == self.b_ == 0.0:
            return constant_in_words(self.c_)
        terms = f"{short(self.a_)} log(score) - {short(self.b_)} log(1 - score) {plus(self.c_)}"
        return f"Takes {terms} for the log odds; factors of 1 and a constant of 0 would change nothing."
