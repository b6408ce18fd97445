"""A fitted calibrator as a JSON document, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from calibrant.atomic_write import write_text
from calibrant.calibrators.segment.repair import Segment
from calibrant.errors import ArgumentError, SourceError
from calibrant.export.layouts import LAYOUTS, Layout, check_fitted, not_exportable
from calibrant.fits.class_maps import ClassMap
from calibrant.fits.mean_maps import MeanMap
from calibrant.fits.pool import MulticlassAuto
from calibrant.fits.score_map import Chain, FittedMap, ScoreMap, Training
from calibrant.printable import visible
from calibrant.table.numbers import rows
from calibrant.typed_json import (
    FieldError,
    check_fields,
    headed,
    list_of,
    number_of,
    plain,
    read_document,
    sealed,
    structure,
    unsealed,
)

if TYPE_CHECKING:
    from calibrant.calibrators import MulticlassAutoCalibrator, SegmentCalibrator
    from calibrant.calibrators.base import Calibrator

_REMEDY = "write it with 'calibrant recalibrate' or save_model"


@dataclass(frozen=True)
class _Document:
    """The fields of a model file, after the heading."""

    training: Training
    interpretation: str
    method: Any
    parameters: Any
    fitted: Any
    column: str | list[str] | None


def to_json(calibrator: FittedMap) -> str:
    """Return a fitted calibrator as a JSON document.

    Parameters
    ----------
    calibrator : Calibrator, SegmentCalibrator or MulticlassAutoCalibrator
        Fitted.

    Returns
    -------
    str
        The map with its parameters, in numbers and in words (`interpret`); rows, events, digest and date of the fit; a
        schema version, and a checksum of all this. Numbers are written so that reading them back gives the same
        floats.

    Raises
    ------
    ArgumentError
        If it is of a class that cannot be exported, or a parameter is no number, text, bool or None.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import from_json, to_json
    >>> fitted = IsotonicCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])
    >>> from_json(to_json(fitted)).predict([0.3]) == fitted.predict([0.3])
    array([ True])
    """
    check_fitted(calibrator)
    names = [str(name) for name in getattr(calibrator, "feature_names_in_", [])]
    fields = {
        **_fitted(calibrator),
        "column": names[0] if len(names) == 1 else names or None,
        "training": plain(calibrator.training_),
        "interpretation": calibrator._in_words(),
    }
    return json.dumps(sealed(headed("calibrator", fields, calibrator._kind)), indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Calibrator | SegmentCalibrator | MulticlassAutoCalibrator:
    """Rebuild a fitted calibrator from what `to_json` wrote.

    Parameters
    ----------
    text : str
        The document, of this or an earlier version of calibrant.

    Returns
    -------
    Calibrator, SegmentCalibrator or MulticlassAutoCalibrator
        Of the class it had; predicts the same floats.

    Raises
    ------
    SourceError
        If the text is not such a document, was written by a newer version, or is damaged; the message names the field.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import from_json, to_json
    >>> from_json(to_json(PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])))
    PlattCalibrator()
    """
    rebuilt: Calibrator | SegmentCalibrator | MulticlassAutoCalibrator = as_calibrator(_map_from_json(text))
    return rebuilt


def _map_from_json(text: str) -> FittedMap:
    try:
        with unsealed(text, "calibrator", "a model file", _REMEDY) as fields:
            return _checked(fields)
    except RecursionError:
        raise SourceError("a model file written by calibrant", "fits inside fits without end", _REMEDY) from None


def save_model(calibrator: FittedMap, path: str | PathLike[str]) -> None:
    """Write a fitted calibrator to a model file, whole or not at all.

    Parameters
    ----------
    calibrator : Calibrator, SegmentCalibrator or MulticlassAutoCalibrator
        Fitted.
    path : path-like
        Where to write what `to_json` returns. An existing file is replaced.

    Raises
    ------
    ArgumentError
        As `to_json`.
    SourceError
        If the path cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = pathlib.Path(folder) / "model.json"
    ...     save_model(PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1]), model)
    ...     load_model(model)
    PlattCalibrator()
    """
    write_text(to_json(calibrator), path)


def load_model(path: str | PathLike[str]) -> Calibrator | SegmentCalibrator | MulticlassAutoCalibrator:
    """Read a model file.

    Parameters
    ----------
    path : path-like
        Written by `save_model` or ``calibrant recalibrate``, by this or an earlier version of calibrant.

    Returns
    -------
    Calibrator, SegmentCalibrator or MulticlassAutoCalibrator
        As `from_json`.

    Raises
    ------
    SourceError
        If it cannot be read or is no such file; if it is damaged the message names the field.

    Examples
    --------
    `save_model` has one.

    >>> from calibrant import load_model
    """
    return from_json(read_document(path, "a model file"))


def load_map(path: str | PathLike[str]) -> FittedMap:
    """Read the map of a model file, which takes no scikit-learn."""
    return _map_from_json(read_document(path, "a model file"))


def model_at(path: str | PathLike[str]) -> str | None:
    """Say which model a file holds; None if there is no file, or another one."""
    try:
        fitted = load_map(path)
    except SourceError:
        return None
    of, names = fitted.training_, " and ".join(getattr(fitted, "feature_names_in_", []))
    column = f" to {visible(names)}" if names else ""
    return f"the {fitted._calibrator} that was fitted{column} on {of.date[:10]}, {rows(of.n)} rows"


def as_calibrator(value: Any) -> Any:
    """Return the calibrator that is the same map, with those inside it; other values are returned as they are."""
    if isinstance(value, list):
        return [as_calibrator(entry) for entry in value]
    if not isinstance(value, FittedMap):
        return value
    import calibrant.calibrators as estimators

    calibrator = getattr(estimators, value._calibrator, type(value))()
    vars(calibrator).update({name: as_calibrator(entry) for name, entry in vars(value).items()})
    return calibrator


@plain.register(ScoreMap)
@plain.register(ClassMap)
@plain.register(MeanMap)
@plain.register(Chain)
@plain.register(Segment)
def _fitted(calibrator: FittedMap | ClassMap) -> dict[str, Any]:
    """Return what makes up a calibrator; those inside others are stored in the same way."""
    document = _unfitted(calibrator)
    fitted = LAYOUTS[document["method"]].fitted
    return document | {"fitted": {name: plain(getattr(calibrator, name)) for name in fitted}}


def _unfitted(calibrator: FittedMap | ClassMap) -> dict[str, Any]:
    kinds = (type(calibrator), *type(calibrator).__bases__)
    method, layout = next(((name, of) for name, of in LAYOUTS.items() if of.kind in kinds), (None, None))
    if layout is None:
        raise not_exportable(calibrator)
    return {
        "method": method,
        "parameters": {name: _parameter(name, getattr(calibrator, name)) for name in _parameters(layout)},
    }


def _parameters(layout: Layout) -> list[str]:
    return sorted(field.name for field in fields(layout.kind) if field.init)


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple) and all(isinstance(entry, ScoreMap | MeanMap) for entry in value):
        return {"calibrators": [_unfitted(entry) for entry in value]}
    if isinstance(value, ScoreMap | ClassMap):
        return {"calibrator": _unfitted(value)}
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return list(value)
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return plain(value)
    raise ArgumentError(f"{name} to be a number, a text, a bool or None", repr(value), "fit with such a parameter")


def _checked(document: dict[str, Any]) -> FittedMap:
    stored: _Document = structure(_Document, document, "")
    if stored.training.events > stored.training.n:
        raise FieldError("training.events", "at most training.n", f"{stored.training.events!r}")
    fields = {name: document[name] for name in ("method", "parameters", "fitted")}
    calibrator: FittedMap = _rebuilt_fitted(fields, FittedMap, "", stored.training)
    calibrator.n_features_in_ = len(calibrator.classes_) if isinstance(calibrator, MulticlassAuto) else 1
    calibrator.training_ = stored.training
    if stored.column is not None:
        names = [stored.column] if isinstance(stored.column, str) else stored.column
        if len(names) != calibrator.n_features_in_:
            raise FieldError("column", f"{calibrator.n_features_in_} names", f"{len(names)}")
        calibrator.feature_names_in_ = np.array(names, dtype=object)
    return calibrator


def _rebuilt_fitted(document: Any, kind: Any, path: str, training: Training) -> Any:
    """Return the map that is stored at a path, of "" or of fields that end in a dot, with those inside it."""
    document = check_fields(document, ("method", "parameters", "fitted"), path)
    calibrator = _rebuilt_unfitted({name: document[name] for name in ("method", "parameters")}, kind, path)
    layout = LAYOUTS[document["method"]]
    fitted = check_fields(document["fitted"], layout.fitted, f"{path}fitted.")
    for name, of in layout.fitted.items():
        setattr(calibrator, name, _rebuilt(fitted[name], of, f"{path}fitted.{name}", training))
    for field, expected, holds in layout.checks(calibrator):
        if not holds:
            raise FieldError(path + field, expected, "something else")
    if isinstance(calibrator, Chain):
        for one, of in zip(calibrator.maps_, calibrator.trainings_, strict=True):
            one.training_ = of
    elif not isinstance(calibrator, ClassMap):
        calibrator.n_features_in_, calibrator.training_ = 1, training
    return calibrator


def _rebuilt_unfitted(document: Any, kind: Any, path: str) -> Any:
    document = check_fields(document, ("method", "parameters"), path)
    method = structure(str, document["method"], f"{path}method")
    known = [name for name, layout in LAYOUTS.items() if issubclass(layout.kind, kind)]
    if method not in known:
        expected = f"one of {', '.join(map(repr, known))} in the field {path}method of a model file"
        raise SourceError(expected, repr(method), "read it with the version of calibrant that wrote it")
    layout = LAYOUTS[method]
    parameters = check_fields(document["parameters"], _parameters(layout), f"{path}parameters.")
    members = MeanMap if issubclass(layout.kind, MeanMap) else ScoreMap
    values = {
        name: _rebuilt_parameter(value, members, f"{path}parameters.{name}") for name, value in parameters.items()
    }
    return layout.kind(**values)


def _rebuilt_parameter(value: Any, members: Any, path: str) -> Any:
    if isinstance(value, dict) and "calibrators" in value:
        listed = list_of(check_fields(value, ["calibrators"], f"{path}.")["calibrators"], path)
        return [_rebuilt_unfitted(entry, members, f"{path}[{i}].") for i, entry in enumerate(listed)]
    if isinstance(value, dict) and "calibrator" in value:
        stored = check_fields(value, ["calibrator"], f"{path}.")["calibrator"]
        kind = ClassMap if path.endswith(".first") else ScoreMap
        return _rebuilt_unfitted(stored, kind, f"{path}.calibrator.")
    if isinstance(value, list):
        return structure(list[str], value, path)
    return value if value is None or isinstance(value, bool | int | float | str) else number_of(value, path)


def _rebuilt(value: Any, kind: Any, path: str, training: Training) -> Any:
    if kind in (ScoreMap, ClassMap):
        return _rebuilt_fitted(value, kind, f"{path}.", training)
    if kind in (list[ScoreMap], list[ClassMap], list[MeanMap], list[FittedMap]):
        (each,) = get_args(kind)
        return [_rebuilt_fitted(entry, each, f"{path}[{i}].", training) for i, entry in enumerate(list_of(value, path))]
    return structure(kind, value, path)
