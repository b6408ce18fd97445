"""Apply calibrators to a Parquet file, beside DuckDB's plain copy of it: rows per second and peak memory.

    python -m benchmarks.scale.apply --rows 10000000

Calibrators are fitted to a million rows of other data, whose scores are too high. Every run has a process of its own,
and copies and calibrators take turns. "copy and a column" also writes 1 - score, so that the rest is what a map costs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import calibrated, rows_file
from calibrant.export import load_model, to_json

FITTED = {
    "isotonic": cal.calibrators.IsotonicCalibrator(),
    "isotonic, steps": cal.calibrators.IsotonicCalibrator(interpolation="step"),
    "venn-abers": cal.calibrators.VennAbersCalibrator(),
    "beta": cal.calibrators.BetaCalibrator(),
    "auto": cal.calibrators.AutoCalibrator(),
}
COPIES = {"copy": "*", "copy and a column": "*, 1 - score AS calibrated"}


def one(name: str, path: str, model: str) -> None:
    """Copy or apply, and print what it took."""
    import duckdb

    from calibrant.export.apply import apply_to_file

    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        output = Path(folder) / "out.parquet"
        started, used = time.perf_counter(), time.process_time()
        if name in COPIES:
            connection = duckdb.connect(config={"memory_limit": "2GB"})
            connection.execute(f"COPY (SELECT {COPIES[name]} FROM '{path}') TO '{output}' (FORMAT parquet)")
        else:
            apply_to_file(load_model(model), path, output, score="score")
        seconds, processor = time.perf_counter() - started, time.process_time() - used
    print(json.dumps({"seconds": seconds, "processor": processor, "megabytes": timing.peak_megabytes()}))


def main() -> None:
    parser = timing.file_parser(__doc__, rows=10_000_000, rounds=5, output="apply.csv")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
        return
    before = timing.start()
    path = rows_file(arguments.folder, arguments.rows, "float64")
    label, score = calibrated(1_000_000, power=1.3)
    processor: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        models = {name: Path(folder) / f"{name}.json" for name in FITTED}
        for name, model in models.items():
            model.write_text(to_json(FITTED[name].fit(score, label)))

        def run(name: str) -> timing.Run:
            took = timing.in_own_process("benchmarks.scale.apply", "--one", name, str(path), str(models.get(name, "")))
            processor.setdefault(name, []).append(took["processor"])
            return timing.Run(took["seconds"], took["megabytes"])

        runs = timing.in_turn([*COPIES, *FITTED], arguments.rounds, run)
    timings = [timing.summed_up("Parquet", arguments.rows, name, listed) for name, listed in runs.items()]
    timing.show(
        timings,
        {"of a copy": lambda _: "copy"},
        {
            "rows/s": {one.contestant: f"{one.n / one.seconds:,.0f}" for one in timings},
            "fastest": {one.contestant: f"{one.n / one.least:,.0f}" for one in timings},
            "CPU s": {name: f"{min(seconds):.2f}" for name, seconds in processor.items()},
            "MB": {one.contestant: f"{one.megabytes:,.0f}" for one in timings},
        },
    )
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
