"""Totals of the segments of rows in an engine: DuckDB, PySpark, or Polars where it is lazy.

Few rows are taken out of it and added up exactly. Many are added up where they are, by cell and bucket of scores, in
one aggregation for each family, and only the sums leave the engine; the calibration error of a segment is then known
within limits, which are close together.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.cells.frame_rows import Arrays, Fetch
from calibrant.errors import DataError
from calibrant.segments import totals
from calibrant.segments.columns import SegmentColumn, clean_cuts, distinct_values, refuse_identifier, short_cuts
from calibrant.segments.totals import Family, Request, SegmentTotals, families_of
from calibrant.sources.rows import EngineColumn
from calibrant.table.parameters import SIDES
from calibrant.table.pooling import IntArray

# Rows of a file or an engine that are taken out of it and added up exactly.
_MOST_EXACT = 1 << 20
# Sums by cell and bucket that an engine hands over for one family, and the finest buckets of scores.
_MOST_SUMS, _MOST_BITS, _LEAST_BITS = 1 << 20, 16, 6
# Different values of a column that are looked at one by one; a column of numbers with more is cut by the engine.
_MOST_VALUES = 1 << 14
_QUANTILES = (0.2, 0.4, 0.6, 0.8)


def segments_of_engine(
    frame: nw.LazyFrame[Any], fetch: Fetch, columns: Sequence[EngineColumn], request: Request
) -> SegmentTotals:
    """Add up rows in an engine: columns s, y, by0, by1 and so on."""
    seen = fetch(frame.select(n=nw.len(), k=nw.col("y").sum()))
    n, k = int(seen["n"][0]), int(seen["k"][0])
    if n <= _MOST_EXACT:
        arrays = collect_columns(frame)
        named = {column.name: arrays[column.key] for column in columns}
        return totals.segments_of_arrays(arrays["y"], arrays["s"], named, request)
    families = families_of([_fitted(frame, column, request, fetch, n) for column in columns], request.depth)
    by_name = {column.name: column for column in columns}
    side = SIDES[request.direction]
    of_families = tuple(_totals(frame, family, by_name, fetch, side) for family in families)
    return SegmentTotals(n, k, families, of_families, exact=False, direction=request.direction)


def collect_columns(frame: nw.LazyFrame[Any]) -> dict[str, Any]:
    """Return the columns of a frame in an engine; missing values may be masked."""
    if frame.implementation.is_duckdb():
        arrays: dict[str, Any] = frame.to_native().fetchnumpy()
        return {name: np.ma.getdata(column) if name in "syw" else column for name, column in arrays.items()}
    collected = frame.collect()
    series = {name: collected[name] for name in collected.columns}
    return {name: each.to_numpy() if name in "syw" else each.to_native() for name, each in series.items()}


def _fitted(frame: nw.LazyFrame[Any], column: EngineColumn, request: Request, fetch: Fetch, rows: int) -> SegmentColumn:
    """Choose the segments of a column from its different values, or where these are too many from its quantiles."""
    name, cuts = column.name, request.cuts.get(column.name)
    value, missing = nw.col(column.key), _missing(column)
    known = frame.filter(~missing)
    counted = fetch(known.group_by(column.key).agg(n=nw.len()).head(_MOST_VALUES + 1))
    n_missing = int(fetch(frame.select(n=nw.when(missing).then(1).otherwise(0).sum()))["n"][0])
    if len(counted["n"]) <= _MOST_VALUES:
        distinct = distinct_values(counted[column.key], name)
        counts = np.bincount(distinct.number, counted["n"], len(distinct.levels)).astype(np.int64)
        return SegmentColumn.of_counts(name, distinct.levels, counts, n_missing, min_rows=request.min_rows, cuts=cuts)
    if not column.numeric:
        too_many = f"more than {_MOST_VALUES:,} different values in {rows:,} rows"
        raise DataError(f"groups of rows in column {name}", too_many, "name a column with a few groups")
    if cuts is not None:
        return SegmentColumn(name, cuts=clean_cuts(name, cuts), missing=bool(n_missing))
    finite = known.filter(value.abs() < math.inf) if column.float_ else known
    asked = {f"q{i}": value.quantile(q, "linear") for i, q in enumerate(_QUANTILES)}
    ends = {key: of[0] for key, of in fetch(finite.select(**asked, largest=value.max())).items()}
    whole = isinstance(ends["largest"], numbers.Integral)
    if whole:
        different = int(fetch(known.select(n=value.n_unique()))["n"][0])
        if different == rows - n_missing:
            refuse_identifier(name, different, different, numbers=True)
    # Between two whole numbers the lower one divides them as their mean does.
    ends = {key: math.floor(end) if whole else float(end) for key, end in ends.items()}
    largest = ends.pop("largest")
    quantiles = [quantile for quantile in ends.values() if quantile < largest]
    if not quantiles:
        second = fetch(finite.filter(value < largest).select(second=value.max()))["second"][0]
        quantiles = [int(second) if whole else float(second)]
    return SegmentColumn(name, cuts=short_cuts(quantiles, largest), missing=bool(n_missing), from_rows=True)


def _totals(
    frame: nw.LazyFrame[Any], family: Family, by_name: Mapping[str, EngineColumn], fetch: Fetch, side: int
) -> totals.CellTotals:
    """Let the engine add up the cells of a family by bucket of scores."""
    bits = min(_MOST_BITS, max(_LEAST_BITS, int(math.log2(_MOST_SUMS / len(family)))))
    s, y = nw.col("s"), nw.col("y")
    keys: dict[str, nw.Expr] = {}
    for i, column in enumerate(family.columns):
        keys |= _keys(column, by_name[column.name], f"g{i}")
    frame = frame.select(**keys, y=y, away=(y - s).abs(), bucket=(s * 2.0**bits).floor())
    away, squared = nw.col("away"), nw.col("away") * nw.col("away")
    sums = {"n": nw.len(), "k": y.sum(), "rise": (y * away).sum(), "away_sum": away.sum()}
    sums |= {"squares": squared.sum(), "fourths": (squared * squared).sum()}
    arrays = fetch(frame.group_by("bucket", *keys).agg(**sums))
    codes = [_codes(column, arrays, f"g{i}") for i, column in enumerate(family.columns)]
    bucket = np.minimum(arrays["bucket"].astype(np.int64), (1 << bits) - 1)  # a score of 1 joins the last
    rise = arrays["rise"].astype(np.float64)
    of_bucket = totals.RowTotals(
        n=arrays["n"].astype(np.int64),
        k=arrays["k"].astype(np.int64),
        rise=rise,
        fall=np.maximum(0.0, arrays["away_sum"] - rise),
        squares=arrays["squares"],
        fourths=arrays["fourths"],
    )
    return totals.bucket_totals(family.codes(codes), len(family), bucket, of_bucket, 2.0**-bits, side)


def _missing(column: EngineColumn) -> nw.Expr:
    value = nw.col(column.key)
    return value.is_null() | value.is_nan() if column.float_ else value.is_null()


def _keys(column: SegmentColumn, source: EngineColumn, key: str) -> dict[str, nw.Expr]:
    """Return what rows are grouped by, none of it ever missing: see `_codes`."""
    value, missing = nw.col(source.key), _missing(source)
    if column.cuts:
        below = sum((nw.when(value > cut).then(1).otherwise(0) for cut in column.cuts), start=nw.lit(0))
        return {key: nw.when(missing).then(-1).otherwise(below)}
    pooled = ~value.is_in(list(column.levels)) if column.pooled else nw.lit(False)
    kind = nw.when(missing).then(2).otherwise(nw.when(pooled).then(1).otherwise(0))
    if not column.levels:
        return {f"{key}_kind": kind}
    return {f"{key}_kind": kind, key: nw.when(missing | pooled).then(nw.lit(column.levels[0])).otherwise(value)}


def _codes(column: SegmentColumn, arrays: Arrays, key: str) -> IntArray:
    """Return the number of the segment of each sum, from what its rows were grouped by."""
    if column.cuts:
        of = arrays[key].astype(np.int64)
        return np.where(of < 0, len(column) - 1, of)
    kind = arrays[f"{key}_kind"]
    code = column.codes(arrays[key]) if column.levels else np.zeros(len(kind), dtype=np.int64)
    code = np.where(kind == 1, len(column.levels), code)
    return np.where(kind == 2, len(column) - 1, code)
