"""`calibrant recalibrate`, `apply` and `export` with every method: the three agree with what Python predicts."""

import sys

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant.calibrators import (
    AutoCalibrator,
    AutoMeanCalibrator,
    BetaCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
    PowerCalibrator,
    SegmentCalibrator,
)
from calibrant.cli.main import app
from calibrant.export import load_model, to_json, to_sql
from calibrant.export.json_file import as_calibrator
from calibrant.export.layouts import LAYOUTS, METHODS
from support.export_cases import assert_same

FIT = ["--label", "y", "--score", "p"]


def run(*arguments, **kwargs):
    return CliRunner().invoke(app, [str(a) for a in arguments], **kwargs)


def refused(message, folder, *arguments):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stdout == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def sample(n=500):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < p**2).astype(int)


@pytest.fixture
def scores(tmp_path):
    """500 scores that are too high, in a CSV file."""
    path = tmp_path / "scores.csv"
    path.write_text("y,p\n" + "".join(f"{y},{p!r}\n" for p, y in zip(*(a.tolist() for a in sample()), strict=True)))
    return path


@pytest.fixture
def model(scores, tmp_path):
    path = tmp_path / "model.json"
    assert run("recalibrate", scores, *FIT, "--model", path, "--method", "isotonic").exit_code == 0
    return path


def test_a_model_is_applied_to_a_query_as_to_a_file(scores, model, tmp_path):
    """Who audits a part of a file by a query applies the model to the same rows, and keeps all columns."""
    out, query = tmp_path / "out.csv", f"SELECT 1 AS n, y, p FROM '{scores}' WHERE p < 0.5 ORDER BY p"
    done = run("apply", "--query", query, "--score", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    found, p = pd.read_csv(out, dtype=str).astype(float), np.sort(sample()[0][sample()[0] < 0.5])
    assert list(found) == ["n", "y", "p", "calibrated"]
    np.testing.assert_array_equal(found["p"], p)
    np.testing.assert_allclose(found["calibrated"], load_model(model).predict(p), rtol=1e-12)
    refused("a file or --query", tmp_path, "apply", scores, "--query", query, "--score", "p", "--model", model,
            "--output", tmp_path / "other.csv")  # fmt: skip


@pytest.mark.grid
@pytest.mark.parametrize("method", [method for method in METHODS if method != "offset"])
def test_every_method_is_fitted_stored_and_applied(method, scores, tmp_path):
    model, out = tmp_path / "m.json", tmp_path / "out.parquet"
    done = run("recalibrate", scores, *FIT, "--model", model, "--method", method)
    assert done.exit_code == 0, done.output
    p, y = sample()
    fitted = as_calibrator(LAYOUTS[method].kind()).fit(p, y)
    assert to_json(load_model(model)) == to_json(fitted)
    done = run("apply", scores, "--score", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    back = duckdb.sql(f"SELECT p::DOUBLE AS p, calibrated FROM '{out}'").fetchnumpy()
    np.testing.assert_array_equal(back["p"], p)
    assert_same(back["calibrated"], fitted, p)


def test_the_default_may_change_nothing_and_says_what_it_did(scores, tmp_path):
    done = run("recalibrate", scores, *FIT, "--model", tmp_path / "m.json")
    assert done.exit_code == 0, done.output
    fitted = AutoCalibrator().fit(*sample())
    assert done.stdout.startswith(f"{fitted.reason_}\nauto, 5-fold cross-validation: calibration error 0.")
    assert isinstance(load_model(tmp_path / "m.json"), AutoCalibrator)


def test_isotonic_can_be_made_of_steps(scores, tmp_path):
    done = run("recalibrate", scores, *FIT, "--model", tmp_path / "m.json", "--method", "isotonic", "--interpolation", "step")  # fmt: skip # noqa: E501
    assert done.exit_code == 0, done.output
    assert load_model(tmp_path / "m.json").interpolation == "step"
    assert "error 0." in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "magic"], "'venn-abers'"),
        (["--method", "offset"], "--central-tendency with the method offset"),
        (["--central-tendency", 0.3, "--by", "y"], "--by without --weight and --central-tendency"),
        (["--cap", 1], "found --cap without --outcome"),
        (["--outcome", "y", "--prediction", "p"], "found --label with --outcome"),
        (["--interpolation", "cubic", "--method", "isotonic"], "'linear', 'step'"),
        (["--interpolation", "step"], "--interpolation with the method isotonic only"),
        (["--interpolation", "step", "--method", "platt"], "--interpolation with the method isotonic only"),
    ],
)
def test_bad_options(options, message, scores, tmp_path):
    refused(message, tmp_path, "recalibrate", scores, *FIT, "--model", tmp_path / "m.json", *options)


