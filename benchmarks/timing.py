"""What all measurements share: rounds in turn, medians side by side, a process for each run, the machine."""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PACKAGES = (
    "numpy", "scipy", "duckdb", "polars", "pyarrow", "narwhals", "pyspark", "pandas", "scikit-learn", "mapie", "netcal",
    "betacal", "venn-abers", "statsmodels", "relplot", "model-diagnostics", "probcal", "torchmetrics",
)  # fmt: skip


FOLDER = Path(tempfile.gettempdir()) / "calibrant-scale"  # files of rows, too large for a checkout
RESULTS = FOLDER / "results"


@dataclass(frozen=True)
class Run:
    """One run of one contestant; `value` is what has to agree among them, if anything has to."""

    seconds: float
    megabytes: float | None = None
    value: float | None = None
    processor: float | None = None


@dataclass(frozen=True)
class Timing:
    """All rounds of one contestant on one data set; `seconds` and `processor` are their medians."""

    data: str
    n: int
    contestant: str
    seconds: float
    least: float
    most: float
    megabytes: float | None
    processor: float | None
    rounds: int
    value: float | None


def timed(run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[Any, float]:
    """Return what a call returns, and its seconds by a clock."""
    started = clock()
    found = run()
    return found, clock() - started


def in_turn(names: Sequence[str], rounds: int, run: Callable[[str], Run]) -> dict[str, list[Run]]:
    """Run every contestant once in each round, so that a busy minute is shared by all."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for i in range(rounds):
        for name in names:
            runs[name].append(run(name))
            done = runs[name][-1]
            memory = "" if done.megabytes is None else f"{done.megabytes:10,.0f} MB"
            print(f"round {i + 1}  {name:<52}{done.seconds:10.3f} s{memory}", file=sys.stderr, flush=True)
    return runs


def summed_up(data: str, n: int, contestant: str, runs: Sequence[Run]) -> Timing:
    seconds = [run.seconds for run in runs]
    memory = [run.megabytes for run in runs if run.megabytes is not None]
    processor = [run.processor for run in runs if run.processor is not None]
    return Timing(
        data,
        n,
        contestant,
        statistics.median(seconds),
        min(seconds),
        max(seconds),
        max(memory) if memory else None,
        statistics.median(processor) if processor else None,
        len(runs),
        runs[0].value,
    )


def side_by_side(
    data: str,
    n: int,
    contestants: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    keep: dict[str, Any] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timing]:
    """Time calls in this process, in turn; `keep` gets what each returned last, if that is wanted."""

    def run(name: str) -> Run:
        found, seconds = timed(contestants[name], clock)
        if keep is not None:
            keep[name] = found
        return Run(seconds)

    runs = in_turn(list(contestants), rounds, run)
    return [summed_up(data, n, name, listed) for name, listed in runs.items()]


def show(
    timings: Sequence[Timing],
    ratios: Mapping[str, Callable[[str], str]] | None = None,
    notes: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Print medians in milliseconds, times those of other contestants, and what else was found.

    Parameters
    ----------
    timings : sequence of Timing
        Of any number of data sets; each is compared within itself.
    ratios : mapping from str to callable, optional
        By heading, which contestant each is divided by. By default none.
    notes : mapping from str to mapping, optional
        By heading, a text for some contestants.
    """
    ratios, notes = ratios or {}, notes or {}
    name = max((len(timing.contestant) for timing in timings), default=0) + 2
    heads = "".join(f"{head:>14}" for head in [*ratios, *notes])
    for data, n in dict.fromkeys((timing.data, timing.n) for timing in timings):
        print(f"\n{f'{data}, n = {n:,}':<{name}}{'ms':>12}{heads}")
        seconds = {timing.contestant: timing.seconds for timing in timings if (timing.data, timing.n) == (data, n)}
        for contestant, median in seconds.items():
            compared = "".join(f"{median / seconds[base(contestant)]:>14.2f}" for base in ratios.values())
            told = "".join(f"{texts.get(contestant, ''):>14}" for texts in notes.values())
            print(f"{contestant:<{name}}{1e3 * median:>12.2f}{compared}{told}")


def first_of_job(names: Sequence[str]) -> Callable[[str], str]:
    """Return which contestant to divide by, where names are ``job: contestant`` and the first of each job is ours."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.partition(": ")[0], name)
    return lambda name: first[name.partition(": ")[0]]


def parser(
    description: str | None, *, sizes: Sequence[int], rounds: int, output: Path | None = None
) -> argparse.ArgumentParser:
    """Return a parser of the options that scripts share: sizes, rounds and where the timings go, as CSV."""
    found = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    found.add_argument("--sizes", type=int, nargs="+", default=list(sizes), help="numbers of rows")
    found.add_argument("--rounds", type=int, default=rounds)
    found.add_argument("--output", type=Path, default=output, help="write the timings as CSV")
    return found


def file_parser(description: str, *, rows: int, rounds: int, output: str) -> argparse.ArgumentParser:
    """Return a parser of the options of scripts that measure files of rows, each run in a process of its own."""
    found = argparse.ArgumentParser(description=description.partition("\n")[0])
    found.add_argument("--rows", type=int, default=rows)
    found.add_argument("--rounds", type=int, default=rounds)
    found.add_argument("--folder", type=Path, default=FOLDER, help="where the files are, or shall be made")
    found.add_argument("--output", type=Path, default=RESULTS / output)
    return found


def in_own_process(module: str, *arguments: str, python: str = sys.executable, version: Path | None = None) -> Any:
    """Run a module in a process of its own, and return what its last line says, in JSON; `version` is a folder src."""
    command = [python, "-m", module, *arguments]
    environment = os.environ | ({"PYTHONPATH": str(version)} if version else {})
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def started_by(process: Path) -> Iterator[Path]:
    """Yield what a process has started, itself or through others, as far as it goes on (on Linux)."""
    for listed in process.glob("task/*/children"):
        for child in listed.read_text().split():
            yield Path("/proc", child)
            yield from started_by(Path("/proc", child))


def peak_megabytes(*, children: bool = False) -> float:
    """Most memory this process has held. What `getrusage` tells can be that of the process that started it."""
    own = Path("/proc/self")
    if not own.exists():
        import resource  # which Windows does not have

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counted = [own, *started_by(own)] if children else [own]
    peaks = [(process / "status").read_text().partition("VmHWM:")[2].split() for process in counted]
    return sum(int(peak[0]) for peak in peaks if peak) / 1024  # one that has ended holds none


def processor_seconds() -> float:
    """Processor time of this process so far, and of those that it has started."""
    others = [(process / "stat").read_text().rpartition(")")[2].split() for process in started_by(Path("/proc/self"))]
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in others)
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def versions() -> dict[str, str]:
    """Return the versions of Python and of all packages that are compared and installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    return {
        "processor": text.partition("model name\t: ")[2].partition("\n")[0] or platform.processor(),
        "cores": os.cpu_count(),
        "gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "date": time.strftime("%Y-%m-%d"),
        "load": [round(load, 2) for load in os.getloadavg()],
        "versions": versions(),
    }


def start() -> dict[str, Any]:
    """Print what is installed, and return the machine as it is before anything is timed."""
    found = machine()
    print(", ".join(f"{name} {version}" for name, version in found["versions"].items()))
    return found


def write(rows: Iterable[Any], path: Path | None, before: dict[str, Any]) -> None:
    """Write dataclasses as CSV, and beside it the machine as it was before and how busy it was after."""
    if path is None:
        return
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
