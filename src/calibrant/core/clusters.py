"""Rows that belong to groups: what a score table forgets, and what statements about clustered rows need.

A group is a patient, a race, a customer: rows of one group may depend on each other, groups may not.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.pooling import score_order
from calibrant.core.seeding import hash_rows, scramble
from calibrant.core.table import FloatArray, NumberArray, ScoreTable, as_table, need_counts
from calibrant.core.validate import clean_rows, describe_missing_group
from calibrant.errors import ArgumentError, DataError

__all__ = ["GroupedRows", "Groups", "group_rows", "widest_spread"]

# One name per row: any values that can be told apart.
Groups = npt.ArrayLike | Iterable[Hashable]

# The search for the widest interval stops this close to the answer, and returns the safe side.
_CLOSE = 1.02


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows added up by score and group, in the order of the scores.

    Attributes
    ----------
    table : ScoreTable
        All rows, without their groups.
    score, n, k : ndarray, shape (e,)
        Score, rows and positives of each entry: the rows of one group at one score.
    group : ndarray of int64, shape (e,)
        Number of its group, from 0. Groups are numbered by what they contain, so that neither the order of the rows
        nor the names of the groups can show in a result.
    ends : ndarray of int64, shape (m,)
        The last entry at each score of the table.
    size : ndarray of float64, shape (g,)
        Rows of each group.
    """

    table: ScoreTable
    score: FloatArray
    n: NumberArray
    k: NumberArray
    group: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    size: FloatArray

    @property
    def step(self) -> FloatArray:
        """Sum of residuals `y - s` of each entry."""
        return np.asarray(self.k - self.n * self.score)

    @property
    def effective_groups(self) -> float:
        """Number of groups of equal size that would be worth as much: `(sum m)^2 / sum m^2` over their sizes m."""
        return float(self.size.sum() ** 2 / np.dot(self.size, self.size))

    @property
    def silent(self) -> npt.NDArray[np.bool_]:
        """Whether no row spoke against the score: entries below all positives or above all negatives."""
        table = self.table
        positive, negative = np.flatnonzero(table.k > 0), np.flatnonzero(table.k < table.n)
        below = table.score[positive[0]] if len(positive) else np.inf
        above = table.score[negative[-1]] if len(negative) else -np.inf
        return (self.score < below) | (self.score > above)

    @property
    def digest(self) -> int:
        """A number made of the rows and of which belong together, see `ScoreTable.digest`; names do not matter."""
        return int(scramble(_contents(self.score, self.n, self.k, self.group)).sum())

    def by_group(self, values: npt.NDArray[Any]) -> FloatArray:
        """Add up a value per entry within each group."""
        return _sums(self.group, values, len(self.size))


