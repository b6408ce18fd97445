"""Exported SQL, run by DuckDB and SQLite, gives what the calibrator predicts; other dialects are compared as text."""

import sqlite3

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from calibrant.calibrators import HistogramCalibrator, IsotonicCalibrator, PlattCalibrator
from calibrant.errors import ArgumentError
from calibrant.export import to_sql
from support import export_cases as cases
from support.strategies import Rows


class DuckDB:
    dialect = "duckdb"

    def __init__(self):
        self.connection = duckdb.connect()

    def store(self, name, values):
        self.connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT unnest($1::DOUBLE[]) AS {name}", [values])

    def rows(self, expression):
        return [value for (value,) in self.connection.execute(f"SELECT {expression} FROM t").fetchall()]


class SQLite:
    dialect = "sqlite"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)

    def store(self, name, values):
        self.connection.execute("DROP TABLE IF EXISTS t")
        self.connection.execute(f"CREATE TABLE t({name})")
        self.connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])

    def rows(self, expression):
        return [value for (value,) in self.connection.execute(f"SELECT {expression} FROM t ORDER BY rowid")]


@pytest.fixture(scope="module", params=[DuckDB, SQLite])
def engine(request):
    engine = request.param()
    if engine.dialect == "sqlite":
        try:
            engine.connection.execute("SELECT ln(0.5), exp(1.0)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no mathematical functions")
    yield engine
    engine.connection.close()


def same_in(engine, calibrator, at):
    engine.store('"the score"', at.tolist())
    cases.assert_same(engine.rows(to_sql(calibrator, "the score", dialect=engine.dialect)), calibrator, at)


def two(low, high):
    return Rows(np.array([0, 1]), np.array([low, high]), None)


@given(cases.NAMES, cases.ROWS)
@example("isotonic, plain", two(0.0, 5e-324))
@example("isotonic, plain", two(0.0, 1.5e-323))
def test_sql_equals_predict(engine, name, rows):
    calibrator = cases.fitted(name, rows)
    same_in(engine, calibrator, cases.probes(calibrator, rows.s))


@pytest.mark.grid
@pytest.mark.parametrize("name", cases.CALIBRATORS)
@pytest.mark.parametrize("kind", cases.WORLDS)
def test_sql_equals_predict_on_larger_samples(engine, name, kind):
    same_in(engine, *cases.fitted_in(name, kind))


@pytest.mark.parametrize("name", cases.CALIBRATORS)
def test_null_and_numbers_that_are_no_scores_become_null(engine, name):
    calibrator = clone(cases.CALIBRATORS[name]).fit(*cases.world("uniform"))
    engine.store("p", [None, *cases.OUTSIDE, 0.5])
    found = engine.rows(to_sql(calibrator, "p", dialect=engine.dialect))
    assert found[:-1] == [None] * (1 + len(cases.OUTSIDE))
    assert found[-1] is not None


def histogram(n):
    """A map of n steps, in no order."""
    calibrator = HistogramCalibrator().fit([0.2, 0.6], [0, 1])
    rng = np.random.default_rng(0)
    calibrator.edges_ = np.arange(1, n) / n
    calibrator.value_, calibrator.count_ = rng.permutation(n) / n, np.ones(n)
    return calibrator


@pytest.mark.parametrize("n", range(1, 12))
def test_every_number_of_pieces(engine, n):
    calibrator = histogram(n)
    same_in(engine, calibrator, cases.probes(calibrator, [0.5]))


@pytest.mark.slow
def test_two_thousand_pieces(engine):
    calibrator = histogram(2000)
    same_in(engine, calibrator, cases.probes(calibrator, [0.5]))


@pytest.mark.slow
def test_the_parser_of_sqlite_takes_a_hundred_thousand_pieces():
    calibrator = histogram(100_000)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t(p REAL)")
        # A view is parsed when it is created, but not compiled.
        connection.execute(f"CREATE VIEW v AS SELECT {to_sql(calibrator, 'p', dialect='sqlite')} FROM t")
    connection.close()


ODD_NAMES = ['a"b; drop', "it's", "a`b", "select", "a b", "back\\slash", "é"]
STEP = IsotonicCalibrator(interpolation="step", log_safe=False).fit([0.2, 0.7], [0, 1])


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_are_quoted(engine, name):
    quoted = '"' + name.replace('"', '""') + '"'
    engine.store(quoted, [0.1, 0.9])
    assert engine.rows(to_sql(STEP, name, dialect=engine.dialect)) == [0.0, 1.0]


def test_sqlite_does_not_take_texts_for_scores():
    engine = SQLite()
    engine.store("p", ["high", "", "0.5", 1, 0.0, b"0.5"])
    assert engine.rows(to_sql(STEP, "p", dialect="sqlite")) == [None, None, None, 1.0, 0.0, None]
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        engine.rows(to_sql(STEP, "q", dialect="sqlite"))
    engine.connection.close()


