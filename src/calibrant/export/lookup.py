"""A fitted calibrator as an SQL query over many rows, in which a piece of the map is found in a list.

DuckDB works through the tree of CASE that `to_sql` writes once for every 2048 rows, at about a
microsecond per piece. Here a bucket of the score leads to its piece at once, or to the few that begin in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from calibrant.export.formula import Lines
from calibrant.export.layouts import formula_of
from calibrant.export.sql import DIALECTS, SqlWriter
from calibrant.export.writer import Writer
from calibrant.fits.score_map import FittedMap
from calibrant.sources.formats import quote_name
from calibrant.table.pooling import FloatArray

Keep = Callable[[str], str]

_FEW = 24  # pieces among which a tree chooses as fast
_BUCKETS = [1 << power for power in range(6, 17)]
_AFFORDABLE = 1 << 16  # buckets, whose list takes as long as one comparison of every score


def predictions(
    calibrator: FittedMap,
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

    `number` is the score as a DOUBLE. Where the score is NULL, so is the result; where it is not and the number is not
    in the domain of the map, the query fails. `unused` begins no name of a column. `keep` is given lists written in
    SQL, and returns what stands for them there; with None they are part of the query, which DuckDB builds anew for
    every 2048 rows. `operands` are columns of segments, by their names.
    """
    least, most = map(repr, calibrator.domain[:2])
    writer = _LookupWriter(unused, keep, operands, unit=calibrator.domain.most == 1.0)
    result = writer.column(writer.formula(formula_of(calibrator)))
    query = f"SELECT *, {number} AS {writer.score} FROM ({rows})"
    for layer in writer.layers:
        query = f"{layer} FROM ({query})"
    checked = (
        f"WHEN {writer.score} BETWEEN {least} AND {most} THEN {result} WHEN {score} IS NOT NULL THEN error('score')"
    )
    added = ", ".join(writer.added)
    return f"SELECT * EXCLUDE ({added}), CASE {checked} END AS {quote_name(column)} FROM ({query})"


class _LookupWriter(SqlWriter):
    """Writes formulas over rows to which `layers`, the first first, have added columns."""

    def __init__(self, unused: str, keep: Keep | None, operands: Mapping[str, str] | None, *, unit: bool) -> None:
        self._unused = unused
        self._keep = keep
        self._unit = unit  # whether scores are between 0 and 1, which buckets divide
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

    chained = Writer.chained

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
        if len(lines.value) <= _FEW or not self._unit:
            return super().lines(lines)
        buckets, first, most = _grid(lines.start, _AFFORDABLE if self._keep else _AFFORDABLE // 32)
        first_piece = self._list(first, "INTEGER")
        start = self._list(np.concatenate([[0.0], lines.start, np.full(most, 2.0)]))
        bucket = f"CAST(floor({self.score} * {self.literal(buckets)}) AS INTEGER)"
        piece = self.column(f"list_extract({first_piece}, {bucket} + 1)")

        def begun(further: int) -> str:
            return f"CAST({self.score} >= list_extract({start}, {further} - {piece}) AS INTEGER)"

        while most > _FEW:
            half = (most + 1) // 2
            piece = self.column(f"CASE WHEN {piece} < 0 THEN {piece} - {half} * {begun(half)} ELSE {piece} END")
            most //= 2
        later = " + ".join(["0", *map(begun, range(1, most + 1))])
        piece = self.column(f"CASE WHEN {piece} < 0 THEN {later} - {piece} ELSE {piece} END")
        if not lines.slope.any():
            return f"list_extract({self._list(lines.value)}, {piece})"
        # To look up one structure takes two thirds of the time of three numbers.
        numbers = zip(np.append(0.0, lines.start).tolist(), lines.value.tolist(), lines.slope.tolist(), strict=True)
        written = ", ".join(f"{{a: {begin!r}, b: {value!r}, c: {slope!r}}}" for begin, value, slope in numbers)
        pieces = self._list(f"[{written}]", "STRUCT(a DOUBLE, b DOUBLE, c DOUBLE)")
        entry = self.column(f"list_extract({pieces}, {piece})")
        begin, value, slope = (f"struct_extract({entry}, '{name}')" for name in "abc")
        return f"{slope} * ({self.score} - {begin}) + {value}"


def _grid(start: FloatArray, affordable: int) -> tuple[float, npt.NDArray[np.intp], int]:
    """Divide [0, 1] into buckets of equal width, a power of two, so that scores fall into them without rounding.

    Returns their number; the piece at the beginning of each, counted from 1, and negative where others begin within;
    and how many begin in one at most. A list of `affordable` buckets takes DuckDB as long as comparing all scores once.
    """
    grids = []
    for buckets in _BUCKETS:
        in_bucket, edge = np.floor(start * buckets), np.arange(buckets + 1)
        first, last = (np.searchsorted(in_bucket, edge, side=side) + 1 for side in ("left", "right"))
        most = int((last - first).max())
        cost = np.mean(first < last) * (8 + most) + buckets / affordable
        grids.append((cost, (float(buckets), np.where(first < last, -first, first), most)))
    return min(grids, key=lambda grid: grid[0])[1]
