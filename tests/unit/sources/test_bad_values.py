"""Values that cannot be used: the same words as the Python functions, with column, row from 1 and number."""

from __future__ import annotations

import base64
import json
import re

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import ScoreTable
from calibrant.errors import DataError
from calibrant.sources.columns import check_column
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from calibrant.sources.query import Query
from calibrant.table.rules import score_rules

NAN, INF = float("nan"), float("inf")


def message(path, **keywords):
    with pytest.raises(DataError) as caught:
        read_table(path, **{"outcome": "y", "prediction": "p"} | keywords)
    return str(caught.value)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "0,0.2\n1,abc\n1,x\n",
            "numbers as scores, found 'abc' in row 2 of column p in {} and 1 more like it; convert",
        ),
        ("0,0.2\n1,\n", "numbers as scores, found an empty value in row 2 of column p in {}; drop or repair"),
        ("0,0.2\n1,'0,5'\n", "found '0,5' in row 2 of column p in {}; write a point, not a comma"),
        ("0,0.2\n1,nan\n", "finite scores, found nan in row 2 of column p in {};"),
        ("0,0.2\n1,-inf\n", "finite scores, found -inf in row 2"),
        ("0,0.2\n1,1.5\n0,1.25\n", "scores between 0 and 1, found 1.5 in row 2 of column p in {} and 1 more like it"),
        ("0,2\n1,55.5\n", "these look like percentages: divide them by 100"),
        ("0,20%\n1,85%\n", "found '20%' in row 1 of column p in {} and 1 more like it; write 0.87, not 87%; read"),
        ("0,-2.5\n1,0.5\n", "found -2.5 in row 1 of column p in {}; these look like logits"),
        (",0.2\n1,0.5\n,0.1\n", "a label in every row, found an empty value in row 1 of column y in {} and 1 more"),
        ("1,0.2\nnan,0.5\n", "a label in every row, found 'nan' in row 2"),
        (
            "a,0.2\nb,0.5\n",
            "labels 0 and 1, found the values 'a', 'b' in row 1 of column y in {} and 1 more like it; say which value",
        ),
        ("0,0.2\n1,0.5\n2,0.5\n", "two label values, found the values 0, 1, 2 in row 3 of column y in {}"),
        ("0,0.2\n1,0.5\n-1,0.5\n", "two label values, found the values 0, 1, -1"),
        ("0.5,0\n0.25,1\n", "the label and score columns look swapped"),
        ("0,0.1\n1,0.1\n2,0.1\n3,0.1\n4,0.1\n5,0.1\n", "the values 0, 1, 2, 3, 4 and others"),
    ],
)
def test_scores_and_labels(write, rows, words):
    path = write("scores.csv", "y,p\n" + rows.replace("'", '"'))
    assert words.format(path) in message(path)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,0.2,x\n1,0.5,1\n", "numbers as weights, found 'x' in row 1 of column w in {}; convert"),
        ("0,0.2,1\n1,0.5,\n", "numbers as weights, found an empty value in row 2"),
        ("0,0.2,1\n1,0.5,-1\n", "finite weights that are not negative, found -1.0 in row 2"),
        ("0,0.2,1\n1,0.5,nan\n", "finite weights that are not negative, found nan in row 2"),
        ("0,0.2,inf\n1,0.5,1\n", "finite weights that are not negative, found inf in row 1"),
        ("0,0.2,0\n1,0.5,0\n", "some positive weight, found only zeros"),
    ],
)
def test_weights(write, rows, words):
    path = write("scores.csv", "y,p,w\n" + rows)
    assert words.format(path) in message(path, weight="w")


def test_pos_label(write):
    path = write("scores.csv", "y,p\nyes,0.2\nno,0.5\nmaybe,0.5\n")
    found = "the values 'yes', 'no', 'maybe'"
    assert read_table(path, outcome="y", prediction="p", pos_label="yes").k.tolist() == [1, 0]
    assert f"some rows with the positive label 'Yes', found {found}" in message(path, pos_label="Yes")


@pytest.mark.slow
def test_first_bad_row_in_a_long_file(write):
    rows = ["0,0.5", "1,0.25"] * 200_000
    rows[311_111] = "1,7"
    rows[300_000] = "1,1.0001"
    path = write("scores.csv", "y,p\n" + "\n".join(rows) + "\n")
    assert "found 1.0001 in row 300001 of column p" in message(path)


