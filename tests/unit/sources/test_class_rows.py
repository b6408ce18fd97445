"""Labels and probabilities of several classes from dataframes, engines, files and queries: the same as from arrays."""

import re
from itertools import permutations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import ArgumentError, ClassScores, DataError, Query, SourceError, certify, read_table
from calibrant.sources import given
from calibrant.sources.given import class_scores_of

NAMES = ("ant", "bee", "cat")
SLOW = pytest.mark.slow


def quick_first(names, *quick):
    """Mark all but a few as slow."""
    return [name if name in quick else pytest.param(name, marks=SLOW) for name in names]


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


@pytest.mark.parametrize(
    "scores", ["p_*", pytest.param(["p_cat", "p_ant", "p_bee"], marks=SLOW)], ids=["pattern", "names"]
)
@pytest.mark.parametrize("name", quick_first(SOURCES, "pandas", "lazy Polars", "Parquet", "pattern"))
def test_every_source_gives_the_rows_of_arrays(name, scores, folder):
    found = ClassScores.from_source(SOURCES[name](folder), outcome="y", prediction=scores)
    columns = columns_of()
    wanted = ClassScores.from_scores(
        columns["y"],
        np.column_stack([columns[each] for each in ("p_cat", "p_ant", "p_bee")]),
        classes=["cat", "ant", "bee"],
    )
    assert found.classes == wanted.classes
    assert np.array_equal(found.code, wanted.code)
    assert np.array_equal(found.proba, wanted.proba)


@pytest.mark.slow
def test_rounded_text_is_divided_by_its_sum(folder):
    found = ClassScores.from_source(folder / "all.jsonl", outcome="y", prediction="p_*")
    assert found.n_rescaled == 0
    assert np.abs(found.proba.sum(axis=1) - 1.0).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("label", [(0, 1, 2), (2.5, 3.0, 4.0), (10, 2, 7)])
def test_labels_of_any_kind(label, ending, tmp_path):
    columns, file = columns_of(label=label), tmp_path / f"scores.{ending}"
    write = pd.DataFrame.to_csv if ending == "csv" else pd.DataFrame.to_parquet
    write(pd.DataFrame(columns), file, index=False)
    order = [label[2], label[0], label[1]]
    found = ClassScores.from_source(file, outcome="y", prediction="p_*", classes=order)
    assert np.array_equal(
        found.code, ClassScores.from_source(pd.DataFrame(columns), outcome="y", prediction="p_*", classes=order).code
    )


def test_front_functions_take_names_of_columns(folder):
    columns = columns_of()
    proba = np.column_stack([columns[f"p_{name}"] for name in NAMES])
    one = certify(folder / "all.parquet", outcome="y", prediction=[f"p_{name}" for name in NAMES])
    assert one.to_json() == certify(columns["y"], proba).to_json()
    with pytest.raises(ArgumentError, match="a table beside the names"):
        class_scores_of(columns["y"], proba, outcome="y")


def test_the_worst_class_of_a_file_is_that_of_its_columns_one_by_one(tmp_path):
    file = tmp_path / "all.parquet"
    pd.DataFrame(columns_of(3000)).to_parquet(file)
    bounds = [certify(read_table(file, outcome="y", prediction=f"p_{name}", pos_label=name)).bound for name in NAMES]
    assert max(bounds) == certify(file, outcome="y", prediction="p_*").bound


@pytest.fixture
def of_large_files(monkeypatch):
    """Read every file as if it had more probabilities than memory should hold."""
    monkeypatch.setattr(given, "MOST_NUMBERS", 0)


@pytest.mark.parametrize("name", quick_first(["Parquet", "CSV", "pattern", "list", "query"], "Parquet"))
def test_a_large_file_is_read_class_by_class(name, folder, of_large_files, monkeypatch):
    source = SOURCES[name](folder)
    monkeypatch.setattr(ClassScores, "from_numbered", None)  # no matrix
    one = certify(source, outcome="y", prediction="p_*", tolerance=0.2)
    monkeypatch.undo()
    two = certify(source, outcome="y", prediction="p_*", tolerance=0.2)
    assert (one.bound, one.n_rescaled) == (pytest.approx(two.bound, rel=1e-12), 0)
    assert one.lower_bound == one.parts.lower.max()
    found, wanted = one.parts, two.parts
    assert found.name.tolist() == wanted.name.tolist() == ["cat", "ant", "bee"]
    assert found.verdicts.tolist() == wanted.verdicts.tolist()
    for field in ("observed_rate", "mean_predicted", "error", "low", "high", "lower", "upper"):
        assert np.allclose(getattr(found, field), getattr(wanted, field), rtol=1e-12, atol=1e-14), field


