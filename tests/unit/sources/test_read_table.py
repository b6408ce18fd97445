"""Whatever the format, the table equals that of the same rows in memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from calibrant import ScoreTable
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from support.strategies import small_rows

SETTINGS = settings(
    max_examples=5 + settings.default.max_examples // 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def same(table, other):
    assert table.exact
    assert other.exact
    for name in ("score", "n", "k"):
        ours, theirs = getattr(table, name), getattr(other, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def as_text(rows, delimiter=","):
    names = ["y", "p"] if rows.w is None else ["y", "p", "w"]
    columns = [rows.y, rows.s] if rows.w is None else [rows.y, rows.s, rows.w]
    values = zip(*(column.tolist() for column in columns), strict=True)
    return "\n".join(delimiter.join(map(repr, row)) for row in values), delimiter.join(names), names


def weight_of(rows):
    return {} if rows.w is None else {"weight" if rows.w.dtype.kind == "f" else "count": "w"}


def expected(rows):
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


@pytest.mark.slow
@SETTINGS
@given(rows=small_rows(weighted=("none", "whole")))
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv(write, rows, delimiter):
    body, header, _ = as_text(rows, delimiter)
    path = write("scores.csv", f"{header}\n{body}\n")
    same(read_table(path, outcome="y", prediction="p", **weight_of(rows)), expected(rows))


@SETTINGS
@given(rows=small_rows(weighted=("float",)))
def test_broken_weights(write, rows):
    body, header, _ = as_text(rows)
    table = read_table(write("scores.csv", f"{header}\n{body}\n"), outcome="y", prediction="p", weight="w")
    other = expected(rows)
    np.testing.assert_array_equal(table.score, other.score)
    np.testing.assert_allclose(table.n, other.n, rtol=1e-14)
    np.testing.assert_allclose(table.k, other.k, rtol=1e-14)


@pytest.mark.slow
@SETTINGS
@given(rows=small_rows(weighted=("none", "whole")))
def test_json(write, rows):
    _, _, names = as_text(rows)
    values = zip(*(column.tolist() for column in (rows.y, rows.s, rows.w) if column is not None), strict=True)
    objects = [json.dumps(dict(zip(names, row, strict=True))) for row in values]
    for name, text in (
        ("a.jsonl", "\n".join(objects)),
        ("a.json", "[" + ",\n".join(objects) + "]"),
        ("a", "\n".join(objects)),
    ):
        same(read_table(write(name, text), outcome="y", prediction="p", **weight_of(rows)), expected(rows))


@pytest.mark.slow
@SETTINGS
@given(rows=small_rows(weighted=("none", "whole")))
def test_parquet(tmp_path, rows):
    path = tmp_path / "scores.parquet"
    columns = {"y": rows.y, "p": rows.s} | ({} if rows.w is None else {"w": rows.w})
    connection = duckdb.connect()
    connection.register("columns", columns)
    connection.sql("SELECT * FROM columns").write_parquet(str(path))
    assert duckdb.sql(f"DESCRIBE SELECT p FROM '{path}'").fetchall()[0][1] == (
        "FLOAT" if rows.s.dtype == np.float32 else "DOUBLE"
    )
    same(read_table(path, outcome="y", prediction="p", **weight_of(rows)), expected(rows))


PLAIN = "y,p\n0,0.2\n1,0.7\n0,0.7\n"
TABLE = ScoreTable.from_scores([0, 1, 0], [0.2, 0.7, 0.7])


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scores.csv", PLAIN),
        ("scores.tsv", PLAIN.replace(",", "\t")),
        ("scores.txt", PLAIN.replace(",", ";")),
        ("scores.unknown", PLAIN),
        ("scores", PLAIN),
        ("bom.csv", "\ufeff" + PLAIN),
        ("windows.csv", PLAIN.replace("\n", "\r\n")),
        ("no_end.csv", PLAIN.rstrip()),
        ("blank_lines.csv", "\n \n" + PLAIN.replace("\n", "\n\n")),
        ("blank_windows.csv", "\r\n\r\n" + PLAIN.replace("\n", "\r\n")),
        ("spaces.csv", PLAIN.replace(",", " , ")),
        ("quoted.csv", '"y","p"\n"0","0.2"\n"1","0.7"\n"0","0.7"\n'),
        ("text.csv", 'note,y,p\n"a, b; c",0,0.2\n"line\nbreak",1,0.7\n"a ""b""",0,0.7\n'),
        ("more_commas.csv", '"a,b,c,d";y;p\n1;0;0.2\n1;1;0.7\n2;0;0.7\n'),
        ("decimal_commas_beside.csv", "x;y;p\n0,5;0;0.2\n0,5;1;0.7\n0,1;0;0.7\n"),
        ("signs.csv", "y,p\n-1,+0.2\n1,7e-1\n-1,.7\n"),
        ("words.csv", "y,p\nFalse,0.2\ntrue,0.7\nFALSE,0.7\n"),
        ("floats.csv", "y,p\n0.0,0.2\n1.0,0.7\n0.0,0.7\n"),
        ("unnamed.csv", ",y,p,,\n0,0,0.2,,\n1,1,0.7,,\n2,0,0.7,,\n"),
        ("cases.csv", "P,y,p,Y\n1,0,0.2,1\n1,1,0.7,1\n1,0,0.7,1\n"),
        ("star*[1]?.csv", PLAIN),
        ("it's.csv", PLAIN),
        ("y=1.csv", PLAIN),
        ("packed.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("packed.jsonl.gz", gzip.compress(b'{"y":0,"p":0.2}\n{"y":1,"p":0.7}\n{"y":0,"p":0.7}', mtime=0)),
        ("packed", gzip.compress(PLAIN.encode(), mtime=0)),
        ("text.jsonl", '{"y":"0","p":"0.2"}\n{"p":0.7,"y":true}\n\n{"y":false,"p":0.7,"z":{"a":[1]}}\n'),
        ("unknown.data", '{"y":0,"p":0.2}\n{"y":1,"p":0.7}\n{"y":0,"p":0.7}\n'),
    ],
)  # fmt: skip
def test_ways_to_write_the_same(write, name, content):
    same(read_table(write(name, content), outcome="y", prediction="p"), TABLE)


