"""Versioned JSON documents: all begin alike; what a file holds is turned into the types declared for it, or refused.

`structure` turns a value of a document into a number, text, boolean, None, array, list, tuple, union or literal of
these, a dataclass (an object) or a named tuple (a list); `Annotated` types hold what has to be true of a value beyond
its type. Whatever is wrong is refused with the name of its field. `plain` is the way back.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, singledispatch
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, SourceError
from calibrant.version import __version__

# Raised when the meaning of a field of a document changes. Of version 1 model files alone had it: these stay readable.
SCHEMA = 2
_LARGEST = sys.float_info.max
# Field of a document, what it should hold, and whether it does. A check may rely on those before it.
Checks = Iterator[tuple[str, str, bool]]


class FieldError(Exception):
    """A field that does not hold what it should; `fields_of` names the document."""

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(field, expected, found)
        self.field, self.expected, self.found = field, expected, found


def read_document(path: str | PathLike[str], document: str) -> str:
    """Return the text of a file that should hold a kind of document."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "a binary file" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise SourceError(f"{document} at {path}", reason, "check the path") from None


@contextmanager
def fields_of(document: str, remedy: str) -> Iterator[None]:
    """Turn errors of fields into a `SourceError` about the kind of document that is read."""
    try:
        yield
    except FieldError as error:
        raise SourceError(f"{error.expected} in the field {error.field} of {document}", error.found, remedy) from None


