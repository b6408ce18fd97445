"""How time and memory of measures on arrays grow with ten times the rows; of other ways in, see `routes.py`.

    python -m benchmarks.scale.growth --rows 10000000 100000000 --rounds 5

Every run is a process of its own, in which the arrays are made, and the second call is measured. Its memory without any
measure is measured too ("arrays alone"), and processor time is printed beside the time that passed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import arrays

IN_MEMORY: dict[str, Callable[[Any, Any], object]] = {
    "arrays alone": lambda label, score: None,
    "calibrant cutoff_calibration_error": cal.metrics.cutoff_calibration_error,
    "calibrant brier_score": cal.metrics.brier_score,
    "calibrant log_loss": cal.metrics.log_loss,
    "calibrant expected_calibration_error": cal.metrics.expected_calibration_error,
    "calibrant ScoreTable.from_scores": cal.ScoreTable.from_scores,
    "calibrant IsotonicCalibrator": lambda label, score: cal.calibrators.IsotonicCalibrator().fit(score, label),
    "calibrant audit": cal.audit,
    "calibrant certify, 100 classes": lambda _, score: certify_classes(score, 100),
    "calibrant certify, 1,000 classes": lambda _, score: certify_classes(score, 1_000),
}


def certify_classes(score: Any, n_classes: int) -> object:
    """Bound the error of classes whose probabilities are right; there is one row to so many scores."""
    proba = score.reshape(-1, n_classes)
    proba = proba / proba.sum(axis=1, keepdims=True)
    drawn = np.random.default_rng(0).random(len(proba))
    label = [int(np.searchsorted(np.cumsum(row), at)) for row, at in zip(proba, drawn * (1.0 - 1e-9), strict=True)]
    return cal.certify(label, proba, kind="classes", tolerance=0.02)


def one(name: str, n: int) -> None:
    """Run one measure on arrays and print what it took."""
    import scipy.optimize  # noqa: F401 (loading them is not part of the time)
    import scipy.stats  # noqa: F401

    label, score = arrays(n)
    IN_MEMORY[name](label, score)  # a virtual machine can take longer to find memory than the rest takes
    measured = functools.partial(timing.timed, lambda: IN_MEMORY[name](label, score), time.process_time)
    (_, processor), seconds = timing.timed(measured)
    print(json.dumps({"seconds": seconds, "megabytes": timing.peak_megabytes(), "processor": processor}))


def in_memory(n: int, rounds: int, names: list[str]) -> list[timing.Timing]:
    def run(name: str) -> timing.Run:
        return timing.Run(**timing.in_own_process("benchmarks.scale.growth", "--one", name, "--rows", str(n)))

    runs = timing.in_turn(names, rounds, run)
    return [timing.summed_up("arrays", n, name, listed) for name, listed in runs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[10_000_000, 100_000_000], help="each ten times the last"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="of the measures on arrays those with this in their name")
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "growth.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, *arguments.rows)
        return
    before = timing.machine()
    names = [name for name in IN_MEMORY if arguments.only in name]
    listed = [in_memory(n, arguments.rounds, names) for n in arguments.rows]
    for small, large in itertools.pairwise(listed):
        print(f"\n{small[0].n:,} to {large[0].n:,} rows")
        for few, many in zip(small, large, strict=True):
            print(
                f"{few.contestant:<48} time x {many.seconds / few.seconds:6.2f} to {many.seconds:8.3f} s"
                f"   processor x {many.processor / few.processor:6.2f} to {many.processor:8.3f} s"
                f"   memory x {many.megabytes / few.megabytes:5.2f}"
            )
    timing.write(itertools.chain.from_iterable(listed), arguments.output, before)


if __name__ == "__main__":
    main()
