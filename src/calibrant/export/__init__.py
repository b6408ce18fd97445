"""Fitted calibrators as files and expressions that run elsewhere."""

from calibrant.export.json_file import from_json, read_model, to_json
from calibrant.export.sql import to_sql

__all__ = ["from_json", "read_model", "to_json", "to_sql"]
