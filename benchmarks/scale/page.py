"""Write the section on scale of docs/performance.md from what the other scripts of this folder measured.

    python -m benchmarks.scale.page --page docs/performance.md

The section stands between two comments and is replaced; without them it is put at the end. Results that are not there
are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import timing

BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
READ = "one read of both arrays"
Row = dict[str, str]


def times(row: Row) -> str:
    """Return median and range."""
    median, least, most = (float(row[name]) for name in ("seconds", "least", "most"))
    unit = 1.0 if median >= 1.0 else 1e3
    digits = 2 if unit * median < 10.0 else 1 if unit * median < 100.0 else 0
    shown, low, high = (f"{unit * value:.{digits}f}" for value in (median, least, most))
    return f"{shown} {'s' if unit == 1.0 else 'ms'} ({low} to {high})"


def table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def setting(rows: list[Row], machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    load = f"{machine['load'][0]} before and {machine['load after'][0]} after"
    rounds = f"Medians of {rows[0]['rounds']} rounds (least to most). " if "rounds" in rows[0] else ""
    if rows[0].get("rounds") == "1":
        rounds = "One round. "
    return (
        f"{rounds}{machine['cores']} cores of {machine['processor']}, {machine['gigabytes']} GiB, {machine['system']}; "
        f"load {load}; {versions}."
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
    return "### In memory\n\n" + table(["", *(f"n = {n:.0e}" for n in sizes)], lines)


def parquet(rows: list[Row]) -> str:
    least = min(float(row["seconds"]) for row in rows if row["contestant"].startswith("double scan"))
    lines = [
        [
            row["contestant"],
            times(row),
            f"{int(row['n']) / float(row['seconds']) / 1e6:,.1f}",
            f"{float(row['seconds']) / least:.1f}",
            f"{float(row['megabytes']):,.0f} MB",
        ]
        for row in rows
    ]
    title = f"### {int(rows[0]['n']):,} rows of Parquet, {rows[0]['data']}"
    return f"{title}\n\n" + table(["", "time", "million rows/s", "quickest double scans", "peak memory"], lines)


def growth(rows: list[Row]) -> str:
    small, large = sorted({int(row["n"]) for row in rows})
    of = {(row["contestant"], int(row["n"])): row for row in rows}
    lines = []
    for name in dict.fromkeys(row["contestant"] for row in rows):
        few, many = of[name, small], of[name, large]
        ratios = [float(many[key]) / float(few[key]) for key in ("seconds", "megabytes")]
        lines.append(
            [
                name,
                times(few),
                times(many),
                f"{ratios[0]:.1f}",
                f"{float(many['megabytes']):,.0f} MB",
                f"{ratios[1]:.2f}",
            ]
        )
    head = ["", f"n = {small:.0e}", f"n = {large:.0e}", "times as long", "memory then", "times as much"]
    return "### Ten times the rows\n\n" + table(head, lines)


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
    title = f"### Recalibrating {n:,} rows of Parquet, float64"
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
    return "### Spark on this machine\n\n" + table(head, lines)


PARTS: dict[str, Callable[[list[Row]], str]] = {
    "memory": memory,
    "parquet": parquet,
    "growth": growth,
    "fits": fits,
    "spark": spark,
}


def section(results: Path) -> str:
    parts = ["## Scale\n\nWritten by `benchmarks/scale/page.py` from what the scripts beside it measured."]
    for name, show in PARTS.items():
        path = results / f"{name}.csv"
        if not path.exists():
            continue
        rows, machine = timing.read(path)
        parts += [show(rows), setting(rows, machine)]
        if path.with_suffix(".md").exists():
            parts += ["Arithmetic for a cluster, not measured:", path.with_suffix(".md").read_text("utf-8").strip()]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=timing.RESULTS)
    parser.add_argument("--page", type=Path, default=Path("docs/performance.md"))
    arguments = parser.parse_args()
    text = arguments.page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2] or "\n"
    page = f"{before.rstrip()}\n\n{BEGIN}\n\n{section(arguments.results)}\n\n{END}{after}"
    arguments.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
