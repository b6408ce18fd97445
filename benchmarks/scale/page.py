"""Write tables of docs/reference/performance_scale.md, and that of the peers, from what was measured.

    python -m benchmarks.scale.page

Each part stands between two comments and is replaced; without them it is put at the end. Parts without results stay
as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import timing
from benchmarks.peers import ALIKE

CLOCKS = ("seconds", "processor")
BEFORE = ", before"  # ends the name of a contestant of another version
READ = "one read of both arrays"
Row = dict[str, str]


def clock(median: float, *limits: float) -> str:
    """Return seconds in a unit that suits them, and their range."""
    unit = 1.0 if median >= 1.0 else 1e3
    digits = 2 if unit * median < 10.0 else 1 if unit * median < 100.0 else 0
    shown, *ends = (f"{unit * value:.{digits}f}" for value in (median, *limits))
    return f"{shown} {'s' if unit == 1.0 else 'ms'}" + (f" ({' to '.join(ends)})" if ends else "")


def times(row: Row) -> str:
    """Return median and, of more than one round, range."""
    kinds = ("seconds",) if row.get("rounds") == "1" else ("seconds", "least", "most")
    return clock(*(float(row[kind]) for kind in kinds))


def table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def setting(rows: list[Row], machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    load = f"{machine['load'][0]} before and {machine['load after'][0]} after"
    rounds = {row["rounds"] for row in rows if "rounds" in row}
    medians = f"Medians of {max(rounds)} rounds (least to most where a range is given). " if rounds - {"1"} else ""
    single = "One round where no range is given. " if "1" in rounds else ""
    beside = f" Before: {machine['beside']}." if "beside" in machine else ""
    return (
        f"{medians}{single}{machine['cores']} cores of {machine['processor']}, {machine['gigabytes']} GiB, "
        f"{machine['system']}, {machine['date']}; load {load}; {versions}.{beside}"
    )


def memory(rows: list[Row]) -> str:
    sizes = sorted({int(row["n"]) for row in rows})
    of = {(row["contestant"], int(row["n"])): row for row in rows}
    lines = []
    for name in dict.fromkeys(row["contestant"] for row in rows):
        cells = []
        for n in sizes:
            row = of.get((name, n))
            if row is None:
                cells.append("left out")
                continue
            reads = float(row["seconds"]) / float(of[READ, n]["seconds"])
            cells.append(f"{times(row)}, {reads:,.0f} reads")
        lines.append([name, *cells])
    return "## In memory\n\n" + table(["", *(f"n = {n:.0e}" for n in sizes)], lines)


def ratios(row: Row | None, other: Row | None, *kinds: str) -> str:
    """Return how many times as much one took as another, of each kind that was measured."""
    if row is None or other is None:
        return ""
    return " / ".join(f"{float(row[kind]) / float(other[kind]):.3g}" for kind in kinds if row[kind] and other[kind])


def routes(rows: list[Row]) -> str:
    of = {(row["contestant"], int(row["n"])): row for row in rows}
    names = [name for name in dict.fromkeys(row["contestant"] for row in rows) if not name.endswith(BEFORE)]
    scan, lines = timing.first_of_job(names), []

    def cells(row: Row | None, n: int, name: str) -> list[str]:
        if row is None:
            return [""] * 4
        scans = ratios(row, of.get((scan(name), n)), *CLOCKS)
        return [times(row), clock(float(row["processor"])), scans, f"{float(row['megabytes']):,.0f} MB"]

    for n in sorted({n for _, n in of}):
        for name in names:
            now, before = of.get((name, n)), of.get((name + BEFORE, n))
            ratio = ratios(before, now, *CLOCKS)
            lines.append([f"{n:.0e}", name, *cells(now, n, name), ratio])
    head = ["rows", "", "time", "processor", "scans", "peak memory", "before / now"]
    note = (
        "Ratios are of time / of processor time. Runs that are missing would have taken too long, or found no memory."
    )
    return "\n\n".join(["## Every way in", table(head, lines), note, growth(rows)])


def growth(rows: list[Row]) -> str:
    sizes = {int(row["n"]) for row in rows}
    steps = [(n, 10 * n) for n in sorted(sizes) if 10 * n in sizes]
    of = {(row["contestant"], int(row["n"])): row for row in rows}
    lines = [
        [name, *(ratios(of.get((name, many)), of.get((name, few)), *CLOCKS, "megabytes") for few, many in steps)]
        for name in dict.fromkeys(row["contestant"] for row in rows)
        if not name.endswith(BEFORE)
    ]
    head = ["time / processor time / memory, times as much", *(f"{few:.0e} to {many:.0e}" for few, many in steps)]
    return "## Ten times the rows\n\n" + table(head, lines)


def fits(rows: list[Row]) -> str:
    n = int(rows[0]["n"])
    lines = [
        [
            row["calibrator"],
            f"{float(row['read_seconds']):.1f} s",
            f"{float(row['fit_seconds']):.2f} s",
            f"{float(row['apply_seconds']):.1f} s",
            f"{n / float(row['apply_seconds']) / 1e6:.1f}",
            f"{float(row['megabytes']):,.0f} MB",
            f"{float(row['difference']):.1g}",
        ]
        for row in rows
    ]
    head = ["", "read", "fit", "apply to all rows", "million rows/s", "peak memory", "largest difference of the map"]
    title = f"## Recalibrating {n:,} rows of Parquet, float64"
    note = f"The difference is that to a fit of all single scores, on {n // 10:,} rows."
    return f"{title}\n\n" + table(head, lines) + f"\n\n{note}"


def spark(rows: list[Row]) -> str:
    lines = [
        [
            f"{int(row['n']):.0e}",
            row["master"],
            times(row),
            f"{float(row['seconds']) / float(row['plain_seconds']):.1f}",
            row["jobs"],
            row["scans"],
            f"{float(row['core_seconds']):,.0f} s",
            f"{int(row['written_bytes']) / 1e6:,.1f} / {int(row['read_bytes']) / 1e6:,.1f} MB",
            f"{float(row['java_megabytes']):,.0f} + {float(row['python_megabytes']):,.0f} MB",
        ]
        for row in rows
    ]
    head = [
        "rows",
        "",
        "time",
        "plain sums",
        "jobs",
        "scans",
        "core-seconds",
        "shuffle written / read",
        "peak memory, Java + Python",
    ]
    return "## Spark on this machine\n\n" + table(head, lines)


def peers(rows: list[Row]) -> str:
    of = {(row["contestant"], int(row["n"])): row for row in rows}
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    ours, sizes = timing.first_of_job(names), sorted({n for _, n in of})

    def cell(name: str, n: int) -> str:
        mine = of.get((name, n))
        if mine is None:
            return "left out"
        found = [of[other, n] for other in names if ours(other) == name != other and (other, n) in of]
        alike = [row for row in found if float(row["value"]) <= ALIKE]
        if not alike:
            return clock(float(mine["seconds"]))
        first = min(alike, key=lambda row: float(row["seconds"]))
        who = first["contestant"].partition(": ")[2].partition(" ")[0]
        return f"{clock(float(mine['seconds']))} ({ratios(first, mine, 'seconds')} {who})"

    jobs = [name for name in names if ours(name) == name]
    lines = [[name.partition(": ")[0], *(cell(name, n) for n in sizes)] for name in jobs]
    return table(["processor time", *(f"n = {n:.0e}" for n in sizes)], lines)


SCALE, PEERS = (Path(f"docs/reference/{name}.md") for name in ("performance_scale", "performance"))
PARTS: dict[str, Callable[[list[Row]], str]] = {
    "memory": memory,
    "routes": routes,
    "growth": growth,
    "fits": fits,
    "peers": peers,
    "spark": spark,
}


def put(page: Path, results: Path) -> None:
    """Write the tables of one file of results, of which the name says what it is."""
    begin, end = (f"<!-- {results.stem}: {edge} -->" for edge in ("begin", "end"))
    rows, machine = timing.read(results)
    parts = [PARTS[results.stem](rows), setting(rows, machine)]
    if results.with_suffix(".md").exists():
        parts += ["Arithmetic for a cluster, not measured:", results.with_suffix(".md").read_text("utf-8").strip()]
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    text = "\n\n".join([before.rstrip(), begin, *parts, end])
    page.write_text(text + (rest.partition(end)[2] or "\n"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=timing.RESULTS)
    arguments = parser.parse_args()
    for name in PARTS:
        if (arguments.results / f"{name}.csv").exists():
            put(PEERS if name == "peers" else SCALE, arguments.results / f"{name}.csv")


if __name__ == "__main__":
    main()
