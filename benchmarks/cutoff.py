"""Time and memory of the cutoff calibration error, side by side with one read of the data and with other metrics.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.cutoff --sizes 100000 1000000 10000000 --rounds 5 --output cutoff.csv

Peers that are not installed are left out. They compute other numbers than ours (`cumulative_differences` breaks ties
at random and leaves out the 0 at which cumulative residuals start; the others are not calibration errors over all
intervals), so the ratios compare effort, not merit.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import timing
from benchmarks.rows import DISTRIBUTIONS, HEADLINE, Labels, Scores, calibrated
from calibrant import ScoreTable
from calibrant.metrics import cutoff_calibration_error

Contestant = Callable[[Labels, Scores], object]

READ = "one read of both arrays"
OURS = "calibrant cutoff_calibration_error"


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


def peak_megabytes(n: int) -> float:
    """Most memory that the error takes beyond its input."""
    label, score = calibrated(n)
    tracemalloc.start()
    cutoff_calibration_error(label, score)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def time_all(distribution: str, n: int, rounds: int, fielded: dict[str, Contestant]) -> list[timing.Timing]:
    label, score = calibrated(n, distribution)
    calls = {name: lambda run=run: run(label, score) for name, run in fielded.items()}
    return timing.side_by_side(distribution, n, calls, rounds)


def main() -> None:
    parser = timing.parser(__doc__, sizes=[10**5, 10**6, 10**7], rounds=5)
    arguments = parser.parse_args()
    if any(n % 8 for n in arguments.sizes):
        parser.error("sizes must be multiples of 8")
    before = timing.start()
    everyone = dict(contestants())
    ours = {name: everyone[name] for name in (READ, OURS)}
    timings = []
    for n in arguments.sizes:
        timings += time_all(HEADLINE, n, arguments.rounds, everyone)
    largest = max(arguments.sizes)
    for distribution in sorted(set(DISTRIBUTIONS) - {HEADLINE}):
        timings += time_all(distribution, largest, arguments.rounds, ours)
    timing.show(timings, {"reads": lambda name: READ, "x ours": lambda name: OURS})
    print(f"\npeak memory of {OURS} beyond its input at n = {largest:,}: {peak_megabytes(largest):.1f} MiB")
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
