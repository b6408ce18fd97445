"""The fields of a model file turned back into a calibrator."""

from __future__ import annotations

from typing import Any

from calibrant.calibrators.base import Calibrator, Training
from calibrant.calibrators.segment.calibrator import SegmentCalibrator
from calibrant.errors import SourceError
from calibrant.export.layouts import LAYOUTS, METHODS
from calibrant.typed_json import FieldError, check_fields, list_of, number_of, structure, text_of


def rebuilt_fitted(document: Any, path: str, training: Training) -> Calibrator | SegmentCalibrator:
    """Return the calibrator that is stored at a path, of "" or of fields that end in a dot, with those inside it."""
    document = check_fields(document, ("method", "parameters", "fitted"), path)
    calibrator = _rebuilt_unfitted({name: document[name] for name in ("method", "parameters")}, path)
    layout = LAYOUTS[document["method"]]
    fitted = check_fields(document["fitted"], layout.fitted, f"{path}fitted.")
    for name, kind in layout.fitted.items():
        setattr(calibrator, name, _rebuilt(fitted[name], kind, f"{path}fitted.{name}", training))
    for field, expected, holds in layout.checks(calibrator):
        if not holds:
            raise FieldError(path + field, expected, "something else")
    calibrator.n_features_in_, calibrator.training_ = 1, training
    return calibrator


def _rebuilt_unfitted(document: Any, path: str) -> Calibrator | SegmentCalibrator:
    document = check_fields(document, ("method", "parameters"), path)
    method = text_of(document["method"], f"{path}method")
    known = METHODS if path else tuple(LAYOUTS)
    if method not in known:
        raise SourceError(
            f"one of {', '.join(map(repr, known))} in the field {path}method of a model file",
            repr(method),
            "read it with the version of calibrant that wrote it",
        )
    estimator = LAYOUTS[method].estimator
    parameters = check_fields(document["parameters"], estimator().get_params(deep=False), f"{path}parameters.")
    values = {name: _parameter(value, f"{path}parameters.{name}") for name, value in parameters.items()}
    made: Calibrator | SegmentCalibrator = estimator(**values)
    return made


def _parameter(value: Any, path: str) -> Any:
    if isinstance(value, dict) and "calibrators" in value:
        listed = list_of(check_fields(value, ["calibrators"], f"{path}.")["calibrators"], path)
        return [_rebuilt_unfitted(entry, f"{path}[{i}].") for i, entry in enumerate(listed)]
    if isinstance(value, dict) and "calibrator" in value:
        return _rebuilt_unfitted(check_fields(value, ["calibrator"], f"{path}.")["calibrator"], f"{path}.calibrator.")
    if isinstance(value, list):
        return [text_of(entry, f"{path}[{i}]") for i, entry in enumerate(value)]
    return value if value is None or isinstance(value, bool | int | float | str) else number_of(value, path)


def _rebuilt(value: Any, kind: Any, path: str, training: Training) -> Any:
    if kind is Calibrator:
        return rebuilt_fitted(value, f"{path}.", training)
    if kind == list[Calibrator]:
        return [rebuilt_fitted(entry, f"{path}[{i}].", training) for i, entry in enumerate(list_of(value, path))]
    return structure(kind, value, path)
