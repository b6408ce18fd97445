"""The rows of a table in some engine (DuckDB, Polars, Spark ...), asked by aggregations that run there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.cells.bucket_sums import (
    HALF,
    LOG_LOSS_BITS,
    BucketSet,
    BucketSums,
    DoubleGrid,
    Grid,
    Intervals,
    LossTotals,
)
from calibrant.errors import need_package
from calibrant.table.missing import Intake, LeftOut
from calibrant.table.pooling import IntArray, Pooled, distinct_numbers, pool_counts, score_order
from calibrant.table.rules import WeightSums
from calibrant.table.table_sums import BITS
from calibrant.table.validation import CleanRows

_SIFT = 16_381  # one in so many scores is looked at to estimate how many are different; a prime
_LISTED_BITS = 19  # two to this power buckets, at most, from the first to the last of those that DuckDB is asked for
_TOGETHER_BITS = 3
_LEAST = 5e-324  # the smallest double

Arrays = dict[str, npt.NDArray[Any]]
Fetch = Callable[["nw.LazyFrame[Any]"], Arrays]


def fetch_arrays(frame: nw.LazyFrame[Any]) -> Arrays:
    """Run a query in its engine and return its columns, which must not hold missing values."""
    if frame.implementation.is_duckdb():
        # The way round pyarrow, which DuckDB does not need.
        return {name: np.ma.getdata(column) for name, column in frame.to_native().fetchnumpy().items()}
    # Polars would otherwise hold the columns of all rows in memory.
    collected = frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()
    return {name: collected[name].to_numpy() for name in collected.columns}


class LazyRows:
    """Rows in an engine.

    `frame` has the columns ``s`` (score, float64), ``y`` (0 or 1, int64) and, with weights, ``w`` (positive; int64 if
    all weights are whole numbers, float64 otherwise). `weights` says which: "none", "whole" or "other". `fetch` runs a
    query and returns its columns, as `fetch_arrays`, or something that also tells what went wrong.
    """

    def __init__(self, frame: nw.LazyFrame[Any], weights: str, fetch: Fetch) -> None:
        self.frame = frame
        self.weights = weights
        self.fetch = fetch

    def bucket_sums(self, grid: Grid, buckets: BucketSet | None) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some buckets or over all.

        Buckets at most 2**25 units wide keep sums of fewer than `fixed_point.MOST_ROWS` rows in 64 bits.
        """
        frame = _with_bucket(self._inside(buckets), grid)
        ends = {"low": nw.col("s").min(), "high": nw.col("s").max()}
        sums = self.fetch(frame.group_by("bucket").agg(**self._bucket(), **ends))
        attained = np.ones(len(sums["low"]), dtype=np.bool_)
        return replace(_sums(sums, grid), low=sums["low"], high=sums["high"], attained=attained).pooled()

    def limits(self, buckets: BucketSet) -> BucketSums:
        """Return the sums of some buckets with the least and the largest score in each."""
        return self.bucket_sums(buckets.grid, buckets)

    def double_sums(self, grid: DoubleGrid) -> BucketSums:
        """Return the sums at every score, however many: engines do not show the bits of a double."""
        return BucketSums.of_scores(*self.pool_scores(grid.divided))

    def all_sums(self, grid: Grid) -> tuple[BucketSums, LossTotals, int]:
        """Return the sums of all rows over the buckets of a grid, as `bucket_sums`, their losses, and an estimate.

        It is of how many scores are different: one in so many gets a group of its own, told by a key of at most 0.
        Buckets are not asked for their lowest and highest score, which would be a fifth of what a task sends.
        """
        s, y = nw.col("s"), nw.col("y")
        # Exact for either label.
        frame = _with_bucket(self.frame, grid).with_columns(away=y - s, chance=(1 - y - s).abs())
        chance, away = nw.col("chance"), nw.col("away")
        logged = nw.max_horizontal(chance, nw.lit(_LEAST)).log()  # engines disagree about the logarithm of 0
        frame = frame.with_columns(squared=_units(away * away), log_loss=(logged * -(2.0**LOG_LOSS_BITS) + 0.5).floor())
        spread = s * (2.0**BITS / _SIFT)
        sifted = spread - spread.floor() < 1.0 / _SIFT
        frame = frame.with_columns(key=nw.when(sifted).then(0.0 - s).otherwise(nw.col("bucket") + 1.0))
        lost = {"least": chance.min(), **self._sum("squared"), **self._sum("log_loss")}
        sums = self.fetch(frame.group_by("key").agg(**self._bucket(), **lost))
        impossible = bool(sums["least"].min() == 0.0)
        losses = LossTotals(_whole(sums, "squared"), _whole(sums, "log_loss"), impossible=impossible)
        key = sums["key"]
        single = key <= 0.0
        alone = grid.bucket_of(np.where(single, 0.0 - key, 0.0))
        sums["bucket"] = np.where(single, alone, (key - 1.0).astype(np.int64))
        return _sums(sums, grid).pooled(), losses, int(single.sum()) * _SIFT

    def _bucket(self) -> dict[str, nw.Expr]:
        """Return what is added up in a bucket, see `_sums`."""
        y, above = nw.col("y"), nw.col("above")
        sums = {"k": y, "above": above, "above_positive": above * y}
        return {"n": self._count()} | {name: self._total(value) for name, value in sums.items()}

    def _count(self) -> nw.Expr:
        if self.weights == "none":
            return nw.len().cast(nw.Int64)
        return nw.col("w").sum().cast(nw.Float64 if self.weights == "other" else nw.Int64)

    def _total(self, value: nw.Expr) -> nw.Expr:
        """Return the sum of values times weights, in 64 bits whatever the engine widens sums to."""
        product = value if self.weights == "none" else value * nw.col("w")
        return product.sum().cast(nw.Float64 if self.weights == "other" else nw.Int64)

    def _sum(self, name: str) -> dict[str, nw.Expr]:
        """Return the sums of both halves of a column of whole numbers, in 64 bits; with broken weights floats do."""
        value = nw.col(name)
        if self.weights == "other":
            return {f"{name}_upper": self._total(value)}
        upper = (value * 2.0**-HALF).floor()
        lower = (value - upper * 2.0**HALF).cast(nw.Int64)
        return {f"{name}_upper": self._total(upper.cast(nw.Int64)), f"{name}_lower": self._total(lower)}

    def pool_scores(self, buckets: BucketSet | Intervals | None) -> Pooled:
        """Return distinct scores in some buckets, or all, with rows and positives at each."""
        frame = self._inside(buckets)
        if self.weights == "other":
            # Added up here in a fixed order, so that neither row order nor threads show in the last bit.
            sums = self.fetch(frame.group_by("s", "y", "w").agg(rows=nw.len().cast(nw.Int64)))
            score = sums["s"] + 0.0  # -0.0 becomes 0.0
            order = score_order(score, sums["y"], sums["w"])
            total = (sums["w"] * sums["rows"])[order]
            return pool_counts(score[order], total, total * sums["y"][order])
        sums = self.fetch(frame.group_by("s").agg(n=self._count(), k=self._total(nw.col("y"))))
        return pool_counts(sums["s"] + 0.0, sums["n"], sums["k"])

    def keep(self, buckets: BucketSet | Intervals) -> LazyRows:
        """Return these rows: the engine adds up where they are."""
        return self

    def handed_over(self, buckets: BucketSet | None = None) -> nw.LazyFrame[Any]:
        """Return the rows in some buckets, or all, with labels in a byte, as they are handed over to be added up."""
        listed = ["s"] if self.weights == "none" else ["s", "w"]
        return self._inside(buckets).select(nw.col("y").cast(nw.Int8), *listed)

    def fetch_rows(self, buckets: BucketSet) -> CleanRows:
        """Return the rows in some buckets, and perhaps in some beside them.

        DuckDB joins rows to a table of buckets twice as fast if their numbers span few enough to be listed; so buckets
        are taken together for that, unless so many that far more rows than these might be in them.
        """
        bits = max(0, int(buckets.numbers[-1] - buckets.numbers[0]).bit_length() - _LISTED_BITS)
        if self.frame.implementation.is_duckdb() and 0 < bits <= _TOGETHER_BITS:
            buckets = BucketSet(buckets.grid.coarser(bits), distinct_numbers(buckets.numbers >> bits))
        columns = self.fetch(self.handed_over(buckets))
        return CleanRows(columns["y"], columns["s"], columns.get("w"))

    def _inside(self, buckets: BucketSet | Intervals | None) -> nw.LazyFrame[Any]:
        """Return the rows in some buckets, which may be a hundred thousand: too many for an expression."""
        if buckets is None:
            return self.frame
        assert isinstance(buckets, BucketSet)  # of what no grid divides all scores are known, see `double_sums`
        bucket = _bucket_of(nw.col("s"), buckets.grid)
        numbers = _as_frame(buckets.numbers, self.frame)
        if numbers is None:
            return self.frame.filter(bucket.is_in(buckets.numbers.tolist()))
        # Numbers are distinct; of DuckDB this join is a third faster than a semi-join.
        return self.frame.with_columns(bucket=bucket).join(numbers, on="bucket", how="inner")


