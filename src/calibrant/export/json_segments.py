"""What is checked of segments in a model file: columns, offsets, trees and gains."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields

import numpy as np

from calibrant.calibrators.segment.calibrator import SegmentCalibrator
from calibrant.calibrators.segment.offsets import OffsetTable
from calibrant.calibrators.segment.trees import Node, Split, splits_of
from calibrant.segments.columns import SegmentColumn
from calibrant.typed_json import Checks, Within

__all__ = ["check_segments"]

_DEEPEST = 20


def check_segments(calibrator: SegmentCalibrator) -> Checks:
    """Yield what has to hold of the fields of a SegmentCalibrator, whose types are right."""
    for i, column in enumerate(calibrator.columns_):
        yield from _column(column, f"fitted.columns_[{i}].")
    sizes = [len(column) for column in calibrator.columns_]
    yield "fitted.columns_", "at least one column", len(sizes) > 0
    offsets, trees = calibrator.repair_.offsets, calibrator.repair_.trees
    at = "fitted.repair_.offsets"
    yield f"{at}.centre", "a finite number", math.isfinite(offsets.centre)
    yield f"{at}.scale", "a finite number above 0", 0.0 < offsets.scale < math.inf
    for i, table in enumerate(offsets.tables):
        yield from _table(table, sizes, f"{at}.tables[{i}].")
    for i, tree in enumerate(trees):
        at = f"fitted.repair_.trees[{i}]"
        yield at, f"a tree of at most {_DEEPEST} splits in depth", _depth(tree) <= _DEEPEST
        yield at, "finite numbers", all(map(math.isfinite, _numbers(tree)))
        columns = {split.column for split in splits_of(tree)}
        wanted = f"numbers of columns from -1 to {len(sizes) - 1}"
        yield f"{at}.column", wanted, all(-1 <= column < len(sizes) for column in columns)
        small = all(abs(segment) < 2**53 for split in splits_of(tree) for segment in split.segments)
        yield f"{at}.segments", "numbers of segments", small
    yield "fitted.shares_", "two shares", len(calibrator.shares_) == 2 and bool((calibrator.shares_ >= 0.0).all())
    decided = calibrator.decision_ in ("repaired", "one map")
    yield "fitted.decision_", "'repaired' or 'one map'", decided
    gains = calibrator.gains_
    for field in fields(gains):
        wanted = "as many entries as there are segments"
        yield f"fitted.gains_.{field.name}", wanted, len(getattr(gains, field.name)) == len(gains.column)


def _column(column: SegmentColumn, path: str) -> Checks:
    kinds: list[set[type]] = [{str}, {bool}, {int, float}]
    types, different = {type(level) for level in column.levels}, len(set(column.levels)) == len(column.levels)
    yield f"{path}levels", "different texts, booleans or numbers", different and any(types <= kind for kind in kinds)
    finite = types <= {str} or all(map(Within().holds, column.levels))
    yield f"{path}levels", "finite numbers", finite
    rising = all(before < after for before, after in itertools.pairwise(column.cuts))
    right = rising and all(map(Within().holds, column.cuts)) and not (column.cuts and column.levels)
    yield f"{path}cuts", "increasing finite numbers, and none beside levels", right
    yield f"{path}pooled", "a whole number from 0", column.pooled >= 0


def _table(table: OffsetTable, sizes: list[int], path: str) -> Checks:
    right = 1 <= len(table.columns) <= 2 and all(0 <= column < len(sizes) for column in table.columns)
    yield f"{path}columns", f"one number below {len(sizes)}, or two", right
    right = table.codes.shape == (len(table.intercept), len(table.columns)) and len(table.codes) > 0
    yield f"{path}codes", "numbers of segments, as many as there are columns and intercepts", right
    keys = [tuple(code) for code in table.codes.tolist()]
    yield f"{path}codes", "numbers of segments, each above the one before", keys == sorted(set(keys))
    inside = bool((table.codes >= 0).all() and (table.codes < [sizes[c] for c in table.columns]).all())
    yield f"{path}codes", "numbers of segments of these columns", inside
    yield f"{path}slope", f"{len(keys)} numbers, as many as intercepts", len(table.slope) == len(keys)
    for name in ("intercept", "slope", "variances"):
        yield f"{path}{name}", "finite numbers", bool(np.isfinite(getattr(table, name)).all())


def _depth(node: Node) -> int:
    return 1 + max(_depth(node.first), _depth(node.second)) if isinstance(node, Split) else 0


def _numbers(tree: Node) -> list[float]:
    """Return what a tree adds, and the scores at which it splits."""
    if not isinstance(tree, Split):
        return [tree]
    return [tree.at, *_numbers(tree.first), *_numbers(tree.second)]
