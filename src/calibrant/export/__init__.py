"""Fitted calibrators as files, expressions and functions that run elsewhere."""

from calibrant.export.class_sql import classes_to_sql
from calibrant.export.json_file import from_json, load_model, save_model, to_json
from calibrant.export.onnx_graph import to_onnx
from calibrant.export.python_source import to_python
from calibrant.export.sql import to_sql
from calibrant.fits.chain import compose
from calibrant.keywords import check_package

__all__ = [
    "classes_to_sql",
    "compose",
    "from_json",
    "load_model",
    "save_model",
    "to_json",
    "to_onnx",
    "to_python",
    "to_sql",
]

check_package(__name__)
