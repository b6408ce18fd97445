"""What commands take to begin and end on 16,000 rows, beside an import of NumPy and DuckDB; what they import.

Every run is a process of its own, with bytecode that is there already, as after an installation. Medians of processor
time, user and system, in milliseconds and as multiples of `import numpy, duckdb`; then the packages that each command
loads, and how many modules of its own:

    OMP_NUM_THREADS=1 python -m benchmarks.start --rounds 5 --output start.csv

With `--beside v1/src` another version of the package runs beside this one, in turn with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np

from benchmarks import timing
from benchmarks.rows import calibrated

SOURCES = Path(__file__).parents[1] / "src"
N = 16_000
BASE = "import numpy, duckdb"
FIT = ["rows.csv", "--outcome", "y", "--prediction", "p"]
COMMANDS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "audit": ["audit", *FIT],
    "audit --report": ["audit", *FIT, "--report", "report.html"],
    "audit --by": ["audit", *FIT, "--by", "half"],
    "compare": ["compare", *FIT, "--prediction", "q"],
    "recalibrate": ["recalibrate", *FIT, "--model", "new.json"],
    "apply": ["apply", "rows.csv", "--prediction", "p", "--model", "model.json", "--output", "out.csv"],
    "export": ["export", "model.json", "--to", "sql"],
    "monitor": ["monitor", *FIT, "--tolerance", "0.2", "--state", "state.json", "--again"],
    "plan": ["plan", "--tolerance", "0.02"],
}
PARTS = {f"scipy.{part}" for part in ("special", "optimize", "stats", "linalg", "sparse", "interpolate", "integrate")}
RUN = "from calibrant.cli.start import main\nmain()"
PRINT = "atexit.register(lambda: print('loaded', *sys.modules.keys() - first))"
LOADED = f"import atexit, sys\nfirst = set(sys.modules)\n{PRINT}\n{RUN}"


def started(folder: Path, code: str, words: list[str], sources: Path) -> tuple[timing.Run, str]:
    """Run Python in a process of its own; return what it took, and the last line that it printed."""
    import resource  # which Windows does not have

    environment = os.environ | {"PYTHONPATH": str(sources), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return timing.Run(seconds, processor=processor), done.stdout.rpartition("\nloaded ")[2]


def loaded(folder: Path, words: list[str], sources: Path) -> str:
    """Tell how many modules of its own a command loads, and which installed packages; of SciPy, its parts."""
    names = started(folder, LOADED, words, sources)[1].split()
    own = sum(name.startswith("calibrant.") for name in names)
    packages = {name.partition(".")[0] for name in names} & packages_distributions().keys() - {"calibrant", "scipy"}
    return f"{own} modules and {', '.join(sorted(packages | PARTS & set(names))) or 'no packages'}"


def write_files(folder: Path) -> None:
    """Write rows with two scores and a column of segments, and a model."""
    label, score = calibrated(N, power=1.1)
    table = np.column_stack([label, score, score**1.2, np.arange(N) % 2])
    header, form = "y,p,q,half", ["%d", "%.6f", "%.6f", "%d"]
    np.savetxt(folder / "rows.csv", table, fmt=form, delimiter=",", header=header, comments="")
    started(folder, RUN, ["recalibrate", *FIT, "--model", "model.json"], SOURCES)


def main() -> None:
    parser = timing.parser(__doc__, sizes=[N], rounds=5)
    parser.add_argument("--beside", type=Path, help="folder src of another version of the package")
    arguments = parser.parse_args()
    before = timing.start()
    versions = {"": SOURCES} | ({", other version": arguments.beside.resolve()} if arguments.beside else {})
    runs = {BASE: (BASE, [], SOURCES)}
    runs |= {f"{name}{of}": (RUN, words, src) for name, words in COMMANDS.items() for of, src in versions.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder)
        for run in runs.values():  # once, for the bytecode
            started(folder, *run)
        found = timing.in_turn(list(runs), arguments.rounds, lambda name: started(folder, *runs[name])[0])
        timings = [timing.summed_up("start", N, name, listed) for name, listed in found.items()]
        took = {each.contestant: each.processor or 0.0 for each in timings}
        print(f"\n{'processor time':<40}{'ms':>10}{'multiples':>12}")
        for name, seconds in took.items():
            print(f"{name:<40}{1e3 * seconds:>10.0f}{seconds / took[BASE]:>12.2f}")
        for name, words in COMMANDS.items():
            for of, sources in versions.items():
                print(f"{name}{of} loads {loaded(folder, words, sources)}")
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
