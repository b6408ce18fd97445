"""Time to fit calibrators, side by side with those of other packages, and how far each stops from the maximum.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/calibrators.py --sizes 100000 1000000 --rounds 7

betacal is left out if it is not installed. scikit-learn's sigmoid calibration is given the logits, ready made, and fits
the same smoothed targets as `PlattCalibrator`. `slope` is the largest derivative of the mean log likelihood at the
parameters found, which is 0 at the maximum; isotonic fits are exact. Most of our time goes into the score table, that
is, into `numpy.sort`; it is listed by itself.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from calibrant import ScoreTable
from calibrant.calibrators import (
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)

Floats = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """Rows, with what peers want ready made."""

    score: Floats
    y: npt.NDArray[np.int8]
    logit: Floats


class Contestant(NamedTuple):
    """A fit, the job it does, and its largest slope of the likelihood."""

    job: str
    name: str
    fit: Callable[[Sample], Any]
    slope: Callable[[Sample, Any], float] | None = None


def rows(n: int) -> Sample:
    rng = np.random.default_rng(0)
    score = rng.beta(0.7, 1.6, n)
    y = (rng.random(n) < score**1.2).astype(np.int8)
    return Sample(score, y, np.log(score) - np.log1p(-score))


def steepest(columns: list[Floats], logit: Floats, target: Floats) -> float:
    residual = target - 1.0 / (1.0 + np.exp(-logit))
    return max(abs(float(np.mean(column * residual))) for column in columns)


def platt_slope(sample: Sample, slope: float, intercept: float) -> float:
    positives = float(sample.y.sum())
    negatives = len(sample.y) - positives
    target = np.where(sample.y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    return steepest([sample.logit, np.ones(len(target))], slope * sample.logit + intercept, target)


def beta_slope(sample: Sample, a: float, b: float, c: float) -> float:
    x, z = np.log(sample.score), -np.log1p(-sample.score)
    return steepest([x, z, np.ones(len(x))], a * x + b * z + c, sample.y.astype(np.float64))


def contestants() -> Iterator[Contestant]:
    yield Contestant("table", "calibrant ScoreTable.from_scores", lambda d: ScoreTable.from_scores(d.y, d.score))
    yield Contestant(
        "Platt",
        "calibrant PlattCalibrator",
        lambda d: PlattCalibrator().fit(d.score, d.y),
        lambda d, f: platt_slope(d, f.slope_, f.intercept_),
    )
    yield Contestant(
        "Platt",
        "scikit-learn sigmoid calibration",
        lambda d: _sigmoid_calibration(d.logit, d.y),
        lambda d, f: platt_slope(d, -f[0], -f[1]),
    )
    yield Contestant(
        "beta",
        "calibrant BetaCalibrator",
        lambda d: BetaCalibrator(smooth_targets=False).fit(d.score, d.y),
        lambda d, f: beta_slope(d, f.a_, f.b_, f.c_),
    )
    try:
        from betacal import BetaCalibration
    except ImportError:
        pass
    else:
        yield Contestant(
            "beta",
            "betacal BetaCalibration('abm')",
            lambda d: BetaCalibration("abm").fit(d.score.reshape(-1, 1), d.y),
            lambda d, f: beta_slope(d, *betacal_parameters(f)),
        )
    yield Contestant("isotonic", "calibrant IsotonicCalibrator", lambda d: IsotonicCalibrator().fit(d.score, d.y))
    yield Contestant(
        "isotonic",
        "scikit-learn IsotonicRegression",
        lambda d: IsotonicRegression(out_of_bounds="clip").fit(d.score, d.y),
    )
    yield Contestant("other", "calibrant TemperatureCalibrator", lambda d: TemperatureCalibrator().fit(d.score, d.y))
    yield Contestant("other", "calibrant HistogramCalibrator", lambda d: HistogramCalibrator().fit(d.score, d.y))


def betacal_parameters(fitted: Any) -> tuple[float, float, float]:
    (a, b, _), c = fitted.calibrator_.map_, float(fitted.calibrator_.lr_.intercept_[0])
    return float(a), float(b), c


def time_all(n: int, rounds: int) -> None:
    sample, fielded = rows(n), list(contestants())
    seconds: dict[str, list[float]] = {one.name: [] for one in fielded}
    slopes: dict[str, float] = {}
    for _ in range(rounds):
        for one in fielded:
            started = time.perf_counter()
            fitted = one.fit(sample)
            seconds[one.name].append(time.perf_counter() - started)
            if one.slope is not None and one.name not in slopes:
                slopes[one.name] = one.slope(sample, fitted)
    print(f"\nn = {n:,}\n{'':<10}{'':<36}{'ms':>9}{'x ours':>9}{'slope':>10}")
    ours: dict[str, float] = {}
    for one in fielded:
        median = statistics.median(seconds[one.name])
        ours.setdefault(one.job, median)
        slope = f"{slopes[one.name]:10.0e}" if one.name in slopes else ""
        print(f"{one.job:<10}{one.name:<36}{1e3 * median:>9.1f}{median / ours[one.job]:>9.1f}{slope}")


def versions() -> str:
    found = []
    for name in ("numpy", "scipy", "scikit-learn", "betacal"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6], help="rows")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print(versions())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peers' own
        for n in arguments.sizes:
            time_all(n, arguments.rounds)


if __name__ == "__main__":
    main()
