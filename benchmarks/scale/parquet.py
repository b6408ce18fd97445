"""Time and memory of the calibration error of a Parquet file: every way in, bare scans, and SQL that sorts.

    python -m benchmarks.scale.parquet --rows 200000000 --rounds 5 --sort

Every run is a process of its own, so that its peak memory is its own; imports are not timed, and the file is in the
page cache. Engines take all cores; NumPy takes one. All ways have to find the same error.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import ROW_GROUP, rows_file

COLUMNS = {"label": "label", "score": "score"}

Chunk = tuple[Any, Any]


def error(table: cal.ScoreTable) -> float:
    return float(cal.metrics.cutoff_calibration_error(table))


def scan_duckdb(path: str) -> float:
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT sum(score) + sum(label) FROM '{path}'").fetchall()
    return float(found[0][0])


def scan_polars(path: str) -> float:
    import polars as pl

    total = pl.col("score").sum() + pl.col("label").cast(pl.Int64).sum()
    return float(pl.scan_parquet(path).select(total).collect(engine="streaming").item())


def row_groups(path: str) -> Iterator[Chunk]:
    """Yield row groups. PyArrow's default would hold the whole file in its buffers."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, pre_buffer=False)
    for i in range(file.num_row_groups):
        (batch,) = file.read_row_group(i, columns=["label", "score"]).combine_chunks().to_batches()
        # PyArrow's own way to NumPy loads pandas first, where it is installed.
        yield np.from_dlpack(batch["label"]), np.from_dlpack(batch["score"])


def polars_batches(path: str) -> Iterator[Chunk]:
    import polars as pl

    for batch in pl.scan_parquet(path).select("label", "score").collect_batches(chunk_size=1 << 20):
        whole = batch.rechunk()
        yield whole["label"].to_numpy(), whole["score"].to_numpy()


