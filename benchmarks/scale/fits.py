"""Recalibrate a Parquet file: time to read it into a table, to fit each calibrator and to apply it to all rows.

    python -m benchmarks.scale.fits --rows 100000000

Every calibrator has a process of its own. How far its map is from that of a fit to all single scores is measured on
a file of a tenth of the rows, which are also held in memory for that.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import rows_file

CALIBRATORS = {
    "isotonic": cal.calibrators.IsotonicCalibrator,
    "Platt": cal.calibrators.PlattCalibrator,
    "beta": cal.calibrators.BetaCalibrator,
    "temperature": cal.calibrators.TemperatureCalibrator,
}
COLUMNS = {"outcome": "label", "prediction": "score"}


@dataclass(frozen=True)
class Fit:
    """One calibrator: medians of seconds, peak memory, and the largest difference to the fit of single scores."""

    calibrator: str
    n: int
    rounds: int
    read_seconds: float
    fit_seconds: float
    apply_seconds: float
    megabytes: float
    difference: float


def one(name: str, path: str) -> None:
    """Read, fit and apply, and print what each took."""
    import duckdb  # noqa: F401 (loading it is not part of the times)
    import scipy.optimize  # noqa: F401

    from calibrant.export.apply import apply_to_file

    times = [time.perf_counter()]
    table = cal.read_table(path, **COLUMNS)
    times.append(time.perf_counter())
    calibrator = CALIBRATORS[name]().fit(table)
    times.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        apply_to_file(calibrator, path, Path(folder) / "out.parquet", score="score")
    times.append(time.perf_counter())
    print(json.dumps({"times": np.diff(times).tolist(), "megabytes": timing.peak_megabytes()}))


def difference(path: Path) -> dict[str, float]:
    """Return how far maps fitted to the cells of a file are from those fitted to its single scores."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path)
    exact = cal.ScoreTable.from_scores(rows["label"].to_numpy(), rows["score"].to_numpy())
    cells = cal.read_table(path, **COLUMNS)
    if cells.exact:
        raise SystemExit("too few rows: they would be held score by score")
    at = np.linspace(0.0, 1.0, 100_001)
    maps = {name: [make().fit(table).predict(at) for table in (exact, cells)] for name, make in CALIBRATORS.items()}
    return {name: float(np.abs(one - other).max()) for name, (one, other) in maps.items()}


def main() -> None:
    parser = timing.file_parser(__doc__, rows=100_000_000, rounds=3, output="fits.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.file)
        return
    before = timing.machine()
    off = difference(rows_file(arguments.folder, arguments.rows // 10, "float64"))
    path = rows_file(arguments.folder, arguments.rows, "float64")
    fits = []
    for name in CALIBRATORS:
        runs = [
            timing.in_own_process("benchmarks.scale.fits", "--one", name, "--file", str(path))
            for _ in range(arguments.rounds)
        ]
        read, fit, apply = np.median([run["times"] for run in runs], axis=0).tolist()
        memory = max(run["megabytes"] for run in runs)
        fits.append(Fit(name, arguments.rows, arguments.rounds, read, fit, apply, memory, off[name]))
        print(fits[-1], flush=True)
    timing.write(fits, arguments.output, before)


if __name__ == "__main__":
    main()
