"""Time, shuffle and memory of Spark on this machine, with one core and with two, and what that says about a cluster.

    python -m benchmarks.scale.spark --rows 20000000 --rounds 3

Ten times the rows are run once, on two cores, to see what grows. Every run is a session of its own; what it shuffled
comes from Spark's event log. The estimate for a cluster is arithmetic on what was measured here, no measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import timing
from benchmarks.rows import rows_file
from benchmarks.scale import routes
from calibrant.table.fixed_point import MOST_ROWS

MASTERS = ("local[1]", "local[2]")
CLUSTER_ROWS, CLUSTER_CORES = 10**10, 100


@dataclass(frozen=True)
class Shuffled:
    """What one run moved. Bytes and records are sums over tasks; memory is the most that was held."""

    n: int
    master: str
    seconds: float
    least: float
    most: float
    jobs: int
    scans: int
    scan_tasks: int
    core_seconds: float
    written_bytes: int
    written_records: int
    read_bytes: int
    largest_scan_bytes: int
    to_driver_bytes: int
    java_megabytes: float
    python_megabytes: float
    file_bytes: int
    value: float


def one(path: str, master: str) -> None:
    """Run one session and print what it took."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.mkdir()
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": f"{folder}/shuffle",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": log.as_uri(),
        }
        builder = SparkSession.builder.master(master)
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        frame = session.read.parquet(path)
        frame.count()  # starts what starts once
        warm = len(list(events(log)))
        started = time.perf_counter()
        table = routes.cal.ScoreTable.from_frame(frame, **routes.COLUMNS)
        seconds = time.perf_counter() - started
        java = java_megabytes()
        session.stop()
        found = {
            **moved(list(events(log))[warm:]),
            "seconds": seconds,
            "java_megabytes": java,
            "python_megabytes": timing.peak_megabytes(),
            "value": routes.error(table),
        }
    print(json.dumps(found))


def events(log: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(path for path in log.rglob("*") if path.is_file() and "appstatus" not in path.name):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):
                yield json.loads(line)


def moved(listed: list[dict[str, Any]]) -> dict[str, float]:
    """Add up the tasks of an event log; a scan is a stage that read the file."""
    jobs = sum(event["Event"] == "SparkListenerJobStart" for event in listed)
    tasks = [event for event in listed if event["Event"] == "SparkListenerTaskEnd"]
    written: dict[int, int] = {}
    readers: dict[int, int] = {}
    total = dict.fromkeys(("written_bytes", "written_records", "read_bytes", "to_driver_bytes"), 0)
    milliseconds = 0
    for task in tasks:
        stage, metrics = task["Stage ID"], task["Task Metrics"]
        out, into = metrics["Shuffle Write Metrics"], metrics["Shuffle Read Metrics"]
        total["written_bytes"] += out["Shuffle Bytes Written"]
        total["written_records"] += out["Shuffle Records Written"]
        total["read_bytes"] += into["Remote Bytes Read"] + into["Local Bytes Read"]
        total["to_driver_bytes"] += metrics["Result Size"]
        milliseconds += metrics["Executor Run Time"]
        if metrics["Input Metrics"]["Records Read"]:
            readers[stage] = readers.get(stage, 0) + 1
            written[stage] = written.get(stage, 0) + out["Shuffle Bytes Written"]
    return {
        "jobs": jobs,
        "scans": len(readers),
        "scan_tasks": sum(readers.values()),
        "core_seconds": milliseconds / 1000,
        **total,
        "largest_scan_bytes": max(written.values(), default=0),
    }