def test_equal_probabilities_of_a_large_file_stay_equal(tmp_path, of_large_files):
    rng, file = np.random.default_rng(0), tmp_path / "equal.parquet"
    proba = np.array(list(permutations([0.1, 0.2, 0.7])))[rng.integers(6, size=400)]  # sums of 1 and a little below
    label = (proba.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1).clip(0, 2)
    frame = pd.DataFrame(proba, columns=["p_a", "p_b", "p_c"]).assign(y=np.array([*"abc"])[label])
    frame.to_parquet(file)
    found, wanted = (certify(each, outcome="y", prediction="p_*").parts for each in (file, frame))
    assert np.allclose(found.error, wanted.error, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_a_large_file_that_are_rounded(n_classes, tmp_path, of_large_files):
    """They are divided by their sum; of two classes the second is taken as it is."""
    columns, file = columns_of(), tmp_path / "rounded.csv"
    frame = pd.DataFrame(columns)[["y", "p_ant", "p_bee", "p_cat"]].round(3)
    if n_classes == 2:
        frame["p_ant"] = (frame["p_ant"] + frame["p_cat"]).round(2)
        frame = frame.drop(columns="p_cat").replace({"y": {"cat": "ant"}})
    frame.to_csv(file, index=False)
    found = certify(file, outcome="y", prediction="p_*")
    wanted = certify(frame, outcome="y", prediction="p_*")
    assert found.n_rescaled == wanted.n_rescaled
    assert (found.n_rescaled > 0) == (n_classes == 3)
    assert np.allclose(found.parts.upper, wanted.parts.upper, rtol=1e-12)
    assert np.allclose(found.parts.error, wanted.parts.error, rtol=1e-12, atol=1e-14)


def changed(columns, name, row, value):
    values = columns[name].astype(object)
    values[row] = value
    return columns | {name: values}


P = ("p_cat", "p_ant", "p_bee")
BAD = {
    "rows that do not add up": (lambda c: c | {"p_cat": c["p_cat"] / 2}, ["add up to 1 in every row", "add them"]),
    "logits": (lambda c: c | {name: np.log(c[name]) + 2.0 for name in P}, ["logits"]),
    "logarithms": (lambda c: c | {name: np.log(c[name]) for name in P}, ["logarithms of probabilities"]),
    "percentages": (lambda c: c | {name: 100.0 * c[name] for name in P}, ["percentages"]),
    "NaN": (lambda c: changed(c, "p_ant", 3, np.nan), ["row {3}"]),
    "empty": (lambda c: changed(c, "p_ant", 3, None), ["row {3}"]),
    "text": (lambda c: c | {"p_ant": c["p_ant"].astype(str) + "x"}, ["numbers as"]),
    "infinite": (lambda c: changed(c, "p_ant", 3, np.inf), ["finite probabilities", "inf in row {3}"]),
    "another label": (lambda c: c | {"y": np.where(c["y"] == "bee", "dog", c["y"])}, ["'dog'", "p_cat, p_ant, p_bee"]),
    "no label": (lambda c: changed(c, "y", 4, None), ["a label in every row", "row {4}"]),
    "no labels": (lambda c: c | {"y": np.full(300, None)}, ["a label in every row", "row {0}", "299 more"]),
    "no rows": (lambda c: {name: values[:0] for name, values in c.items()}, ["at least one row"]),
}


@pytest.mark.parametrize("ending", quick_first(["frame", "engine", "csv", "parquet"], "frame"))
@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_gets_one_clear_sentence(name, ending, tmp_path):
    change, words = BAD[name]
    columns = change(columns_of())
    frame = pd.DataFrame({each: pd.Series(list(values)) for each, values in columns.items()})
    source, first = frame, 1
    if ending in ("frame", "engine"):
        source, first = frame if ending == "frame" else pl.DataFrame(frame).lazy(), 0
    else:
        source = tmp_path / f"scores.{ending}"
        (pd.DataFrame.to_csv if ending == "csv" else pd.DataFrame.to_parquet)(frame, source, index=False)
    with pytest.raises(DataError) as error:
        ClassScores.from_source(source, outcome="y", prediction="p_*")
    message = str(error.value)
    for word in words:
        assert re.sub(r"{(\d+)}", lambda row: str(int(row[1]) + first), word) in message, message
    assert "\n" not in message


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_a_large_file_is_refused_with_the_same_sentence(name, tmp_path, of_large_files):
    columns, file = BAD[name][0](columns_of()), tmp_path / "scores.csv"
    pd.DataFrame({each: pd.Series(list(values)) for each, values in columns.items()}).to_csv(file, index=False)
    messages = []
    for notion in ("worst_class", "sum"):
        with pytest.raises(DataError) as error:
            certify(file, outcome="y", prediction="p_*", notion=notion)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"prediction": "q_*"}, ["two or more classes", "none by prediction='q_*' among p_cat, id, y, p_ant, p_bee"]),
        ({"prediction": "p_ant"}, ["two or more classes", "p_ant by prediction='p_ant'"]),
        ({"prediction": "p_ant*"}, ["two or more classes", "p_ant by prediction='p_ant*'"]),
        ({"prediction": ["p_ant"]}, ["two or more classes"]),
        ({"prediction": ["p_ant", "y"]}, ["beside that of labels", "p_ant, y"]),
        ({"prediction": ["p_ant", "p_bee", "p_ant"]}, ["different columns", "'p_ant' twice"]),
        ({"prediction": ["p_ant", "p_dog"]}, ["a column 'p_dog'", "p_cat, id, y, p_ant, p_bee"]),
        ({"outcome": "Y"}, ["a column 'Y'", "did you mean 'y'?"]),
        ({"classes": ["cat", "ant", "cat"]}, ["different classes", "'cat' twice"]),
        ({"classes": ["cat", "ant"]}, ["2 classes and 3 columns"]),
        ({"classes": ["cat", "ant", "owl"]}, ["labels among the classes cat, ant, owl", "'bee' in row"]),
    ],
)
@pytest.mark.parametrize("source", quick_first(["pandas", "lazy Polars", "Parquet", "CSV", "query"], "pandas"))
def test_names_have_to_fit(source, names, words, folder):
    with pytest.raises((DataError, ArgumentError, SourceError)) as error:
        ClassScores.from_source(SOURCES[source](folder), **({"outcome": "y", "prediction": "p_*"} | names))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_what_is_no_source():
    with pytest.raises(DataError, match="a dataframe: pandas, Polars"):
        ClassScores.from_source(columns_of(), outcome="y", prediction="p_*")
    with pytest.raises(SourceError, match=r"no file nowhere\.csv"):
        ClassScores.from_source("nowhere.csv", outcome="y", prediction="p_*")