def test_weights_and_names_of_labels(tmp_path):
    scores = tmp_path / "s.csv"
    scores.write_text("y,p,w\nno,0.2,3\nyes,0.7,2\nno,0.7,1\n")
    done = run("recalibrate", scores, *FIT, "--weight", "w", "--pos-label", "yes", "--model", tmp_path / "m.json", "--method", "platt")  # fmt: skip # noqa: E501
    assert done.exit_code == 0, done.output
    fitted = PlattCalibrator().fit([0.2, 0.7, 0.7], [0, 1, 0], sample_weight=[3, 2, 1])
    assert to_json(load_model(tmp_path / "m.json")) == to_json(fitted)


@pytest.mark.grid
@pytest.mark.parametrize("dialect", ["duckdb", "postgresql", "sqlite", "spark", "bigquery"])
def test_export_to_sql(dialect, model):
    done = run("export", model, "--to", "sql", "--dialect", dialect, "--column", 'the "score"')
    assert done.exit_code == 0, done.output
    assert done.stdout == to_sql(load_model(model), 'the "score"', dialect=dialect) + "\n"


def test_exported_sql_runs(model, scores):
    expression = run("export", model, "--to", "sql", "--column", "p").stdout
    found = duckdb.sql(f"SELECT {expression} AS z FROM '{scores}'").fetchnumpy()["z"]
    assert_same(found, load_model(model), sample()[0])


def test_export_to_python(model, tmp_path):
    out = tmp_path / "model.py"
    done = run("export", model, "--to", "python", "--output", out)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    module = {}
    exec(out.read_text(encoding="utf-8"), module)
    assert_same([module["calibrate"](p) for p in sample()[0].tolist()], load_model(model), sample()[0])


def test_export_to_json_is_the_model(model):
    done = run("export", model, "--to", "json")
    assert done.exit_code == 0, done.output
    assert done.stdout == model.read_text()


def test_export_to_onnx(model, tmp_path):
    out = tmp_path / "model.onnx"
    done = run("export", model, "--to", "onnx", "--output", out)
    assert done.exit_code == 0, done.output
    session = onnxruntime.InferenceSession(out.read_bytes(), providers=["CPUExecutionProvider"])
    assert_same(session.run(None, {"score": sample()[0]})[0], load_model(model), sample()[0])


def test_bad_exports(model, tmp_path):
    refused("--to to be one of 'sql', 'python', 'onnx', 'json'", tmp_path, "export", model, "--to", "pmml")
    refused("dialect to be one of", tmp_path, "export", model, "--to", "sql", "--dialect", "oracle")
    refused("--output for a binary form", tmp_path, "export", model, "--to", "onnx")
    refused("another file as output", tmp_path, "export", model, "--to", "sql", "--output", model)
    refused("no folder", tmp_path, "export", model, "--to", "sql", "--output", tmp_path / "missing" / "m.sql")
    refused("No such file", tmp_path, "export", tmp_path / "missing.json", "--to", "sql")
    refused("not JSON", tmp_path, "export", tmp_path / "scores.csv", "--to", "sql")
    (tmp_path / "new.json").write_text('{"kind": "calibrator", "schema_version": 3, "calibrant": "9.0"}')
    refused("3, written by calibrant 9.0", tmp_path, "export", tmp_path / "new.json", "--to", "sql")


