"""`calibrant recalibrate`, `apply` and `export` with every method: the three agree with what Python predicts."""

import shlex
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

FIT = ["--outcome", "y", "--prediction", "p"]


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


@pytest.mark.slow
def test_a_repair_of_clusters_counts_them(tmp_path):
    """As Python does it, with a bound for 60 topics and not for 2,400 rows; the means of topics, too."""
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(60), 40)
    p = rng.uniform(0.2, 0.8, 2400)
    frame = pd.DataFrame({"y": (rng.random(60)[topic] < p**1.6).astype(int), "p": p, "topic": topic})
    file, model = tmp_path / "rows.csv", tmp_path / "model.json"
    frame.rename(columns={"topic": "topic_id"}).to_csv(file, index=False)
    assert "name it with --cluster topic_id" in " ".join(
        run("recalibrate", file, *FIT, "--model", model).stdout.split()
    )
    frame.to_csv(file, index=False)
    alone = run("recalibrate", file, *FIT, "--model", model, "--force").stdout
    done = run("recalibrate", file, *FIT, "--cluster", "topic", "--model", model, "--force")
    assert "asymptotic in the number of clusters, 60)" in " ".join(done.stdout.split())
    bounds = [float(" ".join(text.split()).partition("at most ")[2].split()[0]) for text in (alone, done.stdout)]
    assert bounds[1] > 1.5 * bounds[0]
    python = AutoCalibrator().fit(frame["p"], frame["y"], groups=frame["topic"])
    np.testing.assert_array_equal(load_model(model).predict(p), python.predict(p))
    few = frame[frame["topic"] < 8]
    few.to_csv(file, index=False)
    done = run("recalibrate", file, *FIT, "--cluster", "topic", "--model", model, "--force")
    assert "too few rows or clusters" in done.stdout
    assert "at most" not in done.stdout
    run(
        "recalibrate",
        file,
        "--kind",
        "amount",
        "--outcome",
        "y",
        "--prediction",
        "p",
        "--cluster",
        "topic",
        "--model",
        model,
        "--force",
    )
    means = AutoMeanCalibrator().fit(few["p"], few["y"], groups=few["topic"])
    np.testing.assert_array_equal(load_model(model).predict(p), means.predict(p))


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
    done = run("apply", "--query", query, "--prediction", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    found, p = pd.read_csv(out, dtype=str).astype(float), np.sort(sample()[0][sample()[0] < 0.5])
    assert list(found) == ["n", "y", "p", "calibrated"]
    np.testing.assert_array_equal(found["p"], p)
    np.testing.assert_allclose(found["calibrated"], load_model(model).predict(p), rtol=1e-12)
    refused("a file or --query", tmp_path, "apply", scores, "--query", query, "--prediction", "p", "--model", model,
            "--output", tmp_path / "other.csv")  # fmt: skip


@pytest.mark.grid
@pytest.mark.parametrize("method", [method for method in METHODS if method != "offset"])
def test_every_method_is_fitted_stored_and_applied(method, scores, tmp_path):
    model, out = tmp_path / "m.json", tmp_path / "out.parquet"
    done = run("recalibrate", scores, *FIT, "--model", model, "--method", method)
    assert done.exit_code == 0, done.output
    p, y = sample()
    fitted = as_calibrator(LAYOUTS[method].kind()).fit(p, y).of_column("p")
    assert to_json(load_model(model)) == to_json(fitted)
    done = run("apply", scores, "--prediction", "p", "--model", model, "--output", out)
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
        (["--central-tendency", 0.3, "--by", "y"], "--by without --weight, --chance and --central-tendency"),
        (["--cap", 1], "found --cap with --kind event; leave --cap out, or change --kind"),
        (["--kind", "amount", "--pos-label", 1], "found --pos-label with --kind amount; leave --pos-label out"),
        (["--kind", "classes"], "--kind to be one of 'event', 'amount'"),
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
    done = run("recalibrate", scores, *FIT, "--count", "w", "--pos-label", "yes", "--model", tmp_path / "m.json", "--method", "platt")  # fmt: skip # noqa: E501
    assert done.exit_code == 0, done.output
    fitted = PlattCalibrator().fit([0.2, 0.7, 0.7], [0, 1, 0], count=[3, 2, 1]).of_column("p")
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
    done = run("apply", source, "--prediction", "p", "--model", model, "--output", out)
    assert done.exit_code == 0, done.output
    found = [value for (value,) in duckdb.sql(f"SELECT calibrated FROM '{out}'").fetchall()]
    assert found[1] is None
    assert_same([found[0], found[2]], load_model(model), [0.25, 1.0])


def test_a_model_is_not_replaced_unless_told_so(scores, model, tmp_path):
    fit = ["recalibrate", scores, *FIT, "--method", "platt", "--model"]
    found = "found the IsotonicCalibrator that was fitted to p on 20"
    refused(f"expected no file at {model} so far, {found}", tmp_path, *fit, model)
    refused("500 rows; write to another file, or add --force to replace it", tmp_path, *fit, model)
    refused("expected no model at", tmp_path, "export", model, "--to", "json", "--output", copied(model))
    other = tmp_path / "notes.json"
    other.write_text("{}")
    refused("found a file that is no model", tmp_path, *fit, other)
    for path in (model, other):
        done = run(*fit, path, "--force")
        assert done.exit_code == 0, done.output
        assert isinstance(load_model(path), PlattCalibrator)


@pytest.mark.grid
@pytest.mark.parametrize("method", ["isotonic", "scale"])
def test_following_the_advice_on_recalibrated_scores_keeps_the_deployed_model_right(method, tmp_path, monkeypatch):
    """The command of an audit replaces no model, and says what does both; that is refused without --force."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for file, power in (("before.csv", 1.3), ("after.csv", 1.8)):  # the truth drifts away
        p = rng.uniform(size=4000)
        y = (rng.uniform(size=4000) < p**power).astype(int)
        pd.DataFrame({"y": y, "p": p}).to_csv(file, index=False)
    columns = FIT if method == "isotonic" else ["--kind", "amount", "--outcome", "y", "--prediction", "p"]
    assert run("recalibrate", "before.csv", *columns, "--method", method, "--model", "model.json").exit_code == 0
    apply = ["apply", "after.csv", "--prediction", "p", "--model", "model.json", "--output"]
    assert run(*apply, "old.csv").exit_code == 0
    done = run("audit", "old.csv", *columns[:-1], "calibrated")
    [advised] = [line for line in done.stdout.splitlines() if line.startswith("Next")]
    words = shlex.split(advised, comments=True)[2:]
    assert advised.endswith("  # if model.json gave these scores, add --onto model.json")
    assert run(*words).exit_code == 0
    words[words.index("model-2.json")] = "model.json"
    refused("or add --force to replace it, and --onto as well if it gave these scores", tmp_path, *words)
    onto = ["--force", "--onto", "model.json"]
    wrong = [{"calibrated": "p"}.get(word, word) for word in words]
    refused("expected a column that model.json gave, found 'p', which it was fitted to", tmp_path, *wrong, *onto)
    old = load_model("model.json")
    done = run(*words, *onto)
    assert done.exit_code == 0, done.output
    assert run(*apply, "new.csv").exit_code == 0
    frame = pd.read_csv("new.csv")
    new = type(load_model("model.json").maps_[1])().fit(old.predict(frame["p"]), frame["y"])
    np.testing.assert_allclose(frame["calibrated"], new.predict(old.predict(frame["p"])), rtol=1e-9)
    assert abs(frame["calibrated"].mean() - frame["y"].mean()) < 0.01
    assert run("export", "model.json", "--to", "sql").stdout.startswith('CASE WHEN CAST("p" AS DOUBLE)')


def copied(model):
    deployed = model.with_name("deployed.json")
    deployed.write_bytes(model.read_bytes())
    return deployed


@pytest.mark.parametrize("kind", ["classes", "means", "segments"])
def test_a_model_is_applied_to_the_column_that_it_was_fitted_to(kind, branches, tmp_path):
    """Not to another one, such as what the model itself had written, unless it is the same under another name."""
    model, out, renamed = tmp_path / "m.json", tmp_path / "out.csv", tmp_path / "renamed.csv"
    named = {
        "classes": FIT,
        "segments": [*FIT, "--by", "branch"],
        "means": ["--kind", "amount", "--outcome", "y", "--prediction", "p"],
    }
    done = run("recalibrate", branches, *named[kind], "--method", "auto", "--model", model)
    assert done.exit_code == 0, done.output
    assert run("apply", branches, "--prediction", "p", "--model", model, "--output", out).exit_code == 0
    again = ["apply", out, "--prediction", "calibrated", "--model", model, "--output", renamed, "--column", "z"]
    message = "expected --prediction to be what the model was fitted to, 'p', found 'calibrated'; name that column; if"
    refused(message, tmp_path, *again)
    refused("add --renamed", tmp_path, *again)
    frame = pd.read_csv(branches)
    frame.rename(columns={"p": "chance"}).to_csv(tmp_path / "other.csv", index=False)
    again[1], again[3] = tmp_path / "other.csv", "chance"
    refused("found 'chance'", tmp_path, *again)
    assert run(*again, "--renamed").exit_code == 0
    np.testing.assert_allclose(pd.read_csv(renamed)["z"], pd.read_csv(out)["calibrated"], rtol=1e-12)
    assert '"p"' in run("export", model, "--to", "sql").stdout


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
    done = run("apply", branches, "--prediction", "p", "--model", model, "--output", out)
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
                   "--central-tendency", 0.1, "--force")  # fmt: skip
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
    names = [
        "--kind",
        "amount",
        "--outcome",
        "claims",
        "--prediction",
        "rate",
        "--exposure",
        "years",
        "--missing",
        "drop",
    ]
    model, out = tmp_path / "m.json", tmp_path / "out.csv"
    done = run("recalibrate", tmp_path / "book.csv", *names, "--model", model, "--method", method)
    assert done.exit_code == 0, done.output
    assert "Left out: 1 of 600 rows: 1 without an outcome" in " ".join(done.stdout.split())
    assert run("apply", tmp_path / "book.csv", "--prediction", "rate", "--model", model, "--output", out).exit_code == 0
    fitted = calibrator.fit(rate[1:], claims[1:], exposure=years[1:])
    np.testing.assert_allclose(pd.read_csv(out)["calibrated"], fitted.predict(rate), rtol=1e-9)


def test_known_chances_are_weights_of_a_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    score, chance = rng.uniform(size=800), rng.choice([0.25, 1.0], 800)
    label = (rng.uniform(size=800) < score**2).astype(int)
    table = np.column_stack([label, score, chance])
    np.savetxt("rows.csv", table, fmt=["%d", "%.17g", "%g"], delimiter=",", header="y,p,c", comments="")
    options = ["--outcome", "y", "--prediction", "p", "--chance", "c", "--method", "platt", "--model", "m.json"]
    assert CliRunner().invoke(app, ["recalibrate", "rows.csv", *options]).exit_code == 0
    fitted = PlattCalibrator().fit(score, label, sample_weight=1.0 / chance)
    np.testing.assert_allclose(load_model("m.json").predict(score), fitted.predict(score))
