"""Pieces found in lists are those that a search over all of them finds, and results are what `predict` gives."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from calibrant.calibrators import IsotonicCalibrator, VennAbersCalibrator
from calibrant.export import sql
from calibrant.export.layouts import formula_of
from calibrant.export.sql import predictions
from support import export_cases as cases
from support.strategies import small_rows

NAMES = st.sampled_from(sorted(cases.CALIBRATORS))
ROWS = small_rows(weighted=("none",), both_classes=True)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def always():
    """Even two pieces are looked up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "_FEW", 1)
        yield


def values(connection, calibrator, at, *, stored):
    lists = []

    def keep(written):
        connection.execute(f"CREATE OR REPLACE TABLE list{len(lists)} AS SELECT {written} AS list")
        lists.append(written)
        return f"(SELECT list FROM list{len(lists) - 1})"

    # As text: DuckDB before 2.0 takes NaN among parameters for NULL.
    written = ", ".join("NULL" if value is None else repr(float(value)) for value in at)
    connection.execute("CREATE OR REPLACE TABLE rows AS SELECT unnest(CAST($1 AS DOUBLE[])) AS p", [f"[{written}]"])
    query = predictions(calibrator, "FROM rows", "p", "p", "q", unused="x", keep=keep if stored else None)
    assert connection.sql(query).columns == ["p", "q"]
    return [value for (value,) in connection.execute(f"SELECT q FROM ({query})").fetchall()]


@pytest.mark.usefixtures("always")
@given(NAMES, ROWS, st.booleans())
def test_equals_predict(connection, name, rows, stored):
    calibrator = cases.fitted(name, rows)
    at = cases.probes(calibrator, rows.s)
    cases.assert_same(values(connection, calibrator, at, stored=stored), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("name", cases.CALIBRATORS)
@pytest.mark.parametrize("kind", cases.WORLDS)
def test_equals_predict_on_larger_samples(connection, name, kind):
    calibrator, at = cases.fitted_in(name, kind)
    for stored in (True, False):
        cases.assert_same(values(connection, calibrator, at, stored=stored), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("interpolation", ["step", "linear"])
@pytest.mark.parametrize("width", [1.0, 1e-7, 1e-18])
def test_thousands_of_pieces_close_to_each_other(connection, interpolation, width):
    """The narrower they lie, the more begin in one bucket; of 1e-18, all."""
    score = width * np.sort(np.random.default_rng(0).random(3000))
    calibrator = IsotonicCalibrator(interpolation=interpolation).fit(np.repeat(score, 2), np.tile([0, 1], 3000))
    calibrator.fit_.__dict__.update(low=score, high=score, value=np.linspace(0.0, 1.0, 3000) ** 2)
    at = cases.probes(calibrator, score)
    assert len(formula_of(calibrator).value) == 3000 + (interpolation == "linear")
    cases.assert_same(values(connection, calibrator, at, stored=True), calibrator, at)


@given(
    st.lists(st.floats(0.0, 1.0) | st.integers(0, 8).map(lambda i: i / 8), min_size=1, unique=True), st.integers(0, 16)
)
def test_grid(start, affordable):
    """Bounds from the definition: for every bucket count the pieces that begin in it."""
    start = np.sort(np.array(start))
    buckets, first, most = sql._grid(start, 1 << affordable)
    assert len(first) == buckets + 1
    for bucket in {0, int(buckets), *np.floor(start * buckets).astype(int).tolist()}:
        inside = np.count_nonzero((start >= bucket / buckets) & (start < (bucket + 1) / buckets))
        before = np.count_nonzero(start < bucket / buckets)
        assert abs(first[bucket]) == before + 1
        assert (first[bucket] < 0) == (inside > 0)
        assert inside <= most
    assert most >= 1


@pytest.mark.grid
@pytest.mark.parametrize("calibrator", [IsotonicCalibrator(), VennAbersCalibrator(), cases.CALIBRATORS["auto"]])
def test_null_stays_null_and_what_is_no_score_is_refused(connection, calibrator):
    calibrator = clone(calibrator).fit(*cases.world("uniform"))
    found = values(connection, calibrator, [None, 0.25, None], stored=True)
    assert (found[0], found[2]) == (None, None)
    cases.assert_same([found[1]], calibrator, np.array([0.25]))
    for outside in cases.OUTSIDE:
        with pytest.raises(duckdb.Error):
            values(connection, calibrator, [0.5, outside], stored=True)
