"""Time of local regression on a score table and of the measures made from it, beside building the table and lowess.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/local.py --sizes 100000 1000000 --rounds 5 --output local.csv

Contestants of ours start from a table, which is timed too. `lowess` of statsmodels, left out where it is not installed,
fits lines with the tricube at the same 100 points; it sorts its rows itself and is run without its robust iterations.
The largest difference between its curve and ours is shown.
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
from calibrant.curves import local_curve
from calibrant.metrics import integrated_calibration_index, local_calibration_score

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Contestant = Callable[[Labels, Scores, ScoreTable], object]

TABLE = "calibrant ScoreTable.from_scores"
LOWESS = "statsmodels lowess, 100 points"
SHARE = 0.15
POINTS = 100


@dataclass(frozen=True)
class Timing:
    """Median time of one contestant on one size."""

    n: int
    contestant: str
    milliseconds: float
    tables: float


def curve_of(degree: int, kernel: str) -> Contestant:
    return lambda label, score, table: local_curve(table, span=SHARE, degree=degree, kernel=kernel, n_points=POINTS)


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield TABLE, lambda label, score, table: ScoreTable.from_scores(label, score)
    for kernel in ("rectangular", "tricube"):
        for degree in (0, 1, 2):
            yield f"local_curve, {kernel}, degree {degree}", curve_of(degree, kernel)
    yield "local_calibration_score", lambda label, score, table: local_calibration_score(table)
    yield (
        "local_calibration_score, weights='machado2024'",
        lambda label, score, table: local_calibration_score(table, weights="machado2024"),
    )
    yield "integrated_calibration_index", lambda label, score, table: integrated_calibration_index(table)
    yield (
        "integrated_calibration_index, span=.15, degree 0",
        lambda label, score, table: integrated_calibration_index(table, span=SHARE, degree=0, kernel="rectangular"),
    )
    try:
        import statsmodels.nonparametric.smoothers_lowess  # noqa: F401
    except ImportError:
        return
    yield LOWESS, lambda label, score, table: lowess(label, score)


def lowess(label: Labels, score: Scores) -> npt.NDArray[np.float64]:
    from statsmodels.nonparametric.smoothers_lowess import lowess as of_statsmodels

    points = np.linspace(score.min(), score.max(), POINTS)
    return np.asarray(of_statsmodels(label.astype(float), score, frac=SHARE, it=0, delta=0.0, xvals=points))


def rows(n: int) -> tuple[Labels, Scores]:
    rng = np.random.default_rng(0)
    score = rng.beta(0.7, 1.6, n)
    return (rng.random(n) < score).astype(np.int8), score


def time_all(n: int, rounds: int, fielded: dict[str, Contestant]) -> list[Timing]:
    label, score = rows(n)
    table = ScoreTable.from_scores(label, score)
    seconds: dict[str, list[float]] = {name: [] for name in fielded}
    for _ in range(rounds):
        for name, run in fielded.items():
            started = time.perf_counter()
            run(label, score, table)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    return [Timing(n, name, 1e3 * median, median / medians[TABLE]) for name, median in medians.items()]


def show_difference(n: int) -> None:
    label, score = rows(n)
    ours = local_curve(label, score, span=SHARE, degree=1, kernel="tricube", n_points=POINTS).rate
    print(
        f"largest difference from lowess at n = {n:,}: {np.abs(ours - np.clip(lowess(label, score), 0, 1)).max():.1e}"
    )


def show(timings: list[Timing]) -> None:
    print(f"\n{'n':>12}  {'':<48}{'ms':>10}{'tables':>9}")
    for t in timings:
        print(f"{t.n:>12,}  {t.contestant:<48}{t.milliseconds:>10.2f}{t.tables:>9.2f}")


def write(timings: list[Timing], path: Path) -> None:
    listed = [asdict(timing) for timing in timings]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)


def versions() -> str:
    found = []
    for name in ("numpy", "scipy", "statsmodels"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the timings as CSV")
    arguments = parser.parse_args()

    print(versions())
    fielded = dict(contestants())
    timings = [timing for n in arguments.sizes for timing in time_all(n, arguments.rounds, fielded)]
    show(timings)
    if LOWESS in fielded:
        show_difference(min(arguments.sizes))
    if arguments.output:
        write(timings, arguments.output)


if __name__ == "__main__":
    main()
