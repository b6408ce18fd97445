"""A fitted calibrator as a JSON document, and back."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

import calibrant
from calibrant.calibrators.base import Calibrator
from calibrant.errors import ArgumentError, SourceError
from calibrant.export.layouts import LAYOUTS, not_exportable

__all__ = ["from_json", "read_model", "to_json"]

# Raised when the meaning of a field changes; older files stay readable.
_FORMAT = 2
_EXPECTED, _REMEDY = "a model file written by calibrant", "write it with 'calibrant recalibrate' or to_json"


def to_json(calibrator: Calibrator) -> str:
    """Return a fitted calibrator as a JSON document.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.

    Returns
    -------
    str
        Numbers are written so that reading them back gives the same floats.

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
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(calibrator)
    document = {"kind": "calibrator", "format": _FORMAT, "calibrant": calibrant.__version__, **_fitted(calibrator)}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Calibrator:
    """Rebuild a fitted calibrator from what `to_json` wrote.

    Parameters
    ----------
    text : str
        The document, of this or an earlier version of calibrant.

    Returns
    -------
    Calibrator
        Of the class it had; predicts the same floats.

    Raises
    ------
    SourceError
        If the text is not such a document, is damaged, or was written by a newer version.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import from_json, to_json
    >>> from_json(to_json(PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])))
    PlattCalibrator()
    """
    try:
        document = json.loads(text, parse_constant=_no_number)
    except SourceError:
        raise
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise SourceError(_EXPECTED, f"text that is not JSON ({error})", _REMEDY) from None
    if not isinstance(document, dict) or document.get("kind") != "calibrator":
        raise SourceError(_EXPECTED, "another kind of JSON document", _REMEDY)
    version = document.get("format")
    if version == 1:
        document = _of_format_1(document)
    elif version != _FORMAT:
        raise SourceError(
            f"format {_FORMAT} or older",
            f"format {version!r}, written by calibrant {document.get('calibrant')}",
            "read it with that version",
        )
    return _rebuilt_fitted(document)


def read_model(path: str | PathLike[str]) -> Calibrator:
    """Read a model file.

    Parameters
    ----------
    path : path-like
        Written by ``calibrant recalibrate``, or with what `to_json` returns.

    Returns
    -------
    Calibrator
        As `from_json`.

    Raises
    ------
    SourceError
        If it cannot be read or is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import read_model, to_json
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = pathlib.Path(folder) / "model.json"
    ...     _ = model.write_text(to_json(PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])))
    ...     read_model(model)
    PlattCalibrator()
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"a model file at {path}", error.strerror or str(error), "check the path") from None
    except UnicodeDecodeError:
        raise SourceError(f"a model file at {path}", "a binary file", "check the path") from None
    return from_json(text)


def _fitted(calibrator: Calibrator) -> dict[str, Any]:
    """Return what makes up a calibrator; those inside others are stored in the same way."""
    document = _unfitted(calibrator)
    fitted = LAYOUTS[document["method"]].fitted
    document["fitted"] = {name: _plain(getattr(calibrator, name)) for name in fitted}
    if hasattr(calibrator, "feature_names_in_"):
        document["column"] = str(calibrator.feature_names_in_[0])
    return document


def _unfitted(calibrator: Calibrator) -> dict[str, Any]:
    method = next((name for name, layout in LAYOUTS.items() if layout.estimator is type(calibrator)), None)
    if method is None:
        raise not_exportable(calibrator)
    parameters = calibrator.get_params(deep=False)
    return {"method": method, "parameters": {name: _parameter(name, value) for name, value in parameters.items()}}


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple) and all(isinstance(entry, Calibrator) for entry in value):
        return {"calibrators": [_unfitted(entry) for entry in value]}
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return _plain(value)
    raise ArgumentError(f"{name} to be a number, a text, a bool or None", repr(value), "fit with such a parameter")


def _plain(value: Any) -> Any:
    """Return a number, a text, or lists of these, or a mapping by name; JSON has no words for infinity and NaN."""
    if isinstance(value, Calibrator):
        return _fitted(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _rebuilt_fitted(document: dict[str, Any]) -> Calibrator:
    try:
        calibrator = _rebuilt_unfitted(document)
        layout = LAYOUTS[document["method"]]
        for name, kind in layout.fitted.items():
            setattr(calibrator, name, _rebuilt(document["fitted"][name], kind))
        calibrator.n_features_in_ = 1
        if "column" in document:
            calibrator.feature_names_in_ = np.array([document["column"]], dtype=object)
        sound = layout.sound(calibrator)
    except SourceError:
        raise
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise SourceError(_EXPECTED, f"a damaged one ({error!r})", _REMEDY) from None
    if not sound:
        raise SourceError(_EXPECTED, f"a damaged one, whose numbers no {document['method']} fit has", _REMEDY)
    return calibrator


def _rebuilt_unfitted(document: dict[str, Any]) -> Calibrator:
    method = document["method"]
    if method not in LAYOUTS:
        raise SourceError(
            f"a method among {', '.join(map(repr, LAYOUTS))}",
            f"method {method!r}",
            "read it with the version of calibrant that wrote it",
        )
    parameters = {name: _rebuilt_parameter(value) for name, value in document["parameters"].items()}
    return LAYOUTS[method].estimator(**parameters)


def _rebuilt_parameter(value: Any) -> Any:
    if isinstance(value, dict) and "calibrators" in value:
        return [_rebuilt_unfitted(entry) for entry in value["calibrators"]]
    return _number(value) if isinstance(value, dict) else value


def _rebuilt(value: Any, kind: Any) -> Any:
    if kind is float:
        return _number(value)
    if kind is np.ndarray:
        return np.array([_number(entry) for entry in value], dtype=np.float64)
    if kind is tuple:
        first, second = value
        return _number(first), _number(second)
    if kind in (bool, str):
        return _of_type(value, kind)
    if kind is Calibrator:
        return _rebuilt_fitted(value)
    if get_origin(kind) is list:
        return [_rebuilt(entry, get_args(kind)[0]) for entry in value]
    return kind(**{field.name: _rebuilt(value[field.name], np.ndarray) for field in fields(kind)})


def _of_type(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{value!r} for {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _number(value: Any) -> float:
    return float(value["float"] if isinstance(value, dict) else _of_type(value, int, float))


def _no_number(token: str) -> float:
    raise SourceError(_EXPECTED, f"{token} in it", _REMEDY)


def _of_format_1(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of the first format, which held isotonic fits only, in the present one."""
    return document | {"fitted": {"fit_": document.get("blocks")}}
