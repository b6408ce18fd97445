"""Time of the expected calibration error and of the Brier score's decomposition, side by side with other packages.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/binned.py --sizes 100000 1000000 --rounds 5 --output binned.csv

Peers that are not installed are left out. Ours pools equal scores first, which takes a sort; the peers with bins of
equal width need none. The numbers differ where bins do: MAPIE 1.6 makes nine bins when asked for ten.
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
from calibrant.metrics import brier_decomposition, expected_calibration_error

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Contestant = Callable[[Labels, Scores], object]

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "Beta(.7, 1.6)": lambda rng, n: rng.beta(0.7, 1.6, n),
    "101 distinct": lambda rng, n: rng.integers(0, 101, n) / 100,
}


@dataclass(frozen=True)
class Timing:
    """Median time of one contestant on one data set."""

    distribution: str
    n: int
    contestant: str
    milliseconds: float


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield "calibrant ECE, quantile", expected_calibration_error
    yield "calibrant ECE, uniform", lambda y, s: expected_calibration_error(y, s, strategy="uniform")
    yield "calibrant brier_decomposition", brier_decomposition
    yield "calibrant ScoreTable.from_scores", ScoreTable.from_scores

    from sklearn.calibration import calibration_curve

    yield "scikit-learn calibration_curve, uniform", lambda y, s: calibration_curve(y, s, n_bins=10)
    yield (
        "scikit-learn calibration_curve, quantile",
        lambda y, s: calibration_curve(y, s, n_bins=10, strategy="quantile"),
    )
    try:
        from mapie.metrics.calibration import expected_calibration_error as mapie_error
    except ImportError:
        pass
    else:
        yield "MAPIE ECE, uniform", lambda y, s: mapie_error(y, s, num_bins=10, split_strategy="uniform")
        yield "MAPIE ECE, quantile", lambda y, s: mapie_error(y, s, num_bins=10, split_strategy="quantile")
    try:
        from netcal.metrics import ECE
    except ImportError:
        pass
    else:
        yield "netcal ECE, uniform", lambda y, s: ECE(bins=10).measure(s, y)
    try:
        from model_diagnostics.scoring import SquaredError, decompose
    except ImportError:
        pass
    else:
        yield "model-diagnostics decompose", lambda y, s: decompose(y, s, scoring_function=SquaredError())


def calibrated_rows(distribution: str, n: int) -> tuple[Labels, Scores]:
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
    return [Timing(distribution, n, name, 1e3 * statistics.median(taken)) for name, taken in seconds.items()]


def show(timings: list[Timing]) -> None:
    print(f"\n{'distribution':<16}{'n':>12}  {'':<42}{'ms':>10}")
    for t in timings:
        print(f"{t.distribution:<16}{t.n:>12,}  {t.contestant:<42}{t.milliseconds:>10.2f}")


def write(timings: list[Timing], path: Path) -> None:
    rows = [asdict(timing) for timing in timings]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def versions() -> str:
    found = []
    for name in ("numpy", "scikit-learn", "mapie", "netcal", "model-diagnostics"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6], help="rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the timings as CSV")
    arguments = parser.parse_args()

    print(versions())
    everyone = dict(contestants())
    timings = [
        timing
        for distribution in DISTRIBUTIONS
        for n in arguments.sizes
        for timing in time_all(distribution, n, arguments.rounds, everyone)
    ]
    show(timings)
    if arguments.output:
        write(timings, arguments.output)


if __name__ == "__main__":
    main()
