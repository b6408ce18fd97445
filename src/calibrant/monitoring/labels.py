"""Labels and blocks of the rows that a monitor reads; of rows that are too young, labels may be missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.monitoring.order import as_texts, column_of
from calibrant.monitoring.settings import Settings
from calibrant.table.pooling import FloatArray
from calibrant.table.validation import clean_labels, clean_rows

_MISSING = ("None", "nan", "NaT", "<NA>")  # labels that are not known, as text
_MISSING_TEXT = ("", "nan")  # texts that stand for such labels; the second one is how NumPy writes NaN among texts


def block_names(block: npt.ArrayLike | None, n: int, settings: Settings) -> npt.NDArray[Any] | None:
    """Return the name of the block of each of n rows as text; None where rows are independent."""
    if not settings.blocks:
        if block is not None:
            remedy = "make the monitor with `blocks=True`, or leave `block` out"
            raise DataError("no `block` in a monitor of independent rows", "one", remedy)
        return None
    if block is None:
        raise DataError("`block` in every update of a monitor of blocks", "none", "pass the block of every row")
    return as_texts(column_of(block, "blocks", n), "blocks")


def labels_of(
    y: npt.ArrayLike, score: FloatArray, rows: npt.NDArray[np.intp], settings: Settings, pos_label: Any
) -> tuple[FloatArray, int]:
    """Return the labels of the rows that are read, and how many of them are missing and count as 0."""
    if settings.maturity is None:
        label = clean_rows(y, score, pos_label=pos_label, part=True).label
        return label[rows].astype(np.float64), 0
    raw = column_of(y, "labels", len(score))[rows]
    missing = np.array([_is_missing(value) for value in raw.tolist()], dtype=bool)
    if missing.any() and settings.missing == "refuse":
        found = f"none in {int(missing.sum())} of {len(raw)} rows of that age"
        remedy = "choose a higher `maturity`, or say `missing='negative'` if such labels are 0"
        raise DataError("a label in every row that is old enough", found, remedy)
    found_labels = np.zeros(len(raw))
    if (~missing).any():
        present = np.array(raw[~missing].tolist())
        found_labels[~missing] = clean_labels(present, pos_label, part=True)
    return found_labels, int(missing.sum())


def _is_missing(label: Any) -> bool:
    return label in _MISSING_TEXT if isinstance(label, str) else str(label) in _MISSING
