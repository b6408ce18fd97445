"""Rows that are read into a table without a look at them before, as long as all are fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.cells import gathering
from calibrant.cells.frame_rows import CheckedRows
from calibrant.cells.slices import SliceRows, Slices
from calibrant.sources.arrow_batches import UnfitRowsError
from calibrant.sources.protocol import Columns
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.row_errors import describe_other_rows
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows

LOOK = 1 << 17  # rows that are many, of which so many are looked at to tell whether most scores are different
_LARGEST_LOOK = 1 << 20


class TableOfOneScan(NamedTuple):
    """Rows that were read at once."""

    table: ScoreTable
    different: int  # about how many scores are


def read_if_fit(slices: Slices, rows: int, columns: Columns) -> TableOfOneScan | None:
    """Read so many rows, whose labels are 2 where they are neither 0 nor 1, in one scan that checks and adds them up.

    None if not all of them can be used as they are, or if few scores are different: then they are to be checked first.
    """
    read = SliceRows(lambda: map(_fit, slices.all()), lambda buckets: _fit(slices.inside(buckets)))
    try:
        first = read.read_all(gathering.bits_for_rows(rows))
        if first.different < gathering.MOST_DISTINCT or not first.whole:
            return None
        weights, different = first.weights, first.different
        table = gathering.table_of_slices(read, first)
        return TableOfOneScan(table if columns.weight is None else table.weighing(weights), different)
    except UnfitRowsError:
        return None


def table_of_checked(rows: CheckedRows) -> ScoreTable:
    """Read rows that were all fit when they were checked."""
    try:
        return gathering.table_of_rows(rows)
    except UnfitRowsError:
        raise describe_other_rows("an empty value where the first reading had none") from None


def may_be_fit(columns: Columns) -> bool:
    """Whether rows can be used as they are, if their columns hold numbers, as nothing more is asked of them."""
    return columns.pos_label is None and not (columns.drops or columns.clusters or columns.models)


def rows_to_look_at(rows: int) -> int:
    """Return how many of the rows are looked at to tell whether most scores are different, see `most_differ`."""
    return max(LOOK, min(_LARGEST_LOOK, rows // 32))


def most_differ(rows: int, looked: int, once: int) -> bool:
    """Whether more scores than have a row of a table each are different, as far as a look at the first rows tells.

    How often a score that was not met before comes next is judged from those that were met `once`.
    """
    return rows * once > gathering.MOST_DISTINCT * looked


def _fit(rows: CleanRows) -> CleanRows:
    """Return rows with whole weights as integers; an `UnfitRowsError` says that not all can be used."""
    label, score, weight = rows.label, rows.score, rows.weight
    # A NaN makes comparisons false. Where rows are asked for some are there, unless they changed.
    fit = len(score) > 0 and score.min() >= 0.0 and score.max() <= 1.0 and label.max() <= 1
    if weight is not None and fit:
        whole = weight.astype(np.int64) if weight.min() >= 0.0 and weight.max() < MOST_ROWS else -1.0 - weight
        fit, weight = bool((whole == weight).all()), whole
    if not fit:
        raise UnfitRowsError
    return CleanRows(label, score, weight)
