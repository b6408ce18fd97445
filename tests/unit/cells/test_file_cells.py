"""Too many different scores: cells, and yet the exact error, interval and sums."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.cells import gathering, refinement
from calibrant.metrics import brier_score, cutoff_calibration, cutoff_calibration_error, log_loss
from calibrant.sources.files import read_table
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.table_sums import UNIT

N = 40_000


def draw(name, rng):
    if name == "beta":
        return rng.beta(0.7, 1.6, N)
    if name == "tiny":
        return np.minimum(rng.lognormal(-11, 2, N), 1.0)
    if name == "narrow":
        return np.clip(rng.normal(0.5, 1e-4, N), 0, 1)
    if name == "atom":
        return np.where(rng.random(N) < 0.5, 0.3, rng.random(N))
    if name == "grid":
        return rng.integers(0, 101, N) / 100
    if name == "equal":
        return np.full(N, 0.37)
    if name == "corners":
        return rng.choice([0.0, 1.0, 0.5, -0.0], N) * rng.choice([1.0, 1.0, rng.random()], N)
    if name == "neighbours":
        return 0.5 + rng.integers(0, 1000, N) * 2.0**-53
    if name == "smallest":
        return rng.integers(0, 1000, N) * 5e-324
    return rng.random(N).astype(np.float32)


NAMES = ["beta", "tiny", "narrow", "atom", "grid", "equal", "corners", "neighbours", "smallest", "single"]


def write_rows(path, s, y, w=None):
    connection = duckdb.connect()
    connection.register("columns", {"y": y, "s": s} | ({} if w is None else {"w": w}))
    connection.sql("SELECT * FROM columns").write_parquet(str(path), row_group_size=4096)
    return path


def read(path, **keywords):
    return read_table(path, outcome="y", prediction="s", **keywords)


def columns_of(table):
    arrays = [table.score, table.n, table.k]
    if table.cells is not None:
        arrays += [table.low, table.high, table.rise, table.fall]
    return arrays


@pytest.fixture
def small_limits(monkeypatch):
    """Few buckets and few rows fetched at once, so that small data takes the way of large data."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 0)
    monkeypatch.setattr(gathering, "FIRST_BITS", 6)
    monkeypatch.setattr(gathering, "CELL_BITS", 6)
    monkeypatch.setattr(gathering, "FINE_BITS", 10)
    monkeypatch.setattr(refinement, "LATER_BITS", 8)
    return monkeypatch


@pytest.mark.grid
@pytest.mark.parametrize("most", [0, 500])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_same_numbers_as_the_exact_table(tmp_path, small_limits, name, most, shift):
    rng = np.random.default_rng(NAMES.index(name))
    s = draw(name, rng)
    y = (rng.random(N) < np.clip(s + shift, 0, 1)).astype(np.int8)
    small_limits.setattr(gathering, "MOST_DISTINCT", most)
    if name in {"grid", "equal", "corners", "neighbours", "smallest"} and most:
        pytest.skip("few different scores make an exact table")
    table, exact = read(write_rows(tmp_path / "a.parquet", s, y)), ScoreTable.from_scores(y, s)
    assert table.cells is not None
    assert (table.low <= table.score).all()
    assert (table.score <= table.high).all()
    assert (table.low[1:] > table.high[:-1]).all()
    assert (table.total, table.positives) == (exact.total, exact.positives)
    assert table.n.dtype == exact.n.dtype
    ours, theirs = extremes(cumulative_residuals(table)), extremes(cumulative_residuals(exact))
    np.testing.assert_allclose(ours.value, theirs.value, rtol=0, atol=4 * UNIT)
    np.testing.assert_allclose([ours.ks, ours.mean_residual], [theirs.ks, theirs.mean_residual], rtol=0, atol=4 * UNIT)
    if theirs.value > 1e-9:
        assert (ours.low, ours.high, ours.sign) == (theirs.low, theirs.high, theirs.sign)
    np.testing.assert_allclose(brier_score(table), brier_score(exact), rtol=0, atol=1e-10)
    np.testing.assert_allclose(log_loss(table), log_loss(exact), rtol=0, atol=1e-10)
    np.testing.assert_allclose(table.mean_variance, exact.mean_variance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        cutoff_calibration(table).share,
        cutoff_calibration(exact).share,
        rtol=0,
        atol=1e-12 if theirs.value > 1e-9 else 1,
    )


