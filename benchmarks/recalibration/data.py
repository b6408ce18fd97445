"""What the sets of pairs share: tasks, features of ADULT and COVTYPE, and scaling."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproductions.datasets import ADULT_NUMBERS, covtype_rows


class Task(NamedTuple):
    """A binary classification task: features, labels, and how many rows train the classifiers."""

    name: str
    x: np.ndarray
    y: np.ndarray
    n_train: int


def number_columns(rows: pd.DataFrame, left_out: tuple[str, ...]) -> np.ndarray:
    """Return the numeric columns of ADULT and an indicator of each frequent value of the others, but those left out."""
    named = [column for column in rows.columns if column not in (*ADULT_NUMBERS, *left_out)]
    coded = []
    for column in named:
        values = rows[column].to_numpy(str)
        names, counts = np.unique(values, return_counts=True)
        coded += [(values == name).astype(float) for name in names[counts >= 100]]
    return np.column_stack([rows[list(ADULT_NUMBERS)].to_numpy(float), *coded])


def covtype_sample(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and kinds of trees of 120,000 rows of COVTYPE."""
    features, kind = covtype_rows(folder)
    chosen = np.random.default_rng(0).permutation(len(kind))[:120_000]  # the file is not in random order
    return features[chosen].astype(float), kind[chosen]


def scaled(model: object) -> object:
    """Return the model after standardisation of the features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)
