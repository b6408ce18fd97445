"""The simulated world of the paper: labels drawn from known probabilities, scores that distort them.

Once with our own draws, by calibrant, and once with the authors' draws, number by number as R made them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from calibrant.papers import distorted_probabilities
from reproductions.fernandes_machado2024.r_random import RRandom

if TYPE_CHECKING:
    from reproductions.item import Effort

__all__ = ["RUNS", "SAMPLES", "SCENARIOS", "Sample", "Split", "our_split", "repeat", "their_splits"]

T = TypeVar("T")
FloatArray = npt.NDArray[np.float64]

RUNS = 200
SAMPLES = ("calibration", "test")
SCALES = {"1/3": 1 / 3, "2/3": 2 / 3, "1": 1.0, "3/2": 3 / 2, "3": 3.0}
SCENARIOS = {f"alpha = {name}": (scale, 1.0) for name, scale in SCALES.items()} | {
    f"gamma = {name}": (1.0, scale) for name, scale in SCALES.items()
}

_ROWS, _CALIBRATION = 2000, 1200
_NOISY_SETS = 8  # the true probabilities, the scores, and the scores after each of six recalibrations
_PER_STEP = 10


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels with their true probabilities and the scores to be judged."""

    y: npt.NDArray[np.int8]
    p: FloatArray
    score: FloatArray


@dataclass(frozen=True, eq=False)
class Split:
    """A sample to recalibrate on and one to test on.

    Attributes
    ----------
    calibration, test : Sample
        1200 and 800 rows.
    whole : Sample
        Both, in the order in which they were drawn.
    noise : ndarray of float64, shape (8, 2000)
        What R's generator gives next, as normal numbers: a row for each set of scores that the authors blur, for its
        1200 and 800 rows. Empty with our own draws.
    """

    calibration: Sample
    test: Sample
    whole: Sample
    noise: FloatArray


def our_split(scenario: str, seed: int) -> Split:
    """Draw 2000 rows; the first 1200 are for calibration. Every scenario has draws of its own."""
    alpha, gamma = SCENARIOS[scenario]
    random = np.random.default_rng([seed, list(SCENARIOS).index(scenario)])
    drawn = distorted_probabilities(_ROWS, alpha=alpha, gamma=gamma, random_state=random)
    everything = Sample(drawn.y_true, drawn.p_true, drawn.y_proba)
    return _split(everything, np.arange(_CALIBRATION), np.arange(_CALIBRATION, _ROWS), np.empty((0, 0)))


def their_splits(seed: int, *, first_coefficient: float = -0.1) -> dict[str, Split]:
    """Return the authors' replication of this number, 1 to 200, for every scenario: the same labels in all of them."""
    random = RRandom(seed)
    x = [random.uniform(_ROWS) for _ in range(4)]
    eta = first_coefficient * x[0] + 0.05 * x[1] + 0.2 * x[2] - 0.05 * x[3] + 0.5 * random.normal(_ROWS)
    p = 1.0 / (1.0 + np.exp(-eta))
    y = random.bernoulli(p)
    chosen = random.sample(_ROWS, _CALIBRATION)
    others = np.setdiff1d(np.arange(_ROWS), chosen)
    noise = random.normal(_NOISY_SETS * _ROWS).reshape(_NOISY_SETS, _ROWS)
    return {
        name: _split(Sample(y, p, (1.0 / (1.0 + np.exp(-gamma * eta))) ** alpha), chosen, others, noise)
        for name, (alpha, gamma) in SCENARIOS.items()
    }


def _split(whole: Sample, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], noise: FloatArray) -> Split:
    calibration, test = (Sample(whole.y[rows], whole.p[rows], whole.score[rows]) for rows in (first, second))
    return Split(calibration, test, whole, noise)


def repeat(job: Callable[[int], T], seeds: range, effort: Effort, what: str) -> list[T]:
    """Run a job for every seed, two at a time."""
    found: list[T] = []
    with Parallel(n_jobs=2) as pool:
        for start in effort.steps(range(0, len(seeds), _PER_STEP), what):
            found += pool(delayed(job)(seed) for seed in seeds[start : start + _PER_STEP])
    return found
