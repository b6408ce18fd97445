"""What all measurements of scale share: rounds in turn, a process for each run, and a record of the machine."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PACKAGES = (
    "numpy", "scipy", "duckdb", "polars", "pyarrow", "narwhals", "pyspark", "pandas",
    "scikit-learn", "mapie", "netcal", "betacal", "statsmodels",
)  # fmt: skip


FOLDER = Path(tempfile.gettempdir()) / "calibrant-scale"  # files of rows, too large for a checkout
RESULTS = FOLDER / "results"


@dataclass(frozen=True)
class Run:
    """One run of one contestant; `value` is what has to agree among them, if anything has to."""

    seconds: float
    megabytes: float | None = None
    value: float | None = None


@dataclass(frozen=True)
class Timing:
    """All rounds of one contestant on one data set."""

    data: str
    n: int
    contestant: str
    seconds: float
    least: float
    most: float
    megabytes: float | None
    rounds: int
    value: float | None


def in_turn(names: Sequence[str], rounds: int, run: Callable[[str], Run]) -> dict[str, list[Run]]:
    """Run every contestant once in each round, so that a busy minute is shared by all."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for i in range(rounds):
        for name in names:
            runs[name].append(run(name))
            done = runs[name][-1]
            memory = "" if done.megabytes is None else f"{done.megabytes:10,.0f} MB"
            print(f"round {i + 1}  {name:<48}{done.seconds:10.3f} s{memory}", flush=True)
    return runs


def summed_up(data: str, n: int, contestant: str, runs: Sequence[Run]) -> Timing:
    seconds = [run.seconds for run in runs]
    memory = [run.megabytes for run in runs if run.megabytes is not None]
    return Timing(
        data,
        n,
        contestant,
        statistics.median(seconds),
        min(seconds),
        max(seconds),
        max(memory) if memory else None,
        len(runs),
        runs[0].value,
    )


def in_own_process(script: str, *arguments: str) -> Any:
    """Run a script with this Python and return what its last line says, in JSON."""
    done = subprocess.run([sys.executable, script, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_megabytes() -> float:
    """Most memory this process has held. What `getrusage` tells can be that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": text.partition("model name\t: ")[2].partition("\n")[0] or platform.processor(),
        "cores": os.cpu_count(),
        "gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "versions": found,
    }


def write(rows: Iterable[Any], path: Path, before: dict[str, Any]) -> None:
    """Write dataclasses as CSV, and beside it the machine as it was before and how busy it was after."""
    listed = [asdict(row) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)
    after = {**before, "load after": machine()["load"]}
    path.with_suffix(".json").write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Return what `write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return rows, json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