def java_megabytes() -> float:
    """Most memory that the process of Spark has held: driver and executors are one here."""
    peaks = [0.0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, status = (process / "comm").read_text().strip(), (process / "status").read_text()
        except OSError:
            continue  # it has ended
        if name == "java" and "VmHWM:" in status and descends(process):
            peaks.append(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
    return max(peaks)


def descends(process: Path) -> bool:
    """Tell whether this process started another one, perhaps through a third."""
    own = str(Path("/proc/self").resolve().name)
    while process.exists() and process.name not in ("0", "1"):
        parent = (process / "status").read_text().partition("PPid:")[2].split()[0]
        if parent == own:
            return True
        process = process.parent / parent
    return False


def measure(path: Path, n: int, rounds: int, masters: tuple[str, ...]) -> list[Shuffled]:
    details: dict[str, list[dict[str, Any]]] = {master: [] for master in masters}

    def run(master: str) -> timing.Run:
        found = timing.in_own_process("benchmarks.scale.spark", "--one", master, "--file", str(path))
        details[master].append(found)
        return timing.Run(found["seconds"], found["java_megabytes"], found["value"])

    runs = timing.in_turn(masters, rounds, run)
    routes.check_agreement(runs)
    rows = []
    for master in masters:
        took = timing.summed_up("float32", n, master, runs[master])
        last = {name: value for name, value in details[master][-1].items() if name != "seconds"}
        size = path.stat().st_size
        rows.append(Shuffled(n, master, took.seconds, took.least, took.most, **last, file_bytes=size))
    return rows


def estimate(small: Shuffled, large: Shuffled) -> str:
    """Return what a cluster would do, as a Markdown table: what ten times the rows cost here, once more and again."""
    decades = math.log10(CLUSTER_ROWS / large.n)
    split = 128 * 2**20  # Spark's largest piece of a file
    tasks = max(1.0, large.file_bytes / large.n * CLUSTER_ROWS / split)

    def grown(few: float, many: float) -> float:
        return many * (many / few) ** decades

    per_task = [row.written_bytes / row.scan_tasks for row in (small, large)]
    scans = grown(small.scans, large.scans)
    core_seconds = grown(small.core_seconds, large.core_seconds)
    results = grown(small.to_driver_bytes, large.to_driver_bytes)
    python = grown(small.python_megabytes, large.python_megabytes)
    shuffled = grown(*per_task) * tasks * scans
    lines = [
        ("scans of the file", f"{small.scans}", f"{large.scans}", f"{scans:.0f}"),
        (
            "map tasks per scan",
            f"{small.scan_tasks / small.scans:.0f}",
            f"{large.scan_tasks / large.scans:.0f}",
            f"{tasks:,.0f} (pieces of 128 MiB)",
        ),
        (
            "core-seconds",
            f"{small.core_seconds:,.0f}",
            f"{large.core_seconds:,.0f}",
            f"{core_seconds:,.0f}: {core_seconds / CLUSTER_CORES / 60:,.0f} minutes on {CLUSTER_CORES} cores",
        ),
        (
            "shuffled, all scans",
            f"{small.written_bytes / 1e6:,.0f} MB",
            f"{large.written_bytes / 1e6:,.0f} MB, {per_task[1] / 1e6:,.0f} MB a task",
            f"{shuffled / 1e9:,.0f} GB, {grown(*per_task) / 1e6:,.0f} MB a task",
        ),
        (
            "results to the driver, all scans",
            f"{small.to_driver_bytes / 1e6:,.0f} MB",
            f"{large.to_driver_bytes / 1e6:,.0f} MB",
            f"{results / 1e9:,.1f} GB",
        ),
        (
            "driver, Python",
            f"{small.python_megabytes:,.0f} MB",
            f"{large.python_megabytes:,.0f} MB",
            f"{python / 1e3:,.1f} GB",
        ),
    ]
    head = f"| rows | {small.n:.0e} | {large.n:.0e} | {CLUSTER_ROWS:.0e}, estimate |\n|---|---|---|---|\n"
    table = head + "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{first_to_break(shuffled, results / scans)}"


def first_to_break(shuffled: float, per_scan: float) -> str:
    """Say how far the nearest limits are."""
    return (
        f"What strains first is the shuffle: {shuffled / 1e9:,.0f} GB on the disks of the cluster, because sums of "
        "buckets that every task meets are sent by every task. Results of a scan, "
        f"{per_scan / 1e9:.1f} GB on average, are below Spark's limit of 1 GiB (`spark.driver.maxResultSize`); "
        "the largest may not be, and the limit and the driver's memory then have to be raised. Whole weights come "
        f"last: {MOST_ROWS:.1e} rows, {MOST_ROWS / CLUSTER_ROWS:.0f} times as many."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=timing.FOLDER)
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "spark.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.file, arguments.one)
        return
    before = timing.machine()
    rows = []
    for n, rounds, masters in ((arguments.rows, arguments.rounds, MASTERS), (10 * arguments.rows, 1, MASTERS[-1:])):
        rows += measure(rows_file(arguments.folder, n, "float32"), n, rounds, masters)
    timing.write(rows, arguments.output, before)
    text = estimate(*rows[-2:])
    arguments.output.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
