"""Fit every recalibrator on samples of every pair, and judge it on the test rows of the pair.

``python -m benchmarks.recalibration.compare FOLDER OUT.csv`` reads the files that `pairs.py` wrote and appends one line
per pair, sample size and method; lines already there are not computed again. `summary.py` makes tables of them.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.recalibration.methods import Method, peers, quiet
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss

SIZES = (200, 1_000, 5_000, 20_000)
REPEATS = {200: 3, 1_000: 2, 5_000: 1, 20_000: 1}
FIELDS = ("pair", "size", "repeat", "method", "log_loss", "brier", "cutoff", "seconds")
CLIP = 1e-15  # of the log loss, which is infinite where a 0 or 1 was wrong


def samples(pair: dict[str, np.ndarray]) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
    """Draw the samples to fit on: size, repeat, scores and labels. Both classes are in each."""
    score, label = pair["pool_score"], pair["pool_label"].astype(np.int8)
    drawn = []
    for size in SIZES:
        if size > len(label):
            continue
        for repeat in range(REPEATS[size]):
            rows = np.random.default_rng([size, repeat]).permutation(len(label))[:size]
            if 0 < label[rows].sum() < size:
                drawn.append((size, repeat, score[rows], label[rows]))
    return drawn


def judge(method: Method, score: np.ndarray, label: np.ndarray, pair: dict[str, np.ndarray]) -> dict[str, float]:
    """Fit on a sample, predict the test rows, and measure."""
    start = time.perf_counter()
    try:
        after = quiet(method, score, label, pair["test_score"])
    except Exception as error:  # whatever another package raises is a result here: it counts as failed
        print(f"    {type(error).__name__}: {error}", file=sys.stderr)
        return dict.fromkeys(("log_loss", "brier", "cutoff", "seconds"), float("nan"))
    seconds = time.perf_counter() - start
    y = pair["test_label"].astype(np.int8)
    return {
        "log_loss": log_loss(y, np.clip(after, CLIP, 1.0 - CLIP)),
        "brier": brier_score(y, after),
        "cutoff": cutoff_calibration_error(y, after),
        "seconds": seconds,
    }


def main() -> None:
    """Compute what is missing."""
    from benchmarks.recalibration.ours import ours

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--methods", nargs="*", help="only these")
    options = parser.parse_args()
    methods = {n: m for n, m in (peers() | ours()).items() if options.methods is None or n in options.methods}
    known = set()
    if options.output.exists():
        with options.output.open(encoding="utf-8", newline="") as file:
            known = {tuple(row[k] for k in FIELDS[:4]) for row in csv.DictReader(file)}
    with options.output.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for path in sorted(options.folder.glob("*.npz")):
            with np.load(path) as loaded:
                pair = dict(loaded)
            for size, repeat, score, label in samples(pair):
                for name, method in methods.items():
                    key = (path.stem, str(size), str(repeat), name)
                    if key not in known:
                        writer.writerow(dict(zip(FIELDS, key, strict=False)) | judge(method, score, label, pair))
            file.flush()
            print(path.stem, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
