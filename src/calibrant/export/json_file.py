"""A fitted calibrator as a JSON document, and back."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import calibrant
from calibrant.calibrators import IsotonicCalibrator
from calibrant.core.pava import IsotonicFit
from calibrant.errors import SourceError

__all__ = ["from_json", "read_model", "to_json"]

# Raised when the meaning of a field changes; older files stay readable.
_FORMAT = 1
_BLOCKS = ("low", "high", "value", "n", "k")


def to_json(calibrator: IsotonicCalibrator) -> str:
    """Return a fitted calibrator as a JSON document.

    Parameters
    ----------
    calibrator : IsotonicCalibrator
        Fitted.

    Returns
    -------
    str
        Numbers are written so that reading them back gives the same floats.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import from_json, to_json
    >>> fitted = IsotonicCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])
    >>> from_json(to_json(fitted)).predict([0.3]) == fitted.predict([0.3])
    array([ True])
    """
    document = {
        "kind": "calibrator",
        "format": _FORMAT,
        "calibrant": calibrant.__version__,
        "method": "isotonic",
        "parameters": calibrator.get_params(),
        "blocks": {name: getattr(calibrator.fit_, name).tolist() for name in _BLOCKS},
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> IsotonicCalibrator:
    """Rebuild a fitted calibrator from what `to_json` wrote.

    Parameters
    ----------
    text : str
        The document.

    Returns
    -------
    IsotonicCalibrator
        Predicts the same floats.

    Raises
    ------
    SourceError
        If the text is not such a document, or was written by a newer format.
    """
    expected, remedy = "a model file written by calibrant", "write it with 'calibrant recalibrate' or to_json"
    try:
        document: dict[str, Any] = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(expected, f"text that is not JSON ({error})", remedy) from None
    if not isinstance(document, dict) or document.get("kind") != "calibrator":
        raise SourceError(expected, "another kind of JSON document", remedy)
    if document.get("format") != _FORMAT or document.get("method") != "isotonic":
        found = f"format {document.get('format')!r}, method {document.get('method')!r}"
        raise SourceError(f"format {_FORMAT} and method 'isotonic'", found, "read it with the version that wrote it")
    try:
        blocks = {name: np.asarray(document["blocks"][name], dtype=np.float64) for name in _BLOCKS}
        calibrator = IsotonicCalibrator(**document["parameters"])
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(expected, f"a damaged one ({error!r})", remedy) from None
    _check_blocks(blocks, expected, remedy)
    calibrator.fit_ = IsotonicFit(**blocks)
    calibrator.n_features_in_ = 1
    return calibrator


def read_model(path: str | PathLike[str]) -> IsotonicCalibrator:
    """Read a model file.

    Parameters
    ----------
    path : path-like
        Written by ``calibrant recalibrate``, or with what `to_json` returns.

    Returns
    -------
    IsotonicCalibrator
        As `from_json`.

    Raises
    ------
    SourceError
        If it cannot be read or is no such file.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"a model file at {path}", error.strerror or str(error), "check the path") from None
    except UnicodeDecodeError:
        raise SourceError(f"a model file at {path}", "a binary file", "check the path") from None
    return from_json(text)


def _check_blocks(blocks: dict[str, np.ndarray[Any, Any]], expected: str, remedy: str) -> None:
    low, high, value = blocks["low"], blocks["high"], blocks["value"]
    sound = (
        all(block.ndim == 1 and len(block) == len(low) > 0 for block in blocks.values())
        and bool((low <= high).all() and (high[:-1] < low[1:]).all() and (value[:-1] < value[1:]).all())
        and bool((value >= 0.0).all() and (value <= 1.0).all())
    )
    if not sound:
        raise SourceError(expected, "blocks that are not increasing", remedy)