@pytest.mark.grid
@pytest.mark.parametrize("name", NAMES)
def test_bit_identical_for_every_order_of_rows(tmp_path, small_limits, name):
    rng = np.random.default_rng(7)
    s = draw(name, rng)
    y = (rng.random(N) < s).astype(np.int8)
    first = read(write_rows(tmp_path / "a.parquet", s, y))
    order = rng.permutation(N)
    second = read(write_rows(tmp_path / "b.parquet", s[order], y[order]))
    for ours, theirs in zip(columns_of(first), columns_of(second), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_counts_are_repeated_rows(tmp_path, small_limits):
    rng = np.random.default_rng(3)
    s, w = rng.beta(0.7, 1.6, N), rng.integers(0, 4, N)
    y = (rng.random(N) < s).astype(np.int8)
    weighted = read(write_rows(tmp_path / "a.parquet", s, y, w), count="w")
    repeated = read(write_rows(tmp_path / "b.parquet", np.repeat(s, w), np.repeat(y, w)))
    exact = ScoreTable.from_scores(y, s, count=w)
    assert weighted.n.dtype == np.int64
    for table in (weighted, repeated):
        ours, theirs = extremes(cumulative_residuals(table)), extremes(cumulative_residuals(exact))
        np.testing.assert_allclose(ours.value, theirs.value, rtol=0, atol=4 * UNIT)
        assert (ours.low, ours.high) == (theirs.low, theirs.high)
        np.testing.assert_allclose(brier_score(table), brier_score(exact), rtol=0, atol=1e-10)


@pytest.mark.slow
def test_other_weights(tmp_path, small_limits):
    rng = np.random.default_rng(4)
    s, w = rng.beta(0.7, 1.6, N), rng.choice([0.0, 0.25, 1.7], N)
    y = (rng.random(N) < s).astype(np.int8)
    table = read(write_rows(tmp_path / "a.parquet", s, y, w), weight="w")
    exact = ScoreTable.from_scores(y, s, sample_weight=w)
    ours, theirs = extremes(cumulative_residuals(table)), extremes(cumulative_residuals(exact))
    np.testing.assert_allclose(ours.value, theirs.value, rtol=0, atol=1e-11)
    assert (ours.low, ours.high) == (theirs.low, theirs.high)
    np.testing.assert_allclose(brier_score(table), brier_score(exact), rtol=0, atol=1e-10)
    np.testing.assert_allclose(log_loss(table), log_loss(exact), rtol=0, atol=1e-10)
    np.testing.assert_allclose(table.total, exact.total, rtol=1e-12)


@pytest.mark.slow
def test_impossible_outcomes_make_the_log_loss_infinite(tmp_path, small_limits):
    rng = np.random.default_rng(8)
    s, y = rng.random(N), rng.integers(0, 2, N).astype(np.int8)
    s[:2], y[:2] = [0.0, 1.0], [1, 0]
    assert log_loss(read(write_rows(tmp_path / "a.parquet", s, y))) == np.inf
    y[:2] = [0, 1]
    table = read(write_rows(tmp_path / "b.parquet", s, y))
    np.testing.assert_allclose(log_loss(table), log_loss(y, s), rtol=0, atol=1e-10)


def test_most_of_the_table_stays_cells(tmp_path, small_limits):
    rng = np.random.default_rng(9)
    s = rng.random(N)
    y = (rng.random(N) < np.clip(s + 0.2 * (s > 0.5), 0, 1)).astype(np.int8)
    small_limits.setattr(gathering, "MOST_DISTINCT", 2000)
    small_limits.setattr(gathering, "CELL_BITS", 10)
    small_limits.setattr(gathering, "FINE_BITS", 14)
    table = read(write_rows(tmp_path / "a.parquet", s, y))
    assert not table.exact
    assert len(table) < 6000
    np.testing.assert_allclose(cutoff_calibration_error(table), cutoff_calibration_error(y, s), rtol=0, atol=4 * UNIT)


@pytest.mark.slow
def test_csv_gives_the_same_cells(tmp_path, write, small_limits):
    rng = np.random.default_rng(10)
    s = rng.beta(2, 5, N)
    y = (rng.random(N) < s).astype(np.int8)
    parquet = read(write_rows(tmp_path / "a.parquet", s, y))
    csv = read(write("a.csv", "y,s\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), s.tolist(), strict=True))))
    for ours, theirs in zip(columns_of(parquet), columns_of(csv), strict=True):
        np.testing.assert_array_equal(ours, theirs)
