"""Time, shuffle and memory of Spark on this machine, on two threads and on two workers, one of them killed.

    python -m benchmarks.scale.spark --rows 100000000

The cluster is a standalone one, started here: a master and two workers of one core each. One worker and its executor
are killed while all rows are added up, and the answer has to stay the same. Every run is a session of its own; the unit
is the sum of both columns in the same session, once before and once after. What was shuffled comes from Spark's event
log. The estimate for a larger cluster is arithmetic on what a task sent here, no measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import timing
from benchmarks.rows import rows_file
from benchmarks.scale import routes
from calibrant.sources import frames

LOCAL, CLUSTER = "local[2]", "two workers, one killed"
ESTIMATED_ROWS, ESTIMATED_TASKS = 10**10, 1000
KILLED_IN = 2  # the query, counted from 1, in which a worker dies: the one for the sums of all rows


@dataclass(frozen=True)
class Shuffled:
    """What one run moved. Bytes and records are sums over tasks; memory is the most that was held."""

    n: int
    master: str
    seconds: float
    least: float
    most: float
    plain_seconds: float
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
    with tempfile.TemporaryDirectory() as folder:
        if master == LOCAL:
            found = session_of(path, LOCAL, Path(folder), lambda: None)
        else:
            with two_workers(Path(folder)) as (address, kill):
                found = session_of(path, address, Path(folder), kill)
    print(json.dumps(found))


def session_of(path: str, address: str, folder: Path, kill: Callable[[], None]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    log = folder / "log"
    log.mkdir()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.executor.memory": "2g",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/shuffle",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
    }
    builder = SparkSession.builder.master(address)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)

    def plain() -> float:
        return timing.timed(frame.selectExpr("sum(score)", "sum(label)").collect)[1]

    plain()  # starts what starts once
    plain_seconds = [plain()]
    warm = len(list(events(log)))
    with killing(kill):
        table, seconds = timing.timed(lambda: routes.cal.ScoreTable.from_frame(frame, **routes.COLUMNS))
    ours = list(events(log))[warm:]
    everyone, python = timing.peak_megabytes(children=True), timing.peak_megabytes()
    plain_seconds.append(plain())
    session.stop()
    return {
        **moved(ours),
        "seconds": seconds,
        "plain_seconds": sum(plain_seconds) / 2,
        "java_megabytes": everyone - python,
        "python_megabytes": python,
        "value": routes.error(table),
    }


@contextmanager
def killing(kill: Callable[[], None]) -> Iterator[None]:
    """Call `kill` a second after a query has begun."""
    fetch_arrays, asked = frames.fetch_arrays, 0

    def watched(frame: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == KILLED_IN:
            threading.Timer(1.0, kill).start()
        return fetch_arrays(frame)

    frames.fetch_arrays = watched
    try:
        yield
    finally:
        frames.fetch_arrays = fetch_arrays


@contextmanager
def two_workers(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Start a standalone cluster; yield its address, and what kills one of its workers together with its executor."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    place = "org.apache.spark.deploy"
    host = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[f"{place}.master.Master", *host, "--port", str(port)]] + [
        [f"{place}.worker.Worker", *host, "--cores", "1", "--memory", "3g", "--work-dir", f"{folder}/{name}", address]
        for name in ("first", "second")
    ]
    started = []
    try:
        for command in commands:
            program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen([program, *command], start_new_session=True, **quiet))
            time.sleep(5)

        yield address, lambda: os.killpg(started[-1].pid, signal.SIGKILL)
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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
        took = timing.summed_up("float64", n, master, runs[master])
        last = {name: value for name, value in details[master][-1].items() if name != "seconds"}
        size = path.stat().st_size
        rows.append(Shuffled(n, master, took.seconds, took.least, took.most, **last, file_bytes=size))
    return rows


def estimate(measured: Shuffled) -> str:
    """Say what more rows would send: as many scans, and from each task what one sent here."""
    per_task = measured.written_bytes / measured.scan_tasks * measured.scans
    here = f"{measured.n:.0e} in {measured.scan_tasks / measured.scans:.0f} tasks here"
    there = f"{ESTIMATED_ROWS:.0e} rows in {ESTIMATED_TASKS:,} tasks"
    return (
        f"{there} would be scanned {measured.scans} times like the {here}. A task sent {per_task / 1e6:.1f} MB in all "
        f"scans together, so {per_task * ESTIMATED_TASKS / 1e9:.1f} GB would be shuffled. "
        f"{measured.to_driver_bytes / 1e6:.0f} MB reached the driver, which do not grow with the tasks."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000_000, 200_000_000])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=timing.FOLDER)
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "spark.csv")
    parser.add_argument("--one", choices=[LOCAL, CLUSTER], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.file, arguments.one)
        return
    before = timing.machine()
    rows = []
    for n in arguments.rows:
        rows += measure(rows_file(arguments.folder, n, "float64"), n, arguments.rounds, (LOCAL, CLUSTER))
    timing.write(rows, arguments.output, before)
    text = estimate(next(row for row in reversed(rows) if row.master == LOCAL))
    arguments.output.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
