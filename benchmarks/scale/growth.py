"""How time and memory grow from n rows to 10 n.

    python benchmarks/scale/growth.py --rows 10000000 --rounds 5

Every run is a process of its own. Files: the ways of `parquet.py`. Arrays: made inside the process, whose memory
without any measure is measured too ("arrays alone").
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import parquet
import record
from rows_file import rows_file

import calibrant as cal

IN_MEMORY: dict[str, Callable[[Any, Any], object]] = {
    "arrays alone": lambda label, score: None,
    "calibrant cutoff_calibration_error": cal.metrics.cutoff_calibration_error,
    "calibrant ScoreTable.from_scores": cal.ScoreTable.from_scores,
    "calibrant IsotonicCalibrator": lambda label, score: cal.calibrators.IsotonicCalibrator().fit(score, label),
}
BLOCK = 1 << 20


def one(name: str, n: int) -> None:
    """Run one measure on arrays and print what it took."""
    import scipy.optimize  # noqa: F401 (loading it is not part of the time)

    rng = np.random.default_rng(0)
    label, score = np.empty(n, np.int8), np.empty(n)
    for start in range(0, n, BLOCK):
        part = slice(start, min(n, start + BLOCK))
        score[part] = rng.beta(0.7, 1.6, part.stop - part.start)
        label[part] = rng.random(part.stop - part.start) < score[part]
    IN_MEMORY[name](label[:1000], score[:1000])
    started = time.perf_counter()
    IN_MEMORY[name](label, score)
    print(json.dumps({"seconds": time.perf_counter() - started, "megabytes": record.peak_megabytes()}))


def measure(n: int, rounds: int, folder: Path) -> list[record.Timing]:
    def run(name: str) -> record.Run:
        return record.Run(**record.in_own_process(__file__, "--one", name, "--rows", str(n)))

    runs = record.in_turn(list(IN_MEMORY), rounds, run)
    timings = [record.summed_up("arrays", n, name, listed) for name, listed in runs.items()]
    path = rows_file(folder, n, "float32")
    return timings + parquet.measure(path, [*parquet.SCANS, *parquet.OURS], rounds, n, "float32")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="n; the other size is ten times as large")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=record.FOLDER)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "growth.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.rows)
        return
    before = record.machine()
    small = measure(arguments.rows, arguments.rounds, arguments.folder)
    large = measure(10 * arguments.rows, arguments.rounds, arguments.folder)
    for few, many in zip(small, large, strict=True):
        print(
            f"{few.contestant:<48} time x {many.seconds / few.seconds:6.2f}"
            f"   memory x {many.megabytes / few.megabytes:5.2f}"
        )
    record.write(small + large, arguments.output, before)


if __name__ == "__main__":
    main()
