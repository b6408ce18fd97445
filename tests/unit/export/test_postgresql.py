"""Exported SQL, run by a PostgreSQL server started for these tests, gives what the calibrator predicts."""

import numpy as np
import pytest
from sklearn.base import clone

from calibrant.calibrators import (
    AutoCalibrator,
    IsotonicCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
    SegmentCalibrator,
)
from calibrant.export import to_sql
from calibrant.sources.formats import quote_name
from support.export_cases import CALIBRATORS, OUTSIDE, WORLDS, assert_same, probes, world
from support.postgresql import running_server
from support.segment_cases import COLUMNS, close, repaired_rows

pytestmark = pytest.mark.slow  # a server takes as long to start as the tests on DuckDB and SQLite together


@pytest.fixture(scope="module")
def run():
    """Return the lines that a server prints for some statements."""
    with running_server() as (folder, call):
        options = ["-At", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-U", "postgres"]
        yield lambda text: call("psql", "-X", "-h", folder, *options, text=text).split("\n")[:-1]


@pytest.fixture(scope="module")
def rows_of(run):
    """Return one list of values for each expression, computed by a server from a column of values."""

    def rows(values, *expressions):
        data = [f"{i}\t" + ("\\N" if value is None else repr(value)) for i, value in enumerate(values)]
        script = ["CREATE TEMP TABLE t(i int, p float8);", "COPY t FROM stdin;", *data, "\\."]
        script += [f"SELECT {expression} FROM t ORDER BY i;" for expression in expressions]
        found = [float(line) if line else None for line in run("\n".join(script))]
        return [found[start : start + len(values)] for start in range(0, len(found), len(values))]

    return rows


def same_in(rows_of, fitted, at):
    expressions = [to_sql(calibrator, "p", dialect="postgresql") for calibrator in fitted]
    for calibrator, found in zip(fitted, rows_of(at.tolist(), *expressions), strict=True):
        assert_same(found, calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("kind", WORLDS)
def test_sql_equals_predict(rows_of, kind):
    score, y = world(kind)
    fitted = [clone(calibrator).fit(score, y) for calibrator in CALIBRATORS.values()]
    same_in(rows_of, fitted, np.unique(np.concatenate([probes(calibrator, score) for calibrator in fitted])))


def test_underflow_is_no_error(rows_of):
    """PostgreSQL raises an error where a product is too small for a float."""
    low = np.array([0.0, 5e-324, 1e-323, 1e-310, 1e-300, 2e-300, 1e-16, 0.5, 1.0])
    flat = IsotonicCalibrator(log_safe=False).fit([0.0, 1.0, 1.0, 1.0], [0, 0, 1, 0])
    late = IsotonicCalibrator(log_safe=False).fit([1e-300, 1.0, 1.0, 1.0], [0, 0, 1, 0])
    small = IsotonicCalibrator(log_safe=False).fit([0.0, 1.0, 1.0], [0, 0, 1], sample_weight=[1.0, 1.0, 1e-300])
    pool = AutoCalibrator([PlattCalibrator(on="score")]).fit(np.linspace(0.01, 0.99, 50), np.arange(50) > 30)
    assert pool.decision_ == "pooled"
    at = np.unique(np.concatenate([low, *(probes(calibrator, low) for calibrator in (flat, late, small))]))
    shifts = [OffsetCalibrator(offset=offset).fit([0.1, 0.9], [0, 1]) for offset in (-700.0, -2.0, 2.0, 700.0)]
    same_in(rows_of, [flat, late, small, pool, *shifts], at)
    for shift, (zero,) in zip(
        shifts, rows_of([0.0], *(to_sql(each, "p", dialect="postgresql") for each in shifts)), strict=True
    ):
        assert zero == 0.0 == shift.predict([0.0])[0]


def test_null_and_numbers_that_are_no_scores_become_null(rows_of):
    fitted = [clone(calibrator).fit(*world("uniform")) for calibrator in CALIBRATORS.values()]
    values = [None, *map(float, OUTSIDE), 0.5]
    for found in rows_of(values, *(to_sql(calibrator, "p", dialect="postgresql") for calibrator in fitted)):
        assert found[:-1] == [None] * (len(values) - 1)
        assert found[-1] is not None


def test_a_repair_by_segment_equals_predict(rows_of):
    fitted = SegmentCalibrator(by=COLUMNS).fit(*repaired_rows(3000))
    score, _, columns = repaired_rows(200, seed=1)
    columns["age"][3] = float("nan")

    def written(value):
        quoted = "'" + str(value).replace("'", "''") + "'"
        return "NULL" if value is None else f"float8 {quoted}" if isinstance(value, float) else quoted

    kinds = dict(zip(COLUMNS, ("text", "int", "float8", "boolean"), strict=True))
    arrays = ", ".join(
        f"(ARRAY[{', '.join(map(written, of))}]::{kinds[name]}[])[i + 1] AS {quote_name(name)}"
        for name, of in columns.items()
    )
    expression = to_sql(fitted, "p", dialect="postgresql")
    (found,) = rows_of(score.tolist(), f"(SELECT {expression} FROM (SELECT p, {arrays}) AS given)")
    np.testing.assert_allclose(found, fitted.predict(score, columns), **close(fitted))
