"""Parquet files of eight kinds of scores: what reading one into a table takes, beside a plain sum of its columns.

    python -m benchmarks.scale.kinds --sizes 30000000 100000000 --beside v1/src

Every run is a process of its own; its times are multiples of the median of three sums by DuckDB in the same process,
of the processor and by the clock, and its memory is the peak of all of it. Versions have to find the same error, blocks
of the isotonic fit and losses, to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant as cal
from benchmarks import timing
from calibrant.fits.isotonic import isotonic_fit

BLOCK, GROUP = 2_000_000, 500_000
HERE = Path(cal.__file__).parents[1]
Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n)


def saturated(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-rng.normal(-2.0, 12.0, n)))


KINDS: dict[str, Draw] = {
    "Beta(.7, 1.6)": beta(0.7, 1.6),
    "the same in float32": beta(0.7, 1.6),
    "rare, Beta(.3, 300)": beta(0.3, 300.0),
    "Beta(.7, 1.6) with whole weights": beta(0.7, 1.6),
    "two decimals": lambda rng, n: rng.beta(0.7, 1.6, n).round(2),
    "20,000 different": lambda rng, n: np.sqrt(np.floor(rng.beta(0.7, 1.6, n) * 20_000) / 20_000),
    "Beta(.02, .02)": beta(0.02, 0.02),
    "sigmoid of N(-2, 12), 2% of labels wrong": saturated,
}


def made(folder: Path, kind: str, n: int) -> Path:
    """Write a file of rows, unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"kind{list(KINDS).index(kind)}_{n}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, BLOCK):
        score = KINDS[kind](rng, min(BLOCK, n - start))
        score = score.astype(np.float32) if "float32" in kind else score
        rate = {"r": score, "s": 0.96 * score + 0.02}.get(kind[0], score**1.2)
        columns = {"label": (rng.random(len(score)) < rate).astype(np.int8), "score": score}
        if "weights" in kind:
            columns["weight"] = rng.integers(0, 5, len(score))
        block = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block, row_group_size=GROUP)
    if writer is not None:
        writer.close()
    return path


def one(path: Path, weight: str | None) -> None:
    """Read one file and print what it took, and what was found."""
    import duckdb

    plain = f"SELECT sum(score), sum(label) FROM '{path}'"
    duckdb.sql(plain).fetchall()
    sums = [both(lambda: duckdb.sql(plain).fetchall())[1:] for _ in range(3)]
    table, *took = both(lambda: cal.read_table(path, outcome="label", prediction="score", weight=weight))
    found = cal.metrics.cutoff_calibration(table)
    fit = isotonic_fit(table)
    blocks = hashlib.sha1(np.concatenate([fit.low, fit.high, fit.value]).tobytes()).hexdigest()
    value = [found.value, *found.interval, table.squared_total, table.log_loss_total, blocks]
    multiples = [mine / statistics.median(each) for mine, each in zip(took, zip(*sums, strict=True), strict=True)]
    rows = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
    print(json.dumps([*multiples, 1e9 * took[0] / rows, timing.peak_megabytes(), len(table), value]))


def both(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call returns, its time of the processor and by the clock."""
    processor = time.process_time()
    found, seconds = timing.timed(run)
    return found, time.process_time() - processor, seconds


def main() -> None:
    parser = timing.parser(__doc__ or "", sizes=[30_000_000, 100_000_000], rounds=1)
    parser.add_argument("--beside", type=Path, help="folder src of another version")
    parser.add_argument("--folder", type=Path, default=timing.FOLDER)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(Path(arguments.one[0]), *(arguments.one[1:] or [None]))
        return
    print("| rows | scores | version | processor / clock, plain sums | ns a row | peak memory | rows of the table |")
    print("|---|---|---|---|---|---|---|")
    for n in arguments.sizes:
        for kind in KINDS:
            path, found = made(arguments.folder, kind, n), []
            versions = {"now": HERE} | ({} if arguments.beside is None else {"before": arguments.beside})
            for name, version in versions.items():
                options = ["--one", str(path), *(["weight"] if "weights" in kind else [])]
                cpu, wall, ns, megabytes, rows, value = timing.in_own_process(
                    "benchmarks.scale.kinds", *options, version=version
                )
                found.append(value)
                times = f"{cpu:.1f} / {wall:.1f} | {ns:.0f}"
                print(f"| {n:.0e} | {kind} | {name} | {times} | {megabytes:,.0f} MB | {rows:,} |")
            if found[1:] and found[0] != found[1]:
                print(f"found {found[0]} and {found[1]}", file=sys.stderr)


if __name__ == "__main__":
    main()
