"""Tables of what `compare.py` stored: ``python -m benchmarks.class_repair.summary LOSSES [--harm]``.

A contestant that failed a task counts as no change there. `rank` is the mean rank among all contestants, `above best`
the mean of how much the log loss is above that of the best contestant of the task, `less ours` the mean difference to
ours with its standard error over tasks, `first` the tasks in which it had the least loss, ties included. Harm is a loss
more than `HARM` above that of no change; it is beyond noise where it is also more than 1.64 standard errors above.
`seconds` are median and largest processor time to fit and predict.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from benchmarks.class_repair.methods import NONE, OURS
from benchmarks.class_repair.rows import Numbers

HARM = 0.002
GROUPS = {"to 100": (0, 100), "300": (101, 300), "700 to 1,000": (301, 1_000), "5,000": (1_001, 10**9)}


@dataclass(frozen=True)
class Result:
    """All contestants in one task: mean losses, and the standard error of the difference to no change."""

    name: str
    size: int
    methods: tuple[str, ...]
    loss: Numbers
    harm_error: Numbers
    failed: npt.NDArray[np.bool_]
    seconds: Numbers

    @property
    def is_world(self) -> bool:
        """Whether the truth is known."""
        return self.name.startswith("world")

    @property
    def harm(self) -> Numbers:
        """What each loses beside no change."""
        return self.loss - self.loss[self.methods.index(NONE)]


def standard_error(difference: Numbers, row: npt.NDArray[np.int64]) -> float:
    """Return that of a mean; rows judged in several splits are added up first."""
    _, at = np.unique(row, return_inverse=True)
    sums = np.bincount(at, weights=difference - difference.mean())
    return float(np.sqrt((sums**2).sum()) / len(difference))


def read(path: Path) -> Result:
    with np.load(path) as arrays:
        notes = dict(sorted(json.loads(str(arrays["notes"])).items()))
        row = arrays["row"]
        losses = {name: arrays[name] if name in arrays else arrays[NONE] for name in notes}
    size = int(re.search(r"(\d+) rows$", path.stem)[1])  # type: ignore[index]
    return Result(
        path.stem,
        size,
        tuple(notes),
        np.array([loss.mean() for loss in losses.values()]),
        np.array([standard_error(loss - losses[NONE], row) for loss in losses.values()]),
        np.array([bool(note["failure"]) for note in notes.values()]),
        np.array([note["seconds"] for note in notes.values()]),
    )


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table in Markdown, best mean rank first."""
    methods = results[0].methods
    loss = np.array([result.loss for result in results])
    harm = np.array([result.harm for result in results])
    beyond = (harm > HARM) & (harm > 1.64 * np.array([result.harm_error for result in results]))
    failed = np.array([result.failed for result in results]).sum(axis=0)
    seconds = np.array([result.seconds for result in results])
    ranks = rankdata(np.round(loss, 10), axis=1)
    above = loss - loss.min(axis=1, keepdims=True)
    less_ours = loss - loss[:, [methods.index(OURS)]]
    error = less_ours.std(axis=0, ddof=1) / np.sqrt(len(results))
    first = (above < 1e-10).sum(axis=0)
    yield "| method | rank | above best | less ours (s.e.) | first | harm | worst | beyond noise | failed | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for i in np.argsort(ranks.mean(axis=0)):
        yield (
            f"| {methods[i]} | {ranks[:, i].mean():.2f} | {above[:, i].mean():.4f} | {less_ours[:, i].mean():.4f} "
            f"({error[i]:.4f}) | {first[i]} | {(harm[:, i] > HARM).sum()} | {max(harm[:, i].max(), 0.0):.4f} "
            f"| {beyond[:, i].sum()} | {failed[i]} | {np.median(seconds[:, i]):.2f}, {seconds[:, i].max():.1f} |"
        )


def sizes_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield mean rank and mean excess by the number of rows to fit on."""
    groups = {
        name: [result for result in results if low <= result.size <= high] for name, (low, high) in GROUPS.items()
    }
    groups = {name: group for name, group in groups.items() if group}
    methods = results[0].methods
    cells = {}
    for name, group in groups.items():
        loss = np.array([result.loss for result in group])
        rank = rankdata(np.round(loss, 10), axis=1).mean(axis=0)
        above = (loss - loss.min(axis=1, keepdims=True)).mean(axis=0)
        cells[name] = [f"{one:.2f}, {excess:.4f}" for one, excess in zip(rank, above, strict=True)]
    yield "| method | " + " | ".join(f"{name} ({len(group)})" for name, group in groups.items()) + " |"
    yield "|---" * (len(groups) + 1) + "|"
    overall = rankdata(np.round([result.loss for result in results], 10), axis=1).mean(axis=0)
    for i in np.argsort(overall):
        yield f"| {methods[i]} | " + " | ".join(cells[name][i] for name in groups) + " |"


def harmed(results: Sequence[Result], method: str) -> Iterator[str]:
    """Name the tasks that a contestant harmed."""
    for result in sorted(results, key=lambda one: one.name):
        i = result.methods.index(method)
        if result.harm[i] > HARM:
            yield f"{result.name}: {result.harm[i]:.4f} (s.e. {result.harm_error[i]:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("losses", type=Path)
    parser.add_argument("--harm", action="store_true", help="name the tasks that ours harmed")
    options = parser.parse_args()
    results = [read(path) for path in sorted(options.losses.glob("*.npz"))]
    fielded = set().union(*(result.methods for result in results))
    results = [result for result in results if fielded == set(result.methods)]  # of a run that was stopped
    parts = {
        "Real score sets": [result for result in results if not result.is_world],
        "Simulated worlds": [result for result in results if result.is_world],
        "All": results,
    }
    for title, part in parts.items():
        if part:
            print(f"\n## {title}, {len(part)} tasks\n", *table(part), "", *sizes_table(part), sep="\n")
    if options.harm:
        print("\nHarmed by ours:", *harmed(results, OURS), sep="\n")
    behind = Counter(result.methods[int(np.argmin(result.loss))] for result in results)
    print("\nFirst:", ", ".join(f"{name} {count}" for name, count in behind.most_common()))


if __name__ == "__main__":
    main()
