"""Families of segments: every column, and every pair of columns, divides the rows into cells that do not overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.segments.columns import SegmentColumn
from calibrant.table.parameters import check_count

# Cells of all families together: what fits memory and can be told apart in a result.
_MOST_CELLS = 1 << 18


@dataclass(frozen=True)
class Family:
    """A partition of the rows by one column or several; cells are numbered with the last column running fastest."""

    columns: tuple[SegmentColumn, ...]

    def __len__(self) -> int:
        """Return the number of cells, with or without rows."""
        return math.prod(len(column) for column in self.columns)

    @property
    def name(self) -> str:
        """Names of the columns."""
        return " and ".join(column.name for column in self.columns)

    def codes(self, of_column: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Return the number of the cell of each row, from the number of its segment in each of the columns."""
        code = of_column[0]
        for column, further in zip(self.columns[1:], of_column[1:], strict=True):
            code = code * len(column) + further
        return code

    def labels(self, cells: npt.NDArray[np.int64]) -> list[str]:
        """Name some cells, such as ``sex = F, branch = north``."""
        names = [column.name for column in self.columns]
        return [", ".join(map("{} = {}".format, names, levels)) for levels in self.levels(cells)]

    def levels(self, cells: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
        """Return the names of the levels of some cells, one for each column."""
        places = np.unravel_index(cells, [len(column) for column in self.columns])
        columns = [[column.labels[i] for i in place] for column, place in zip(self.columns, places, strict=True)]
        return list(zip(*columns, strict=True))

    @property
    def identical(self) -> npt.NDArray[np.bool_]:
        """Whether the rows of each cell are identically distributed, given who is in which cell.

        They are not where rare levels were pooled, or a number was cut at quantiles of these rows.
        """
        found = np.ones(1, dtype=bool)
        for column in self.columns:
            of = np.full(len(column), not (column.cuts and column.from_rows))
            if column.pooled:
                of[len(column.levels)] = False
            found = np.logical_and.outer(found, of).ravel()
        return found


def families_of(columns: Sequence[SegmentColumn], depth: int) -> tuple[Family, ...]:
    """Return the families of single columns, then, with depth 2, those of all pairs."""
    found = tuple(Family(chosen) for size in range(1, depth + 1) for chosen in itertools.combinations(columns, size))
    cells = sum(len(family) for family in found)
    if cells > _MOST_CELLS:
        remedy = "name fewer columns in `by`, or raise `min_rows`, which pools more levels"
        raise ArgumentError(f"at most {_MOST_CELLS:,} segments to list", f"{cells:,}", remedy)
    return found


def check_depth(depth: int, columns: int) -> int:
    """Return the depth if it is 1 or 2, and as many columns are named at least."""
    if check_count("depth", depth, 1, "1 for single columns, 2 for pairs too") > 2:
        raise ArgumentError("`depth` of 1 or 2", repr(depth), "join columns into one to look deeper")
    if depth > columns:
        raise ArgumentError("two columns in `by` for `depth=2`", f"{columns}", "name another one, or leave out `depth`")
    return depth