def duckdb_slices(path: str) -> Iterator[Chunk]:
    """Yield two row groups at a time, as `read_table` reads them."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata('{path}')").fetchall()[0][0]
        for begin in range(0, rows, 2 * ROW_GROUP):
            part = f"file_row_number BETWEEN {begin} AND {begin + 2 * ROW_GROUP - 1}"
            query = f"SELECT label, score FROM read_parquet('{path}', file_row_number = true) WHERE {part}"
            found = connection.execute(query).fetchnumpy()
            yield np.ma.getdata(found["label"]), np.ma.getdata(found["score"])


def handed_over(chunks: Callable[[str], Iterator[Chunk]]) -> Callable[[str], float]:
    return lambda path: sum(float(score.sum()) + int(label.sum()) for label, score in chunks(path))


def from_chunks(chunks: Callable[[str], Iterator[Chunk]]) -> Callable[[str], float]:
    return lambda path: error(cal.ScoreTable.from_chunks(lambda: chunks(path)))


def from_polars(path: str) -> float:
    import polars as pl

    return error(cal.ScoreTable.from_frame(pl.scan_parquet(path), **COLUMNS))


def from_duckdb(path: str) -> float:
    import duckdb

    with duckdb.connect() as connection:
        return error(cal.ScoreTable.from_frame(connection.sql(f"SELECT * FROM '{path}'"), **COLUMNS))


def read_table(path: str) -> float:
    return error(cal.read_table(path, **COLUMNS))


def sort_duckdb(path: str) -> float:
    import duckdb

    query = f"""
        WITH pooled AS (SELECT score, sum(label - score::DOUBLE) AS step, count(*) AS n FROM '{path}' GROUP BY score),
        walk AS (SELECT n, sum(step) OVER (ORDER BY score ROWS UNBOUNDED PRECEDING) AS height FROM pooled)
        SELECT (greatest(max(height), 0) - least(min(height), 0)) / sum(n) FROM walk"""
    with duckdb.connect() as connection:
        return float(connection.execute(query).fetchall()[0][0])


def sort_polars(path: str) -> float:
    import polars as pl

    step = (pl.col("label") - pl.col("score").cast(pl.Float64)).sum()
    pooled = pl.scan_parquet(path).group_by("score").agg(step=step, n=pl.len()).sort("score")
    height = pl.col("step").cum_sum()
    wanted = pooled.select(high=height.max(), low=height.min(), n=pl.col("n").sum())
    high, low, n = wanted.collect(engine="streaming").row(0)
    return float((max(high, 0.0) - min(low, 0.0)) / n)


SCANS: dict[str, Callable[[str], float]] = {
    "scan: DuckDB sum": scan_duckdb,
    "scan: Polars sum": scan_polars,
    "to NumPy: PyArrow row groups": handed_over(row_groups),
    "to NumPy: Polars batches": handed_over(polars_batches),
    "to NumPy: DuckDB slices": handed_over(duckdb_slices),
}
OURS: dict[str, Callable[[str], float]] = {
    "calibrant read_table": read_table,
    "calibrant from_frame, lazy Polars": from_polars,
    "calibrant from_frame, DuckDB relation": from_duckdb,
    "calibrant from_chunks, PyArrow row groups": from_chunks(row_groups),
    "calibrant from_chunks, Polars batches": from_chunks(polars_batches),
}
SORTS: dict[str, Callable[[str], float]] = {
    "SQL that sorts: DuckDB": sort_duckdb,
    "SQL that sorts: Polars": sort_polars,
}
EVERYONE = SCANS | OURS | SORTS


def one(name: str, path: str) -> None:
    """Run one contestant and print what it took; engines are loaded first."""
    for module in ("duckdb", "polars", "pyarrow.parquet", "narwhals", "scipy.optimize"):
        if _needs(name, module):
            __import__(module)
    value, seconds = timing.timed(lambda: EVERYONE[name](path))
    print(json.dumps({"seconds": seconds, "megabytes": timing.peak_megabytes(), "value": value}))


def _needs(name: str, module: str) -> bool:
    """Tell what a contestant loads: a package that it does not use would count as its memory."""
    engine = module.partition(".")[0]
    if engine in ("narwhals", "scipy"):
        return name in OURS and (engine == "scipy" or "from_chunks" not in name)
    return engine in name.lower() or (engine == "duckdb" and name.endswith("read_table"))


def measure(path: Path, names: list[str], rounds: int, n: int, data: str) -> list[timing.Timing]:
    def run(name: str) -> timing.Run:
        return timing.Run(**timing.in_own_process("benchmarks.scale.parquet", "--one", name, "--file", str(path)))

    run("scan: Polars sum")  # brings the file into the page cache
    runs = timing.in_turn(names, rounds, run)
    check_agreement(runs)
    return [timing.summed_up(data, n, name, runs[name]) for name in names]


def check_agreement(runs: dict[str, list[timing.Run]]) -> None:
    """Raise if one way finds another error: ours differ by at most two units of 2**-43, sums of floats by more."""
    values = {name: run.value for name, listed in runs.items() if name not in SCANS for run in listed}
    for name, value in values.items():
        if not math.isclose(value, next(iter(values.values())), abs_tol=1e-9):
            raise SystemExit(f"{name} found {value!r}; all: {values}")


def main() -> None:
    parser = timing.file_parser(__doc__, rows=200_000_000, rounds=3, output="parquet.csv")
    parser.add_argument("--scores", choices=["float32", "float64"], default="float32")
    parser.add_argument("--sort", action="store_true", help="also SQL that sorts, which is slow")
    parser.add_argument("--only", help="contestants of which the name holds this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.file)
        return
    before = timing.machine()
    path = rows_file(arguments.folder, arguments.rows, arguments.scores)
    fielded = SCANS | OURS | (SORTS if arguments.sort else {})
    names = [name for name in fielded if not arguments.only or arguments.only in name]
    timings = measure(path, names, arguments.rounds, arguments.rows, arguments.scores)
    for found in timings:
        print(
            f"{found.contestant:<48}{found.seconds:9.2f} s  {found.n / found.seconds / 1e6:8.1f} Mrows/s"
            f"{found.megabytes:9.0f} MB"
        )
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
