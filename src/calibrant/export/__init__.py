"""Fitted calibrators as files, expressions and functions that run elsewhere."""

from calibrant.export.json_file import from_json as from_json
from calibrant.export.json_file import load_model as load_model
from calibrant.export.json_file import save_model as save_model
from calibrant.export.json_file import to_json as to_json
from calibrant.export.onnx_graph import to_onnx as to_onnx
from calibrant.export.python_source import to_python as to_python
from calibrant.export.sql import to_sql as to_sql
from calibrant.fits.score_map import compose as compose
from calibrant.keywords import check_package

check_package(__name__)