def test_onnx_without_its_packages(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    refused("calibrant[onnx]", tmp_path, "export", model, "--to", "onnx", "--output", tmp_path / "m.onnx")


@pytest.mark.grid
@pytest.mark.parametrize("method", ["auto", "venn-abers", "beta"])
def test_missing_scores_stay_missing_in_json_lines(method, scores, tmp_path):
    model, source, out = tmp_path / "m.json", tmp_path / "s.jsonl", tmp_path / "o.jsonl"
    assert run("recalibrate", scores, *FIT, "--model", model, "--method", method).exit_code == 0
    source.write_text('{"p": 0.25}\n{"p": null}\n{"p": 1.0}\n')
    done = run("apply", source, "--score", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    found = [value for (value,) in duckdb.sql(f"SELECT calibrated FROM '{out}'").fetchall()]
    assert found[1] is None
    assert_same([found[0], found[2]], load_model(model), [0.25, 1.0])


@pytest.fixture
def branches(tmp_path):
    """Scores that are too low in one branch and too high in another, and the branch of each row."""
    rng = np.random.default_rng(0)
    p, branch = rng.uniform(0.05, 0.95, 3000), rng.choice(["north", "south"], 3000)
    y = (rng.uniform(size=3000) < np.where(branch == "north", p**2, p**0.5)).astype(int)
    path = tmp_path / "branches.csv"
    lines = (
        f"{y},{p!r},{branch},{i % 4}\n"
        for i, (y, p, branch) in enumerate(zip(y.tolist(), p.tolist(), branch, strict=True))
    )
    path.write_text("y,p,branch,quarter\n" + "".join(lines))
    return path


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("method", ["auto", "platt"])
def test_a_repair_by_segment_is_fitted_stored_and_applied(method, branches, tmp_path):
    model, out = tmp_path / "m.json", tmp_path / "out.parquet"
    by = ["--by", "branch", "--by", "quarter"]
    done = run("recalibrate", branches, *FIT, *by, "--method", method, "--model", model)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Repaired: on 3,000 held-out rows a repair by branch, quarter lowers")
    assert "\nbranch = north" in done.stdout
    frame = pd.read_csv(branches)
    fitted = SegmentCalibrator(as_calibrator(LAYOUTS[method].kind())).fit(
        frame["p"], frame["y"], frame[["branch", "quarter"]]
    )
    # Rows may come from the file in another order, which shows in the last digits of sums.
    stored = load_model(model)
    np.testing.assert_allclose(stored.predict(frame["p"], frame), fitted.predict(frame["p"], frame), rtol=0, atol=1e-9)
    done = run("apply", branches, "--score", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    found = duckdb.sql(f"SELECT calibrated FROM '{out}'").fetchnumpy()["calibrated"]
    np.testing.assert_allclose(found, stored.predict(frame["p"], frame), rtol=0, atol=1e-12)
    expression = run("export", model, "--to", "sql", "--column", "p").stdout
    found = duckdb.sql(f"SELECT {expression} AS z FROM '{branches}'").fetchnumpy()["z"]
    np.testing.assert_allclose(found, stored.predict(frame["p"], frame), rtol=0, atol=1e-12)
    assert run("export", model, "--to", "onnx", "--output", tmp_path / "m.onnx").exit_code == 0
    inputs = {
        "score": frame["p"].to_numpy(),
        "branch": frame["branch"].to_numpy(dtype=object),
        "quarter": frame["quarter"].to_numpy(dtype=np.float64),
    }
    [found] = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(["probability"], inputs)
    np.testing.assert_allclose(found, stored.predict(frame["p"], frame), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "branch", "--weight", "quarter"], "--by without --weight"),
        (["--by", "region"], "a column 'region'"),
        (["--by", "y"], "known before the outcome"),
        (["--by", "p"], "other than the score"),
    ],
)
def test_bad_segments(options, message, branches, tmp_path):
    refused(message, tmp_path, "recalibrate", branches, *FIT, "--model", tmp_path / "m.json", *options)


def test_a_central_tendency_shifts_the_map_or_the_scores(scores, tmp_path):
    p, y = sample()
    for method, inner in (("beta", BetaCalibrator()), ("offset", None)):
        done = run("recalibrate", scores, *FIT, "--model", tmp_path / "m.json", "--method", method,
                   "--central-tendency", 0.1)  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "the log odds by" in done.stdout
        assert ("cross-validation" in done.stdout) == (inner is not None)
        fitted = OffsetCalibrator(inner, central_tendency=0.1).fit(p, y).predict(p)
        np.testing.assert_allclose(load_model(tmp_path / "m.json").predict(p), fitted, rtol=1e-9)
        assert fitted.mean() == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(("method", "calibrator"), [("auto", AutoMeanCalibrator()), ("power", PowerCalibrator())])
def test_predicted_means_are_fitted_and_applied(method, calibrator, tmp_path):
    rng = np.random.default_rng(3)
    rate, years = rng.gamma(2.0, 0.2, 600), rng.uniform(0.2, 1.0, 600)
    claims = rng.poisson(1.5 * rate * years).astype(float)
    frame = pd.DataFrame({"claims": claims, "rate": rate, "years": years})
    frame.loc[0, "claims"] = np.nan
    frame.to_csv(tmp_path / "book.csv", index=False)
    names = ["--outcome", "claims", "--prediction", "rate", "--exposure", "years", "--missing", "drop"]
    model, out = tmp_path / "m.json", tmp_path / "out.csv"
    done = run("recalibrate", tmp_path / "book.csv", *names, "--model", model, "--method", method)
    assert done.exit_code == 0, done.output
    assert "Left out: 1 of 600 rows: 1 without an outcome" in " ".join(done.stdout.split())
    assert run("apply", tmp_path / "book.csv", "--score", "rate", "--model", model, "--output", out).exit_code == 0
    fitted = calibrator.fit(rate[1:], claims[1:], exposure=years[1:])
    np.testing.assert_allclose(pd.read_csv(out)["calibrated"], fitted.predict(rate), rtol=1e-9)
