"""Dataframes, files and queries by the names of their columns: the same audit as of arrays."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import (
    ArgumentError,
    CalibrantError,
    DataError,
    Query,
    ScoreTable,
    SourceError,
    audit,
    read_table,
)
from calibrant.sources.given import rows_of
from calibrant.sources.schema import Schema
from calibrant.sources.source import describe_no_column

N = 400


def table_of(source, columns):
    with rows_of(source, columns) as rows:
        return rows.clustered() if columns.cluster else rows.table()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    p = rng.random(N).round(2)
    return pd.DataFrame(
        {"y": (rng.random(N) < p).astype(int), "p": p, "w": rng.integers(1, 4, N), "a": rng.integers(0, 90, N), "b": 1}
    )


@pytest.fixture(scope="module")
def sources(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("named") / "scores.parquet"
    frame.to_parquet(path)
    polars = pl.from_pandas(frame)
    query = Query(f"SELECT * FROM '{path}'")
    return {"pandas": frame, "polars": polars, "lazy": polars.lazy(), "path": path, "text": str(path), "query": query}


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "path", "text", "query"])
@pytest.mark.parametrize("count", [None, "w"])
def test_same_audit_as_of_arrays(kind, count, frame, sources):
    expected = audit(frame["y"], frame["p"], count=None if count is None else frame[count], tolerance=0.2)
    found = audit(sources[kind], outcome="y", prediction="p", count=count, tolerance=0.2)
    assert found.provenance.fingerprint == expected.provenance.fingerprint


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "path", "query"])
@pytest.mark.parametrize("clusters", ["a", ["a", "b"]])
def test_same_audit_as_of_clustered_arrays(kind, clusters, frame, sources):
    expected = audit(frame["y"], frame["p"], cluster=frame["a"])
    found = audit(sources[kind], outcome="y", prediction="p", cluster=clusters)
    assert (found.n, found.clusters, found.left_out) == (expected.n, expected.clusters, expected.left_out)
    assert found.certificate.bound == expected.certificate.bound


@pytest.mark.slow
def test_positive_label(frame):
    words = frame.assign(y=np.where(frame["y"] == 1, "yes", "no"))
    for clusters in (None, "a"):
        found = audit(words, outcome="y", prediction="p", pos_label="yes", cluster=clusters)
        assert found.positives == frame["y"].sum()


def test_names_and_arrays_together(frame):
    for wrong in ({"outcome": "y"}, {"prediction": "p"}):
        with pytest.raises(ArgumentError, match="names of both columns"):
            audit(frame, **wrong)


def test_a_weight_without_label_and_score(frame):
    with pytest.raises(ArgumentError, match=r"names of both columns.*found weight;.*weight=w"):
        audit(frame, weight="w")


@pytest.mark.parametrize("clusters", [None, "a", ["a", "b"]])
@pytest.mark.parametrize("source", [None, 3, {"y": [0, 1]}, np.zeros((2, 2)), pd.Series([0, 1]), object(), [1, 2]])
def test_objects_that_hold_no_columns(source, clusters):
    with pytest.raises(CalibrantError) as caught:
        audit(source, outcome="y", prediction="p", cluster=clusters)
    assert caught.value.expected.startswith(("a dataframe: pandas", "paths of files", "a table beside"))
    assert caught.value.found
    assert caught.value.remedy


@pytest.mark.parametrize(
    "names", [{"outcome": None}, {"prediction": None}, {"prediction": np.array(["p"])}, {"weight": ["w"]}]
)
def test_what_names_no_column(frame, names):
    with pytest.raises(ArgumentError, match=r"to name a column, found .*choose among y, p"):
        ScoreTable.from_frame(frame, **({"outcome": "y", "prediction": "p"} | names))


@pytest.mark.parametrize("path", [None, 7, [None], np.array([1, 2]), pd.DataFrame({"y": [0, 1], "p": [0.2, 0.7]})])
def test_what_is_no_path(path):
    with pytest.raises(SourceError, match="paths of files"):
        read_table(path, outcome="y", prediction="p")


@pytest.mark.parametrize("clusters", [None, "a"])
def test_columns_of_one_name(frame, clusters):
    twice = frame.rename(columns={"w": "p"})
    with pytest.raises(DataError, match=r"one column 'p', found 2 of that name|different names"):
        audit(twice, outcome="y", prediction="p", cluster=clusters)


def test_clusters_of_two_columns(frame, sources):
    expected = list(zip(frame["a"], frame["b"], strict=True))
    for kind in ("pandas", "polars", "lazy"):
        with rows_of(sources[kind], Schema("y", "p", count="w", cluster=("a", "b"))) as rows:
            held = rows.held()
        assert held.clusters == expected
        assert held.count.tolist() == frame["w"].tolist()


def test_columns_that_are_none(frame, sources):
    for source in (frame, sources["lazy"], sources["path"]):
        for clusters in ((), ("c",)):
            with pytest.raises(CalibrantError, match=r"'q'|'c'"):
                table_of(source, Schema("y", "p" if clusters else "q", cluster=clusters))
    with pytest.raises(CalibrantError, match="different columns"):
        table_of(frame, Schema("y", "y"))
    with pytest.raises(DataError, match=r"did you mean 'y'\?"):
        table_of(frame, Schema("Y", "p"))


def test_names_of_columns_may_be_numbers():
    numbers = pd.DataFrame(np.eye(2))
    with pytest.raises(DataError, match=r"a column 'y', found the columns 0, 1; choose one of these"):
        table_of(numbers, Schema("y", "p"))
    with pytest.raises(DataError, match=r"a column 7, found the columns 0, 1; choose"):
        table_of(numbers, Schema(7, 1))
    with pytest.raises(DataError, match=r"a column 7, found the columns y, p; choose"):
        table_of(duckdb.sql("SELECT 1 AS y, 0.5 AS p"), Schema(7, "p"))


def test_a_name_that_contains_what_was_written_is_suggested_first():
    def hint(name):
        return describe_no_column(name, ["admitted", "Died in hospital", "risk"])[2]

    assert hint("died") == "did you mean 'Died in hospital'?"
    assert hint("admited") == "did you mean 'admitted'?"
    assert hint("zzz") == "choose one of these"
