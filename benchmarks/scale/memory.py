"""Time of measures and fits of arrays in memory, beside one read of the arrays and beside other packages.

    python benchmarks/scale/memory.py --rounds 5

All contestants of `cutoff.py`, `calibrators.py` and `local.py` in one run, up to 1e8 rows. One that would take longer
than `--patience` at the next size, by how it grew so far, is left out from there on. Packages that are not installed
are left out; other packages compute other numbers, so ratios compare effort. The bootstrap is not among them: the
library offers none.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import record

sys.path.append(str(Path(__file__).resolve().parents[1]))

import calibrators
import cutoff
import local

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
DATA = "Beta(.7, 1.6), calibrated, float64 scores, int8 labels"
MADE_AT_A_TIME = 1 << 20


class Arrays:
    """Arrays of one size, and what some contestants are given ready made."""

    def __init__(self, n: int) -> None:
        rng = np.random.default_rng(0)
        self.label, self.score = np.empty(n, np.int8), np.empty(n)
        for start in range(0, n, MADE_AT_A_TIME):
            score = self.score[start : start + MADE_AT_A_TIME]
            score[:] = np.clip(rng.beta(0.7, 1.6, len(score)), 1e-12, 1.0 - 1e-12)
            self.label[start : start + MADE_AT_A_TIME] = rng.random(len(score)) < score
        self._sample: calibrators.Sample | None = None
        self._table: local.ScoreTable | None = None

    @property
    def sample(self) -> calibrators.Sample:
        """Rows with their logits."""
        if self._sample is None:
            logit = np.log(self.score) - np.log1p(-self.score)
            self._sample = calibrators.Sample(self.score, self.label, logit)
        return self._sample

    @property
    def table(self) -> local.ScoreTable:
        """Their score table."""
        if self._table is None:
            self._table = local.ScoreTable.from_scores(self.label, self.score)
        return self._table


Contestant = Callable[[Arrays], object]


def contestants() -> Iterator[tuple[str, Contestant]]:
    for name, measure in cutoff.contestants():
        yield name, lambda arrays, measure=measure: measure(arrays.label, arrays.score)
    for one in calibrators.contestants():
        yield f"{one.job}: {one.name}", lambda arrays, fit=one.fit: fit(arrays.sample)
    for name, curve in local.contestants():
        yield f"local: {name}", lambda arrays, curve=curve: curve(arrays.label, arrays.score, arrays.table)


def timed(run: Contestant, arrays: Arrays) -> record.Run:
    started = time.perf_counter()
    run(arrays)
    return record.Run(time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7, 10**8], help="multiples of 8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds that one call may take, by estimate")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "memory.csv")
    arguments = parser.parse_args()
    before = record.machine()
    fielded, timings = dict(contestants()), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # other packages' own
        for n in sorted(arguments.sizes):
            print(f"n = {n:,}", flush=True)
            arrays = Arrays(n)
            arrays.sample, arrays.table  # noqa: B018 (made before anything is timed)
            runs = record.in_turn(
                list(fielded),
                arguments.rounds,
                lambda name, arrays=arrays, fielded=fielded: timed(fielded[name], arrays),
            )
            timings += [record.summed_up(DATA, n, name, listed) for name, listed in runs.items()]
            later = [size for size in arguments.sizes if size > n]
            growth = min(later) / n if later else 1.0
            took = {timing.contestant: timing.seconds for timing in timings if timing.n == n}
            fielded = {name: run for name, run in fielded.items() if took[name] * growth <= arguments.patience}
            record.write(timings, arguments.output, before)  # so that a run that is stopped is not lost


if __name__ == "__main__":
    main()
