"""Tables of what `compare.py` measured: ``python -m benchmarks.recalibration.summary OUT.csv``.

For each measure and method: mean rank among all methods; mean and 95th percentile of what it is above the best method
of the same pair and sample; and mean harm, ``max(0, method - none)``. Smaller is better everywhere. Repeats of one pair
and size are averaged first. A method that failed counts as the scores left alone.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

MEASURES = ("log_loss", "brier", "cutoff")


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cube(rows: list[dict[str, str]], measure: str) -> tuple[list[tuple[str, int]], list[str], np.ndarray]:
    """Return settings (pair and size), methods, and the measure averaged over repeats: one row per setting."""
    settings = sorted({(row["pair"], int(row["size"])) for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    at = {setting: i for i, setting in enumerate(settings)}
    total = np.zeros((len(settings), len(methods)))
    count = np.zeros_like(total)
    alone = {(row["pair"], row["size"], row["repeat"]): float(row[measure]) for row in rows if row["method"] == "none"}
    for row in rows:
        place = at[row["pair"], int(row["size"])], methods.index(row["method"])
        value = float(row[measure])
        total[place] += alone[row["pair"], row["size"], row["repeat"]] if np.isnan(value) else value
        count[place] += 1
    return settings, methods, total / count


def table(values: np.ndarray, methods: list[str]) -> list[str]:
    """Return a table in Markdown, best mean rank first."""
    ranks = rankdata(np.round(values, 12), axis=1).mean(axis=0)
    excess = values - values.min(axis=1, keepdims=True)
    harm = np.maximum(0.0, values - values[:, [methods.index("none")]])
    lines = ["| method | mean rank | mean excess | 95% excess | mean harm |", "|---|---|---|---|---|"]
    return lines + [
        f"| {methods[i]} | {ranks[i]:.2f} | {excess[:, i].mean():.5f} | {np.quantile(excess[:, i], 0.95):.5f} "
        f"| {harm[:, i].mean():.5f} |"
        for i in np.argsort(ranks)
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--sizes", action="store_true", help="also one table per sample size")
    parser.add_argument("--only", nargs="*", default=[""], help="pairs whose name begins with one of these")
    parser.add_argument("--methods", nargs="*", help="only these; must include none")
    options = parser.parse_args()
    rows = [row for path in options.results for row in read(path) if row["pair"].startswith(tuple(options.only))]
    if options.methods is not None:
        rows = [row for row in rows if row["method"] in options.methods]
    for measure in MEASURES:
        settings, methods, values = cube(rows, measure)
        print(f"\n## {measure}, {len(settings)} settings\n", *table(values, methods), sep="\n")
        for size in sorted({s for _, s in settings}) if options.sizes else ():
            kept = [s == size for _, s in settings]
            print(f"\n### {measure}, {size} rows, {sum(kept)} pairs\n", *table(values[kept], methods), sep="\n")


if __name__ == "__main__":
    main()