class Seen(NamedTuple):
    """What one scan tells of rows that all can be used."""

    n: int
    weights: str  # "none", "whole" or "other", see `LazyRows`
    # About how many different scores, or at most so many where rows are not handed over; if weights do not count rows,
    # about how many pairs of score and weight.
    distinct: int
    others: tuple[str, ...] = ()  # labels that count as 0 beside a positive one that was named; a few of many
    low: float = 0.0  # limits of the scores
    high: float = 1.0
    sums: WeightSums | None = None  # of weights that count no rows
    left_out: LeftOut | None = None

    @property
    def intake(self) -> Intake:
        """Rows that were left out, and labels that count as 0."""
        return Intake(self.left_out, self.others)


def _as_frame(numbers: IntArray, like: nw.LazyFrame[Any]) -> nw.LazyFrame[Any] | None:
    """Return numbers as column ``bucket`` of a frame in the engine of another; None where there is no way to."""
    if like.implementation.is_polars():
        import polars as pl

        native: Any = pl.LazyFrame({"bucket": numbers})
    elif like.implementation.is_duckdb():
        # A relation does not give away its connection, but what is derived from it stays there.
        listed = ",".join(map(str, numbers.tolist()))
        one_row = like.to_native().limit(0).aggregate("count(*) AS none")
        native = one_row.project(f"unnest(CAST(string_split('{listed}', ',') AS BIGINT[])) AS bucket")
    elif like.implementation.is_pyspark() or like.implementation.is_pyspark_connect():
        need_package("pyarrow", "calibrant[spark]")
        import pyarrow as pa
        from pyspark.sql.functions import broadcast

        native = broadcast(like.to_native().sparkSession.createDataFrame(pa.table({"bucket": numbers})))
    else:
        return None
    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


