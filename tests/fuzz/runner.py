"""One case of a command from a seed, and many of them from the command line."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.oracles import Failure, check

# A case returns a run, whose exit codes are counted, or a word.
Cases = Mapping[str, Callable[[np.random.Generator, Path], Any]]


def once(cases: Cases, command: str, seed: int) -> Any:
    """Run one case in a folder of its own; raise a `Failure` if anything is wrong."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder, temporary = Path(name), Path(name, "temporary")
        temporary.mkdir()
        tempfile.tempdir = str(temporary)
        try:
            found = cases[command](_generator(cases, command, seed), folder)
            left = [path.name for path in folder.rglob("*") if path.name.startswith((".calibrant", "tmp"))]
            left += [path.name for path in temporary.iterdir()]
            check(not left, f"left behind {left}")
        except Failure as failure:
            raise Failure(f"{command} {seed}: {failure}") from None
        finally:
            tempfile.tempdir = before
        return getattr(found, "exit_code", found)


def _generator(cases: Cases, command: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, list(cases).index(command)])


def main(cases: Cases, about: str | None) -> int:
    """Run what the command line asks for, and print what came of it; return the number of failures, at most 100."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--command", choices=cases)
    parser.add_argument("--keep", type=Path, help="with --command: where to keep the files of the run of this seed")
    asked = parser.parse_args()
    if asked.keep is not None:
        shutil.rmtree(asked.keep, ignore_errors=True)
        asked.keep.mkdir(parents=True)
        try:
            done = cases[asked.command](_generator(cases, asked.command, asked.seed), asked.keep)
            print(getattr(done, "output", done))
        except Failure as failure:
            print(failure)
        return 0
    failed = 0
    for command in [asked.command] if asked.command else cases:
        found, begun = Counter[Any](), time.perf_counter()
        for seed in range(asked.seed, asked.seed + asked.runs):
            try:
                found[once(cases, command, seed)] += 1
            except Failure as failure:
                failed += 1
                print(failure, flush=True)
        spent = 1000 * (time.perf_counter() - begun) / asked.runs
        print(f"{command:<12} {asked.runs} runs, {dict(sorted(found.items()))}, {spent:.0f} ms a run", flush=True)
    return min(failed, 100)
