"""Every way in, from a million rows on: beside a plain scan of the same rows, and beside another version.

    python -m benchmarks.scale.routes --beside ffb7588/src --spark-python venv/bin/python --page PAGE.md

Every run is a process of its own, so that its peak memory is its own, the Java of Spark included. A thousand rows go
first, so that neither imports nor the start of Spark are timed; files are in the page cache, and of arrays the second
call is measured, on memory that the first has used. Engines take all cores; NumPy takes one. All ways have to find the
same error. What would take longer than `--limit` at the next size, if time is in proportion to rows, is left out from
there on.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module as load
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from benchmarks.rows import ROW_GROUP, Labels, Scores, arrays, rows_file
from benchmarks.scale import page

COLUMNS = {"outcome": "label", "prediction": "score"}
REPEATED, MOST_TEXT = 10**7, 2 * 10**8  # rows that are measured more than once, and that are written as text
TEXT_BYTES = 60  # disk space that a row of text takes at most, what is copied from it included
HERE = Path(cal.__file__).parents[1]


def spark_frame(path: Path) -> Any:
    from pyspark.sql import SparkSession

    settings = {"memory": "4g", "host": "127.0.0.1", "bindAddress": "127.0.0.1"}
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config(map={f"spark.driver.{name}": value for name, value in settings.items()})
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session.read.parquet(str(path))


SOURCES: dict[str, Callable[[Path], Any]] = {
    "arrays": lambda path: tuple(np.load(path.with_suffix(f".{name}.npy")) for name in ("label", "score")),
    "Parquet": str,
    "CSV": lambda path: str(path.with_suffix(".csv")),
    "lazy Polars": lambda path: load("polars").scan_parquet(path),
    "DuckDB relation": lambda path: load("duckdb").sql(f"SELECT * FROM '{path}'"),
    "Spark": spark_frame,
}


def polars_sort(frame: Any) -> float:
    """Take the error from rows that Polars sorts and adds up."""
    import polars as pl

    score, height = pl.col("score"), (pl.col("label") - pl.col("score")).cum_sum()
    last = height.filter(score.ne_missing(score.shift(-1)))  # of rows with the same score
    wanted = frame.sort("score").select(low=last.min(), high=last.max(), n=pl.len())
    low, high, n = wanted.collect(engine="streaming").row(0)
    return float((max(high, 0.0) - min(low, 0.0)) / n)


def error(table: cal.ScoreTable) -> float:
    return float(cal.metrics.cutoff_calibration_error(table))


def read_table(place: str) -> float:
    return error(cal.read_table(place, **COLUMNS))


def from_frame(frame: Any) -> float:
    return error(cal.ScoreTable.from_frame(frame, **COLUMNS))


def from_chunks(rows: tuple[Labels, Scores]) -> float:
    label, score = rows

    def chunks() -> Iterator[tuple[Labels, Scores]]:
        for start in range(0, len(score), ROW_GROUP):
            yield label[start : start + ROW_GROUP], score[start : start + ROW_GROUP]

    return error(cal.ScoreTable.from_chunks(chunks))


def duckdb_sum(place: str) -> float:
    return sum(load("duckdb").sql(f"SELECT sum(score), sum(label) FROM '{place}'").fetchall()[0])


SCANS: dict[str, Callable[[Any], float]] = {
    "arrays: NumPy's sum": lambda rows: sum(float(column.sum()) for column in rows),
    "Parquet: DuckDB's sum": duckdb_sum,
    "CSV: DuckDB's sum": duckdb_sum,
    "lazy Polars: its sum": lambda frame: sum(frame.sum().collect(engine="streaming").row(0)),
    "DuckDB relation: its sum": lambda relation: sum(relation.aggregate("sum(score), sum(label)").fetchall()[0]),
    "Spark: its sum": lambda frame: sum(frame.agg({"score": "sum", "label": "sum"}).collect()[0]),
}
OURS: dict[str, Callable[[Any], float]] = {
    "arrays: cutoff_calibration_error": lambda rows: float(cal.metrics.cutoff_calibration_error(*rows)),
    "arrays: from_scores": lambda rows: error(cal.ScoreTable.from_scores(*rows)),
    "arrays: from_chunks": from_chunks,
    "Parquet: read_table": read_table,
    "CSV: read_table": read_table,
    "lazy Polars: from_frame": from_frame,
    "DuckDB relation: from_frame": from_frame,
    "Spark: from_frame": from_frame,
}
EVERYONE = SCANS | OURS | {"lazy Polars: sorted by Polars": polars_sort}


def source_of(name: str) -> str:
    return name.partition(": ")[0]


def one(name: str, path: Path, first: Path) -> None:
    """Run one contestant and print what it took."""
    source, run = SOURCES[source_of(name)], EVERYONE[name]
    run(source(first))
    with (path.with_suffix(".csv") if source_of(name) == "CSV" else path).open("rb") as file:
        while file.read(1 << 24):  # brings it into the page cache
            pass
    rows = source(path)
    if source_of(name) == "arrays":
        run(rows)  # a virtual machine can take longer to find memory than the rest takes
    before = timing.processor_seconds()
    value, seconds = timing.timed(lambda: run(rows))
    processor = timing.processor_seconds() - before
    megabytes = timing.peak_megabytes(children=True)
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "processor": processor, "value": float(value)}))


def made(folder: Path, n: int) -> Path:
    """Return a Parquet file of n rows, and write its rows beside it as arrays and, up to a limit, as text."""
    path = rows_file(folder, n, "float64")
    for name, column in zip(("label", "score"), arrays(n), strict=True):
        np.save(path.with_suffix(f".{name}.npy"), column)
    if text_fits(folder, n):
        load("duckdb").execute(f"COPY (SELECT * FROM '{path}') TO '{path.with_suffix('.csv')}'")
    return path


def text_fits(folder: Path, n: int) -> bool:
    return n <= MOST_TEXT and shutil.disk_usage(folder).free > TEXT_BYTES * n


def left_out(name: str, n: int, arguments: argparse.Namespace, timings: list[timing.Timing]) -> str:
    """Return why a contestant is not run with n rows; nothing if it is."""
    if source_of(name) == "Spark" and not arguments.spark_python:
        return "--spark-python is not given"
    if source_of(name) == "CSV" and not text_fits(arguments.folder, n):
        return f"more than {MOST_TEXT:,} rows of text, or not enough disk space"
    smaller = [done for done in timings if done.contestant == name]
    expected = smaller[-1].seconds * n / smaller[-1].n if smaller else 0.0
    return f"expected to take {expected:.0f} s" if expected > arguments.limit else ""


def measure(names: list[str], n: int, arguments: argparse.Namespace) -> list[timing.Timing]:
    first, path = (made(arguments.folder, rows) for rows in (1000, n))

    def run(name: str) -> timing.Run:
        options = ["--one", name.removesuffix(page.BEFORE), "--files", str(path), str(first)]
        python = arguments.spark_python if source_of(name) == "Spark" else sys.executable
        version = arguments.beside if name.endswith(page.BEFORE) else HERE
        try:
            found = timing.in_own_process("benchmarks.scale.routes", *options, python=python, version=version)
        except subprocess.CalledProcessError as failure:  # such as too little memory: the others go on
            print(f"{name} is left out: {failure}", file=sys.stderr)
            return timing.Run(math.inf)
        return timing.Run(**found)

    try:
        runs = timing.in_turn(names, arguments.rounds if n <= REPEATED else 1, run)
    finally:
        for beside in {*arguments.folder.glob(f"{path.stem}.*")} - {path}:
            beside.unlink()
    check_agreement(runs)
    timings = [timing.summed_up("float64", n, name, runs[name]) for name in names]
    return [done for done in timings if math.isfinite(done.most)]


def check_agreement(runs: dict[str, list[timing.Run]]) -> None:
    """Raise if one way finds another error: ours differ by at most two units of 2**-43, sums of floats by more."""
    values = {name: run.value for name, listed in runs.items() if name not in SCANS for run in listed}
    found = {name: value for name, value in values.items() if value is not None}
    for name, value in found.items():
        if not math.isclose(value, next(iter(found.values())), abs_tol=1e-9):
            raise SystemExit(f"{name} found {value!r}; all: {found}")


def main() -> None:
    sizes = [10**6, 10**7, 10**8, 2 * 10**8]
    parser = timing.parser(__doc__, sizes=sizes, rounds=3, output=timing.RESULTS / "routes.csv")
    parser.add_argument("--beside", type=Path, help="folder src of another version")
    parser.add_argument("--spark-python", help="a Python with PySpark")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one run may take, by estimate")
    parser.add_argument("--only", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--folder", type=Path, default=timing.FOLDER, help="where files are, or shall be made")
    parser.add_argument("--page", type=Path, help="a page to write the tables into")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, *arguments.files)
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    machine = timing.start()
    if arguments.spark_python:
        asked = [arguments.spark_python, "-c", "import pyspark; print(pyspark.__version__)"]
        machine["versions"]["pyspark"] = subprocess.check_output(asked, text=True).strip()
    names = []  # a scan first, then ours: now, and before
    for name in sorted(EVERYONE, key=lambda name: list(SOURCES).index(source_of(name))):
        if source_of(name) in arguments.only:
            names += [name, name + page.BEFORE] if arguments.beside and name in OURS else [name]
    if arguments.beside:
        machine["beside"] = arguments.beside.resolve().parent.name
    timings: list[timing.Timing] = []
    for n in sorted(arguments.sizes):
        reasons = {name: left_out(name, n, arguments, timings) for name in names}
        for name, reason in reasons.items():
            if reason:
                print(f"{n:,} rows: {name} is left out: {reason}")
        timings += measure([name for name, reason in reasons.items() if not reason], n, arguments)
        timing.write(timings, arguments.output, machine)
    if arguments.page:
        page.put(arguments.page, arguments.output)


if __name__ == "__main__":
    main()