def _units(score: nw.Expr) -> nw.Expr:
    """Nearest whole multiple of the unit, as a float that holds it exactly; the same as `score_units`."""
    return (score * 2.0**BITS + 0.5).floor()


def _bucket_of(score: nw.Expr, grid: Grid) -> nw.Expr:
    """Bucket of a score; a power of two leaves nothing to be rounded, and one floor does for two."""
    return ((score * 2.0**BITS + 0.5) * 2.0**-grid.shift).floor().cast(nw.Int64)


def _with_bucket(frame: nw.LazyFrame[Any], grid: Grid) -> nw.LazyFrame[Any]:
    """Add the bucket of each row, and how many units its score is above the start of the bucket."""
    with_bucket = frame.with_columns(bucket=_bucket_of(nw.col("s"), grid), units=_units(nw.col("s")).cast(nw.Int64))
    return with_bucket.with_columns(above=nw.col("units") - nw.col("bucket") * (1 << grid.shift))


def _sums(sums: Arrays, grid: Grid) -> BucketSums:
    above = np.stack([sums["above"] - sums["above_positive"], sums["above_positive"]])
    return BucketSums.above_starts(grid, sums["bucket"], np.stack([sums["n"], sums["k"]]), above)


def _whole(sums: Arrays, name: str) -> float:
    """Return the sum of a column over all buckets, from both of its words: a Python integer if weights are whole."""
    if f"{name}_lower" not in sums:
        return math.fsum(sums[f"{name}_upper"])
    upper, lower = (sum(sums[f"{name}_{word}"].tolist()) for word in ("upper", "lower"))
    return int((upper << HALF) + lower)
