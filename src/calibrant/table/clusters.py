"""Rows that belong to groups: what a score table forgets, and what statements about clustered rows need.

A group is a patient, a race, a customer: rows of one group may depend on each other, groups may not.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.parameters import check_count
from calibrant.table.pooling import number_values, score_order
from calibrant.table.score_table import FloatArray, NumberArray, ScoreTable, as_table, need_counts
from calibrant.table.seeding import hash_rows, scramble
from calibrant.table.validation import clean_rows, describe_missing_group

__all__ = ["GroupedRows", "Groups", "cap_groups", "group_rows"]

# One name per row: any values that can be told apart.
Groups = npt.ArrayLike | Iterable[Hashable]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows added up by score and group, in the order of the scores.

    Attributes
    ----------
    table : ScoreTable
        All rows, without their groups, as they count.
    score, n, k : ndarray, shape (e,)
        Score, rows and positives, as they count, of each entry: the rows of one group at one score.
    group : ndarray of int64, shape (e,)
        Number of its group, from 0. Groups are numbered by what they contain, so that neither the order of the rows
        nor the names of the groups can show in a result.
    ends : ndarray of int64, shape (m,)
        The last entry at each score of the table.
    size : ndarray of float64, shape (g,)
        Rows of each group, as they count.
    weight : ndarray of float64, shape (g,)
        What each row of a group counts, in (0, 1]; 1 unless groups are capped.
    cap : float
        Rows that a group counts at most; infinite if groups are not capped.
    """

    table: ScoreTable
    score: FloatArray
    n: NumberArray
    k: NumberArray
    group: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    size: FloatArray
    weight: FloatArray
    cap: float = math.inf

    @cached_property
    def step(self) -> FloatArray:
        """Sum of residuals `y - s` of each entry."""
        return np.asarray(self.k - self.n * self.score)

    @property
    def n_rows(self) -> float:
        """Number of rows, each counted once."""
        return float(np.round(self.size / self.weight).sum())

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

    @cached_property
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
    size = _sums(code, n, int(code.max()) + 1)
    return GroupedRows(table, score, n, k, code, ends, size, np.ones(len(size)))


def cap_groups(rows: GroupedRows, max_rows_per_group: int = 1) -> GroupedRows:
    """Let no group count more rows than a cap M: each row of a group of m rows counts ``min(1, M / m)``.

    Parameters
    ----------
    rows : GroupedRows
        Rows as they came.
    max_rows_per_group : int
        The cap, at least 1. With 1 every group counts the same.

    Returns
    -------
    GroupedRows
        All rows stay, none is drawn at random.

    Raises
    ------
    ArgumentError
        If the cap is not a whole number of at least 1.
    """
    cap = float(check_count("max_rows_per_group", max_rows_per_group, 1, "1 lets every group count the same"))
    if rows.size.max() <= cap:
        return replace(rows, cap=cap)
    weight = np.minimum(1.0, cap / rows.size)
    n, k = rows.n * weight[rows.group], rows.k * weight[rows.group]
    starts = np.append(0, rows.ends[:-1] + 1)
    table = ScoreTable(rows.table.score, np.add.reduceat(n, starts), np.add.reduceat(k, starts))
    return replace(rows, table=table, n=n, k=k, size=np.minimum(rows.size, cap), weight=weight, cap=cap)


def _sums(group: npt.NDArray[np.int64], values: npt.NDArray[Any], groups: int) -> FloatArray:
    return np.bincount(group, values, groups).astype(np.float64)


def _codes(groups: Groups, n_rows: int) -> npt.NDArray[np.int64]:
    """Number the groups in the order in which they appear."""
    if isinstance(groups, np.ma.MaskedArray) and np.ma.is_masked(groups):
        where = int(np.argmax(np.ma.getmaskarray(groups)))
        raise describe_missing_group("a masked value", f"row {where}", int(np.ma.getmaskarray(groups).sum()))
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise DataError("one group per row", repr(groups), "pass a column of the same table")
    # Tuples are good names, which an array would take apart.
    column = None if isinstance(groups, (list, tuple)) else _flat(np.asarray(groups))
    values = groups if column is None else column
    if len(values) != n_rows:  # type: ignore[arg-type]
        raise DataError(
            "as many groups as scores",
            f"{len(values)} groups and {n_rows} scores",  # type: ignore[arg-type]
            "pass columns of the same table",
        )
    if column is not None and column.dtype.kind in "iu":
        return number_values(column)
    values = list(values) if column is None else column.tolist()
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