def test_a_third_label_far_below(write):
    path = write("scores.csv", "y,p\n" + "0,0.5\n1,0.25\n" * 60_000 + "2,0.5\n")
    assert "found the values 0, 1, 2 in row 120001 of column y" in message(path)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("labels", "scores", "words"),
    [
        ([0, 1, 1], [0.5, NAN, 0.25], "finite scores, found nan in row 2"),
        ([0, 1, 1], [0.5, 0.5, 3.5], "scores between 0 and 1, found 3.5 in row 3"),
        ([0.0, 1.0, NAN], [0.5, 0.5, 0.5], "a label in every row, found nan in row 3"),
        ([0, 1, 7], [0.5, 0.5, 0.5], "the values 0, 1, 7"),
        ([0.25, 0.5, 0.75], [0.0, 1.0, 0.0], "look swapped"),
    ],
)
def test_parquet(tmp_path, labels, scores, words):
    path = tmp_path / "scores.parquet"
    rows = ", ".join(
        f"('{y!r}'::{'DOUBLE' if isinstance(y, float) else 'INTEGER'}, '{p!r}'::DOUBLE)"
        for y, p in zip(labels, scores, strict=True)
    )
    duckdb.sql(f"SELECT * FROM (VALUES {rows}) t(y, p)").write_parquet(str(path))
    assert words in message(path)


# Four rows (y, p) = (0, 0.25) (1, NaN) (1, 1.0) (0, 0.0), written by pyarrow 26.0.1:
# write_table(table, file, compression="none", use_dictionary=False, store_schema=False)
NAN_FROM_PYARROW = (
    "UEFSMRUAFSwVLCwVCBUAFQYVBhwYBAEAAAAYBAAAAAAWACgEAQAAABgEAAAAABERAAAAAgAAAAgBAAAAAAEAAAABAAAAAAAAABUAFUwVTCwV"
    "CBUAFQYVBhwYCAAAAAAAAPA/GAgAAAAAAAAAgBYAKAgAAAAAAADwPxgIAAAAAAAAAIAREQAAAAIAAAAIAQAAAAAAANA/AAAAAAAA+H8AAAAA"
    "AADwPwAAAAAAAAAAFQQZPDUAGAZzY2hlbWEVBAAVAiUCGAF5JR5MrBMIEQAAABUKJQIYAXAAFggZHBksJgAcFQIZJQYAGRgBeRUAFggWigEW"
    "igEmCDwYBAEAAAAYBAAAAAAWACgEAQAAABgEAAAAABERABkcFQAVABUCADwpBhkmAAgAAAAmABwVChklBgAZGAFwFQAWCBbKARbKASaSATwY"
    "CAAAAAAAAPA/GAgAAAAAAAAAgBYAKAgAAAAAAADwPxgIAAAAAAAAAIAREQAZHBUAFQAVAgA8KQYZJgAIAAAAFtQCFggmCBbUAgAoIHBhcnF1"
    "ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGSwcAAAcAAAACwEAAFBBUjE="
)


def test_nan_that_the_statistics_of_parquet_leave_out(write):
    """DuckDB 2.0.0 believes the declared range 0 to 1 and finds no NaN, unless told not to."""
    path = write("scores.parquet", base64.b64decode(NAN_FROM_PYARROW))
    assert duckdb.sql(f"SELECT stats_min, stats_max FROM parquet_metadata('{path}')").fetchall()[1] == ("-0.0", "1.0")
    assert f"finite scores, found nan in row 2 of column p in {path}" in message(path)


def test_parquet_of_other_types(tmp_path):
    path = tmp_path / "scores.parquet"
    duckdb.sql("SELECT * FROM (VALUES (DATE '2020-01-01', 'x', NULL), (DATE '2020-01-02', 'y', 0.5)) t(d, y, p)"
               ).write_parquet(str(path))  # fmt: skip
    assert "(1) datetime.date(2020, 1, 1) in row 1 of column d" in message(path, prediction="d")
    assert "an empty value in row 1 of column p" in message(path)


NOTHING = {
    "y": "expected a label in every row, found an empty value in row 1 of column y in {} and 2 more like it; drop or",
    "p": "expected numbers as scores, found an empty value in row 1 of column p in {} and 2 more like it; drop or",
    "w": "expected numbers as weights, found an empty value in row 1 of column w in {} and 2 more like it; drop or",
}
FULL = {"y": [0, 1, 1], "p": [0.1, 0.2, 0.3], "w": [1.0, 2.0, 1.0]}


@pytest.mark.grid
@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("kind", [pa.null(), pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.date32()])
def test_parquet_columns_of_nothing(tmp_path, name, kind):
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table(FULL | {name: pa.array([None] * 3, kind)}), path)
    for pos_label in (None, 1, "a") if name == "y" else (None,):
        assert NOTHING[name].format(path) in message(path, weight="w", pos_label=pos_label)


@pytest.mark.grid
@pytest.mark.parametrize("name", NOTHING)
def test_text_and_queries_of_nothing(write, name):
    rows = list(zip(*(FULL | {name: [None] * 3}).values(), strict=True))
    lines = "".join(",".join("" if value is None else str(value) for value in row) + "\n" for row in rows)
    path = write("scores.csv", "y,p,w\n" + lines)
    assert NOTHING[name].format(path) in message(path, weight="w")
    path = write("scores.jsonl", "".join(json.dumps(dict(zip(FULL, row, strict=True))) + "\n" for row in rows))
    assert NOTHING[name].format(path) in message(path, weight="w")
    columns = ", ".join(f"NULL AS {column}" if column == name else f"1 AS {column}" for column in FULL)
    query = Query(f"SELECT {columns} FROM range(3)")
    assert NOTHING[name].format("the result of the query") in message(query, weight="w")