def group_rows(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None,
    groups: Groups,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> GroupedRows:
    """Pool rows by score and group.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `ScoreTable.from_scores`; weights must be whole numbers.
    groups : array-like or sequence of hashable, length n
        The group of each row.

    Returns
    -------
    GroupedRows
        Identical for every order of the rows and all names of the groups.

    Raises
    ------
    ArgumentError
        If a table is given instead of rows.
    DataError
        If the input cannot be used, or the group of a row is missing.
    """
    if isinstance(y_true, ScoreTable):
        raise ArgumentError(
            "labels and scores together with groups",
            "a ScoreTable",
            "a table does not know which row belongs to which group: pass the rows",
        )
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    need_counts(table, "groups are counted in rows")
    rows = clean_rows(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)  # type: ignore[arg-type]
    code = _codes(groups, len(rows.label))
    weight = np.ones(len(rows.label), dtype=np.int64) if rows.weight is None else rows.weight
    kept = np.flatnonzero(weight)
    score, label, weight = rows.score[kept].astype(np.float64) + 0.0, rows.label[kept], weight[kept]
    code = _by_content(score, label, weight, code[kept])
    order = score_order(score, code)
    score, code, weight, label = score[order], code[order], weight[order], label[order]
    starts = np.flatnonzero(np.append(True, (score[1:] != score[:-1]) | (code[1:] != code[:-1])))
    n, k = np.add.reduceat(weight, starts), np.add.reduceat(weight * label, starts)
    score, code = score[starts], code[starts]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    return GroupedRows(table, score, n, k, code, ends, _sums(code, n, int(code.max()) + 1))


def widest_spread(rows: GroupedRows) -> float:
    r"""Bound the spread of the average residual over the interval where it is largest, if groups are independent.

    Returns
    -------
    float
        An upper bound, at most 2 percent too high, of the largest value over all intervals of

        .. math:: \frac{1}{N} \max\Bigl(\sqrt{\textstyle\sum_g W_g^2},
                  \sqrt{\textstyle\sum_g (W_g - m_g C)^2}\Bigr)

        with N rows, :math:`W_g` the sum of residuals of group g in the interval, :math:`m_g` its rows, and C the sum of
        all residuals there divided by N.

    Notes
    -----
    Both terms are distances between two points of the walk whose coordinates are the groups, so the triangle
    inequality bounds all intervals that start near one whose distances are known; starts are split where the bound
    is largest. Each start that is looked at costs one pass over the rows.
    """
    step, ends, size = rows.step, rows.ends, rows.size
    total = float(size.sum())
    squares = _at_ends(2.0 * _before(rows) * step + step**2, ends)
    mean = _at_ends(step, ends) / total
    with_size = _at_ends(size[rows.group] * step, ends)
    squared_sizes = float(np.dot(size, size))
    stops = np.append(0, ends + 1)

    def distances(start: int) -> FloatArray:
        part = slice(0, stops[start])
        reached = _sums(rows.group[part], step[part], len(size))
        shared = _at_ends(reached[rows.group] * step, ends)
        plain = squares[start] + squares - 2.0 * shared
        change = mean - mean[start]
        centring = change**2 * squared_sizes - 2.0 * change * (with_size - with_size[start])
        return np.asarray(np.sqrt(np.maximum(0.0, plain + np.maximum(0.0, centring))))

    widest = 0.0
    bounds: list[tuple[float, int, int]] = []
    low, high, bound = 0, len(stops), math.inf
    while bound > _CLOSE * widest:
        middle = (low + high) // 2
        for first, last in ((low, middle), (middle, high)):
            if last > first:
                found = distances((first + last) // 2)
                widest = max(widest, float(found.max()))
                heapq.heappush(bounds, (-float(found.max() + found[first:last].max()), first, last))
        bound, low, high = heapq.heappop(bounds)
        bound = -bound
    return max(widest, bound) / total


def _sums(group: npt.NDArray[np.int64], values: npt.NDArray[Any], groups: int) -> FloatArray:
    return np.bincount(group, values, groups).astype(np.float64)


def _at_ends(values: FloatArray, ends: npt.NDArray[np.int64]) -> FloatArray:
    """Add up entries from the lowest score on, read before the first and where each score ends."""
    return np.append(0.0, np.cumsum(values)[ends])


def _before(rows: GroupedRows) -> FloatArray:
    """Sum of the residuals of the group of each entry at lower scores."""
    order = score_order(rows.group)
    step = rows.step[order]
    upto = np.cumsum(step) - step
    group = rows.group[order]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    before = np.empty(len(step))
    before[order] = upto - upto[first][group]
    return before


def _codes(groups: Groups, n_rows: int) -> npt.NDArray[np.int64]:
    """Number the groups in the order in which they appear."""
    if isinstance(groups, np.ma.MaskedArray) and np.ma.is_masked(groups):
        where = int(np.argmax(np.ma.getmaskarray(groups)))
        raise describe_missing_group("a masked value", f"row {where}", int(np.ma.getmaskarray(groups).sum()))
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise DataError("one group per row", repr(groups), "pass a column of the same table")
    # Tuples are good names, which an array would take apart.
    values = list(groups) if isinstance(groups, (list, tuple)) else _flat(np.asarray(groups)).tolist()
    if len(values) != n_rows:
        raise DataError(
            "as many groups as scores", f"{len(values)} groups and {n_rows} scores", "pass columns of the same table"
        )
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    except TypeError:
        raise DataError(
            "groups that can be told apart, such as numbers or text", "values that cannot be hashed", "name the groups"
        ) from None
    missing = [number for value, number in numbers.items() if _is_missing(value)]
    bad = np.isin(codes, missing)
    if bad.any():
        where = int(np.argmax(bad))
        raise describe_missing_group(repr(values[where]), f"row {where}", int(bad.sum()))
    return codes


def _flat(groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if groups.ndim == 2 and groups.shape[1] == 1:
        groups = groups[:, 0]
    if groups.ndim != 1:
        raise DataError(
            "groups in one column",
            f"an array of shape {groups.shape}",
            "join the columns that name a group, for example into one text per row",
        )
    return groups


def _is_missing(value: Hashable) -> bool:
    """Whether a value says that it is not known: None, or one that is not equal to itself."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True  # pandas.NA refuses to be judged


def _by_content(
    score: FloatArray, label: npt.NDArray[np.int8], weight: NumberArray, code: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Number the groups that have rows by a hash of their rows, which adds up to the same in any order."""
    content = _contents(score, weight, weight * label, code)
    present = np.flatnonzero(np.bincount(code))
    number = np.empty(len(content), dtype=np.int64)
    number[present[score_order(content[present])]] = np.arange(len(present))
    return number[code]


def _contents(
    score: FloatArray, n: NumberArray, k: NumberArray, group: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """Hash the rows of each group."""
    content = np.zeros(int(group.max()) + 1, dtype=np.uint64)
    np.add.at(content, group, hash_rows(score, n, k))
    return content