def headed(document: str, fields: dict[str, Any], kind: str | None = None) -> dict[str, Any]:
    """Put before fields what every document begins with; without `kind` or `provenance` where there is none."""
    heading = {"calibrant": __version__, "schema_version": SCHEMA, "document": document}
    further = {"kind": kind, "provenance": fields.get("provenance")}
    return heading | {name: value for name, value in further.items() if value is not None} | fields


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with its checksum, of all other fields."""
    return document | {"sha256": _checksum(document)}


def load_document(text: str, document: str, what: str, remedy: str) -> dict[str, Any]:
    """Parse a JSON document that `headed` began; infinite and undefined numbers are refused."""

    def no_number(token: str) -> float:
        raise SourceError(f"{what} written by calibrant", f"{token} in it", remedy)

    try:
        loaded = json.loads(text, parse_constant=no_number)
    except SourceError:
        raise
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise SourceError(f"{what} written by calibrant", f"text that is not JSON ({error})", remedy) from None
    known = loaded if isinstance(loaded, dict) else {}
    version, named = known.get("schema_version"), known.get("document")
    older = version == 1 and named is None and document == "calibrator"
    if not older and (version, named) != (SCHEMA, document):
        expected = f"{what} written by calibrant, document {document!r} of schema_version {SCHEMA}"
        there = f"document {named!r} of schema_version {version!r}, written by calibrant {known.get('calibrant')}"
        raise SourceError(expected, there, remedy)
    return known


@contextmanager
def unsealed(text: str, document: str, what: str, remedy: str) -> Iterator[dict[str, Any]]:
    """Give the fields after the heading of a sealed document; when they have been read, the checksum has to fit."""
    loaded = load_document(text, document, what, remedy)
    heading = ("calibrant", "schema_version", "document", "kind")
    with fields_of(what, remedy):
        for name in {*heading, "sha256"} - {*loaded, "document"}:  # version 1 had none
            raise FieldError(name, "a value", "nothing")
        seal = loaded.pop("sha256")
        yield {name: value for name, value in loaded.items() if name not in heading}
        if seal != (actual := _checksum(loaded)):
            raise FieldError("sha256", f"{actual}, the checksum of all other fields,", "another: something was changed")


def _checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of all fields, however the document is laid out and whether 1 is written as 1.0."""
    text = json.dumps(_whole(document), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_whole(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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


class Rule(NamedTuple):
    """What has to be true of a value beyond its type, in words and as a test."""

    expected: str
    holds: Callable[[Any], bool]


def within(low: float = -_LARGEST, high: float = _LARGEST) -> Rule:
    """Return the rule of numbers within limits, which may be reached; NaN is not."""
    least = f"at least {low:g}" if low > -_LARGEST else "a finite number"
    expected = least if high == _LARGEST else f"from {low:g} to {high:g}"
    return Rule(expected, lambda value: bool(np.all((value >= low) & (value <= high))))


def sized(least: int, most: float = math.inf) -> Rule:
    """Return the rule of so many entries."""
    expected = f"{least} entries" if least == most else f"{least} to {most:g} entries"
    return Rule(expected, lambda value: least <= len(value) <= most)


def matching(pattern: str, expected: str) -> Rule:
    """Return the rule of texts of a pattern."""
    return Rule(expected, lambda value: re.fullmatch(pattern, value) is not None)


RISING = Rule(
    "numbers, each above the one before",
    lambda value: all(before < after for before, after in itertools.pairwise(value)),
)
Finite = Annotated[float, within()]
Positive = Annotated[float, within(sys.float_info.min)]
Probabilities = Annotated[npt.NDArray[np.float64], within(0.0, 1.0)]
Scores = Annotated[Probabilities, RISING]
Weights = Annotated[npt.NDArray[np.float64], within(0.0)]
Count = Annotated[int, within(0, 2**53)]
_Whole = Annotated[int, within(-(2**53), 2**53)]
_EXACT = {int: "a whole number", bool: "true or false", str: "a text", NoneType: "null"}


def structure(kind: Any, value: Any, path: str) -> Any:
    """Return what should be of a type; else raise a `FieldError` that names its place."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        result = structure(inside[0], value, path)
        for rule in inside[1:]:
            if not rule.holds(result):
                refuse(path, rule.expected, value)
        return result
    if origin in (Union, UnionType):
        return _any_of([one for one in inside if one is not NoneType or value is None], value, path)
    if origin is Literal:
        return value if value in inside else refuse(path, " or ".join(map(repr, inside)), value)
    if kind is Any:
        return value
    if kind in _EXACT:
        return value if type(value) is kind else refuse(path, _EXACT[kind], value)
    if kind is float:
        return number_of(value, path)
    if origin is np.ndarray:
        return _array(get_args(inside[1])[0], value, path)
    if origin in (list, tuple):
        same = origin is list or inside[-1] is Ellipsis
        return origin(_each(inside[:1] * len(list_of(value, path)) if same else inside, value, path))
    return _fields(kind, value, path)


def _array(kind: Any, value: Any, path: str) -> Any:
    """Return what should be an array, of numbers, whole numbers or texts."""
    if kind is np.float64:
        numbers = enumerate(list_of(value, path))
        return np.array([one if type(one) is float else number_of(one, f"{path}[{i}]") for i, one in numbers], kind)
    if kind is np.str_:
        return np.array(structure(list[str], value, path), dtype=np.str_)
    nested = bool(list_of(value, path)) and isinstance(value[0], list)
    listed = structure(list[list[_Whole]] if nested else list[_Whole], value, path)
    if nested and len({len(entry) for entry in listed}) > 1:
        refuse(path, "lists of the same length", value)
    return np.array(listed, dtype=np.int64)


def _fields(kind: Any, value: Any, path: str) -> Any:
    """Return what should be a dataclass, as an object, or a named tuple, as a list."""
    hints = _hints(kind)
    if not is_dataclass(kind):
        return kind(*_each(list(hints.values()), value, path))
    within = f"{path}." if path else ""
    members = check_fields(value, hints, within)
    make: Any = kind
    try:
        return make(**{name: structure(hint, members[name], within + name) for name, hint in hints.items()})
    except ArgumentError as error:  # of dataclasses that check themselves
        refuse(path, error.expected, error.found)


def _any_of(kinds: Sequence[Any], value: Any, path: str) -> Any:
    if isinstance(value, dict):
        kinds = [kind for kind in kinds if is_dataclass(kind)] or kinds
    expected = []
    for kind in kinds:
        try:
            return structure(kind, value, path)
        except FieldError as error:
            if len(kinds) == 1:  # it names what is inside
                raise
            expected.append(error.expected)
    return refuse(path, " or ".join(expected), value)


def _each(kinds: Sequence[Any], value: Any, path: str) -> list[Any]:
    if len(list_of(value, path)) != len(kinds):
        refuse(path, f"{len(kinds)} entries", value)
    return [structure(kind, entry, f"{path}[{i}]") for i, (kind, entry) in enumerate(zip(kinds, value, strict=True))]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass or named tuple, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}


@singledispatch
def plain(value: Any) -> Any:
    """Return what JSON can hold and `structure` turns back; JSON has no words for infinity and NaN."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
