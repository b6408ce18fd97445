"""Queries of databases: DuckDB, SQLite, PostgreSQL, and files named by the query itself."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from calibrant import ScoreTable
from calibrant.cli.main import app
from calibrant.errors import ArgumentError, DataError, SourceError
from calibrant.sources.files import read_table
from calibrant.sources.query import Query
from calibrant.sources.schema import Schema
from support.postgresql import running_server
from support.routes import held_rows
from support.tables import segments_of

RNG = np.random.default_rng(3)
P = RNG.random(500)
Y = (RNG.random(500) < P).astype(int)
W = RNG.integers(1, 4, 500)
ROWS = list(zip(Y.tolist(), P.tolist(), W.tolist(), strict=True))


@pytest.fixture
def in_duckdb(tmp_path):
    path = tmp_path / "scores.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("columns", {"y": Y, "p": P, "w": W})
        connection.execute("CREATE TABLE scores AS SELECT * FROM columns")
    return str(path)


@pytest.fixture
def in_sqlite(tmp_path):
    path = tmp_path / "scores.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE scores (y INT, p REAL, w INT)")
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", ROWS)
    connection.close()
    return str(path)


def read(query, database, **keywords):
    return read_table(Query(query, database), **({"outcome": "y", "prediction": "p"} | keywords))


def assert_equal(table, **keywords):
    exact = ScoreTable.from_scores(Y, P, **keywords)
    for name in ("score", "n", "k"):
        np.testing.assert_array_equal(getattr(table, name), getattr(exact, name))


@pytest.mark.parametrize("database", ["in_duckdb", "in_sqlite"])
@pytest.mark.parametrize("end", ["", ";", " ;\n", " -- all of it", "\n"])
def test_a_database_file(request, database, end):
    path = request.getfixturevalue(database)
    before = Path(path).read_bytes()
    assert_equal(read("SELECT * FROM scores" + end, path))
    assert_equal(read("SELECT * FROM scores" + end, path, count="w"), count=W)
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("database", ["in_duckdb", "in_sqlite"])
def test_rows_with_groups(request, database):
    path = request.getfixturevalue(database)
    rows = held_rows(Query("SELECT * FROM scores", path), Schema("y", "p", cluster=("w",)))
    np.testing.assert_array_equal(rows.score, P)
    np.testing.assert_array_equal(rows.clusters, W - 1)


def test_segments_of_sqlite_are_numbers_where_all_values_are(tmp_path):
    """As in CSV files: text would have a segment for every number."""
    path = tmp_path / "rows.db"
    rng = np.random.default_rng(0)
    score, age = rng.uniform(size=1000), rng.normal(40, 10, 1000)
    label = (rng.uniform(size=1000) < score).astype(int)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE scores (y, p REAL, age REAL)")
        columns = (column.tolist() for column in (label, score, age))
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", zip(*columns, strict=True))
    connection.close()
    found = segments_of(Query("SELECT * FROM scores", str(path)), by="age", outcome="y", prediction="p")
    assert found.to_dict() == segments_of(label, score, by={"age": age}).to_dict()


def test_a_query_may_name_files(tmp_path):
    (tmp_path / "a.csv").write_text("y,p,year\n0,0.2,1\n1,0.7,1\n1,0.9,2\n")
    assert read(f"SELECT y, p FROM '{tmp_path}/a.csv' WHERE year = 1", None).n.tolist() == [1, 1]


def test_random_rows_are_drawn_once(in_duckdb):
    # Rows that were drawn again for the second look could have a score that the first has not seen.
    table = read("SELECT y, random() AS p FROM scores USING SAMPLE 200 ROWS", in_duckdb)
    assert table.total == 200


def test_rows_are_numbered_in_the_order_of_the_query(in_duckdb):
    with duckdb.connect(in_duckdb) as connection:
        connection.execute("CREATE TABLE many AS SELECT 1 AS y, i // 400000 * 1.5 AS p FROM range(800000) AS r(i)")
    with pytest.raises(DataError, match=r"found 1\.5 in row 400001 of column p"):
        read("SELECT * FROM many", in_duckdb)
    with pytest.raises(DataError, match=r"found 2\.5 in row 3 of column p in the result of the query and 497 more"):
        read("SELECT y, CASE WHEN row_number() OVER (ORDER BY p) < 3 THEN p ELSE 2.5 END AS p FROM scores", in_duckdb)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FORM scores", r'syntax error at or near "scores"( \(LINE 1: SELECT \* FORM scores\))?;'),
        ("SELECT * FROM nothing", r"Table with name nothing does not exist! \(LINE 1: SELECT \* FROM nothing\)"),
        ("SELECT y, ('a' || p)::DOUBLE AS p FROM scores", r"found Conversion Error: Could not convert string [^(]*;"),
        ("DELETE FROM scores", "expected one SELECT, found delete"),
        ("SELECT 1; SELECT 2", "expected one SELECT, found select and select"),
        ("", "expected a query, found an empty one"),
        ("SELECT y FROM scores", "expected a column 'p' in the result of the query, found the columns y"),
        ("SELECT y, p, p FROM scores", "expected one column named 'p', found 2"),
    ],
)
def test_wrong_queries(in_duckdb, query, words):
    with pytest.raises(SourceError, match=words):
        read(query, in_duckdb)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FORM scores", 'near "FORM": syntax error'),
        ("SELECT * FROM missing", "no such table: missing"),
        ("DELETE FROM scores", "syntax error"),
        ("SELECT y FROM scores", "expected a column 'p' in the result of the query, found the columns y"),
    ],
)
def test_wrong_queries_of_sqlite(in_sqlite, query, words):
    with pytest.raises(SourceError, match=words):
        read(query, in_sqlite)


def test_columns_of_sqlite_that_hold_several_types(tmp_path):
    path = tmp_path / "mixed.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE scores (y, p)")
        connection.executemany("INSERT INTO scores VALUES (?, ?)", [(0, 0), (1, 0.1 + 0.2), (1, "0.7"), (0, 1)])
    connection.close()
    assert read("SELECT * FROM scores", str(path)).score.tolist() == [0.0, 0.1 + 0.2, 0.7, 1.0]
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO scores VALUES (1, NULL)")
    connection.close()
    with pytest.raises(DataError, match="found an empty value in row 5 of column p"):
        read("SELECT * FROM scores", str(path))


def test_wrong_databases(tmp_path):
    (tmp_path / "text.db").write_text("no database at all, and longer than a header")
    for path, words in [
        (tmp_path / "none.db", "expected an existing database, found no file"),
        (tmp_path / "text.db", "expected a database of DuckDB or SQLite that can be read"),
        (tmp_path, "expected a database that can be read"),
    ]:
        with pytest.raises(SourceError, match=words):
            read("SELECT 1 AS y", str(path))


@pytest.mark.slow
def test_a_database_that_is_being_written(in_duckdb):
    script = f"import duckdb; c = duckdb.connect({in_duckdb!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, stderr=-1, text=True) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(SourceError, match="no other program is writing to it"):
            read("SELECT * FROM scores", in_duckdb)
        other.communicate("\n")


@pytest.mark.slow
def test_a_database_that_others_read(in_duckdb):
    script = f"import duckdb; c = duckdb.connect({in_duckdb!r}, read_only=True); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, stderr=-1, text=True) as other:
        assert other.stdout.readline() == "open\n"
        assert_equal(read("SELECT * FROM scores", in_duckdb))
        other.communicate("\n")


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.slow
def test_the_command_line(in_duckdb, tmp_path):
    columns = ["--outcome", "y", "--prediction", "p"]
    done = run("audit", "--query", "SELECT * FROM scores", "--database", in_duckdb, *columns, "--tolerance", 0.2)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("CERTIFIED")
    model = tmp_path / "m.json"
    done = run("recalibrate", "--query", "SELECT * FROM scores", "--database", in_duckdb, *columns, "--model", model)
    assert done.exit_code == 0, done.output
    assert model.exists()
    for arguments, words in [
        (["a.csv", "--query", "SELECT 1"], "expected a file or --query, found both"),
        ([], "expected a file or --query, found neither"),
        (["a.csv", "--database", in_duckdb], "expected --database together with --query"),
        (["--query", "SELECT * FROM scores", "--database", in_duckdb, "--report", in_duckdb], "another file as output"),
    ]:
        done = run("audit", *arguments, *columns)
        assert done.exit_code == 2
        assert words in done.stderr


@pytest.fixture(scope="module")
def postgresql():
    """Address of a server started for these tests."""
    pytest.importorskip("adbc_driver_postgresql")
    with running_server() as (folder, _):
        yield f"postgresql:///postgres?host={folder}&user=postgres"


@pytest.mark.slow
def test_postgresql(postgresql):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE scores (y int, p float8, w int, q numeric, done bool)")
        for y, p, w in ROWS:
            cursor.execute(f"INSERT INTO scores VALUES ({y}, {p!r}, {w}, {p!r}, {y} = 1)")
        cursor.execute("CREATE SEQUENCE numbers")
        connection.commit()
    assert_equal(read("SELECT * FROM scores", postgresql))
    assert_equal(read("SELECT * FROM scores;", postgresql, count="w"), count=W)
    assert_equal(read("SELECT * FROM scores", postgresql, outcome="done", prediction="q"))
    for query, words in [
        ("SELECT * FORM scores", "syntax error"),
        ("SELECT * FROM nothing", 'relation "nothing" does not exist'),
        ("DELETE FROM scores", "syntax error"),
        ("SELECT y FROM scores", "expected a column 'p' in the result of the query, found the columns y"),
        ("SELECT y, p / 0 AS p FROM scores", "division by zero"),
        ("SELECT y, p, nextval('numbers') AS q FROM scores", "read-only transaction"),
        ("SELECT y, CASE WHEN y = 1 THEN p END AS p FROM scores", "found an empty value in row"),
    ]:
        with pytest.raises((SourceError, DataError), match=words):
            read(query, postgresql, weight="q" if "nextval" in query else None)


def test_postgresql_that_is_not_there(tmp_path):
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(SourceError) as found:
        read("SELECT 1", f"postgresql://me:secret@/none?host={tmp_path}")
    assert "secret" not in str(found.value)


def test_postgresql_without_its_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(ArgumentError, match=r"pip install 'calibrant\[postgresql\]'"):
        read("SELECT 1", "postgresql://localhost/none")
