"""A fitted calibrator as an SQL query over many rows, in which a piece of the map is found in a list.

DuckDB works through the tree of CASE that `to_sql` writes once for every 2048 rows, at about a
microsecond per piece. Here each step of a search halves the pieces that may be that of a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from calibrant.export.formula import Lines
from calibrant.export.layouts import Exported, formula_of
from calibrant.export.sql import DIALECTS, SqlWriter
from calibrant.sources.formats import quote_name

Keep = Callable[[str], str]

_FEW = 24  # pieces among which a tree chooses as fast


def predictions(
    calibrator: Exported,
    rows: str,
    score: str,
    number: str,
    column: str,
    *,
    unused: str,
    keep: Keep | None,
    operands: Mapping[str, str] | None = None,
) -> str:
    """Return a SELECT of the columns of `rows` and one more, what `predict` gives for the expression `score`.

    `number` is the score as a DOUBLE. Where the score is NULL, so is the result; where it is not and the number is no
    probability, the query fails. `unused` begins no name of a column. `keep` is given lists written in SQL, and returns
    what stands for them there; with None they are part of the query, which DuckDB builds anew for every 2048 rows.
    `operands` are columns of segments, by their names.
    """
    writer = _LookupWriter(unused, keep, operands)
    result = writer.column(writer.formula(formula_of(calibrator)))
    query = f"SELECT *, {number} AS {writer.score} FROM ({rows})"
    for layer in writer.layers:
        query = f"{layer} FROM ({query})"
    checked = f"WHEN {writer.score} BETWEEN 0 AND 1 THEN {result} WHEN {score} IS NOT NULL THEN error('score')"
    added = ", ".join(writer.added)
    return f"SELECT * EXCLUDE ({added}), CASE {checked} END AS {quote_name(column)} FROM ({query})"


class _LookupWriter(SqlWriter):
    """Writes formulas over rows to which `layers`, the first first, have added columns."""

    def __init__(self, unused: str, keep: Keep | None, operands: Mapping[str, str] | None) -> None:
        self._unused = unused
        self._keep = keep
        self._columns: dict[str, str] = {}  # what each is -> its name
        self.layers: list[str] = []
        self.added: list[str] = []
        super().__init__(DIALECTS["duckdb"], self._name(), operands)

    def _name(self) -> str:
        self.added.append(quote_name(f"{self._unused}{len(self.added)}"))
        return self.added[-1]

    def column(self, value: str) -> str:
        """Add a column, unless there is the same already, and return its name."""
        if value not in self._columns:
            self._columns[value] = self._name()
            self.layers.append(f"SELECT *, {value} AS {self._columns[value]}")
        return self._columns[value]

    def named(self, name: str, value: str) -> str:
        return self.column(value)

    # CASE with constants takes a third of the time of LEAST and GREATEST.
    def least(self, text: str, limit: float) -> str:
        value, most = self.column(text), self.literal(limit)
        return f"CASE WHEN {value} > {most} THEN {most} ELSE {value} END"

    def greatest(self, text: str, limit: float) -> str:
        value, least = self.column(text), self.literal(limit)
        return f"CASE WHEN {value} < {least} THEN {least} ELSE {value} END"

    def _list(self, values: npt.NDArray[np.generic] | str, type_: str = "DOUBLE") -> str:
        written = f"CAST('{values if isinstance(values, str) else values.tolist()}' AS {type_}[])"
        return self.column(self._keep(written) if self._keep else written)

    def lines(self, lines: Lines) -> str:
        if len(lines.value) <= _FEW:
            return super().lines(lines)
        digits = len(lines.start).bit_length()
        never = np.full(2**digits - 1 - len(lines.start), 2.0)  # which no score is at or above
        start, piece = self._list(np.append(lines.start, never)), "0"
        for step in reversed([1 << digit for digit in range(digits)]):
            passed = f"{self.score} >= list_extract({start}, {piece} + {step})"
            piece = self.column(f"CASE WHEN {passed} THEN {piece} + {step} ELSE {piece} END")
        piece = self.column(f"{piece} + 1")  # DuckDB counts from 1
        if not lines.slope.any():
            return f"list_extract({self._list(lines.value)}, {piece})"
        # To look up one structure takes two thirds of the time of three numbers.
        numbers = zip(np.append(0.0, lines.start).tolist(), lines.value.tolist(), lines.slope.tolist(), strict=True)
        written = ", ".join(f"{{a: {begin!r}, b: {value!r}, c: {slope!r}}}" for begin, value, slope in numbers)
        pieces = self._list(f"[{written}]", "STRUCT(a DOUBLE, b DOUBLE, c DOUBLE)")
        found = self.column(f"list_extract({pieces}, {piece})")
        begin, value, slope = (f"struct_extract({found}, '{name}')" for name in "abc")
        return f"{slope} * ({self.score} - {begin}) + {value}"
