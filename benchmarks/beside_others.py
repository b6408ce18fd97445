"""What calibrant and its peers find on the same rows: the tables of docs/reference/beside_others.md.

    python -m benchmarks.beside_others

writes the tables of all packages that are installed (R needs Rscript) between their markers in the page, and leaves the
others as they are. Every call that a table shows is run; calls that differ and give no reason, or give one and do not
differ, end the run.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import re
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant as cal
from benchmarks.moves import Move, Package
from benchmarks.moves_python import PYTHON
from benchmarks.moves_r import R
from benchmarks.peers import ALIKE

PACKAGES = (*PYTHON, *R)
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "beside_others.md"
NEW = np.array([0.0, 0.02, 0.1, 0.33, 0.5, 0.77, 0.95, 1.0])
ROWS = 200
TINY = 1e-4  # below which numbers are shown with an exponent

Found = npt.NDArray[np.float64] | str  # a call that fails gives the name of its error


def data() -> dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
    """Return labels and overconfident scores: all different, and rounded to twentieths, with some of 0 and 1.

    Rows are in the order of their labels, as in a file of controls and cases.
    """
    rng = np.random.default_rng(4)
    log_odds = 2.0 * rng.normal(size=ROWS)
    label = (rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-0.5 * log_odds))).astype(np.int64)
    order = np.argsort(label, kind="stable")
    label, score = label[order], 1.0 / (1.0 + np.exp(-log_odds[order]))
    return {"distinct": (label, score), "rounded": (label, np.round(20.0 * score) / 20.0)}


def installed(package: Package) -> bool:
    """Whether a package can be run here."""
    return version(package) is not None


def version(package: Package) -> str | None:
    """Return the version that is installed, if any is."""
    if package.language == "Python":
        try:
            return importlib.metadata.version(package.name)
        except importlib.metadata.PackageNotFoundError:
            return None
    try:
        return run_r(f"cat(as.character(packageVersion('{package.name}')))")
    except (OSError, subprocess.CalledProcessError):
        return None


def run_r(code: str) -> str:
    return subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True, timeout=120).stdout


def namespace(package: Package, label: Any, score: Any) -> dict[str, Any]:
    """Return what calls in Python see."""
    import matplotlib as mpl
    from sklearn.naive_bayes import GaussianNB

    mpl.use("Agg")
    features = np.column_stack([score, np.sin(17.0 * np.arange(len(score)))])
    names = {"np": np, "cal": cal, "y": label, "p": score, "new": NEW, "X": features}
    names |= {"half": np.full(1000, 0.5), "halves": np.repeat([0, 1], 500)}
    names["model"] = GaussianNB().fit(features, label)
    if package.language == "Python":
        exec(package.imports, names)
    if "torch" in names:
        torch: Any = names["torch"]
        names |= {"Y": torch.tensor(label), "P": torch.tensor(np.column_stack([1.0 - score, score]))}
    return names


def evaluated(call: str, names: dict[str, Any]) -> Found:
    import matplotlib.pyplot as plt

    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            return np.asarray(eval(call, names), dtype=np.float64)
    except Exception as error:  # of another package: whatever it is, it goes into the table
        return type(error).__name__
    finally:
        plt.close("all")


def evaluated_by_r(package: Package, names: dict[str, Any]) -> list[Found]:
    given = "; ".join(f"{name} <- c({', '.join(map(repr, names[name].tolist()))})" for name in ("y", "p", "new"))
    printed = "; ".join(f"cat(format(unname({move.old}), digits=17), '\\n')" for move in package.moves)
    lines = run_r(f"suppressMessages(suppressWarnings({{{given}; {package.imports}; {printed}}}))").splitlines()
    return [np.array(line.split(), dtype=np.float64).squeeze() for line in lines]


def outcomes(package: Package) -> Iterator[tuple[Move, dict[str, tuple[Found, Found]]]]:
    """Yield each move with what the old and the new call find, by data set."""
    found: dict[str, list[tuple[Found, Found]]] = {}
    for name, (label, score) in data().items():
        names = namespace(package, label, score)
        ours = [evaluated(move.new + move.read_new, names) for move in package.moves]
        if package.language == "R":
            theirs = evaluated_by_r(package, names)
        else:
            theirs = [evaluated(move.old + move.read_old, names) for move in package.moves]
        found[name] = list(zip(theirs, ours, strict=True))
        for move, their in zip(package.moves, theirs, strict=True):
            if move.option and not alike(their, evaluated(with_option(move) + move.read_new, names)):
                raise SystemExit(f"{package.name}: {with_option(move)} does not find what {move.old} does")
    for number, move in enumerate(package.moves):
        yield move, {name: pairs[number] for name, pairs in found.items()}


def with_option(move: Move) -> str:
    """Return the new call with its option: among the arguments of the calibrator, if it makes one."""
    before, calibrator, after = move.new.rpartition("Calibrator(")
    if not calibrator:
        return f"{move.new[:-1]}, {move.option})"
    return before + calibrator + move.option + ("" if after.startswith(")") else ", ") + after


def alike(theirs: Found, ours: Found) -> bool:
    """Whether two results are the same number, to one part in a thousand, or the same map, to 0.001."""
    if isinstance(theirs, str) or isinstance(ours, str) or theirs.shape != ours.shape:
        return False
    if theirs.ndim:
        return bool(np.abs(theirs - ours).max() <= ALIKE)
    return bool(np.isclose(theirs, ours, rtol=ALIKE, atol=1e-12))


def compared(theirs: Found, ours: Found) -> str:
    """Return in words how two results differ."""
    if isinstance(theirs, str) or isinstance(ours, str) or not theirs.ndim:
        return f"**{brief(theirs)}**, ours {brief(ours)}"
    if theirs.shape != ours.shape:
        return f"**{len(theirs)}** values, ours {len(ours)}"
    return f"**{np.abs(theirs - ours).max():.3f}** apart"


def brief(found: Found) -> str:
    if isinstance(found, str):
        return f"`{found}`"
    number = float(found)
    if number.is_integer():
        return f"{number:.0f}"
    return f"{number:.4f}" if abs(number) >= TINY or not np.isfinite(number) else f"{number:.1e}"


def table(package: Package) -> str:
    """Return what stands between the markers of a package."""
    lines = [f"```{package.language.lower()}", package.imports, "```", ""]
    lines += ["| old | new | numbers |", "|---|---|---|"]
    for move, found in outcomes(package):
        differ = {name: compared(*pair) for name, pair in found.items() if not alike(*pair)}
        if bool(differ) != bool(move.why):
            raise SystemExit(f"{package.name}: {move.old}: {differ or 'same'}, why: {move.why!r}")
        note = f"{listed(differ, found)}. {move.why[0].upper()}{move.why[1:]}" if differ else "same"
        note += f"; `{move.option}` gives theirs" if move.option else ""
        lines.append(f"| `{shown(move.old, move.read_old)}` | `{shown(move.new, move.read_new)}` | {note} |")
    return "\n".join([*lines, ""])


def listed(differ: dict[str, str], found: dict[str, Any]) -> str:
    """Name the data with what is found there, unless it is the same in all."""
    if differ.keys() == found.keys() and len(set(differ.values())) == 1:
        return next(iter(differ.values()))
    return "; ".join(f"{name} {text}" for name, text in differ.items())


def shown(call: str, read: str) -> str:
    return call if "(" in read else call + read


def with_tables(page: str, packages: list[Package]) -> str:
    """Return the page with new tables of these packages, and their versions."""
    for package in packages:
        start, end = block(package).search(page).span(2)
        page = page[:start] + table(package) + page[end:]
        row = re.compile(rf"(?<=\]\(#{re.escape(package.name)}\) )\S+(?= \|)", flags=re.IGNORECASE)
        page = row.sub(version(package) or "unknown", page)
    return page


def block(package: Package) -> re.Pattern[str]:
    """Return what finds the marker of a package, what it holds, and the end."""
    return re.compile(rf"(<!-- {re.escape(package.name)} -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)


def main() -> None:
    here = [package for package in PACKAGES if installed(package)]
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), here), encoding="utf-8")
    print("written:", ", ".join(f"{package.name} {version(package)}" for package in here))
    print("left:", ", ".join(package.name for package in PACKAGES if package not in here) or "none")


if __name__ == "__main__":
    main()
