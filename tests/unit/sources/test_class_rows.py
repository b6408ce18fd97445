"""Labels and probabilities of several classes from dataframes, engines, files and queries: the same as from arrays."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import ArgumentError, ClassScores, Query, certify_classes
from calibrant.sources.class_rows import class_scores_of

NAMES = ("ant", "bee", "cat")


def columns_of(n=300, label=None):
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([1.0, 1.0, 2.0], n)
    code = np.minimum(2, (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1))
    values = np.array(NAMES if label is None else label)[code]
    # The order of the columns is that of the classes below, not of their names.
    return {"p_cat": proba[:, 2], "id": np.arange(n), "y": values, "p_ant": proba[:, 0], "p_bee": proba[:, 1]}


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame(columns_of())
    frame.to_parquet(tmp_path / "all.parquet")
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.to_json(tmp_path / "all.jsonl", orient="records", lines=True, double_precision=15)
    frame[:100].to_csv(tmp_path / "part1.csv", index=False)
    frame[100:][[*reversed(frame.columns)]].to_csv(tmp_path / "part2.csv", index=False)
    return tmp_path


SOURCES = {
    "pandas": lambda _: pd.DataFrame(columns_of()),
    "Polars": lambda _: pl.DataFrame(columns_of()),
    "lazy Polars": lambda _: pl.LazyFrame(columns_of()),
    "PyArrow": lambda _: pa.table(columns_of()),
    "DuckDB": lambda folder: duckdb.connect().read_parquet(str(folder / "all.parquet")),
    "Parquet": lambda folder: folder / "all.parquet",
    "CSV": lambda folder: str(folder / "all.csv"),
    "pattern": lambda folder: str(folder / "part*.csv"),
    "list": lambda folder: [folder / "part1.csv", folder / "part2.csv"],
    "query": lambda folder: Query(f"SELECT * FROM '{folder / 'all.parquet'}'"),
}


@pytest.mark.parametrize("scores", ["p_*", ["p_cat", "p_ant", "p_bee"]], ids=["pattern", "names"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_rows_of_arrays(name, scores, folder):
    found = ClassScores.from_source(SOURCES[name](folder), label="y", scores=scores)
    columns = columns_of()
    wanted = ClassScores.from_scores(
        columns["y"],
        np.column_stack([columns[each] for each in ("p_cat", "p_ant", "p_bee")]),
        classes=["cat", "ant", "bee"],
    )
    assert found.classes == wanted.classes
    assert np.array_equal(found.code, wanted.code)
    assert np.array_equal(found.proba, wanted.proba)


def test_rounded_text_is_divided_by_its_sum(folder):
    found = ClassScores.from_source(folder / "all.jsonl", label="y", scores="p_*")
    assert found.n_rescaled == 0
    assert np.abs(found.proba.sum(axis=1) - 1.0).max() < 1e-12


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("label", [(0, 1, 2), (2.5, 3.0, 4.0), (10, 2, 7)])
def test_labels_of_any_kind(label, ending, tmp_path):
    columns, file = columns_of(label=label), tmp_path / f"scores.{ending}"
    write = pd.DataFrame.to_csv if ending == "csv" else pd.DataFrame.to_parquet
    write(pd.DataFrame(columns), file, index=False)
    order = [label[2], label[0], label[1]]
    found = ClassScores.from_source(file, label="y", scores="p_*", classes=order)
    assert np.array_equal(
        found.code, ClassScores.from_source(pd.DataFrame(columns), label="y", scores="p_*", classes=order).code
    )


def test_front_functions_take_names_of_columns(folder):
    columns = columns_of()
    proba = np.column_stack([columns[f"p_{name}"] for name in NAMES])
    one = certify_classes(folder / "all.parquet", label="y", scores=[f"p_{name}" for name in NAMES])
    assert one.to_json() == certify_classes(columns["y"], proba).to_json()
    with pytest.raises(
        ArgumentError, match="label and scores, and no matrix of probabilities, found label and y_proba"
    ):
        class_scores_of(columns["y"], proba, label="y")
