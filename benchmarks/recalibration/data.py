"""What the sets of pairs share: tasks, the files of ADULT and COVTYPE, and scaling."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np


class Task(NamedTuple):
    """A binary classification task: features, labels, and how many rows train the classifiers."""

    name: str
    x: np.ndarray
    y: np.ndarray
    n_train: int


def adult_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return the fifteen columns of ADULT, training and test rows together."""
    rows = []
    for name in ("adult.data", "adult.test"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        rows += [line.rstrip(".").split(", ") for line in lines if line.count(",") == 14]
    return list(zip(*rows, strict=True))


def number_columns(columns: list[tuple[str, ...]], named: tuple[int, ...]) -> np.ndarray:
    """Return the numeric columns of ADULT and an indicator of each frequent value of the named ones."""
    numbers = [np.array(columns[i], dtype=float) for i in (0, 2, 4, 10, 11, 12)]
    coded = []
    for i in named:
        values = np.array(columns[i])
        names, counts = np.unique(values, return_counts=True)
        coded += [(values == name).astype(float) for name in names[counts >= 100]]
    return np.column_stack(numbers + coded)


def covtype_rows(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and kinds of trees of 120,000 rows of COVTYPE."""
    with np.load(folder / "covtype_compact.npz") as file:
        numbers, area, soil, kind = (file[k] for k in ("quantitative", "wilderness_area", "soil_type", "cover_type"))
    chosen = np.random.default_rng(0).permutation(len(kind))[:120_000]  # the file is not in random order
    x = np.column_stack([numbers[chosen], np.eye(4)[area[chosen]], np.eye(40)[soil[chosen]]])
    return x.astype(float), kind[chosen]


def scaled(model: object) -> object:
    """Return the model after standardisation of the features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)