def test_patterns_in_names_are_not_patterns(write):
    write("scores1.csv", "y,p\n0,0.9\n1,0.8\n")
    write("scores2.csv", "y,p\n0,0.9\n1,0.8\n")
    same(read_table(write("scores*.csv", PLAIN), outcome="y", prediction="p"), TABLE)
    same(read_table(write("scores?.csv", PLAIN), outcome="y", prediction="p"), TABLE)


@pytest.mark.grid
@pytest.mark.parametrize(
    "column", ['a"b; drop', "it's", "%s {0} $1", "ä ü 漢", "select", "a,b", "a.b", "s", "positive", "bucket"]
)
def test_awkward_column_names(write, tmp_path, column):
    quoted = '"' + column.replace('"', '""') + '"'
    path = write("scores.csv", PLAIN.replace("p\n", quoted + "\n", 1))
    same(read_table(path, outcome="y", prediction=column), TABLE)
    rows = [{"y": y, column: p} for y, p in ((0, 0.2), (1, 0.7), (0, 0.7))]
    same(read_table(write("scores.jsonl", "\n".join(map(json.dumps, rows))), outcome="y", prediction=column), TABLE)
    parquet = tmp_path / "scores.parquet"
    duckdb.sql(f"SELECT y, p AS {quoted} FROM (VALUES (0, 0.2), (1, 0.7), (0, 0.7)) t(y, p)").write_parquet(
        str(parquet)
    )
    same(read_table(parquet, outcome="y", prediction=column), TABLE)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("zero", "one", "pos_label"),
    [("no", "yes", "yes"), ("0", "1", 1), ("0.0", "1.0", "1"), ("1", "2", 2), ("2", "1", "1"), ("False", "True", True),
     ("bad", " good", "good"), ("nan", "x", "x"), ("o'b", 'q""x', 'q"x')],
)  # fmt: skip
def test_pos_label(write, zero, one, pos_label):
    path = write("scores.csv", f'y,p\n"{zero}",0.2\n"{one}",0.7\n"{zero}",0.7\n')
    same(read_table(path, outcome="y", prediction="p", pos_label=pos_label), TABLE)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("type_", "values", "pos_label"),
    [
        ("BOOLEAN", "false true", None),
        ("BOOLEAN", "false true", "true"),
        ("BOOLEAN", "false true", "True"),
        ("BOOLEAN", "false true", 1),
        ("DOUBLE", "0 1", None),
        ("TINYINT", "-1 1", None),
        ("DECIMAL(5,2)", "0 1", None),
        ("UBIGINT", "3 7", "7"),
        ("VARCHAR", "a b", "b"),
        ("VARCHAR", "0 1", None),
        ("DATE", "2020-01-01 2020-01-02", "2020-01-02"),
    ],
)
def test_label_types_in_parquet(tmp_path, type_, values, pos_label):
    zero, one = (f"'{value}'::{type_}" for value in values.split())
    path = tmp_path / "scores.parquet"
    duckdb.sql(f"SELECT * FROM (VALUES ({zero}, 0.2), ({one}, 0.7), ({zero}, 0.7)) t(y, p)").write_parquet(str(path))
    same(read_table(path, outcome="y", prediction="p", pos_label=pos_label), TABLE)


