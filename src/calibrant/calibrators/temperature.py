"""Temperature scaling: the log-odds divided by one number."""

from __future__ import annotations

from calibrant.calibrators.log_odds import LogOddsCalibrator, spread_in_words
from calibrant.fits.log_odds import find_clip, fit_temperature, target_positives, temperature_columns
from calibrant.table.numbers import short
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class TemperatureCalibrator(LogOddsCalibrator):
    """Temperature scaling: ``logit P(y = 1) = logit(score) / temperature``, by maximum likelihood.

    The map keeps 1/2 where it is, so it can repair scores that are too sharp or too flat, but no bias. Predictions are
    strictly between 0 and 1, see `PlattCalibrator`.

    Parameters
    ----------
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999) instead of 1 and 0, see `PlattCalibrator`. The temperature is then positive
        for every sample. False gives plain maximum likelihood, and an error where it would make the temperature 0.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken, see `PlattCalibrator`.

    Attributes
    ----------
    inverse_temperature_ : float
        Factor of the logit, at least 0. It is 0, and every probability 1/2, if the classes stand on the wrong sides of
        1/2; it is 1 if all scores are 1/2.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> from calibrant.calibrators import TemperatureCalibrator
    >>> fitted = TemperatureCalibrator(smooth_targets=False).fit([0.1] * 4 + [0.9] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> round(fitted.temperature_, 6), fitted.predict([0.1, 0.5, 0.9]).round(6).tolist()
    (2.0, [0.25, 0.5, 0.75])
    """

    _COEFFICIENTS = ("inverse_temperature_",)

    @property
    def temperature_(self) -> float:
        """Temperature: above 1 if the scores were too sharp; infinite if `inverse_temperature_` is 0."""
        return 1.0 / self.inverse_temperature_ if self.inverse_temperature_ > 0.0 else float("inf")

    def _fit_table(self, table: ScoreTable) -> None:
        self.clip_ = find_clip(table, self.clip)
        positives = target_positives(table, self.smooth_targets)
        (self.inverse_temperature_,) = fit_temperature(table, self._columns(table.score), positives)

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        return temperature_columns(scores, self.clip_)

    def _in_words(self) -> str:
        if self.inverse_temperature_ == 0.0:
            return "Maps every score to 0.5: the classes stand on the wrong sides of it."
        divided = f"Divides the log odds by {short(self.temperature_)}, the temperature"
        return f"{divided}: {spread_in_words(self.inverse_temperature_)}."
