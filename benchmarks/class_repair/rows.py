"""What all contestants are given: probabilities of several classes to fit on, others to judge by, and as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

SMALLEST = 1e-9  # probabilities are clipped there, before a map and after it, for every contestant alike


def clipped(proba: Numbers) -> Numbers:
    """Return rows without zeros, each divided by its sum."""
    raised = np.clip(proba, SMALLEST, 1.0)
    return raised / raised.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class ScoreSet:
    """Probabilities of one classifier on rows it was not trained on.

    The first rows of the pool are those to fit on, as many as a task says. `truth` has the probabilities that labels
    were drawn with where these are known, and else 1 for the label that occurred. `row` tells rows that are judged in
    several splits of one small data set: their losses depend on each other.
    """

    name: str
    sizes: tuple[int, ...]
    pool: list[tuple[Numbers, Labels]]
    test: list[tuple[Numbers, Numbers, Labels]]  # of each split: probabilities, truth, row

    def write(self, folder: Path) -> None:
        """Write a file of this name."""
        arrays: dict[str, npt.NDArray[np.generic]] = {"sizes": np.array(self.sizes)}
        for i, (fit, judge) in enumerate(zip(self.pool, self.test, strict=True)):
            names = ("pool_proba", "pool_label", "test_proba", "test_truth", "test_row")
            arrays |= {f"{name}_{i}": array for name, array in zip(names, (*fit, *judge), strict=True)}
        np.savez(folder / f"{self.name}.npz", **arrays)

    @classmethod
    def read(cls, path: Path) -> ScoreSet:
        """Return what `write` wrote."""
        with np.load(path) as arrays:
            splits = sum(name.startswith("pool_label") for name in arrays)
            pool = [(arrays[f"pool_proba_{i}"], arrays[f"pool_label_{i}"]) for i in range(splits)]
            test = [tuple(arrays[f"test_{part}_{i}"] for part in ("proba", "truth", "row")) for i in range(splits)]
            return cls(path.stem, tuple(arrays["sizes"].tolist()), pool, test)


def losses(proba: Numbers, truth: Numbers) -> Numbers:
    """Return the log loss of each row, expected over its label where the truth is known."""
    return -(truth * np.log(clipped(proba))).sum(axis=1)


def drawn(rng: np.random.Generator, truth: Numbers) -> Labels:
    """Draw a label of each row."""
    steps = np.cumsum(truth, axis=1)
    return (rng.random((len(truth), 1)) * steps[:, -1:] > steps).sum(axis=1)
