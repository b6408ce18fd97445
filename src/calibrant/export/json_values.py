"""Values in the fields of a JSON document; whatever is wrong is refused with the name of its field."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from calibrant.errors import SourceError
from calibrant.table.score_table import FloatArray

__all__ = [
    "Checks",
    "FieldError",
    "array_of",
    "check_fields",
    "fields_of",
    "list_of",
    "load_document",
    "number_of",
    "refuse",
    "text_of",
]

# Field of a document, what it should hold, and whether it does. A check may rely on those before it.
Checks = Iterator[tuple[str, str, bool]]


class FieldError(Exception):
    """A field that does not hold what it should; `fields_of` names the document."""

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(field, expected, found)
        self.field, self.expected, self.found = field, expected, found


@contextmanager
def fields_of(document: str, remedy: str) -> Iterator[None]:
    """Turn errors of fields into a `SourceError` about the kind of document that is read."""
    try:
        yield
    except FieldError as error:
        raise SourceError(f"{error.expected} in the field {error.field} of {document}", error.found, remedy) from None


def load_document(text: str, kind: str, expected: str, remedy: str) -> dict[str, Any]:
    """Parse a JSON document whose field `kind` says what it is; infinite and undefined numbers are refused."""

    def no_number(token: str) -> float:
        raise SourceError(expected, f"{token} in it", remedy)

    try:
        document = json.loads(text, parse_constant=no_number)
    except SourceError:
        raise
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise SourceError(expected, f"text that is not JSON ({error})", remedy) from None
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise SourceError(expected, f"another kind of JSON document: its field kind is not '{kind}'", remedy)
    return document


def check_fields(document: Any, names: Collection[str], path: str) -> dict[str, Any]:
    """Return what should be an object that has fields of these names and no others."""
    if not isinstance(document, dict):
        refuse(path.rstrip("."), f"an object with {', '.join(names)}", document)
    for name in names:
        if name not in document:
            raise FieldError(path + name, "a value", "nothing")
    for name in document:
        if name not in names:
            raise FieldError(path + name, "nothing", "a value")
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
    raise FieldError(path, expected, shown if len(shown) <= 60 else f"{shown[:57]}...")
