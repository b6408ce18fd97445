"""Totals of segments of rows wherever they are: in arrays, dataframes, files, databases and engines.

Rows in memory, and those of files and engines if they are few, are sorted once and added up exactly. Where they are
many, the engine adds them up by cell and bucket of scores, in one aggregation for each family, and only the sums leave
it; the calibration error of a segment is then known within limits, which are close together.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.ingest.faults import Columns
from calibrant.ingest.frame_rows import Arrays, fetched
from calibrant.ingest.frames import FrameArrays, open_frame
from calibrant.ingest.query import Query
from calibrant.segments.columns import SegmentColumn, clean_cuts, refuse_identifier, short_cuts
from calibrant.segments.families import Family, families_of
from calibrant.segments.sums import BucketRows, CellTotals, SortedRows
from calibrant.segments.values import column_values, describe_dates, distinct_values
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_rows

if TYPE_CHECKING:
    import narwhals as nw

    from calibrant.ingest.source import Source

__all__ = ["Request", "SegmentTotals", "rows_with_columns", "segments_of_arrays", "segments_of_source"]

# Rows of a file or an engine that are taken out of it and added up exactly.
_MOST_EXACT = 1 << 20
# Sums by cell and bucket that an engine hands over for one family, and the finest buckets of scores.
_MOST_SUMS, _MOST_BITS, _LEAST_BITS = 1 << 20, 16, 6
# Different values of a column that are looked at one by one; a column of numbers with more is cut by the engine.
_MOST_VALUES = 1 << 14
_QUANTILES = (0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class Request:
    """Which segments are asked for."""

    depth: int
    min_rows: int
    cuts: Mapping[str, Sequence[float]]

    def column(self, values: Any, name: str) -> SegmentColumn:
        """Choose the segments of a column."""
        return SegmentColumn.fit(values, name, min_rows=self.min_rows, cuts=self.cuts.get(name))

    def check_names(self, names: Sequence[str]) -> None:
        """Raise an `ArgumentError` if cuts are given of a column that is not among those named."""
        unknown = [name for name in self.cuts if name not in names]
        if unknown:
            listed = ", ".join(map(repr, names))
            raise ArgumentError(
                f"`cuts` of columns named in `by`: {listed}", f"cuts of {unknown[0]!r}", "check the spelling"
            )


@dataclass(frozen=True, eq=False)
class SegmentTotals:
    """Totals of all families of segments."""

    n: int
    k: int
    families: tuple[Family, ...]
    totals: tuple[CellTotals, ...]  # of the cells of each family
    exact: bool  # whether errors are known exactly, not only within limits


def segments_of_arrays(
    y_true: npt.ArrayLike, y_proba: npt.ArrayLike, by: Mapping[str, Any], request: Request, *, pos_label: Any = None
) -> SegmentTotals:
    """Add up rows in arrays; `by` has a column of as many values for each name."""
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    n = len(rows.label)
    columns, codes = [], []
    request.check_names(list(by))
    for name, values in by.items():
        held = column_values(values, name)
        if len(held) != n:
            found = f"{len(held)} values in column {name} and {n} scores"
            raise DataError("as many values as scores", found, "pass columns of the same table")
        columns.append(request.column(held, name))
        codes.append(columns[-1].codes(held))
    score = rows.score.astype(np.float64) + 0.0
    order = score_order(score, rows.label)
    in_order = SortedRows(score[order], rows.label[order].astype(bool))
    codes = [code[order] for code in codes]
    families = families_of(columns, request.depth)
    places = {id(column): code for column, code in zip(columns, codes, strict=True)}
    totals = tuple(
        in_order.totals(family.codes([places[id(column)] for column in family.columns]), len(family))
        for family in families
    )
    return SegmentTotals(n, int(rows.label.sum()), families, totals, exact=True)


def segments_of_source(
    source: Any, by: Sequence[str], request: Request, *, label: str, score: str, pos_label: Any = None
) -> SegmentTotals:
    """Add up rows of a dataframe of any library, of files or of a query; `by` names columns."""
    request.check_names(by)
    columns = Columns(label, score, None, pos_label, by=tuple(by))
    if isinstance(source, (str, PathLike, Query, list, tuple)):
        from calibrant.ingest.connection import open_source

        with open_source(source, wanted=columns.names) as opened:
            frame, held = _checked(opened, columns)
            return opened.run(lambda: _of_engine(frame, fetched, held, request))
    if isinstance(source, ScoreTable):
        raise ArgumentError("rows with the columns of `by`", "a ScoreTable", "pass the rows: a table has no columns")
    found = open_frame(source, columns)
    if isinstance(found, FrameArrays):
        import narwhals as nw

        frame = nw.from_native(source)
        taken = {name: frame[name].to_native() for name in by}
        try:
            return segments_of_arrays(found.labels, found.scores, taken, request, pos_label=pos_label)
        except DataError as error:
            located = found.locate(error) if "column" not in error.found + error.expected else error
            raise located from None
    held_there = found.rows.frame
    kinds = held_there.collect_schema()
    there = [
        _Column(f"by{i}", name, kinds[f"by{i}"].is_numeric(), kinds[f"by{i}"].is_float()) for i, name in enumerate(by)
    ]
    for column in there:
        if str(kinds[column.place]).startswith(("Date", "Time", "Duration")):
            raise describe_dates(column.name)
    return _of_engine(held_there, found.rows.fetch, there, request)


def rows_with_columns(
    source: Any, by: Sequence[str], *, label: str, score: str, pos_label: Any = None
) -> tuple[npt.NDArray[np.int64], FloatArray, dict[str, Any]]:
    """Return labels, scores and the columns `by` of files or a query, in memory."""
    from calibrant.ingest.connection import open_source

    columns = Columns(label, score, None, pos_label, by=tuple(by))
    with open_source(source, wanted=columns.names) as opened:
        frame, held = _checked(opened, columns)
        found = opened.run(lambda: _collected(frame))
    return found["y"], found["s"], {column.name: found[column.place] for column in held}


def _checked(source: Source, columns: Columns) -> tuple[nw.LazyFrame[Any], list[_Column]]:
    """Return checked rows as a frame of DuckDB with the columns s, y, by0, by1 and so on, and what the latter are."""
    import narwhals as nw

    from calibrant.ingest.checks import check

    summary = check(source, columns)
    held = [_of_file(source, summary.sql, i, name) for i, name in enumerate(columns.by)]
    listed = "".join(f", {sql} AS {column.place}" for sql, column in held)
    query = f"SELECT s, CAST(positive AS BIGINT) AS y{listed} FROM ({summary.sql})"
    return nw.from_native(source.connection.sql(query)), [column for _, column in held]


class _Column(NamedTuple):
    """A column of a frame in an engine that makes segments."""

    place: str  # its name in the frame
    name: str
    numeric: bool
    float_: bool  # whether it may hold NaN


def _of_file(source: Source, sql: str, i: int, name: str) -> tuple[str, _Column]:
    """Return a column of a file as numbers, booleans or text; text of which all is numbers or booleans is such."""
    kind, column = source.type_of(name), f"by{i}"
    if kind.startswith(("DATE", "TIME", "INTERVAL")):
        raise describe_dates(name)
    as_float = _Column(column, name, numeric=True, float_=True)
    if kind in ("HUGEINT", "UHUGEINT", "BIGNUM") or kind.startswith("DECIMAL"):
        return f"CAST({column} AS DOUBLE)", as_float
    if source.kind(name) == "number":
        return column, as_float._replace(float_=kind in ("FLOAT", "DOUBLE"))
    as_text = as_float._replace(numeric=False, float_=False)
    if source.kind(name) == "boolean":
        return column, as_text
    text = f"CAST({column} AS VARCHAR)"
    if source.typed:
        return text, as_text
    text = f"nullif({text}, '')"
    whole, number = f"TRY_CAST({text} AS BIGINT)", f"TRY_CAST({text} AS DOUBLE)"
    # TRY_CAST rounds 1.5 to a whole number.
    all_whole, all_numbers, all_truth = source.rows(
        f"SELECT bool_and(regexp_full_match({text}, '[+-]?[0-9]+') AND {whole} IS NOT NULL), "
        f"bool_and({number} IS NOT NULL), bool_and(lower({text}) IN ('false', 'true')) "
        f"FROM ({sql}) WHERE {text} IS NOT NULL"
    )[0]
    if all_whole:
        return whole, as_float._replace(float_=False)
    if all_truth:
        return f"CAST({text} AS BOOLEAN)", as_text
    return (number, as_float) if all_numbers else (text, as_text)


def _of_engine(
    frame: nw.LazyFrame[Any],
    fetch: Callable[[nw.LazyFrame[Any]], Arrays],
    columns: Sequence[_Column],
    request: Request,
) -> SegmentTotals:
    """Add up rows in an engine: columns s, y, by0, by1 and so on."""
    import narwhals as nw

    seen = fetch(frame.select(n=nw.len(), k=nw.col("y").sum()))
    n, k = int(seen["n"][0]), int(seen["k"][0])
    if n <= _MOST_EXACT:
        found = _collected(frame)
        named = {column.name: found[column.place] for column in columns}
        return segments_of_arrays(found["y"], found["s"], named, request)
    families = families_of([_fitted(frame, column, request, fetch, n) for column in columns], request.depth)
    place = {column.name: column for column in columns}
    totals = tuple(_totals(frame, family, place, fetch) for family in families)
    return SegmentTotals(n, k, families, totals, exact=False)


def _collected(frame: nw.LazyFrame[Any]) -> dict[str, Any]:
    """Return the columns of a frame in an engine; missing values may be masked."""
    if frame.implementation.is_duckdb():
        found: dict[str, Any] = frame.to_native().fetchnumpy()
        return {name: np.ma.getdata(column) if name in "sy" else column for name, column in found.items()}
    held = frame.collect()
    return {name: held[name].to_numpy() if name in "sy" else held[name].to_native() for name in held.columns}


def _fitted(
    frame: nw.LazyFrame[Any],
    column: _Column,
    request: Request,
    fetch: Callable[[nw.LazyFrame[Any]], Arrays],
    rows: int,
) -> SegmentColumn:
    """Choose the segments of a column from its different values, or where these are too many from its quantiles."""
    import narwhals as nw

    place, name = column.place, column.name
    value, missing = nw.col(place), _missing(column)
    known = frame.filter(~missing)
    counted = fetch(known.group_by(place).agg(n=nw.len()).head(_MOST_VALUES + 1))
    n_missing = int(fetch(frame.select(n=nw.when(missing).then(1).otherwise(0).sum()))["n"][0])
    if len(counted["n"]) <= _MOST_VALUES:
        found = distinct_values(counted[place], name)
        counts = np.bincount(found.number, counted["n"], len(found.levels)).astype(np.int64)
        return SegmentColumn.of_counts(
            name, found.levels, counts, n_missing, min_rows=request.min_rows, cuts=request.cuts.get(name)
        )
    if not column.numeric:
        raise DataError(
            f"groups of rows in column {name}",
            f"more than {_MOST_VALUES:,} different values in {rows:,} rows",
            "name a column with a few groups",
        )
    cuts = request.cuts.get(name)
    if cuts is not None:
        return SegmentColumn.of_cuts(name, clean_cuts(name, cuts), missing=bool(n_missing))
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
    return SegmentColumn.of_cuts(name, short_cuts(quantiles, largest), missing=bool(n_missing), from_rows=True)


def _totals(
    frame: nw.LazyFrame[Any],
    family: Family,
    place: Mapping[str, _Column],
    fetch: Callable[[nw.LazyFrame[Any]], Arrays],
) -> CellTotals:
    """Let the engine add up the cells of a family by bucket of scores."""
    import narwhals as nw

    bits = min(_MOST_BITS, max(_LEAST_BITS, int(math.log2(_MOST_SUMS / len(family)))))
    s, y = nw.col("s"), nw.col("y")
    away = (y - s).abs()
    keys: dict[str, nw.Expr] = {}
    for i, column in enumerate(family.columns):
        keys |= _keys(column, place[column.name], f"g{i}")
    frame = frame.select(**keys, y=y, away=away, bucket=(s * 2.0**bits).floor())
    away, squared = nw.col("away"), nw.col("away") * nw.col("away")
    found = fetch(
        frame.group_by("bucket", *keys).agg(
            n=nw.len(),
            k=nw.col("y").sum(),
            rise=(nw.col("y") * away).sum(),
            away_sum=away.sum(),
            squares=squared.sum(),
            fourths=(squared * squared).sum(),
        )
    )
    codes = [_codes(column, found, f"g{i}") for i, column in enumerate(family.columns)]
    bucket = np.minimum(found["bucket"].astype(np.int64), (1 << bits) - 1)  # a score of 1 joins the last
    rise = found["rise"].astype(np.float64)
    sums = (found["n"].astype(np.int64), found["k"].astype(np.int64), rise, np.maximum(0.0, found["away_sum"] - rise))
    rows = BucketRows(bucket, *sums, found["squares"], found["fourths"], 2.0**-bits)
    return rows.totals(family.codes(codes), len(family))


def _missing(column: _Column) -> nw.Expr:
    import narwhals as nw

    value = nw.col(column.place)
    return value.is_null() | value.is_nan() if column.float_ else value.is_null()


def _keys(column: SegmentColumn, held: _Column, key: str) -> dict[str, nw.Expr]:
    """Return what rows are grouped by, none of it ever missing: see `_codes`."""
    import narwhals as nw

    value, missing = nw.col(held.place), _missing(held)
    if column.cuts:
        below = sum((nw.when(value > cut).then(1).otherwise(0) for cut in column.cuts), start=nw.lit(0))
        return {key: nw.when(missing).then(-1).otherwise(below)}
    pooled = ~value.is_in(list(column.levels)) if column.pooled else nw.lit(False)
    kind = nw.when(missing).then(2).otherwise(nw.when(pooled).then(1).otherwise(0))
    if not column.levels:
        return {f"{key}_kind": kind}
    return {f"{key}_kind": kind, key: nw.when(missing | pooled).then(nw.lit(column.levels[0])).otherwise(value)}


def _codes(column: SegmentColumn, found: Arrays, key: str) -> npt.NDArray[np.int64]:
    """Return the number of the segment of each sum, from what its rows were grouped by."""
    if column.cuts:
        of = found[key].astype(np.int64)
        return np.where(of < 0, len(column) - 1, of)
    kind = found[f"{key}_kind"]
    code = column.codes(found[key]) if column.levels else np.zeros(len(kind), dtype=np.int64)
    code = np.where(kind == 1, len(column.levels), code)
    return np.where(kind == 2, len(column) - 1, code)
