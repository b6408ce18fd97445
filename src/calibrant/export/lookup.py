"""A fitted calibrator as an SQL query over many rows, in which a piece of the map is found in a list.

DuckDB works through the tree of CASE that `calibrant.export.sql` writes once for every 2048 rows, at about a
microsecond per piece. Here a bucket of the score leads to its piece at once, or to the few that begin in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.base import Calibrator
from calibrant.export.formula import Lines
from calibrant.export.layouts import formula_of
from calibrant.export.sql import DIALECTS, SqlWriter
from calibrant.ingest.formats import quote_name
from calibrant.table.score_table import FloatArray

__all__ = ["predictions"]

_FEW = 16  # pieces among which a tree chooses as fast
_BUCKETS = [1 << power for power in range(6, 17)]


def predictions(
    calibrator: Calibrator,
    rows: str,
    score: str,
    number: str,
    column: str,
    *,
    unused: str,
    keep: Callable[[str], str],
) -> str:
    """Return a SELECT of the columns of `rows` and one more, what `predict` gives for the expression `score`.

    `number` is the score as a DOUBLE. Where the score is NULL, so is the result; where it is not and the number is no
    probability, the query fails. `unused` begins no name of a column. `keep` is given lists written in SQL, and returns
    what stands for them there.
    """
    writer = _LookupWriter(unused, keep)
    formula = writer.formula(formula_of(calibrator))
    query = f"SELECT *, {number} AS {writer.score} FROM ({rows})"
    for layer in writer.layers:
        query = f"{layer} FROM ({query})"
    checked = f"WHEN {writer.score} BETWEEN 0 AND 1 THEN {formula} WHEN {score} IS NOT NULL THEN error('score')"
    added = ", ".join(writer.added)
    return f"SELECT * EXCLUDE ({added}), CASE {checked} END AS {quote_name(column)} FROM ({query})"


class _LookupWriter(SqlWriter):
    """Writes formulas over rows to which `layers`, the first first, have added columns."""

    def __init__(self, unused: str, keep: Callable[[str], str]) -> None:
        self._unused = unused
        self._keep = keep
        self.layers: list[str] = []
        self.added: list[str] = []
        super().__init__(DIALECTS["duckdb"], self._name())

    def _name(self) -> str:
        self.added.append(quote_name(f"{self._unused}{len(self.added)}"))
        return self.added[-1]

    def _list(self, values: npt.NDArray[np.generic], type_: str = "DOUBLE") -> str:
        """Add a column that is the same list in every row."""
        name, written = self._name(), f"CAST('{values.tolist()}' AS {type_}[])"
        self.layers.append(f"SELECT *, {self._keep(written)} AS {name}")
        return name

    def lines(self, lines: Lines) -> str:
        if len(lines.value) <= _FEW:
            return super().lines(lines)
        buckets, first, most = _grid(lines.start)
        first_piece = self._list(first, "INTEGER")
        start = self._list(np.concatenate([[0.0], lines.start, np.full(most, 2.0)]))
        value = self._list(lines.value)
        slope = self._list(lines.slope) if lines.slope.any() else ""
        piece = self._name()
        bucket = f"CAST(floor({self.score} * {self.literal(buckets)}) AS INTEGER)"
        self.layers.append(f"SELECT *, list_extract({first_piece}, {bucket} + 1) AS {piece}")

        def begun(further: int) -> str:
            return f"CAST({self.score} >= list_extract({start}, {further} - {piece}) AS INTEGER)"

        while most:
            if most > _FEW:
                half = (most + 1) // 2
                later, most = f"{half} * {begun(half)}", most // 2
            else:
                later, most = " - ".join(map(begun, range(1, most + 1))), 0
            self.layers.append(
                f"SELECT * REPLACE (CASE WHEN {piece} < 0 THEN {piece} - {later} ELSE {piece} END AS {piece})"
            )
        self.layers.append(f"SELECT * REPLACE (abs({piece}) AS {piece})")
        level = f"list_extract({value}, {piece})"
        if not slope:
            return level
        return f"list_extract({slope}, {piece}) * ({self.score} - list_extract({start}, {piece})) + {level}"


def _grid(start: FloatArray) -> tuple[float, npt.NDArray[np.intp], int]:
    """Divide [0, 1] into buckets of equal width, a power of two, so that scores fall into them without rounding.

    Returns their number; the piece at the beginning of each, counted from 1, and negative where others begin within;
    and how many begin in one at most. DuckDB passes the list on with every 2048 rows, so that it must not be too long.
    """
    grids = []
    for buckets in _BUCKETS:
        place, edge = np.floor(start * buckets), np.arange(buckets + 1)
        first, last = (np.searchsorted(place, edge, side=side) + 1 for side in ("left", "right"))
        cost = np.mean(first < last) * (8 + (last - first).max()) + buckets / _BUCKETS[-1]
        grids.append((cost, (float(buckets), np.where(first < last, -first, first), int((last - first).max()))))
    return min(grids, key=lambda grid: grid[0])[1]
