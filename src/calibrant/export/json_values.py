"""Values in the fields of a model file; whatever is wrong is refused with the name of its field."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np

from calibrant.errors import SourceError
from calibrant.table.score_table import FloatArray

__all__ = ["REMEDY", "array_of", "check_fields", "damaged", "list_of", "number_of", "refuse", "text_of"]

REMEDY = "write it with 'calibrant recalibrate' or save_model"


def damaged(field: str, expected: str, found: str) -> SourceError:
    """Phrase the error for a field that does not hold what it should."""
    return SourceError(f"{expected} in the field {field} of a model file", found, REMEDY)


def check_fields(document: Any, names: Collection[str], path: str) -> dict[str, Any]:
    """Return what should be an object that has fields of these names and no others."""
    if not isinstance(document, dict):
        refuse(path.rstrip("."), f"an object with {', '.join(names)}", document)
    for name in names:
        if name not in document:
            raise damaged(path + name, "a value", "nothing")
    for name in document:
        if name not in names:
            raise damaged(path + name, "nothing", "a value")
    return document


def text_of(value: Any, path: str) -> str:
    """Return what should be a text."""
    return value if isinstance(value, str) else refuse(path, "a text", value)


def array_of(value: Any, path: str) -> FloatArray:
    """Return what should be a list of numbers, as floats."""
    numbers = [
        entry if type(entry) is float else number_of(entry, f"{path}[{i}]")
        for i, entry in enumerate(list_of(value, path))
    ]
    return np.array(numbers, dtype=np.float64)


def list_of(value: Any, path: str) -> list[Any]:
    """Return what should be a list."""
    return value if isinstance(value, list) else refuse(path, "a list", value)


def number_of(value: Any, path: str) -> float:
    """Return what should be a number; JSON has no words for infinity and NaN."""
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf", "nan") and len(value) == 1:
        return float(value["float"])
    try:
        return float(value) if type(value) in (int, float) else refuse(path, "a number", value)
    except OverflowError:
        refuse(path, "a number that a float can hold", value)


def refuse(path: str, expected: str, found: Any) -> NoReturn:
    """Raise the error for a field that holds something else."""
    shown = repr(found)
    raise damaged(path, expected, shown if len(shown) <= 60 else f"{shown[:57]}...")
