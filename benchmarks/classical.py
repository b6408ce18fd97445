"""Time of classical measures and tests, side by side with other implementations.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/classical.py --sizes 100000 1000000 --rounds 5 --output classical.csv

Peers that are not installed are left out. Ours start from the arrays of rows too, so each time includes checking,
sorting and pooling them; the first row of each table shows how long that takes. All of ours pool equal scores and take
weights.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calibrant import ScoreTable
from calibrant.metrics import (
    calibration_slope,
    confusion_metrics,
    hosmer_lemeshow,
    ks_calibration_test,
    roc_auc_interval,
    roc_curve,
    smooth_calibration_error,
    spiegelhalter,
)

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Contestant = Callable[[Labels, Scores], object]

PEERS = ("numpy", "scipy", "scikit-learn", "relplot", "mapie", "statsmodels")


@dataclass(frozen=True)
class Timing:
    """Median time of one contestant on one data set."""

    n: int
    contestant: str
    milliseconds: float


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield "calibrant ScoreTable.from_scores", ScoreTable.from_scores
    yield "calibrant smooth_calibration_error", smooth_calibration_error
    yield from relplot_contestants()
    yield "calibrant spiegelhalter", spiegelhalter
    yield from mapie_contestants()
    yield "calibrant hosmer_lemeshow", hosmer_lemeshow
    yield "calibrant ks_calibration_test", ks_calibration_test
    yield "calibrant calibration_slope (2 fits)", calibration_slope
    yield from statsmodels_contestants()
    yield "calibrant roc_curve", roc_curve
    yield "calibrant roc_auc_interval", roc_auc_interval
    yield "calibrant confusion_metrics", confusion_metrics
    yield from scikit_learn_contestants()


def relplot_contestants() -> Iterator[tuple[str, Contestant]]:
    try:
        from relplot import smECE
    except ImportError:
        return
    yield "relplot smECE", lambda label, score: smECE(score, label)


def mapie_contestants() -> Iterator[tuple[str, Contestant]]:
    try:
        from mapie.metrics.calibration import kolmogorov_smirnov_p_value, spiegelhalter_p_value
    except ImportError:
        return
    yield "MAPIE spiegelhalter_p_value", spiegelhalter_p_value
    yield "MAPIE kolmogorov_smirnov_p_value", kolmogorov_smirnov_p_value


def statsmodels_contestants() -> Iterator[tuple[str, Contestant]]:
    try:
        import statsmodels.api as sm
    except ImportError:
        return

    def slope(label: Labels, score: Scores) -> object:
        logit = np.log(score) - np.log1p(-score)
        return sm.GLM(label, np.column_stack([np.ones_like(logit), logit]), family=sm.families.Binomial()).fit()

    yield "statsmodels GLM (1 fit)", slope


def scikit_learn_contestants() -> Iterator[tuple[str, Contestant]]:
    from sklearn import metrics

    yield "scikit-learn roc_curve", metrics.roc_curve
    yield "scikit-learn roc_auc_score", metrics.roc_auc_score
    yield "scikit-learn confusion_matrix", lambda label, score: metrics.confusion_matrix(label, score >= 0.5)


def calibrated_rows(n: int) -> tuple[Labels, Scores]:
    rng = np.random.default_rng(0)
    score = np.clip(rng.beta(0.7, 1.6, n), 1e-12, 1.0 - 1e-12)
    return (rng.random(n) < score).astype(np.int8), score


def time_all(n: int, rounds: int, fielded: dict[str, Contestant]) -> list[Timing]:
    label, score = calibrated_rows(n)
    seconds: dict[str, list[float]] = {name: [] for name in fielded}
    for _ in range(rounds):
        for name, run in fielded.items():
            started = time.perf_counter()
            run(label, score)
            seconds[name].append(time.perf_counter() - started)
    return [Timing(n, name, 1e3 * statistics.median(taken)) for name, taken in seconds.items()]


def versions() -> str:
    found = []
    for name in PEERS:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def write(timings: list[Timing], path: Path) -> None:
    rows = [asdict(timing) for timing in timings]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6], help="rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the timings as CSV")
    arguments = parser.parse_args()

    print(versions())
    fielded = dict(contestants())
    timings = [timing for n in arguments.sizes for timing in time_all(n, arguments.rounds, fielded)]
    for timing in timings:
        print(f"{timing.n:>12,}  {timing.contestant:<40}{timing.milliseconds:>10.1f} ms")
    if arguments.output:
        write(timings, arguments.output)


if __name__ == "__main__":
    main()
