"""Time to fit Venn-Abers, Lipschitz isotonic and local calibration and to predict, side by side with other packages.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python benchmarks/shape.py --sizes 100000 1000000 --rounds 5

Every contestant fits on all rows and predicts 10,000 new scores. The package venn-abers is left out if it is not
installed, and above 100,000 rows. No other package is known to fit an isotonic map with a limited slope.
`difference` is the largest one between its predictions and ours of the same job.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression

from calibrant.calibrators import (
    IsotonicCalibrator,
    LipschitzIsotonicCalibrator,
    LocalCalibrator,
    VennAbersCalibrator,
)

Floats = npt.NDArray[np.float64]

MOST_ROWS_OF_VENN_ABERS = 100_000


class Sample(NamedTuple):
    """Rows to fit on and scores to predict."""

    score: Floats
    y: npt.NDArray[np.int8]
    new: Floats


class Contestant(NamedTuple):
    """A fit with predictions, and the job it does."""

    job: str
    name: str
    predict: Callable[[Sample], Floats]


def rows(n: int) -> Sample:
    rng = np.random.default_rng(0)
    score = rng.beta(0.7, 1.6, n)
    return Sample(score, (rng.random(n) < score**1.2).astype(np.int8), rng.beta(0.7, 1.6, 10_000))


def contestants(n: int) -> Iterator[Contestant]:
    yield Contestant("Venn-Abers", "calibrant", lambda d: VennAbersCalibrator().fit(d.score, d.y).predict(d.new))
    try:
        from venn_abers import VennAbers
    except ImportError:
        pass
    else:

        def package(d: Sample) -> Floats:
            fitted = VennAbers()
            fitted.fit(np.column_stack([1.0 - d.score, d.score]), d.y)
            merged, _ = fitted.predict_proba(np.column_stack([1.0 - d.new, d.new]))
            return np.asarray(merged)[:, 1]

        if n <= MOST_ROWS_OF_VENN_ABERS:
            yield Contestant("Venn-Abers", "venn-abers", package)
    for limit in (1.0, 5.0, 20.0):
        yield Contestant(
            f"Lipschitz {limit:g}",
            "calibrant",
            lambda d, limit=limit: LipschitzIsotonicCalibrator(lipschitz=limit).fit(d.score, d.y).predict(d.new),
        )
    for degree in (0, 1, 2):
        yield Contestant(
            f"local {degree}",
            "calibrant",
            lambda d, degree=degree: LocalCalibrator(degree=degree).fit(d.score, d.y).predict(d.new),
        )
    yield Contestant(
        "isotonic", "calibrant", lambda d: IsotonicCalibrator(log_safe=False).fit(d.score, d.y).predict(d.new)
    )
    yield Contestant(
        "isotonic",
        "scikit-learn",
        lambda d: IsotonicRegression(out_of_bounds="clip").fit(d.score, d.y).predict(d.new),
    )


def time_all(n: int, rounds: int) -> None:
    sample, fielded = rows(n), list(contestants(n))
    seconds: list[list[float]] = [[] for _ in fielded]
    found: list[Floats] = []
    for _ in range(rounds):
        found.clear()
        for one, spent in zip(fielded, seconds, strict=True):
            started = time.perf_counter()
            found.append(one.predict(sample))
            spent.append(time.perf_counter() - started)
    print(f"\nn = {n:,}\n{'':<14}{'':<14}{'ms':>10}{'x ours':>9}{'difference':>12}")
    ours: dict[str, tuple[float, Floats]] = {}
    for one, spent, values in zip(fielded, seconds, found, strict=True):
        median = statistics.median(spent)
        first = one.job not in ours
        base, expected = ours.setdefault(one.job, (median, values))
        difference = "" if first else f"{np.abs(values - expected).max():12.0e}"
        print(f"{one.job:<14}{one.name:<14}{1e3 * median:>10.1f}{median / base:>9.1f}{difference}")


def versions() -> str:
    found = []
    for name in ("numpy", "scipy", "scikit-learn", "venn-abers"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Python {platform.python_version()}, " + ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6], help="rows")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(versions())
    for n in arguments.sizes:
        time_all(n, arguments.rounds)


if __name__ == "__main__":
    main()
