"""Populations of predicted means with a known calibration error: what is drawn of them, and both sides of the error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Severity:
    """Amounts with mean 1 if there is no cap; `mean` is that of the amounts up to the cap."""

    draw: Callable[[int, np.random.Generator], FloatArray]
    mean: float


def exponential(cap=np.inf):
    return Severity(lambda n, rng: np.minimum(rng.exponential(size=n), cap), 1.0 - np.exp(-cap))


def lognormal(spread, cap=np.inf):
    mean = (
        1.0
        if cap == np.inf
        else ndtr(np.log(cap) / spread - spread / 2) + cap * ndtr(-np.log(cap) / spread - spread / 2)
    )
    return Severity(
        lambda n, rng: np.minimum(np.exp(spread * rng.standard_normal(n) - 0.5 * spread**2), cap), float(mean)
    )


def pareto(index, cap=np.inf):
    least = (index - 1.0) / index
    missed = 0.0 if cap == np.inf else least**index * cap ** (1.0 - index) / (index - 1.0)
    return Severity(lambda n, rng: np.minimum(least * (1.0 + rng.pareto(index, n)), cap), 1.0 - missed)


@dataclass(frozen=True)
class World:
    """Predictions per unit of exposure, equally frequent, true means there, and how outcomes are made of these.

    With a severity an outcome is 0 or an amount, else a count whose variance is `dispersion` times its mean. Exposures
    are uniform on [0.05, 1] if there are any.
    """

    prediction: FloatArray
    mean: FloatArray
    severity: Severity | None = None
    dispersion: float = 1.0
    exposed: bool = False

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Outcomes, predictions and exposures of n rows."""
        at = rng.integers(len(self.prediction), size=n)
        exposure = rng.uniform(0.05, 1.0, n) if self.exposed else np.ones(n)
        mean = exposure * self.mean[at]
        if self.severity is not None:
            happens = rng.random(n) < mean / self.severity.mean
            outcome = np.zeros(n)
            outcome[happens] = self.severity.draw(int(happens.sum()), rng)
        elif self.dispersion == 1.0:
            outcome = rng.poisson(mean).astype(float)
        else:
            outcome = rng.poisson(rng.gamma(mean / (self.dispersion - 1.0), self.dispersion - 1.0)).astype(float)
        return outcome, self.prediction[at], exposure if self.exposed else None

    @property
    def errors(self) -> tuple[float, float]:
        """True errors, "too low" and "too high", as shares of the predicted total."""
        order = np.argsort(self.prediction)
        path = np.append(0.0, np.cumsum((self.mean - self.prediction)[order])) / self.prediction.sum()
        return float((path - np.minimum.accumulate(path)).max()), float((np.maximum.accumulate(path) - path).max())


def one_score(predicted, mean, **how):
    return World(np.array([predicted]), np.array([mean]), **how)


def half_wrong(mean, by, **how):
    """A book of thirty premiums, the upper half of which is wrong by a factor."""
    prediction = mean * np.exp(np.linspace(-1.0, 1.0, 30))
    return World(prediction, np.where(prediction > mean, by, 1.0) * prediction, **how)
