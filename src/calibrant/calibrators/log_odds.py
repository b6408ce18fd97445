"""What the calibrators that work on log-odds share: their base class and words."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.fits.log_odds import Clip, combine, probability
from calibrant.table.numbers import short
from calibrant.table.pooling import FloatArray


class LogOddsCalibrator(Calibrator):
    """Base of the maps whose log-odds are a sum of coefficients times columns made of the score."""

    _COEFFICIENTS: ClassVar[tuple[str, ...]]  # names of the attributes, in the order of the columns

    clip_: Clip

    def __init__(self, *, smooth_targets: bool = True, clip: float | Literal["auto"] = "auto") -> None:
        self.smooth_targets = smooth_targets
        self.clip = clip

    @abstractmethod
    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        """Return the columns; a constant one is the last of several."""

    @property
    def _theta(self) -> FloatArray:
        return np.array([getattr(self, name) for name in self._COEFFICIENTS])

    @_theta.setter
    def _theta(self, theta: FloatArray) -> None:
        for name, value in zip(self._COEFFICIENTS, theta.tolist(), strict=True):
            setattr(self, name, value)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return combine(self._theta.tolist(), self._columns(scores))


def spread_in_words(factor: float) -> str:
    """Say what a factor of the log odds says about the scores."""
    if factor < 0.0:
        return "the scores rank the classes the wrong way"
    if factor == 1.0:
        return "their spread was right"
    return "the scores were too extreme" if factor < 1.0 else "the scores were not extreme enough"


def constant_in_words(log_odds: float) -> str:
    """Say what a map without slope does."""
    value = float(probability(np.array([log_odds]))[0])
    return f"Maps every score to {short(value)}: scores tell the classes apart in the wrong order or not at all."
