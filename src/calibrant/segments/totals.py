"""Totals of the segments of rows in memory, which are sorted once and added up exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.columns import SegmentColumn
from calibrant.segments.families import Family, families_of
from calibrant.segments.sums import CellTotals, SortedRows
from calibrant.segments.values import column_values
from calibrant.table.pooling import score_order


@dataclass(frozen=True)
class Request:
    """Which segments are asked for."""

    depth: int
    min_rows: int
    cuts: Mapping[str, Sequence[float]]

    def check_names(self, names: Sequence[str]) -> None:
        """Raise an `ArgumentError` if cuts are given of a column that is not among those named."""
        unknown = [name for name in self.cuts if name not in names]
        if unknown:
            expected = f"`cuts` of columns named in `by`: {', '.join(map(repr, names))}"
            raise ArgumentError(expected, f"cuts of {unknown[0]!r}", "check the spelling")


@dataclass(frozen=True, eq=False)
class SegmentTotals:
    """Totals of all families of segments."""

    n: int
    k: int
    families: tuple[Family, ...]
    totals: tuple[CellTotals, ...]  # of the cells of each family
    exact: bool  # whether errors are known exactly, not only within limits


def segments_of_arrays(
    label: npt.NDArray[Any], score: npt.NDArray[Any], by: Mapping[str, Any], request: Request
) -> SegmentTotals:
    """Add up checked rows in arrays; `by` has a column of as many values for each name."""
    n, columns, codes = len(label), [], {}
    request.check_names(list(by))
    for name, values in by.items():
        array = column_values(values, name)
        if len(array) != n:
            found = f"{len(array)} values in column {name} and {n} scores"
            raise DataError("as many values as scores", found, "pass columns of the same table")
        columns.append(SegmentColumn.fit(array, name, min_rows=request.min_rows, cuts=request.cuts.get(name)))
        codes[name] = columns[-1].codes(array)
    score = score.astype(np.float64) + 0.0
    order = score_order(score, label)
    in_order = SortedRows(score[order], label[order].astype(bool))
    codes = {name: code[order] for name, code in codes.items()}
    families = families_of(columns, request.depth)
    cells = (family.codes([codes[column.name] for column in family.columns]) for family in families)
    totals = tuple(in_order.totals(code, len(family)) for code, family in zip(cells, families, strict=True))
    return SegmentTotals(n, int(label.sum()), families, totals, exact=True)
