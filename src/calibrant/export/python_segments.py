"""The source of a Python function for a fitted repair of segments."""

from __future__ import annotations

import pprint
from typing import Any

from calibrant.calibrators import SegmentCalibrator
from calibrant.calibrators.segment.offsets import CUT
from calibrant.calibrators.segment.trees import Node, Split
from calibrant.export.formula import LEAST, MOST
from calibrant.version import __version__

__all__ = ["with_segments"]

_BODY = '''

# Name, number of each level, cuts, number of rare and new levels and of missing values; -1 is no segment.
_COLUMNS = {columns}
# Columns, and intercept and slope of each combination of segments.
_OFFSETS = {tables}
# Column (-1: the score), largest score or segments of the first way, both ways; or what is added.
_TREES = {trees}


def _segment(column, value):
    name, levels, cuts, other, missing = column
    if value is None or value != value:
        return missing
    return bisect.bisect_left(cuts, value) if cuts else levels.get(value, other)


def _added(node, score, codes):
    while isinstance(node, tuple):
        column, way, first, second = node
        node = first if (score <= way if column < 0 else codes[column] in way) else second
    return node


def {name}(score, segments):
    """Return the calibrated probability of a score in [0, 1]; segments are values by name. None stays None."""
    p = _everyone(score)
    if p is None:
        return None
    codes = tuple(_segment(column, segments[column[0]]) for column in _COLUMNS)
    if not (_OFFSETS or _TREES):
        return p
    p = min(max(p, {least!r}), {most!r})
    log_odds = math.log(p) - math.log1p(-p)
    t = min(max((log_odds - {centre!r}) / {scale!r}, -{cut!r}), {cut!r})
    for columns, added in _OFFSETS:
        intercept, slope = added.get(tuple(codes[column] for column in columns), (0.0, 0.0))
        log_odds += intercept + slope * t
    if -1 not in codes:
        log_odds += sum(_added(tree, float(score), codes) for tree in _TREES)
    small = math.exp(-abs(log_odds))
    return min(max((1.0 if log_odds >= 0.0 else small) / (1.0 + small), {least!r}), {most!r})
'''


def with_segments(calibrator: SegmentCalibrator, source: str, name: str) -> str:
    """Return a module with the function `name`, from one with ``_everyone`` of the map for all rows."""
    offsets = calibrator.repair_.offsets
    columns = []
    for column in calibrator.columns_:
        last = len(column) - column.missing
        other = len(column.levels) if column.pooled else -1
        levels = {level: number for number, level in enumerate(column.levels)}
        columns.append((column.name, levels, column.cuts, other, last if column.missing else -1))
    tables = []
    for table in offsets.tables:
        added = zip(table.intercept.tolist(), table.slope.tolist(), strict=True)
        tables.append((table.columns, dict(zip(map(tuple, table.codes.tolist()), added, strict=True))))
    body = _BODY.format(
        columns=_shown(columns),
        tables=_shown(tables),
        trees=_shown([_plain(tree) for tree in calibrator.repair_.trees]),
        name=name,
        centre=offsets.centre,
        scale=offsets.scale,
        cut=CUT,
        least=LEAST,
        most=MOST,
    )
    _, _, rest = source.partition("\n")
    heading = f'"""Calibrated probabilities: SegmentCalibrator, exported by calibrant {__version__}."""'
    return f"{heading}\n{rest.rstrip()}\n{body}"


def _plain(node: Node) -> Any:
    if not isinstance(node, Split):
        return node
    way = node.at if node.column < 0 else frozenset(node.segments)
    return node.column, way, _plain(node.first), _plain(node.second)


def _shown(value: Any) -> str:
    return pprint.pformat(value, width=120, compact=True, sort_dicts=False)
