"""Time of measures and fits of arrays in memory, beside one read of the arrays and beside other packages.

    python -m benchmarks.scale.memory --rounds 5

All contestants of `cutoff.py`, `calibrators.py` and `local.py` in one run, up to 1e8 rows. One that would take longer
than `--patience` at the next size, by how it grew so far, is left out from there on. Packages that are not installed
are left out; other packages compute other numbers, so ratios compare effort. The bootstrap is not among them: the
library offers none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks import calibrators, cutoff, local, timing
from benchmarks.rows import HEADLINE, Labels, Scores, arrays
from calibrant import ScoreTable

DATA = f"{HEADLINE}, calibrated, float64 scores, int8 labels"


class Arrays(NamedTuple):
    """Arrays of one size, and what some contestants are given ready made."""

    label: Labels
    score: Scores
    sample: calibrators.Sample
    table: ScoreTable


def made(n: int) -> Arrays:
    label, score = arrays(n)
    return Arrays(label, score, calibrators.sample_of(label, score), ScoreTable.from_scores(label, score))


Contestant = Callable[[Arrays], object]


def contestants() -> Iterator[tuple[str, Contestant]]:
    for name, measure in cutoff.contestants():
        yield name, lambda arrays, measure=measure: measure(arrays.label, arrays.score)
    for one in calibrators.contestants():
        yield one.name, lambda arrays, fit=one.fit: fit(arrays.sample)
    for name, curve in local.contestants():
        yield f"local: {name}", lambda arrays, curve=curve: curve(arrays.label, arrays.score, arrays.table)


def main() -> None:
    sizes, output = [10**5, 10**6, 10**7, 10**8], timing.RESULTS / "memory.csv"
    parser = timing.parser(__doc__, sizes=sizes, rounds=3, output=output)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds that one call may take, by estimate")
    arguments = parser.parse_args()
    before = timing.machine()
    fielded, timings = dict(contestants()), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # other packages' own
        for n in sorted(arguments.sizes):
            print(f"n = {n:,}", flush=True)
            rows = made(n)
            calls = {name: lambda run=run, rows=rows: run(rows) for name, run in fielded.items()}
            timings += timing.side_by_side(DATA, n, calls, arguments.rounds)
            later = [size for size in arguments.sizes if size > n]
            growth = min(later) / n if later else 1.0
            took = {one.contestant: one.seconds for one in timings if one.n == n}
            fielded = {name: run for name, run in fielded.items() if took[name] * growth <= arguments.patience}
            timing.write(timings, arguments.output, before)  # so that a run that is stopped is not lost


if __name__ == "__main__":
    main()
