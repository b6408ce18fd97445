"""Fit every contestant in every task, and store the losses of the rows it is judged by.

    python -m benchmarks.class_repair.compare SETS LOSSES --seed 1 --tasks 120

SETS has what `real.py` and `worlds.py` wrote. A task is a score set and how many rows to fit on; `--tasks` takes so
many of them, in an order that the seed shuffles. Each becomes a file in LOSSES; contestants that are in it already are
not run again, but those named by `--again`. One who fails, or takes longer than `--patience`, fails that task.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.class_repair.methods import Method, methods
from benchmarks.class_repair.rows import Numbers, ScoreSet, losses


class Attempt(NamedTuple):
    """Losses of all rows that a contestant was judged by, and its seconds; why it failed, if it did."""

    loss: Numbers | None
    seconds: float
    failure: str = ""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes longer, by the clock; again each second, where the first error was lost in a callback."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds:g} s")

    # Timers of processor time may stand still on a virtual machine whose host takes the processor away.
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attempt(method: Method, scores: ScoreSet, size: int, patience: float) -> Attempt:
    """Fit on the first rows of each pool and predict the rows to judge by."""
    started, each = time.process_time(), []
    try:
        with time_limit(patience), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers' own
            for (proba, label), (new, truth, _) in zip(scores.pool, scores.test, strict=True):
                after = np.asarray(method(proba[:size], label[:size], new), dtype=np.float64)
                if after.shape != new.shape or not np.isfinite(after).all():
                    raise ValueError(f"probabilities of shape {after.shape}, not all finite numbers")  # noqa: TRY301
                each.append(losses(after, truth))
    except Exception as error:  # whatever another package raises is a result here
        return Attempt(None, time.process_time() - started, f"{type(error).__name__}: {error}"[:200])
    return Attempt(np.concatenate(each), (time.process_time() - started) / len(each))


def tasks(folder: Path, seed: int, n_tasks: int | None) -> list[tuple[Path, int]]:
    """Return score sets and sizes in an order that the seed decides."""
    every = [(path, size) for path in sorted(folder.glob("*.npz")) for size in ScoreSet.read(path).sizes]
    return [every[i] for i in np.random.default_rng(seed).permutation(len(every))[:n_tasks]]


def run_task(
    path: Path, size: int, output: Path, fielded: Mapping[str, Method], again: set[str], patience: float
) -> None:
    """Add what is missing to the file of a task."""
    target = output / f"{path.stem}, {size} rows.npz"
    known: dict[str, Numbers] = {}
    notes: dict[str, dict[str, object]] = {}
    if target.exists():
        with np.load(target) as arrays:
            known = {name: arrays[name] for name in arrays if name != "notes"}
            notes = json.loads(str(arrays["notes"]))
    scores = ScoreSet.read(path)
    for name, method in fielded.items():
        if name in notes and name not in again:
            continue
        result = attempt(method, scores, size, patience)
        known.pop(name, None)
        if result.loss is not None:
            known[name] = result.loss
        else:
            print(f"    {name}: {result.failure}", file=sys.stderr)
        notes[name] = {"seconds": result.seconds, "failure": result.failure}
    known["row"] = np.concatenate([row for _, _, row in scores.test])
    np.savez(target, notes=np.array(json.dumps(notes)), **known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path)
    parser.add_argument("losses", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--again", nargs="*", default=[], help="contestants to run again")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds that one contestant may take for a task")
    options = parser.parse_args()
    options.losses.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)  # of peers
    fielded = methods()
    for i, (path, size) in enumerate(tasks(options.sets, options.seed, options.tasks)):
        run_task(path, size, options.losses, fielded, set(options.again), options.patience)
        print(f"{i + 1}: {path.stem}, {size} rows", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
