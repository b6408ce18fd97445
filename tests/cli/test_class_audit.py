"""`calibrant audit --prediction`: text, JSON, report and exit codes."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from support.class_audits import world

COLUMNS = ["p_a", "p_b", "p_c"]


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments), "--outcome", "y"])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    y, proba = world(500, power=4.0)
    path = tmp_path_factory.mktemp("classes") / "rows.csv"
    labels = np.array(["a", "b", "c"])[y]
    pl.DataFrame({"y": labels, **dict(zip(COLUMNS, proba.round(9).T, strict=True))}).write_csv(path)
    return path


@pytest.mark.slow
def test_text_json_and_report_are_those_of_python(file, tmp_path):
    page = tmp_path / "audit.html"
    result = cal.audit(file, outcome="y", prediction="p_*", tolerance=0.01, name="columns p_* of rows.csv")
    done = run(file, "--prediction", "p_*", "--tolerance", 0.01, "--json", "--report", page)
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert document["certificate"]["verdict"] == result.certificate.verdict == "refuted"
    assert document["provenance"]["fingerprint"] == result.provenance.fingerprint
    assert document["provenance"]["command"].startswith("calibrant audit ")
    assert "Refuted" in page.read_text(encoding="utf-8")
    listed = run(file, *(word for name in COLUMNS for word in ("--prediction", name)), "--tolerance", 0.5)
    assert listed.exit_code == 0  # every class is certified, though the test rejects
    assert listed.stdout.startswith("CERTIFIED")
    assert "against the probabilities: p <= " in listed.stdout
    assert "Errors of all classes, with bounds" in listed.stdout
    costs = tmp_path / "costs.csv"
    costs.write_text("0,1,1\n1,0,1\n1,1,0\n.3,.3,.3\n")
    priced = run(file, "--prediction", "p_*", "--cost-matrix", costs, "--json")
    assert json.loads(priced.stdout)["decision"]["cost"] > 0.1
    costs.write_text("a,b,c\n0,1,1\n")
    assert "expected numbers alone, between commas" in run(file, "--prediction", "p_*", "--cost-matrix", costs).stderr
    costs.write_text("0,1\n1,0\n")
    assert (
        "expected costs with a row for each action" in run(file, "--prediction", "p_*", "--cost-matrix", costs).stderr
    )
    assert "check the path" in run(file, "--prediction", "p_*", "--cost-matrix", tmp_path / "none.csv").stderr
    assert "cross-fitted; of all classes" in " ".join(run(file, "--prediction", "p_*", "--details").stdout.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--prediction", "p_*", "--prediction", "p_a"],
            "takes a pattern, alone, for several classes: --prediction 'p_*'",
        ),
        (["--prediction", "p_*", "--grade", "p_a"], "no --grade with kind 'classes', as a grade has one probability"),
        (["--prediction", "p_*", "--cost-fp", "1", "--cost-fn", "2"], "--cost-matrix of several classes"),
        (["--prediction", "p_a", "--cost-matrix", "costs.csv"], "--cost-fp and --cost-fn of events"),
        (["--prediction", "q_*"], "pass a pattern such as --prediction 'p_*', or the names of all columns"),
        (["--prediction", "p_a", "--kind", "classes"], "columns of probabilities for two or more classes"),
        (["--prediction", "p_a", "--prediction", "p_b"], "add up to 1"),
    ],
)
def test_mistakes_are_one_sentence_with_a_way_on(file, options, message):
    done = run(file, *options)
    assert done.exit_code == 2
    assert message in done.stderr
