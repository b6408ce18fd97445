"""A small map of several classes with every member, and the file that later versions have to read.

``cd tests && python -m support.class_cases`` writes the file if there is none.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from calibrant.calibrators import MulticlassAutoCalibrator
from calibrant.export import save_model
from calibrant.fits.pool import MEMBERS

FOLDER = Path(__file__).parents[1] / "unit" / "export" / "golden" / "classes"
CLASSES = ("ant", "bee", "cat", "dog")


def rows(n, seed=0):
    """Probabilities that are too sharp, some of them 0 and 1, and names; there is no dog."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([1.0, 1.0, 2.0], n)
    label = np.minimum((rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1), 2)
    proba = np.column_stack([true**2, 0.01 * rng.random(n)]).round(3)
    proba[::20] = [0.0, 0.0, 1.0, 0.0]
    return proba / proba.sum(axis=1, keepdims=True), np.array(CLASSES)[label]


def fitted_rows(n):
    return MulticlassAutoCalibrator(list(MEMBERS)).fit(*rows(n), classes=CLASSES)


def write() -> None:
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    FOLDER.mkdir()
    fitted = fitted_rows(60)
    save_model(fitted, FOLDER / "model.json")
    new = rows(20, seed=1)[0]
    found = {"scores": new.tolist(), "predicted": fitted.predict(new).tolist()}
    (FOLDER / "rows.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__" and not FOLDER.exists():
    write()
