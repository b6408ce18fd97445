"""A fitted repair of segments in SQL: what is added to the log-odds of a calibrated probability."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from calibrant.calibrators import SegmentCalibrator
from calibrant.calibrators.segment.offsets import CUT, OffsetTable
from calibrant.calibrators.segment.trees import Node, Split
from calibrant.errors import ArgumentError
from calibrant.export.formula import LEAST, MOST, Lines
from calibrant.export.layouts import formula_of
from calibrant.export.sql_writer import SqlWriter
from calibrant.segments.columns import SegmentColumn
from calibrant.table.score_table import FloatArray

__all__ = ["repaired"]

_EXACT = 2**53  # whole numbers up to which a DOUBLE tells apart


def repaired(
    calibrator: SegmentCalibrator, everyone: str, writer: SqlWriter, operand: Callable[[SegmentColumn], str]
) -> str:
    """Return the expression of repaired probabilities.

    `everyone` is that of the map for all rows, which is written up to four times. `operand` gives the SQL of a column
    of segments. SQLite limits the nesting of expressions, so there are no brackets without need.
    """
    repair, offsets = calibrator.repair_, calibrator.repair_.offsets
    if not offsets.tables and not repair.trees:
        return everyone
    conditions = [_Segments(column, operand(column), writer) for column in calibrator.columns_]
    if isinstance(formula_of(calibrator.calibrator_), Lines):  # others stay within these limits
        everyone = writer.least(writer.greatest(everyone, LEAST), MOST)
    log_odds = f"LN({everyone}) - LN({writer.literal(1.0)} - ({everyone}))"
    terms, slopes = [log_odds], []
    for table in offsets.tables:
        if table.intercept.any():
            terms.append(_listed(table, table.intercept, conditions, writer))
        if table.slope.any():
            slopes.append(_listed(table, table.slope, conditions, writer))
    if slopes:
        t = f"({log_odds} - {writer.literal(offsets.centre)}) / {writer.literal(offsets.scale)}"
        terms.append(f"({' + '.join(slopes)}) * {writer.least(writer.greatest(t, -CUT), CUT)}")
    if repair.trees:
        trees = " + ".join(_tree(tree, conditions, writer) for tree in repair.trees)
        known = " AND ".join(segments.known for segments in conditions)
        terms.append(f"CASE WHEN {known} THEN {trees} ELSE {writer.literal(0.0)} END")
    return writer.curve(" + ".join(terms))


class _Segments:
    """Conditions on a column that put a row into its segments; NULL counts as false in all of them."""

    def __init__(self, column: SegmentColumn, operand: str, writer: SqlWriter) -> None:
        self._column, self._writer = column, writer
        self._text = bool(column.levels) and isinstance(column.levels[0], str)
        self._boolean = bool(column.levels) and isinstance(column.levels[0], bool)
        number = not self._text and not self._boolean
        values = (value for value in (*column.levels, *column.cuts) if not isinstance(value, str))
        if number and any(abs(value) > _EXACT for value in values):
            wanted = f"numbers up to {_EXACT} in column {column.name}"
            raise ArgumentError(wanted, "longer ones, which SQL would round", "make the column text, and fit again")
        self._value = f"CAST({operand} AS {writer.dialect.double})" if number else operand
        nan = writer.dialect.nan if number else ""
        self._missing = f"({operand} IS NULL{' OR ' + nan.format(operand=self._value) if nan else ''})"

    @property
    def known(self) -> str:
        """Whether a row is in any segment."""
        return self.any_of(range(len(self._column)))

    def any_of(self, segments: Sequence[int]) -> str:
        """Whether a row is in one of some segments."""
        column = self._column
        last = len(column) - column.missing
        missing = [self._missing] if column.missing and last in segments else []
        there = [segment for segment in segments if segment < last]
        parts = (self._between(there) if column.cuts else self._among(there)) + missing
        return f"({' OR '.join(parts)})" if parts else "(1 = 0)"

    def _among(self, segments: Sequence[int]) -> list[str]:
        levels = self._column.levels
        named = [self._level(levels[segment]) for segment in segments if segment < len(levels)]
        parts = [f"{self._value} IN ({', '.join(named)})"] if named else []
        if any(segment >= len(levels) for segment in segments):  # the pool
            kept = ", ".join(map(self._level, levels))
            parts.append(f"(NOT {self._missing}" + (f" AND {self._value} NOT IN ({kept}))" if kept else ")"))
        return parts

    def _between(self, segments: Sequence[int]) -> list[str]:
        cuts = [None, *self._column.cuts, None]
        parts = []
        # Runs of neighbouring intervals are one.
        for _, run in itertools.groupby(enumerate(sorted(segments)), lambda numbered: numbered[1] - numbered[0]):
            each = [segment for _, segment in run]
            low, high = cuts[each[0]], cuts[each[-1] + 1]
            sides = [f"{self._value} > {self._writer.literal(float(low))}"] if low is not None else []
            sides += [f"{self._value} <= {self._writer.literal(float(high))}"] if high is not None else []
            sides += [f"NOT {self._missing}"] if high is None else []  # NaN is larger than all numbers in most engines
            parts.append(f"({' AND '.join(sides)})")
        return parts

    def _level(self, level: str | bool | float) -> str:
        if isinstance(level, bool):
            return "TRUE" if level else "FALSE"
        return self._writer.dialect.text(level) if isinstance(level, str) else self._writer.literal(float(level))


def _listed(table: OffsetTable, values: FloatArray, conditions: Sequence[_Segments], writer: SqlWriter) -> str:
    """Write what a table adds; 0 for rows in none of its segments."""
    zero = writer.literal(0.0)
    cells = list(zip(table.codes.tolist(), values.tolist(), strict=True))
    if len(table.columns) == 1:
        alone = conditions[table.columns[0]]
        return _cases([(alone.any_of(code), writer.literal(value)) for code, value in cells], zero)
    first, second = (conditions[column] for column in table.columns)
    outer = []
    for segment, group in itertools.groupby(cells, lambda cell: cell[0][0]):
        inner = [(second.any_of(code[1:]), writer.literal(value)) for code, value in group]
        outer.append((first.any_of([segment]), _cases(inner, zero)))
    return _cases(outer, zero)


def _cases(cases: Sequence[tuple[str, str]], other: str) -> str:
    return f"CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in cases)} ELSE {other} END"


def _tree(node: Node, conditions: Sequence[_Segments], writer: SqlWriter) -> str:
    if not isinstance(node, Split):
        return writer.literal(node)
    if node.column < 0:
        condition = f"{writer.score} <= {writer.literal(node.at)}"
    else:
        condition = conditions[node.column].any_of(node.segments)
    return _cases([(condition, _tree(node.first, conditions, writer))], _tree(node.second, conditions, writer))
