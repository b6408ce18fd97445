"""Time and memory of the cutoff calibration error, side by side with one read of the data and with other metrics.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/cutoff.py --sizes 100000 1000000 10000000 --rounds 5 --output cutoff.csv

Peers that are not installed are left out. They compute other numbers than ours (`cumulative_differences` breaks ties
at random and leaves out the start of the walk; the others are not calibration errors over all intervals), so the ratios
compare effort, not merit.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calibrant import ScoreTable
from calibrant.metrics import cutoff_calibration_error

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Contestant = Callable[[Labels, Scores], object]

READ = "one read of both arrays"
OURS = "calibrant cutoff_calibration_error"

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "Beta(.7, 1.6)": lambda rng, n: rng.beta(0.7, 1.6, n),
    "Beta(.3, 300)": lambda rng, n: rng.beta(0.3, 300, n),
    "lognormal(-11, 2)": lambda rng, n: np.minimum(1.0, rng.lognormal(-11, 2, n)),
    "Beta(.02, .02)": lambda rng, n: rng.beta(0.02, 0.02, n),
    "N(.5, 1e-4)": lambda rng, n: np.clip(rng.normal(0.5, 1e-4, n), 0.0, 1.0),
    "half at one score": lambda rng, n: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    "101 distinct": lambda rng, n: rng.integers(0, 101, n) / 100,
    "20k distinct": lambda rng, n: rng.integers(0, 20_001, n) / 20_000,
}
HEADLINE = "Beta(.7, 1.6)"


@dataclass(frozen=True)
class Timing:
    """Median time of one contestant on one data set."""

    distribution: str
    n: int
    contestant: str
    milliseconds: float
    reads: float
    times_ours: float


def one_read(label: Labels, score: Scores) -> object:
    """Sum both arrays; labels are taken eight at a time, as fast as memory delivers them."""
    return score.sum() + label.view(np.int64).sum()


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield READ, one_read
    yield OURS, cutoff_calibration_error
    yield "calibrant ScoreTable.from_scores", ScoreTable.from_scores

    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, roc_auc_score

    yield "scikit-learn brier_score_loss", brier_score_loss
    yield "scikit-learn calibration_curve", lambda label, score: calibration_curve(label, score, n_bins=10)
    yield "scikit-learn roc_auc_score", roc_auc_score
    try:
        from mapie.metrics.calibration import cumulative_differences
    except ImportError:
        pass
    else:
        yield "MAPIE cumulative_differences", cumulative_differences
    try:
        from netcal.metrics import ECE
    except ImportError:
        pass
    else:
        yield "netcal ECE", lambda label, score: ECE(bins=10).measure(score, label)


def calibrated_rows(distribution: str, n: int) -> tuple[Labels, Scores]:
    """Calibrated labels leave the walk near 0, which is the hardest case for pruning."""
    rng = np.random.default_rng(0)
    score = DISTRIBUTIONS[distribution](rng, n)
    return (rng.random(n) < score).astype(np.int8), score


def time_all(distribution: str, n: int, rounds: int, fielded: dict[str, Contestant]) -> list[Timing]:
    label, score = calibrated_rows(distribution, n)
    seconds: dict[str, list[float]] = {name: [] for name in fielded}
    for _ in range(rounds):
        for name, run in fielded.items():
            started = time.perf_counter()
            run(label, score)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    return [
        Timing(distribution, n, name, 1e3 * median, median / medians[READ], median / medians[OURS])
        for name, median in medians.items()
    ]


def peak_megabytes(n: int) -> float:
    """Most memory that the error takes beyond its input."""
    label, score = calibrated_rows(HEADLINE, n)
    tracemalloc.start()
    cutoff_calibration_error(label, score)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def show(timings: list[Timing]) -> None:
    print(f"\n{'distribution':<20}{'n':>12}  {'':<36}{'ms':>10}{'reads':>9}{'x ours':>9}")
    for t in timings:
        print(
            f"{t.distribution:<20}{t.n:>12,}  {t.contestant:<36}"
            f"{t.milliseconds:>10.2f}{t.reads:>9.1f}{t.times_ours:>9.2f}"
        )


def write(timings: list[Timing], path: Path) -> None:
    rows = [asdict(timing) for timing in timings]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def versions() -> str:
    found = []
    for name in ("numpy", "scikit-learn", "mapie", "netcal"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7], help="rows; multiples of 8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the timings as CSV")
    arguments = parser.parse_args()
    if any(n % 8 for n in arguments.sizes):
        parser.error("sizes must be multiples of 8")

    print(versions())
    everyone = dict(contestants())
    ours = {name: everyone[name] for name in (READ, OURS)}
    timings = []
    for n in arguments.sizes:
        timings += time_all(HEADLINE, n, arguments.rounds, everyone)
    largest = max(arguments.sizes)
    for distribution in sorted(set(DISTRIBUTIONS) - {HEADLINE}):
        timings += time_all(distribution, largest, arguments.rounds, ours)
    show(timings)
    print(f"\npeak memory of {OURS} beyond its input at n = {largest:,}: {peak_megabytes(largest):.1f} MiB")
    if arguments.output:
        write(timings, arguments.output)


if __name__ == "__main__":
    main()
