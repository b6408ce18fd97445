"""Spark: the battery of all routes, partitions of every kind, and partitions that fail."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calibrant
from calibrant import ScoreTable, audit
from calibrant.cells import frame_rows as lazy_rows
from calibrant.errors import DataError, SourceError
from calibrant.sources import engine, frames
from calibrant.sources.schema import Schema
from support.frame_cases import RIGHT, WRONG
from support.routes import BROKEN, CASES, ROUNDED, assert_same, few_in_memory, weighing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

NAMES = {"outcome": "y", "prediction": "s"}


@pytest.fixture(scope="session")
def parquet(spark, tmp_path_factory):
    """Return a function that gives the rows of a case in so many partitions."""
    folder = tmp_path_factory.mktemp("cases")

    def read(name, partitions=2):
        path = folder / f"{name}.parquet"
        if not path.exists():
            y, s, w = CASES[name]
            pq.write_table(pa.table({"y": y, "s": s} | ({} if w is None else {"w": w})), path)
        frame = spark.read.parquet(str(path))
        return frame.coalesce(1) if partitions == 1 else frame.repartition(partitions)

    return read


def keywords(name):
    return NAMES | weighing(name, "w")


@pytest.mark.parametrize("name", CASES)
def test_score_by_score(parquet, name):
    table = ScoreTable.from_frame(parquet(name), **keywords(name))
    assert table.exact
    assert_same(table, name, rounded=name in ROUNDED)


@pytest.mark.parametrize(
    "name", ["bent both ways", "corners", "ties", "skewed", "weights", "weights of halves", "one row"]
)
def test_by_cells(parquet, name, monkeypatch):
    few_in_memory(monkeypatch)
    scans = []
    monkeypatch.setattr(frames, "fetch_arrays", lambda frame: scans.append(1) or lazy_rows.fetch_arrays(frame))
    table = ScoreTable.from_frame(parquet(name), **keywords(name))
    assert table.cells is not None
    assert_same(table, name, rounded=name in BROKEN)
    assert len(scans) <= 4 + (name in BROKEN)  # pairs of score and weight are counted by themselves


def partitioned(spark, frame, kind):
    """Split rows into partitions: one, several, nearly all in one, or some of them empty."""
    if kind == "one":
        return frame.coalesce(1)
    if kind == "seven":
        return frame.repartition(7)
    rows = [tuple(row) for row in frame.collect()]
    most = {"skewed": 1.0, "empty": 0.0}[kind]
    place = np.where(np.random.default_rng(1).random(len(rows)) < 0.99 * most, 3, np.arange(len(rows)) % 3)
    keyed = spark.sparkContext.parallelize(list(zip(place.tolist(), rows, strict=True)))
    return spark.createDataFrame(keyed.partitionBy(5, lambda key: key).values(), frame.schema)


@pytest.mark.parametrize("kind", ["one", "seven", "skewed", "empty"])
def test_partitions(spark, parquet, kind, monkeypatch):
    frame = partitioned(spark, parquet("bent both ways"), kind)
    assert_same(ScoreTable.from_frame(frame, **NAMES), "bent both ways")
    few_in_memory(monkeypatch)
    assert_same(ScoreTable.from_frame(frame, **NAMES), "bent both ways")


def failing(spark, frame, times):
    """Return rows of which one partition fails in its first attempts."""

    def pass_on(number, rows):
        from pyspark import TaskContext

        if number == 1 and TaskContext.get().attemptNumber() < times:
            next(rows)
            raise ValueError("the disk is gone")
        yield from rows

    return spark.createDataFrame(frame.rdd.mapPartitionsWithIndex(pass_on), frame.schema)


def test_a_partition_that_fails_and_is_tried_again(spark, parquet, monkeypatch):
    frame = failing(spark, parquet("predicts too much", 3), times=2)
    assert_same(ScoreTable.from_frame(frame, **NAMES), "predicts too much")
    few_in_memory(monkeypatch)
    assert_same(ScoreTable.from_frame(frame, **NAMES), "predicts too much")


def test_a_partition_that_always_fails(spark, parquet):
    frame = failing(spark, parquet("predicts too much", 3), times=99)
    with pytest.raises(SourceError, match=r"found an error of Pyspark: ValueError: the disk is gone;") as found:
        ScoreTable.from_frame(frame, **NAMES)
    assert len(str(found.value)) < 300
    assert found.value.__cause__ is None


def test_errors_of_spark_itself(spark):
    for sql, words in [
        (
            "SELECT 1 AS y, CAST(concat('a', id) AS DOUBLE) AS s FROM range(3)",
            r"Pyspark: \[CAST_INVALID_INPUT\] .*'a\d'",
        ),
        ("SELECT 1 AS y, raise_error('no such luck') AS s FROM range(3)", "no such luck|values of type"),
    ]:
        with pytest.raises((SourceError, DataError), match=words) as found:
            ScoreTable.from_frame(spark.sql(sql), **NAMES)
        assert "\n" not in str(found.value)


def make(spark, columns):
    arrow = pa.table(columns)
    kinds = {"string": "string", "bool": "boolean", "int64": "bigint", "double": "double", "float": "float"}
    schema = ", ".join(f"`{f.name}` {kinds.get(str(f.type), 'decimal(4,2)')}" for f in arrow.schema)
    return spark.createDataFrame([tuple(row.values()) for row in arrow.to_pylist()], schema)


@pytest.mark.parametrize("case", sorted(WRONG.keys() - {"text for a number"}))  # read as files are: "1" is 1
def test_what_cannot_be_used(spark, case):
    columns, keys, words = WRONG[case]
    with pytest.raises(DataError, match=words):
        ScoreTable.from_frame(make(spark, columns), **{"outcome": "y", "prediction": "p"} | keys)


@pytest.mark.parametrize("case", RIGHT)
def test_what_can_be_used(spark, case):
    columns, keys, score, n, k = RIGHT[case]
    table = ScoreTable.from_frame(make(spark, columns), **{"outcome": "y", "prediction": "p"} | keys)
    assert table.score.tolist() == score
    np.testing.assert_allclose([table.n, table.k], [n, k], rtol=1e-12)


def test_names(spark, monkeypatch):
    few_in_memory(monkeypatch)
    for label, score in [("a.b", "c d"), ("back`tick", "s"), ("select", "from")]:
        columns = [f"{what} AS `{name.replace('`', '``')}`" for what, name in [("id % 2", label), ("id / 10", score)]]
        table = ScoreTable.from_frame(spark.range(5).selectExpr(*columns), outcome=label, prediction=score)
        assert table.total == 5
    twice = spark.sql("SELECT 0 AS y, 0.1D AS s, 0.2D AS s")
    with pytest.raises(DataError, match="one column 's', found 2 of that name"):
        ScoreTable.from_frame(twice, **NAMES)


def test_no_rows(spark):
    with pytest.raises(DataError, match="at least one row"):
        ScoreTable.from_frame(spark.sql("SELECT 1 AS y, 0.1D AS s WHERE false"), **NAMES)


def test_an_audit(parquet):
    y, s, _ = CASES["bent both ways"]
    found = audit(ScoreTable.from_frame(parquet("bent both ways"), **NAMES), tolerance=0.02)
    assert str(found) == str(audit(ScoreTable.from_scores(y, s), tolerance=0.02))


def test_number_of_jobs(parquet, monkeypatch):
    scans = []
    monkeypatch.setattr(frames, "fetch_arrays", lambda frame: scans.append(1) or lazy_rows.fetch_arrays(frame))
    ScoreTable.from_frame(parquet("calibrated"), **NAMES)
    assert len(scans) == 2


def test_many_buckets_can_be_looked_into(spark):
    from calibrant.cells.bucket_sums import BucketSet, Grid

    frame = spark.range(100_000).selectExpr("id % 2 AS y", "id * 1048576 / 4398046511104D AS s")
    opened = frames.open_frame(frame, Schema("y", "s", None, None))
    rows = engine.checked_rows(opened._columns, opened.checked)
    _, n, k = rows.pool_scores(BucketSet(Grid(20), np.arange(0, 100_000, 2)))
    assert (n.sum(), k.sum()) == (50_000, 0)


def test_the_example_of_the_page(spark, tmp_path, capsys):
    """The Spark example of docs/reference/scale.md runs as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "scale.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(from pyspark.*?)```", page, flags=re.DOTALL)[0]
    y, s, _ = CASES["bent both ways"]
    pq.write_table(pa.table({"outcome": y, "score": s}), tmp_path / "a.parquet")
    exec(code, {"cal": calibrant, "path": str(tmp_path / "a.parquet")})
    assert "calibration error is at most" in capsys.readouterr().out
