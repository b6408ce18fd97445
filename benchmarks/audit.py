"""Processor time and peak memory of an audit, without and with its report, and of a comparison of five models.

Every run is a process of its own, so that it pays for what it imports and its memory is its own. Contestants take turns
in each round, and the median of the rounds is shown, in milliseconds of processor time:

    OMP_NUM_THREADS=1 python -m benchmarks.audit --sizes 10000 100000 1000000 --rounds 5 --output audit.csv

With `--against FOLDER` another version of the package, in that folder, runs beside this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import timing
from benchmarks.rows import HEADLINE, calibrated, rows_file

REPORT = "report.html"  # in the folder of files


def from_arrays(n: int, folder: Path, *, report: bool) -> Callable[[], None]:
    label, score = calibrated(n, power=1.1)

    def run() -> None:
        import calibrant

        found = calibrant.audit(label, score)
        if report:
            found.to_html(folder / REPORT)

    return run


def from_file(n: int, folder: Path, *, report: bool) -> Callable[[], None]:
    path = rows_file(folder, n, "float64")
    options = ["--report", str(folder / REPORT)] if report else []

    def run() -> None:
        from calibrant.cli.main import app

        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            app(["audit", str(path), "--outcome", "label", "--prediction", "score", *options], standalone_mode=False)

    return run


def compared(n: int, folder: Path, *, report: bool) -> Callable[[], None]:
    label, score = calibrated(n, power=1.1)
    noise = np.random.default_rng(0).standard_normal((5, n))
    models = {f"model {i}": score ** np.exp(0.1 * i * noise[i]) for i in range(5)}

    def run() -> None:
        import calibrant

        found = calibrant.compare(label, models)
        if report:
            found.to_html(folder / REPORT)

    return run


CONTESTANTS = {
    "arrays": (from_arrays, False),
    "arrays, report": (from_arrays, True),
    "calibrant audit FILE": (from_file, False),
    "calibrant audit FILE --report": (from_file, True),
    "compare": (compared, False),
}


def one(name: str, n: int, folder: Path) -> None:
    """Run a contestant in this process and print what it took."""
    make, report = CONTESTANTS[name]
    _, seconds = timing.timed(make(n, folder, report=report), time.process_time)
    print(json.dumps({"seconds": seconds, "megabytes": timing.peak_megabytes()}))


def main() -> None:
    parser = timing.parser(__doc__, sizes=[10**4, 10**5, 10**6], rounds=5)
    parser.add_argument("--against", help="folder with another version of the package")
    parser.add_argument("--folder", type=Path, default=timing.FOLDER, help="where files of rows and reports go")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), help="contestants")
    parser.add_argument("--one", help="a contestant, to be run in this process")
    arguments = parser.parse_args()
    if arguments.one:
        if arguments.against:
            sys.path.insert(0, arguments.against)
        one(arguments.one, arguments.sizes[0], arguments.folder)
        return
    before = timing.start()
    others = {"": []} | ({", other version": ["--against", arguments.against]} if arguments.against else {})
    options = {f"{name}{other}": [name, *option] for name in arguments.only for other, option in others.items()}
    timings = []
    for n in arguments.sizes:
        rows_file(arguments.folder, n, "float64")
        common = ["--folder", str(arguments.folder), "--sizes", str(n)]

        def run(name: str, common: list[str] = common) -> timing.Run:
            return timing.Run(**timing.in_own_process("benchmarks.audit", *common, "--one", *options[name]))

        runs = timing.in_turn(list(options), arguments.rounds, run)
        found = [timing.summed_up(HEADLINE, n, name, listed) for name, listed in runs.items()]
        timing.show(found, notes={"MB": {each.contestant: f"{each.megabytes:,.0f}" for each in found}})
        timings += found
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