def test_one_number_written_in_several_ways(write):
    path = write("scores.csv", "y,p\n1,0.7\n0.0,0.2\n0,0.7\n")
    same(read_table(path, outcome="y", prediction="p", pos_label="1"), TABLE)


def test_one_class_only_is_not_refused(write):
    path = write("scores.csv", "y,p\n0,0.7\n0,0.2\n")
    assert read_table(path, outcome="y", prediction="p").positives == 0
    assert read_table(path, outcome="y", prediction="p", pos_label="0").positives == 2
    assert read_table(path, outcome="y", prediction="p", pos_label="x").positives == 0


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        gzip.compress(PLAIN.encode(), mtime=0),
        b'\n {"y":0,"p":0.2}\n{"y":1,"p":0.7}\n{"y":0,"p":0.7}',
    ],
)
def test_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    same(read_table("-", outcome="y", prediction="p"), TABLE)


def test_parquet_on_standard_input(monkeypatch, tmp_path):
    path = tmp_path / "scores.parquet"
    duckdb.sql("SELECT * FROM (VALUES (0, 0.2), (1, 0.7), (0, 0.7)) t(y, p)").write_parquet(str(path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes()), encoding="utf-8"))
    same(read_table("-", outcome="y", prediction="p"), TABLE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(PLAIN))
    writer.start()
    same(read_table(path, outcome="y", prediction="p"), TABLE)
    writer.join()


def test_weights_of_zero_leave_no_trace(write):
    path = write("scores.csv", "y,p,w\n0,0.2,1\n1,0.7,2\n1,0.9,0\n")
    same(read_table(path, outcome="y", prediction="p", count="w"), ScoreTable.from_scores([0, 1, 1], [0.2, 0.7, 0.7]))
    weighted = ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[1, 2])
    same(read_table(path, outcome="y", prediction="p", weight="w"), weighted)


def test_the_order_of_rows_with_weights_shows_in_the_last_digit_only(write):
    rng = np.random.default_rng(5)
    rows = [
        f"{y},{p!r},{w!r}"
        for y, p, w in zip([0, 1] * 500, rng.choice([0.1, 0.5], 1000).tolist(), rng.random(1000).tolist(), strict=True)
    ]
    first = read_table(write("a.csv", "\n".join(["y,p,w", *rows])), outcome="y", prediction="p", weight="w")
    rng.shuffle(rows)
    again = read_table(write("a.csv", "\n".join(["y,p,w", *rows])), outcome="y", prediction="p", weight="w")
    assert again.digest == first.digest
    np.testing.assert_allclose(again.n, first.n, rtol=1e-14)


def test_a_source_can_be_copied_with_a_new_column(write, tmp_path):
    output = tmp_path / "out.csv"
    with open_source(write("scores.csv", PLAIN)) as source:
        assert (source.columns, source.types, source.typed, source.format) == (
            ("y", "p"),
            ("VARCHAR",) * 2,
            False,
            "CSV",
        )
        source.rows(f"COPY (SELECT *, 2 * {source.column('p')}::DOUBLE AS q FROM ({source.sql})) TO '{output}'")
    assert output.read_text() == "y,p,q\n0,0.2,0.4\n1,0.7,1.4\n0,0.7,1.4\n"
