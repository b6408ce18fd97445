"""What a model file says of segments: columns, offsets, trees and gains."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from typing import Any

import numpy as np

from calibrant.calibrators.segment.gains import SegmentGains
from calibrant.calibrators.segment.offsets import IntArray, LogOddsOffsets, OffsetTable
from calibrant.calibrators.segment.repair import SegmentRepair
from calibrant.calibrators.segment.trees import Node, Split
from calibrant.export.json_values import array_of, check_fields, list_of, number_of, refuse, text_of
from calibrant.segments.columns import SegmentColumn
from calibrant.table.score_table import FloatArray

__all__ = ["columns_of", "gains_of", "repair_of"]

_DEEPEST = 20


def columns_of(value: Any, path: str) -> list[SegmentColumn]:
    """Return how columns are turned into segments."""
    return [_column(entry, f"{path}[{i}].") for i, entry in enumerate(list_of(value, path))]


def _column(value: Any, path: str) -> SegmentColumn:
    found = check_fields(value, [field.name for field in fields(SegmentColumn)], path)
    text_of(found["name"], f"{path}name")
    levels, cuts = list_of(found["levels"], f"{path}levels"), list_of(found["cuts"], f"{path}cuts")
    kinds: list[set[type]] = [{str}, {bool}, {int, float}]
    if not any({type(level) for level in levels} <= kind for kind in kinds) or len(set(levels)) < len(levels):
        refuse(f"{path}levels", "different texts, booleans or numbers", levels)
    for values, name in ((cuts, "cuts"), ([] if levels and type(levels[0]) is str else levels, "levels")):
        for i, entry in enumerate(values):
            if not isinstance(entry, bool):
                _finite(entry, f"{path}{name}[{i}]")
    if any(after <= before for before, after in itertools.pairwise(cuts)) or (cuts and levels):
        refuse(f"{path}cuts", "increasing numbers, and none beside levels", cuts)
    if type(found["pooled"]) is not int or found["pooled"] < 0:
        refuse(f"{path}pooled", "a whole number from 0", found["pooled"])
    for name in ("missing", "from_rows"):
        if not isinstance(found[name], bool):
            refuse(f"{path}{name}", "true or false", found[name])
    return SegmentColumn.from_dict(found)


def repair_of(value: Any, path: str) -> SegmentRepair:
    """Return what is added to the log-odds."""
    found = check_fields(value, ("offsets", "trees"), f"{path}.")
    at = f"{path}.offsets"
    offsets = check_fields(found["offsets"], ("centre", "scale", "tables"), f"{at}.")
    centre, scale = (_finite(offsets[name], f"{at}.{name}") for name in ("centre", "scale"))
    if scale <= 0.0:
        refuse(f"{at}.scale", "a number above 0", scale)
    tables = [_table(entry, f"{at}.tables[{i}].") for i, entry in enumerate(list_of(offsets["tables"], f"{at}.tables"))]
    trees = [_node(entry, f"{path}.trees[{i}]", 0) for i, entry in enumerate(list_of(found["trees"], f"{path}.trees"))]
    return SegmentRepair(LogOddsOffsets(centre, scale, tuple(tables)), tuple(trees))


def _table(value: Any, path: str) -> OffsetTable:
    found = check_fields(value, [field.name for field in fields(OffsetTable)], path)
    intercept, slope, variances = (
        _all_finite(found[name], path + name) for name in ("intercept", "slope", "variances")
    )
    if len(variances) != 2:
        refuse(f"{path}variances", "two numbers", found["variances"])
    listed = list_of(found["codes"], f"{path}codes")
    codes = [_whole(entry, f"{path}codes[{i}]") for i, entry in enumerate(listed)]
    columns = tuple(_whole(found["columns"], f"{path}columns").tolist())
    if any(len(code) != len(columns) for code in codes):
        refuse(f"{path}codes", "as many numbers in each as there are columns", listed)
    return OffsetTable(
        columns, np.array(codes, dtype=np.int64).reshape(len(codes), len(columns)), intercept, slope, tuple(variances)
    )


def _node(value: Any, path: str, depth: int) -> Node:
    if not isinstance(value, dict) or "float" in value:
        return _finite(value, path)
    if depth == _DEEPEST:
        refuse(path, f"trees of at most {_DEEPEST} splits in depth", value)
    found = check_fields(value, [field.name for field in fields(Split)], f"{path}.")
    (column,) = _whole([found["column"]], f"{path}.column").tolist()
    at, segments = _finite(found["at"], f"{path}.at"), _whole(found["segments"], f"{path}.segments")
    first, second = (_node(found[name], f"{path}.{name}", depth + 1) for name in ("first", "second"))
    return Split(column, at, tuple(segments.tolist()), first, second)


def gains_of(value: Any, path: str) -> SegmentGains:
    """Return the gains of all segments."""
    found = check_fields(value, [field.name for field in fields(SegmentGains)], f"{path}.")
    columns: dict[str, Any] = {}
    for name in found:
        if name in ("column", "segment"):
            listed = list_of(found[name], f"{path}.{name}")
            columns[name] = np.array([text_of(entry, f"{path}.{name}[{i}]") for i, entry in enumerate(listed)])
        else:
            columns[name] = (_whole if name == "n" else array_of)(found[name], f"{path}.{name}")
        if len(columns[name]) != len(found["column"]):
            refuse(f"{path}.{name}", "as many entries as there are segments", found[name])
    return SegmentGains(**columns)


def _finite(value: Any, path: str) -> float:
    number = number_of(value, path)
    return number if math.isfinite(number) else refuse(path, "a finite number", value)


def _all_finite(value: Any, path: str) -> FloatArray:
    numbers = array_of(value, path)
    return numbers if np.isfinite(numbers).all() else refuse(path, "finite numbers", value)


def _whole(value: Any, path: str) -> IntArray:
    numbers = array_of(value, path)
    if not (np.abs(numbers) < 2.0**53).all() or (numbers % 1.0).any():
        refuse(path, "whole numbers", value)
    return numbers.astype(np.int64)
