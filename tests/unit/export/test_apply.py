"""Applying a calibrator to a file keeps rows, columns and their order, whatever they are called."""

import duckdb
import numpy as np
import polars as pl
import pytest

from calibrant.calibrators import BetaCalibrator, IsotonicCalibrator
from calibrant.errors import DataError, SourceError
from calibrant.export import apply
from calibrant.export.apply import apply_to_file
from calibrant.sources import source as source_module
from calibrant.sources.source import Source
from calibrant.table.progress import job
from support.export_cases import assert_same, world

N = 400_000


@pytest.fixture(scope="module")
def calibrator():
    score, y = world("uniform", 20_000)
    fitted = IsotonicCalibrator().fit(score, y)
    assert len(fitted.fit_.value) > apply.predictions.__globals__["_FEW"]
    return fitted


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(1).random(N)


@pytest.fixture
def file(tmp_path, scores):
    """Many small row groups, which threads read out of turn, and names that are used inside queries."""
    path = tmp_path / "scores.parquet"
    rows = {"p": scores, "calibrant0_0": np.arange(N), "Batch": np.arange(N) % 7}  # noqa: F841 (read by DuckDB)
    duckdb.sql("SELECT * FROM rows").write_parquet(str(path), row_group_size=5000)
    return path


@pytest.mark.grid
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("stored", [True, False])
def test_order_and_columns_are_kept(file, scores, calibrator, tmp_path, monkeypatch, stored, ending):
    execute, out = duckdb.DuckDBPyConnection.execute, tmp_path / f"o.{ending}"
    monkeypatch.setattr(apply, "_in_order", (lambda *a: _many_threads(*a, execute)) if stored else lambda *_: False)
    assert apply_to_file(calibrator, file, out, score="p", column="z") == N
    found = duckdb.sql(f"SELECT * FROM '{out}'")
    assert found.columns == ["p", "calibrant0_0", "Batch", "z"]
    back = found.fetchnumpy()
    np.testing.assert_array_equal(back["calibrant0_0"], np.arange(N))
    np.testing.assert_array_equal(back["p"], scores)
    assert_same(back["z"], calibrator, scores)


def _many_threads(source, statement, execute, real=apply._in_order):
    execute(source.connection, "SET threads = 4")
    return real(source, statement)


def test_scores_are_read_once(file, calibrator, tmp_path, monkeypatch):
    asked, rows = [], Source.rows
    monkeypatch.setattr(Source, "rows", lambda self, query: asked.append(query) or rows(self, query))
    apply_to_file(calibrator, file, tmp_path / "o.parquet", score="p")
    about_rows = [query for query in asked if "parquet_schema" not in query]
    verbs = [query.split()[0] for query in about_rows]
    assert [verb for verb in verbs if verb not in ("DESCRIBE", "EXPLAIN")] == ["COPY"]


@pytest.mark.grid
@pytest.mark.parametrize("bad", [-0.25, 1.5, np.inf])
def test_a_wrong_score_is_named_and_nothing_is_left(calibrator, scores, tmp_path, bad):
    changed = scores.copy()
    changed[[345_678, N - 1]] = bad
    duckdb.sql("SELECT column0 AS p FROM changed").write_parquet(str(tmp_path / "s.parquet"))
    (tmp_path / "o.parquet").write_text("old")
    for fitted in (calibrator, BetaCalibrator().fit(scores[:100], scores[:100] > 0.5)):
        with pytest.raises(DataError, match=r"row 345679 of column p in .*s\.parquet and 1 more"):
            apply_to_file(fitted, tmp_path / "s.parquet", tmp_path / "o.parquet", score="p")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.parquet", "s.parquet"]
    assert (tmp_path / "o.parquet").read_text() == "old"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_words_for_missing_scores_stay_missing(calibrator, tmp_path, ending):
    """As `read_table` leaves them out: R and pandas write NA, NaN and the like."""
    words = ["NA", "NaN", "null", "NULL", "None", "", "-", "missing", " n/a ", "?"]
    path, out = tmp_path / f"s.{ending}", tmp_path / f"o.{ending}"
    rows = [{"i": i, "p": text} for i, text in enumerate(["0.25", *words, "0.5"])]
    {"csv": pl.DataFrame.write_csv, "parquet": pl.DataFrame.write_parquet, "jsonl": pl.DataFrame.write_ndjson}[ending](
        pl.DataFrame(rows), path
    )
    assert apply_to_file(calibrator, path, out, score="p") == len(rows)
    found = [value for (value,) in duckdb.sql(f"SELECT calibrated FROM '{out}' ORDER BY i").fetchall()]
    assert found[1:-1] == [None] * len(words)
    assert_same([found[0], found[-1]], calibrator, np.array([0.25, 0.5]))
    pl.DataFrame({"p": [0.25, float("nan"), None]}).write_parquet(tmp_path / "nan.parquet")
    apply_to_file(calibrator, tmp_path / "nan.parquet", out := tmp_path / "nan.csv", score="p")
    assert pl.read_csv(out)["calibrated"].null_count() == 2


@pytest.mark.grid
@pytest.mark.parametrize(
    ("type_", "value", "ok"),
    [("BOOLEAN", "true", True), ("DECIMAL(3, 2)", "0.25", True), ("FLOAT", "0.1", True), ("VARCHAR", "0.25", True),
     ("VARCHAR", "x", False), ("DATE", "2026-01-01", False)],
)  # fmt: skip
def test_types_of_scores(calibrator, tmp_path, type_, value, ok):
    path, out = tmp_path / "s.parquet", tmp_path / "o.parquet"
    duckdb.sql(f"SELECT CAST('{value}' AS {type_}) AS p UNION ALL SELECT NULL").write_parquet(str(path))
    if not ok:
        with pytest.raises(DataError, match="numbers as scores"):
            apply_to_file(calibrator, path, out, score="p")
        assert not out.exists()
        return
    apply_to_file(calibrator, path, out, score="p")
    number = np.array(duckdb.sql(f"SELECT p::DOUBLE FROM '{path}'").fetchall()[0])
    (found,), (missing,) = duckdb.sql(f"SELECT calibrated FROM '{out}'").fetchall()
    assert missing is None
    assert_same([found], calibrator, number)


def test_no_rows(calibrator, tmp_path):
    duckdb.sql("SELECT 0.5 AS p WHERE false").write_parquet(str(tmp_path / "s.parquet"))
    assert apply_to_file(calibrator, tmp_path / "s.parquet", tmp_path / "o.csv", score="p") == 0
    assert (tmp_path / "o.csv").read_text() == "p,calibrated\n"


def test_damage_elsewhere_is_not_blamed_on_scores(calibrator, tmp_path):
    (tmp_path / "s.csv").write_text("p,note\n" + "0.5,a\n" * 1000 + "0.5\n")
    with pytest.raises(SourceError, match=r"2 values in every line.*1 in line 1002"):
        apply_to_file(calibrator, tmp_path / "s.csv", tmp_path / "o.parquet", score="p")


@pytest.mark.parametrize(("bad", "shown"), [(0.5, "Writing o.csv"), (2.0, "Checking s.csv")])
def test_what_is_done_is_told(calibrator, tmp_path, monkeypatch, bad, shown):
    monkeypatch.setattr(source_module, "_PATIENCE", 0.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(f"p\n0.25\n{bad}\n")
    told = []
    try:
        with job(lambda stage, *_: told.append(stage)):
            apply_to_file(calibrator, "s.csv", "o.csv", score="p")
    except DataError:
        assert bad == 2.0
    assert shown in told
