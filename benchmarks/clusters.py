"""Time of statements about clustered rows, beside one sort of the scores.

Run it on a quiet machine; the rows of a cluster share part of their outcome:

    OMP_NUM_THREADS=1 python -m benchmarks.clusters --sizes 30000:500 300000:2000 3000000:20000

Seconds are those of the processor, all threads together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.timing import timed
from calibrant import audit
from calibrant.certificates import calibration_test, certify

Rows = tuple[npt.NDArray[np.int8], npt.NDArray[np.float64], npt.NDArray[np.int64]]


def rows(n: int, clusters: int) -> Rows:
    rng = np.random.default_rng(0)
    cluster, score = rng.integers(0, clusters, n), rng.beta(0.7, 1.6, n)
    uniform = np.where(rng.random(n) < 0.3, rng.random(clusters)[cluster], rng.random(n))
    return (uniform < score).astype(np.int8), score, cluster


def contestants(
    label: npt.NDArray[np.int8], score: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64]
) -> dict[str, Callable[[], object]]:
    return {
        "one sort of the scores": lambda: np.sort(score),
        "certify, proved": lambda: certify(label, score, cluster=cluster),
        "certify, asymptotic": lambda: certify(label, score, cluster=cluster, method="asymptotic"),
        "test, 999 simulations": lambda: calibration_test(label, score, cluster=cluster, method="asymptotic"),
        "audit": lambda: audit(label, score, cluster=cluster, tolerance=0.05, costs=(1, 4)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["300000:2000", "3000000:20000"], metavar="ROWS:CLUSTERS")
    for size in parser.parse_args().sizes:
        n, clusters = (int(part) for part in size.split(":"))
        print(f"\n{n:,} rows in {clusters:,} clusters\n{'':<26}{'seconds':>9}{'sorts':>9}")
        unit = 0.0
        for name, run in contestants(*rows(n, clusters)).items():
            _, taken = timed(run, time.process_time)
            unit = unit or taken
            print(f"{name:<26}{taken:>9.2f}{taken / unit:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
