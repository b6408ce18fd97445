"""Outcomes and predictions from dataframes, engines, files and queries: the same as from arrays, with named faults."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import ArgumentError, DataError, OutcomeTable, Query, SourceError

NAMES = {"outcome": "claims", "prediction": "rate", "exposure": "years", "cluster": "customer"}
ROW_ARRAYS = ("prediction", "outcome", "weight", "expected", "residual", "unit", "ends", "cluster")


def columns_of(n=120):
    rng = np.random.default_rng(3)
    years, rate = rng.choice([0.25, 0.5, 1.0], n), rng.choice([0.125, 0.5, 1.5], n)
    claims = rng.poisson(rate * years)
    customer = [f"C{code}" for code in rng.integers(0, 40, n)]
    return {"id": np.arange(n), "rate": rate, "customer": customer, "years": years, "claims": claims}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that messages have short names of files
    frame = pd.DataFrame(columns_of())
    frame.to_parquet(tmp_path / "all.parquet")
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.to_json(tmp_path / "all.jsonl", orient="records", lines=True)
    frame[:50].to_csv(tmp_path / "part1.csv", index=False)
    frame[50:][[*reversed(frame.columns)]].to_csv(tmp_path / "part2.csv", index=False)
    return tmp_path


SOURCES = {
    "pandas": lambda _: pd.DataFrame(columns_of()),
    "Polars": lambda _: pl.DataFrame(columns_of()),
    "lazy Polars": lambda _: pl.LazyFrame(columns_of()),
    "PyArrow": lambda _: pa.table(columns_of()),
    "DuckDB": lambda folder: duckdb.connect().read_parquet(str(folder / "all.parquet")),
    "Parquet": lambda folder: folder / "all.parquet",
    "CSV": lambda folder: str(folder / "all.csv"),
    "JSON": lambda folder: str(folder / "all.jsonl"),
    "pattern": lambda folder: str(folder / "part*.csv"),
    "list": lambda folder: [folder / "part2.csv", folder / "part1.csv"],
    "query": lambda folder: Query(f"SELECT * FROM '{folder / 'all.parquet'}'"),
}


QUICK = ("Polars", "Parquet", "pattern")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in sorted(SOURCES.keys() - QUICK))]
)
def test_every_source_gives_the_rows_of_arrays(name, folder):
    read = OutcomeTable.from_source(SOURCES[name](folder), **NAMES, limits=(0, 9))
    columns = columns_of()
    given = {"exposure": columns["years"], "cluster": columns["customer"], "limits": (0, 9)}
    table = OutcomeTable.from_outcomes(columns["claims"], columns["rate"], **given)
    assert all(np.array_equal(getattr(read.rows, each), getattr(table.rows, each)) for each in ROW_ARRAYS)
    assert (read.digest, read.reach_low) == (table.digest, table.reach_low)


@pytest.mark.parametrize("name", ["pandas", "CSV"])
def test_weights_and_limits_are_handed_on(name, folder):
    read = OutcomeTable.from_source(
        SOURCES[name](folder), outcome="claims", prediction="rate", weight="years", relative_to="exposure"
    )
    columns = columns_of()
    table = OutcomeTable.from_outcomes(
        columns["claims"], columns["rate"], sample_weight=columns["years"], relative_to="exposure"
    )
    assert read.digest == table.digest
    assert (read.weighting, read.relative_to) == ("sample_weight", "exposure")


BAD = [
    ("claims", "", "numbers as outcomes", "an empty value in row 3 of column claims in bad.csv", "drop or repair"),
    ("claims", "many", "numbers as outcomes", "'many' in row 3 of column claims in bad.csv", "convert or drop"),
    ("claims", "nan", "finite outcomes", "nan in row 3 of column claims in bad.csv", "drop or repair"),
    ("claims", "inf", "finite outcomes", "inf in row 3 of column claims in bad.csv", "no mean"),
    ("claims", "-2", "outcomes of at least 0", "-2.0 in row 3 of column claims in bad.csv", "outcome limits"),
    ("claims", "99", "outcomes of at most 9", "99.0 in row 3 of column claims in bad.csv", "give the cap"),
    ("rate", "-2", "predictions above 0", "-2.0 in row 3 of column rate in bad.csv", "'exposure', for an error per"),
    ("years", "0", "exposures above 0", "0.0 in row 3 of column years in bad.csv", "correct its exposure"),
    (
        "customer",
        "",
        "a cluster in every row",
        "an empty value in row 3 of column customer in bad.csv",
        "drop or repair",
    ),
]


@pytest.mark.grid
@pytest.mark.parametrize(("column", "value", "expected", "found", "remedy"), BAD)
def test_files_name_the_row_that_cannot_be_used(column, value, expected, found, remedy, folder):
    frame = pd.DataFrame(columns_of()).astype(str)
    frame.loc[2, column] = value
    frame.to_csv(folder / "bad.csv", index=False)
    with pytest.raises(DataError) as caught:
        OutcomeTable.from_source("bad.csv", **NAMES, limits=(0, 9))
    assert expected in caught.value.expected
    assert found in caught.value.found
    assert remedy in caught.value.remedy


def test_gaps_are_left_out_alike_from_arrays_frames_and_files(folder):
    frame = pd.DataFrame(columns_of()).astype(object)
    frame.loc[2, "claims"], frame.loc[5, "rate"], frame.loc[[5, 7], "customer"] = "NA", None, None
    frame.to_csv(folder / "gaps.csv", index=False)
    asked = {**NAMES, "cluster": "customer", "missing": "drop"}
    read = [OutcomeTable.from_source(source, **asked) for source in (frame, "gaps.csv")]
    columns = {"exposure": frame["years"], "cluster": frame["customer"]}
    read.append(OutcomeTable.from_outcomes(frame["claims"], frame["rate"], **columns, missing="drop"))
    assert len({table.digest for table in read}) == 1
    for table in read:
        assert str(table.rows.left_out) == str(read[0].rows.left_out)
        assert table.rows.left_out.causes == {"outcome": 1, "prediction": 1, "cluster": 2}
        assert table.rows.left_out.n == 3
    frame.loc[8, "rate"] = "a lot"  # no gap
    frame.to_csv(folder / "gaps.csv", index=False)
    with pytest.raises(DataError, match="'a lot' in row 9 of column rate"):
        OutcomeTable.from_source("gaps.csv", **asked)
    frame.loc[8, "rate"] = -1.0
    frame.to_csv(folder / "gaps.csv", index=False)
    with pytest.raises(DataError, match=r"-1\.0 in row 9 of column rate in gaps\.csv"):
        OutcomeTable.from_source("gaps.csv", **asked)
    with pytest.raises(DataError, match="every row left out"):
        OutcomeTable.from_outcomes([np.nan], [1.0], missing="drop")


def test_several_columns_name_a_cluster_together(folder):
    """It is missing where all of them are empty, and another one where one of them is."""
    frame = pd.DataFrame(columns_of()).astype({"customer": object})
    frame["branch"] = np.where(np.arange(len(frame)) % 3 == 0, "north", "south").astype(object)
    frame.loc[4, "branch"] = None
    frame.to_csv(folder / "branches.csv", index=False)
    pairs = list(zip(frame["customer"], frame["branch"], strict=True))
    table = OutcomeTable.from_outcomes(frame["claims"], frame["rate"], exposure=frame["years"], cluster=pairs)
    for source in (frame, pl.from_pandas(frame.astype({"customer": str})).lazy(), "branches.csv"):
        read = OutcomeTable.from_source(source, **{**NAMES, "cluster": ["customer", "branch"]})
        assert read.digest == table.digest
        assert read.sampling.n_units == table.sampling.n_units
    frame.loc[4, "customer"] = None
    frame.to_csv(folder / "branches.csv", index=False)
    for source, where in ((frame, "None in row 4"), ("branches.csv", "an empty value in row 5")):
        with pytest.raises(DataError, match=f"a cluster in every row, found {where} of column customer and"):
            OutcomeTable.from_source(source, **{**NAMES, "cluster": ["customer", "branch"]})


def test_of_several_files_the_one_is_named(folder):
    frame = pd.DataFrame(columns_of())
    frame.loc[3, "years"] = -1.0
    frame.to_csv(folder / "part3.csv", index=False)
    with pytest.raises(DataError) as caught:
        OutcomeTable.from_source("part*.csv", **NAMES)
    assert caught.value.found == "-1.0 in row 4 of column years in part3.csv"


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_dataframes_name_the_row_that_cannot_be_used(library):
    columns = columns_of()
    columns["claims"] = [None, *columns["claims"][1:].tolist()]
    columns["years"][5] = 0.0
    with pytest.raises(DataError) as caught:
        OutcomeTable.from_source(library(columns), **NAMES)
    assert caught.value.found == "(1) nan in row 0 of column claims, (2) 0.0 in row 5 of column years"


def test_nullable_and_text_columns_of_dataframes():
    columns = columns_of()
    frame = pd.DataFrame(columns).astype({"claims": "Int64"})
    assert OutcomeTable.from_source(frame, **NAMES).n_rows == 120
    frame.loc[7, "claims"] = pd.NA
    with pytest.raises(DataError, match="row 7 of column claims"):
        OutcomeTable.from_source(frame, **NAMES)
    text = pl.DataFrame(columns | {"claims": ["none"] * 120})
    with pytest.raises(DataError, match="numbers as outcomes, found 'none' in row 0 of column claims"):
        OutcomeTable.from_source(text, **NAMES)


def test_bad_names_are_refused(folder):
    file = "all.csv"
    with pytest.raises(SourceError, match="a column 'rat'"):
        OutcomeTable.from_source(file, outcome="claims", prediction="rat")
    with pytest.raises(SourceError, match="different columns for outcome and prediction"):
        OutcomeTable.from_source(file, outcome="claims", prediction="claims")
    with pytest.raises(ArgumentError, match="exposure or weight"):
        OutcomeTable.from_source(file, outcome="claims", prediction="rate", exposure="years", weight="id")
    (folder / "empty.csv").write_text("claims,rate\n")
    with pytest.raises(DataError, match=r"no rows in empty\.csv"):
        OutcomeTable.from_source("empty.csv", outcome="claims", prediction="rate")
    with pytest.raises(DataError, match="at least one row"):
        OutcomeTable.from_source(pd.DataFrame({"claims": [], "rate": []}), outcome="claims", prediction="rate")
