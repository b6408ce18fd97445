"""How time and memory of arrays grow from n rows to 10 n; of other ways in, see `routes.py`.

    python -m benchmarks.scale.growth --rows 10000000 --rounds 5

Every run is a process of its own, in which the arrays are made. Its memory without any measure is measured too ("arrays
alone").
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import arrays

IN_MEMORY: dict[str, Callable[[Any, Any], object]] = {
    "arrays alone": lambda label, score: None,
    "calibrant cutoff_calibration_error": cal.metrics.cutoff_calibration_error,
    "calibrant ScoreTable.from_scores": cal.ScoreTable.from_scores,
    "calibrant IsotonicCalibrator": lambda label, score: cal.calibrators.IsotonicCalibrator().fit(score, label),
}


def one(name: str, n: int) -> None:
    """Run one measure on arrays and print what it took."""
    import scipy.optimize  # noqa: F401 (loading it is not part of the time)

    label, score = arrays(n)
    IN_MEMORY[name](label[:1000], score[:1000])
    _, seconds = timing.timed(lambda: IN_MEMORY[name](label, score))
    print(json.dumps({"seconds": seconds, "megabytes": timing.peak_megabytes()}))


def measure(n: int, rounds: int) -> list[timing.Timing]:
    def run(name: str) -> timing.Run:
        return timing.Run(**timing.in_own_process("benchmarks.scale.growth", "--one", name, "--rows", str(n)))

    runs = timing.in_turn(list(IN_MEMORY), rounds, run)
    return [timing.summed_up("arrays", n, name, listed) for name, listed in runs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="n; the other size is ten times as large")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "growth.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.rows)
        return
    before = timing.machine()
    small = measure(arguments.rows, arguments.rounds)
    large = measure(10 * arguments.rows, arguments.rounds)
    for few, many in zip(small, large, strict=True):
        print(
            f"{few.contestant:<48} time x {many.seconds / few.seconds:6.2f}"
            f"   memory x {many.megabytes / few.megabytes:5.2f}"
        )
    timing.write(small + large, arguments.output, before)


if __name__ == "__main__":
    main()
