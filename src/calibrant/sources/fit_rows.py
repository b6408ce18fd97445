"""Rows that are read into a table without a look at them before, as long as all are fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.cells import gathering
from calibrant.cells.frame_rows import Fetch, LazyRows, Seen
from calibrant.cells.slices import SliceRows, Slices
from calibrant.sources.arrow_batches import UnfitRowsError
from calibrant.sources.columns import LazyColumns, count_of
from calibrant.sources.schema import Schema
from calibrant.table.row_errors import describe_other_rows
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import MOST_ROWS
from calibrant.table.validation import CleanRows

LOOK = 1 << 17  # rows that are many, of which so many are looked at to tell whether most scores are different
_LARGEST_LOOK = 1 << 20


def unchecked_rows(columns: LazyColumns) -> LazyRows:
    """Return scores, labels, 2 where they are neither 0 nor 1, and weights that are still to be checked."""
    schema, label = columns.schema, columns.number(columns.schema.outcome)
    y = nw.when(label == 1.0).then(1).otherwise(nw.when(label == 0.0).then(0).otherwise(2))
    selected = {"s": columns.number(schema.prediction), "y": y}
    if schema.weighting is not None:
        selected["w"] = columns.number(schema.weighting)
    weights = "none" if schema.weighting is None else "other"
    return LazyRows(columns.frame.select(**selected), weights, columns.fetch)


def read_if_fit(
    rows: LazyRows, slices: Slices, schema: Schema, expect: Callable[[int], None]
) -> tuple[ScoreTable, Seen] | None:
    """Read unchecked rows in one scan that checks and adds them up, having said how many these are.

    None if not all of them can be used as they are, or if few scores are different: then they are to be checked first.
    """
    number = _rows_for_one_scan(rows.frame, rows.fetch)
    if number is None:
        return None
    expect(number)
    read = SliceRows(lambda: map(_fit, slices.all()), lambda buckets: _fit(slices.inside(buckets)))
    try:
        first = read.read_all(gathering.bits_for_rows(number))
        if first.different < gathering.MOST_DISTINCT or not first.whole:
            return None
        weights, different = first.weights, first.different
        table = gathering.table_of_slices(read, first)
        seen = Seen(number, "none" if schema.weighting is None else "whole", different)
        return table if schema.weight is None else table.weighing(weights), seen
    except UnfitRowsError:
        return None


def checked_rows(columns: LazyColumns, seen: Seen) -> LazyRows:
    """Return the rows that have weight, all of which can be used."""
    named = ["s", "y", *(f"by{i}" for i in range(len(columns.schema.by)))]
    if seen.weights == "none":
        return LazyRows(columns.rows.select(*named), "none", columns.fetch)
    kind = nw.Int64 if seen.weights == "whole" else nw.Float64
    rows = columns.rows.filter(nw.col("w") > 0.0).select(*named, nw.col("w").cast(kind))
    return LazyRows(rows, seen.weights, columns.fetch)


def table_of_checked(rows: LazyRows, seen: Seen, slices: Slices | None) -> ScoreTable:
    """Read rows that were all fit when they were checked."""
    try:
        return gathering.table_of_rows(rows, seen, slices)
    except UnfitRowsError:
        raise describe_other_rows("an empty value where the first reading had none") from None


def may_be_fit(columns: LazyColumns, *, text: bool = False) -> bool:
    """Whether rows may be used as they are: if columns hold numbers, perhaps as text, and no more is asked of them."""
    schema = columns.schema
    plain = not (schema.drops or schema.cluster or schema.predictions or schema.chance)
    kinds = {columns.kind(name) for name in schema.of_rows.values()}
    return schema.pos_label is None and plain and (text or kinds <= {"number", "boolean"})


def _rows_for_one_scan(unchecked: nw.LazyFrame[Any], ask: Fetch) -> int | None:
    """Count rows with scores s if these can be checked while they are added up: if most of them are different."""
    rows = int(ask(unchecked.select(rows=nw.len()))["rows"][0])
    if not _most_differ(rows, 1, 1):
        return None
    looked = unchecked.select("s").head(max(LOOK, min(_LARGEST_LOOK, rows // 32)))
    counts = looked.group_by("s").agg(times=nw.len())
    asked = ask(counts.select(looked=nw.col("times").sum(), once=count_of(nw.col("times") == 1)))
    return rows if _most_differ(rows, int(asked["looked"][0]), int(asked["once"][0])) else None


def _most_differ(rows: int, looked: int, once: int) -> bool:
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
