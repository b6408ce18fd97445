"""The fields of a model file turned back into a calibrator; whatever is wrong is refused with the name of its field."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields
from datetime import datetime
from typing import Any, NoReturn, get_args, get_origin

import numpy as np

from calibrant.calibrators.base import Calibrator, Training
from calibrant.errors import SourceError
from calibrant.export.layouts import LAYOUTS
from calibrant.table.score_table import FloatArray

__all__ = ["REMEDY", "check_fields", "damaged", "rebuild_training", "rebuilt_fitted", "text_of"]

REMEDY = "write it with 'calibrant recalibrate' or save_model"


def damaged(field: str, expected: str, found: str) -> SourceError:
    """Phrase the error for a field that does not hold what it should."""
    return SourceError(f"{expected} in the field {field} of a model file", found, REMEDY)


def check_fields(document: Any, names: Collection[str], path: str) -> dict[str, Any]:
    """Return what should be an object that has fields of these names and no others."""
    if not isinstance(document, dict):
        _refuse(path.rstrip("."), f"an object with {', '.join(names)}", document)
    for name in names:
        if name not in document:
            raise damaged(path + name, "a value", "nothing")
    for name in document:
        if name not in names:
            raise damaged(path + name, "nothing", "a value")
    return document


def rebuild_training(value: Any) -> Training:
    """Return what the file says about the rows of the fit."""
    found = check_fields(value, [field.name for field in fields(Training)], "training.")
    n, events = (_number(found[name], f"training.{name}") for name in ("n", "events"))
    if not 0.0 < n < np.inf:
        _refuse("training.n", "a number of rows above 0", found["n"])
    if not 0.0 <= events <= n:
        _refuse("training.events", "a number of events from 0 to training.n", found["events"])
    digest, date = (text_of(found[name], f"training.{name}") for name in ("digest", "date"))
    if re.fullmatch("[0-9a-f]{16}", digest) is None:
        _refuse("training.digest", "16 hexadecimal digits", digest)
    try:
        datetime.strptime(date, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        _refuse("training.date", "a date such as 2026-11-23T08:15:00Z", date)
    return Training(found["n"], found["events"], digest, date)


def rebuilt_fitted(document: Any, path: str, training: Training) -> Calibrator:
    """Return the calibrator that is stored at a path, of "" or of fields that end in a dot, with those inside it."""
    document = check_fields(document, ("method", "parameters", "fitted"), path)
    calibrator = _rebuilt_unfitted({name: document[name] for name in ("method", "parameters")}, path)
    layout = LAYOUTS[document["method"]]
    fitted = check_fields(document["fitted"], layout.fitted, f"{path}fitted.")
    for name, kind in layout.fitted.items():
        setattr(calibrator, name, _rebuilt(fitted[name], kind, f"{path}fitted.{name}", training))
    for field, expected, holds in layout.checks(calibrator):
        if not holds:
            raise damaged(path + field, expected, "something else")
    calibrator.n_features_in_, calibrator.training_ = 1, training
    return calibrator


def text_of(value: Any, path: str) -> str:
    """Return what should be a text."""
    return value if isinstance(value, str) else _refuse(path, "a text", value)


def _rebuilt_unfitted(document: Any, path: str) -> Calibrator:
    document = check_fields(document, ("method", "parameters"), path)
    method = text_of(document["method"], f"{path}method")
    if method not in LAYOUTS:
        raise SourceError(
            f"one of {', '.join(map(repr, LAYOUTS))} in the field {path}method of a model file",
            repr(method),
            "read it with the version of calibrant that wrote it",
        )
    estimator = LAYOUTS[method].estimator
    parameters = check_fields(document["parameters"], estimator().get_params(deep=False), f"{path}parameters.")
    return estimator(**{name: _parameter(value, f"{path}parameters.{name}") for name, value in parameters.items()})


def _parameter(value: Any, path: str) -> Any:
    if isinstance(value, dict) and "calibrators" in value:
        listed = _list(check_fields(value, ["calibrators"], f"{path}.")["calibrators"], path)
        return [_rebuilt_unfitted(entry, f"{path}[{i}].") for i, entry in enumerate(listed)]
    return value if value is None or isinstance(value, bool | int | float | str) else _number(value, path)


def _rebuilt(value: Any, kind: Any, path: str, training: Training) -> Any:
    if kind is float:
        return _number(value, path)
    if kind is np.ndarray:
        return _array(value, path)
    if kind is tuple:
        numbers = _array(value, path).tolist()
        return tuple(numbers) if len(numbers) == 2 else _refuse(path, "two numbers", value)
    if kind is bool:
        return value if isinstance(value, bool) else _refuse(path, "true or false", value)
    if kind is str:
        return text_of(value, path)
    if kind is Calibrator:
        return rebuilt_fitted(value, f"{path}.", training)
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return [_rebuilt(entry, inner, f"{path}[{i}]", training) for i, entry in enumerate(_list(value, path))]
    names = [field.name for field in fields(kind)]
    found = check_fields(value, names, f"{path}.")
    return kind(**{name: _array(found[name], f"{path}.{name}") for name in names})


def _array(value: Any, path: str) -> FloatArray:
    numbers = [
        entry if type(entry) is float else _number(entry, f"{path}[{i}]") for i, entry in enumerate(_list(value, path))
    ]
    return np.array(numbers, dtype=np.float64)


def _list(value: Any, path: str) -> list[Any]:
    return value if isinstance(value, list) else _refuse(path, "a list", value)


def _number(value: Any, path: str) -> float:
    if isinstance(value, dict) and value.get("float") in ("inf", "-inf", "nan") and len(value) == 1:
        return float(value["float"])
    try:
        return float(value) if type(value) in (int, float) else _refuse(path, "a number", value)
    except OverflowError:
        _refuse(path, "a number that a float can hold", value)


def _refuse(path: str, expected: str, found: Any) -> NoReturn:
    shown = repr(found)
    raise damaged(path, expected, shown if len(shown) <= 60 else f"{shown[:57]}...")