@given(st.floats(-1e308, 1e308).filter(lambda value: value != 0.0) | st.floats(0.0, 1.0))
@example(5e-324)
@example(1.7976931348623157e308)
@example(1.0 - 2.0**-53)
@example(2.2250738585072014e-308)
@example(6.386688990511104e292)
def test_numbers_are_written_exactly(value):
    from calibrant.export.sql import DIALECTS

    connection = sqlite3.connect(":memory:")
    assert connection.execute(f"SELECT 1.0 * {DIALECTS['sqlite'].literal(value)}").fetchone() == (value,)
    connection.close()
    assert duckdb.sql(f"SELECT {DIALECTS['duckdb'].literal(value)}").fetchall() == [(value,)]


# The step is at 0.7, the values are 0 and 1; the line through (0.25, 0) and (0.75, 1) has slope 2.
LINE = IsotonicCalibrator(log_safe=False).fit([0.25, 0.75], [0, 1])
GOLDEN = {
    "postgresql": (
        """CASE WHEN CAST("p" AS DOUBLE PRECISION) BETWEEN float8 '0.0' AND float8 '1.0' THEN """
        """CASE WHEN CAST("p" AS DOUBLE PRECISION) < float8 '0.7' THEN float8 '0.0' ELSE float8 '1.0' END END"""
    ),
    "spark": (
        "CASE WHEN CAST(`p` AS DOUBLE) BETWEEN 0.0D AND 1.0D THEN "
        "CASE WHEN CAST(`p` AS DOUBLE) < 0.7D THEN 0.0D ELSE 1.0D END END"
    ),
    "bigquery": (
        "CASE WHEN CAST(`p` AS FLOAT64) BETWEEN 0.0 AND 1.0 THEN "
        "CASE WHEN CAST(`p` AS FLOAT64) < 0.7 THEN 0.0 ELSE 1.0 END END"
    ),
}


@pytest.mark.parametrize("dialect", GOLDEN)
def test_text_of_a_step(dialect):
    assert to_sql(STEP, "p", dialect=dialect) == GOLDEN[dialect]


def test_text_of_a_line_and_of_a_logistic_curve():
    assert to_sql(LINE, "p", dialect="bigquery") == (
        "CASE WHEN CAST(`p` AS FLOAT64) BETWEEN 0.0 AND 1.0 THEN "
        "CASE WHEN CAST(`p` AS FLOAT64) < 0.25 THEN 0.0 WHEN CAST(`p` AS FLOAT64) < 0.75 "
        "THEN 2.0 * (CAST(`p` AS FLOAT64) - 0.25) + 0.0 ELSE 1.0 END END"
    )
    platt = PlattCalibrator(clip=0.125).fit([0.25, 0.75], [0, 1])
    platt.slope_, platt.intercept_ = 2.0, -0.5
    assert to_sql(platt, "p", dialect="bigquery") == (
        "CASE WHEN CAST(`p` AS FLOAT64) BETWEEN 0.0 AND 1.0 THEN LEAST(1.0 / (1.0 + EXP(LEAST(GREATEST(-("
        f"2.0 * LEAST(LN(GREATEST(CAST(`p` AS FLOAT64), 0.125)), {np.log1p(-0.125)!s}) + "
        f"-2.0 * LEAST(LN(GREATEST(1.0 - CAST(`p` AS FLOAT64), 0.125)), {np.log1p(-0.125)!s}) + -0.5"
        f"), -40.0), {-np.log(2.2250738585072014e-308)!s}))), 0.9999999999999999) END"
    )


@pytest.mark.parametrize(
    ("dialect", "quoted"),
    [
        ("postgresql", ['"a""b; drop"', '"a`b"', '"back\\slash"']),
        ("spark", ['`a"b; drop`', "`a``b`", "`back\\slash`"]),
        ("bigquery", ['`a"b; drop`', "`a\\`b`", "`back\\\\slash`"]),
    ],
)
def test_names_are_quoted_in_other_dialects(dialect, quoted):
    for name, text in zip(['a"b; drop', "a`b", "back\\slash"], quoted, strict=True):
        assert f"CAST({text} AS " in to_sql(STEP, name, dialect=dialect)


def test_what_cannot_be_exported():
    with pytest.raises(ArgumentError, match="'duckdb', 'postgresql', 'sqlite', 'spark', 'bigquery'"):
        to_sql(STEP, "p", dialect="oracle")
    with pytest.raises(ArgumentError, match="name the column of scores, found ''"):  # which no database can read
        to_sql(STEP, "")
    with pytest.raises(ArgumentError, match="IsotonicRegression"):
        to_sql(IsotonicRegression().fit([0.2, 0.6], [0, 1]), "p")