@pytest.mark.grid
@pytest.mark.parametrize("scores", [[0.5, 1.5, NAN], [0.5, -3.0, 3.0], [0.5, 12.0, 99.0], [0.5, INF, 0.1]])
def test_words_are_those_of_the_python_functions(write, scores):
    path = write("scores.csv", "y,p\n" + "".join(f"1,{score}\n" for score in scores))
    with pytest.raises(DataError) as caught:
        ScoreTable.from_scores([1, 1, 1], scores)
    caught.value.known = {"missing"}  # as `read_table` has it
    assert message(path) == _in_file(caught.value, "p", path)


def test_every_fault_has_its_own_words_from_each_source(write):
    """Missing, infinite and outside are three faults, and a count that is broken another, as in arrays.

    A relation of DuckDB tells NaN from an empty value as little as its file's limits do.
    """
    rows = {"y": [0, 1, 1, 0, 1, 0], "p": [0.5, NAN, 1.5, INF, -2.0, 0.2], "w": [1.0, 2.0, 1.5, -1.0, NAN, 1.0]}
    with pytest.raises(DataError) as caught:
        ScoreTable.from_scores(rows["y"], rows["p"], count=rows["w"])
    faults = [fault.expected for fault in caught.value.faults]
    assert len(faults) == 6
    frame, path = pl.DataFrame(rows), write("rows.parquet", b"")
    frame.write_parquet(path)
    text = write("rows.csv", frame.write_csv())
    names = {"outcome": "y", "prediction": "p", "count": "w"}
    for read in (
        lambda: read_table(path, **names),
        lambda: read_table(text, **names),
        lambda: ScoreTable.from_frame(frame.lazy(), **names),
    ):
        with pytest.raises(DataError) as found:
            read()
        assert [fault.expected for fault in found.value.faults] == faults
        assert found.value.args[2] == caught.value.args[2]
    with pytest.raises(DataError) as found:
        ScoreTable.from_frame(duckdb.sql(f"SELECT * FROM '{path}'"), **names)
    assert [fault.expected for fault in found.value.faults] == [
        "numbers as scores",
        *faults[1:3],
        "numbers as weights",
        *faults[4:],
    ]
    assert str(found.value).count("an empty value or nan in column") == 2


@pytest.mark.parametrize("labels", [[0, 1, 2], [3, 3, 3], ["a", "b", "a"]])
def test_words_about_labels_are_those_of_the_python_functions(write, labels):
    path = write("scores.csv", "y,p\n" + "".join(f"{label},0.5\n" for label in labels))
    with pytest.raises(DataError) as caught:
        ScoreTable.from_scores(labels, [0.5] * 3)
    assert message(path) == _in_file(caught.value, "y", path)


def _in_file(error, column, path):
    """Return a message about arrays as it is about a file, whose rows count from 1."""
    return re.sub(r"row (\d+)", lambda row: f"row {int(row[1]) + 1} of column {column} in {path}", str(error))


def test_scores_alone_may_be_missing(write):
    with open_source(write("scores.csv", "p,x\n0.5,1\n,1\n")) as source:
        check_column(source, "p", score_rules())
    path = write("scores.csv", "p,x\n,1\n1.5,1\n")
    with (
        open_source(path) as source,
        pytest.raises(DataError, match=r"between 0 and 1, found 1\.5 in row 2 of column p in "),
    ):
        check_column(source, "p", score_rules())
    with (
        open_source(write("scores.csv", "p,x\n,1\nlow,1\n")) as source,
        pytest.raises(DataError, match="numbers as scores, found 'low' in row 2 of column p in "),
    ):
        check_column(source, "p", score_rules())


@pytest.mark.parametrize(("scores", "found"), [([0.3, 1.5], "1.5"), ([0.3, -0.5], "-0.5"), ([1.5, -0.5], "-0.5")])
def test_of_a_frame_the_score_that_is_outside_is_named(scores, found):
    with pytest.raises(DataError, match=f"found {found}"):
        ScoreTable.from_frame(pl.LazyFrame({"y": [0, 1], "p": scores}), outcome="y", prediction="p")


def test_a_positive_label_is_the_same_number_or_the_same_text(tmp_path):
    """As a number "1" is 1.0, and "x" is no number at all."""
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n1,0.2\n2,0.3\n2,0.4\n")
    assert read_table(path, outcome="y", prediction="p", pos_label=1.0).positives == 1
    path.write_text("y,p\nx,0.2\n2,0.3\n2,0.4\n")
    assert read_table(path, outcome="y", prediction="p", pos_label="2").positives == 2
    assert read_table(path, outcome="y", prediction="p", pos_label="x").positives == 1
