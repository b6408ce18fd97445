"""Time and memory of segments beside one audit of the same rows.

    python -m benchmarks.segments --rounds 3

A Parquet file of ten million rows in 50 segments, read by `calibrant.audit`, and by segment by
`certify`, each run in a process of its own; and a million rows in arrays with 1000 overlapping segments, beside an
audit of the arrays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calibrant
from benchmarks import timing

_LEVELS = (4, 6, 8, 10, 12, 8)  # of six columns: 48 segments, and 940 of their pairs


def write_file(path: Path, rows: int, segments: int = 50) -> None:
    """Write labels, scores and segments of overconfident scores, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = np.array([f"branch {i:02d}" for i in range(segments)])
    writer = None
    for start in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - start)
        score = rng.beta(0.7, 1.6, n)
        label, branch = (rng.random(n) < score**1.05).astype(np.int8), names[rng.integers(segments, size=n)]
        table = pa.table({"y": label, "p": score, "branch": branch})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def of_file(name: str, path: Path) -> timing.Run:
    """Run one contestant in this process."""
    columns: dict[str, Any] = {"outcome": "y", "prediction": "p"}
    contestants: dict[str, Callable[[], Any]] = {
        "audit": lambda: calibrant.audit(str(path), **columns),
        "certify": lambda: calibrant.certify(str(path), by="branch", **columns).parts,
        "find_segments": lambda: calibrant.find_segments(str(path), by="branch", **columns),
    }
    _, seconds = timing.timed(contestants[name])
    return timing.Run(seconds, timing.peak_megabytes())


def overlapping(rows: int) -> dict[str, Callable[[], Any]]:
    """Return an audit of arrays, of which columns and pairs make about 1000 segments, and one of these segments."""
    rng = np.random.default_rng(1)
    score = rng.beta(0.7, 1.6, rows)
    label = rng.random(rows) < score
    by = {f"column {i}": rng.integers(levels, size=rows) for i, levels in enumerate(_LEVELS)}
    return {
        "audit": lambda: calibrant.audit(label, score),
        "certify": lambda: calibrant.certify(label, score, by=by, depth=2).parts,
        "find_segments": lambda: calibrant.find_segments(label, score, by=by),
    }


def main() -> None:
    parser = timing.file_parser(__doc__ or "", rows=10_000_000, rounds=3, output="segments.csv")
    parser.add_argument("--run", help="one contestant of the file, for a process of its own")
    parser.add_argument("--arrays", type=int, default=1_000_000, help="rows of the arrays")
    options = parser.parse_args()
    path = options.folder / f"segments-{options.rows}.parquet"
    if options.run:
        run = of_file(options.run, path)
        print(json.dumps([run.seconds, run.megabytes]))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_file(path, options.rows)

    def alone(name: str) -> timing.Run:
        found = timing.in_own_process(
            "benchmarks.segments", "--run", name, "--rows", str(options.rows), "--folder", str(options.folder)
        )
        return timing.Run(*found)

    runs = timing.in_turn(["audit", "certify", "find_segments"], options.rounds, alone)
    timings = [timing.summed_up("Parquet, 50 segments", options.rows, name, of) for name, of in runs.items()]
    kept: dict[str, Any] = {}
    contestants = overlapping(options.arrays)
    timings += timing.side_by_side("arrays, overlapping", options.arrays, contestants, options.rounds, keep=kept)
    print(f"{len(kept['certify'].name)} overlapping segments", file=sys.stderr)
    for found in timings:
        if found.megabytes is not None:
            print(f"{found.contestant}: {found.megabytes:,.0f} MB at most", file=sys.stderr)
    timing.show(timings, {"audits": lambda _: "audit"})


if __name__ == "__main__":
    main()
