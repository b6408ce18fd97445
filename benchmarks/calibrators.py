"""Time to fit calibrators, side by side with those of other packages, and how far each stops from the maximum.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.calibrators --sizes 100000 1000000 --rounds 7

betacal is left out if it is not installed. scikit-learn's sigmoid calibration is given the logits, ready made, and fits
the same smoothed targets as `PlattCalibrator`. `slope` is the largest derivative of the mean log likelihood at the
parameters found, which is 0 at the maximum; isotonic fits are exact. Most of our time goes into the score table, that
is, into `numpy.sort`; it is listed by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from benchmarks import timing
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated
from calibrant import ScoreTable
from calibrant.calibrators import (
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)


class Sample(NamedTuple):
    """Rows, with what peers want ready made."""

    score: Scores
    y: Labels
    logit: Scores


class Contestant(NamedTuple):
    """A fit, named ``job: what fits``, and its largest slope of the likelihood; the first of each job is ours."""

    name: str
    fit: Callable[[Sample], Any]
    slope: Callable[[Sample, Any], float] | None = None


def sample_of(label: Labels, score: Scores) -> Sample:
    return Sample(score, label, np.log(score) - np.log1p(-score))


def steepest(columns: list[Scores], logit: Scores, target: Scores) -> float:
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
    yield Contestant("table: calibrant ScoreTable.from_scores", lambda d: ScoreTable.from_scores(d.y, d.score))
    yield Contestant(
        "Platt: calibrant PlattCalibrator",
        lambda d: PlattCalibrator().fit(d.score, d.y),
        lambda d, f: platt_slope(d, f.slope_, f.intercept_),
    )
    yield Contestant(
        "Platt: scikit-learn sigmoid calibration",
        lambda d: _sigmoid_calibration(d.logit, d.y),
        lambda d, f: platt_slope(d, -f[0], -f[1]),
    )
    yield Contestant(
        "beta: calibrant BetaCalibrator",
        lambda d: BetaCalibrator(smooth_targets=False).fit(d.score, d.y),
        lambda d, f: beta_slope(d, f.a_, f.b_, f.c_),
    )
    try:
        from betacal import BetaCalibration
    except ImportError:
        pass
    else:
        yield Contestant(
            "beta: betacal BetaCalibration('abm')",
            lambda d: BetaCalibration("abm").fit(d.score.reshape(-1, 1), d.y),
            lambda d, f: beta_slope(d, *betacal_parameters(f)),
        )
    yield Contestant("isotonic: calibrant IsotonicCalibrator", lambda d: IsotonicCalibrator().fit(d.score, d.y))
    yield Contestant(
        "isotonic: scikit-learn IsotonicRegression",
        lambda d: IsotonicRegression(out_of_bounds="clip").fit(d.score, d.y),
    )
    yield Contestant("other: calibrant TemperatureCalibrator", lambda d: TemperatureCalibrator().fit(d.score, d.y))
    yield Contestant("other: calibrant HistogramCalibrator", lambda d: HistogramCalibrator().fit(d.score, d.y))


def betacal_parameters(fitted: Any) -> tuple[float, float, float]:
    (a, b, _), c = fitted.calibrator_.map_, float(fitted.calibrator_.lr_.intercept_[0])
    return float(a), float(b), c


def time_all(n: int, rounds: int) -> list[timing.Timing]:
    sample, fielded = sample_of(*calibrated(n, power=1.2)), list(contestants())
    fitted: dict[str, Any] = {}

    calls = {one.name: lambda one=one: one.fit(sample) for one in fielded}
    timings = timing.side_by_side(HEADLINE, n, calls, rounds, keep=fitted)
    slopes = {one.name: f"{one.slope(sample, fitted[one.name]):.0e}" for one in fielded if one.slope is not None}
    timing.show(timings, {"x ours": timing.first_of_job(list(calls))}, {"slope": slopes})
    return timings


def main() -> None:
    arguments = timing.parser(__doc__, sizes=[10**5, 10**6], rounds=7).parse_args()
    before = timing.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peers' own
        timings = [one for n in arguments.sizes for one in time_all(n, arguments.rounds)]
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
