"""Train classifiers on real data and keep their scores on rows they have not seen.

Each pair of a data set and a classifier becomes one file with the scores and labels of a pool to recalibrate from and
of a test set: ``python -m benchmarks.recalibration.pairs FOLDER [--data ../shared/data]``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.recalibration import fresh, known

POOL = 20_000  # the most rows that calibrators are fitted on
TEST = 20_000


def scores_of(model: object, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Probability of the positive class; margins are rescaled to [0, 1] by the range of the training rows."""
    if hasattr(model, "predict_proba"):
        return np.clip(model.predict_proba(x)[:, 1], 0.0, 1.0)
    return np.clip((model.decision_function(x) - low) / (high - low), 0.0, 1.0)


def write_pair(path: Path, score: np.ndarray, label: np.ndarray) -> None:
    """Write a pair: the first rows are the pool, others the test set."""
    n_pool = min(POOL, len(label) // 2)
    pool, test = slice(0, n_pool), slice(n_pool, n_pool + TEST)
    arrays = {"pool_score": score[pool], "pool_label": label[pool]}
    np.savez(path, **arrays, test_score=score[test], test_label=label[test])


def main() -> None:
    """Train everything and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--fresh", action="store_true", help="the tasks and classifiers of fresh.py instead")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # models that have not converged are part of what is met in practice
    chosen = fresh if options.fresh else known
    if options.fresh:
        for name, score, label in fresh.forecasts(options.data):
            order = np.random.default_rng(1).permutation(len(label))
            write_pair(options.folder / f"{name}.npz", score[order], label[order])
    for task in chosen.tasks(options.data):
        order = np.random.default_rng(1).permutation(len(task.y))
        train, rest = order[: task.n_train], order[task.n_train :][: POOL + TEST]
        for name, make in chosen.classifiers().items():
            start = time.perf_counter()
            model = make().fit(task.x[train], task.y[train])
            low, high = 0.0, 1.0
            if not hasattr(model, "predict_proba"):
                margins = model.decision_function(task.x[train])
                low, high = float(margins.min()), float(margins.max())
            score = scores_of(model, task.x[rest], low, high)
            write_pair(options.folder / f"{task.name} - {name}.npz", score, task.y[rest])
            print(f"{task.name}, {name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
