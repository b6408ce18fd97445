"""What engines are asked for: batches of rows, tables of rows that were not looked at before, totals of segments.

Batches come out of DuckDB by the C stream interface of Apache Arrow: views of its memory, without pyarrow. Rows are
read into a table without a look at them before, as long as all are fit.

Few rows of segments are taken out of the engine, DuckDB, PySpark, or Polars where it is lazy, and added up exactly.
Many are added up where they are, by cell and bucket of scores, in one aggregation for each family, and only the sums
leave the engine; the calibration error of a segment is then known within limits, which are close together.
"""

from __future__ import annotations

import ctypes
import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.cells import gathering
from calibrant.cells.frame_rows import Arrays, Fetch, LazyRows, Seen
from calibrant.cells.slices import SliceRows, Slices
from calibrant.errors import DataError
from calibrant.segments import totals
from calibrant.segments.columns import SegmentColumn, clean_cuts, distinct_values, refuse_identifier, short_cuts
from calibrant.segments.totals import Family, Request, SegmentTotals, families_of
from calibrant.sources.columns import LazyColumns, count_of
from calibrant.sources.rows import EngineColumn
from calibrant.sources.schema import Schema
from calibrant.table.parameters import SIDES
from calibrant.table.pooling import IntArray
from calibrant.table.row_errors import describe_other_rows
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import MOST_ROWS
from calibrant.table.validation import CleanRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

_DTYPES: dict[str, npt.DTypeLike] = {"DOUBLE": np.float64, "BIGINT": np.int64, "TINYINT": np.int8}


class UnfitRowsError(Exception):
    """Raised where a value is missing or cannot be used, by those who leave it to a second look to say which."""


class _Batch(ctypes.Structure):
    """The structure ArrowArray: of a batch, or of one of its columns."""


_Batch._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Batch))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Batch))),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """The structure ArrowArrayStream."""


_Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Batch))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

# Declared here alone: what others declare for `ctypes.pythonapi` does not matter then.
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def read_batches(relation: DuckDBPyRelation) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the columns of a relation, of type DOUBLE, BIGINT or TINYINT, a batch of rows at a time.

    They can be read until the next batch is asked for. No other query may run on the connection before the last batch.
    An `UnfitRowsError` says that a value is missing, a `duckdb.Error` that the data cannot be read.

    DuckDB reads and computes while a batch is looked at.
    """
    import duckdb

    columns = dict(zip(relation.columns, (_DTYPES[str(kind)] for kind in relation.types), strict=True))
    begin = getattr(relation, "fetchmany", None)
    if begin is not None:
        begin(0)  # DuckDB 1 streams what was begun so, and would else keep all batches in memory
    capsule = relation.__arrow_c_stream__()  # releases the stream when it goes
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    while True:
        batch = _Batch()
        if stream.get_next(stream, batch):
            raise duckdb.Error((stream.get_last_error(stream) or b"").decode(errors="replace"))
        if not batch.release:
            return
        try:
            if batch.length:
                yield {name: _column(batch.children[i][0], kind) for i, (name, kind) in enumerate(columns.items())}
        finally:
            batch.release(batch)


def _column(column: _Batch, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    if column.null_count:
        raise UnfitRowsError
    size = np.dtype(kind).itemsize
    values = (ctypes.c_char * (column.length * size)).from_address(column.buffers[1] + column.offset * size)
    return np.frombuffer(values, dtype=kind)


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
        return totals.segments_of_arrays(arrays["y"], arrays["s"], named, replace(request, beside=0))
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
    n, k, rise = arrays["n"].astype(np.int64), arrays["k"].astype(np.int64), arrays["rise"].astype(np.float64)
    fall = np.maximum(0.0, arrays["away_sum"] - rise)
    of_bucket = totals.RowTotals(n, k, rise, fall, arrays["squares"], arrays["fourths"])
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
