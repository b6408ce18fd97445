"""`calibrant selective`: that it says what Python says, its exit codes, its report, and what it refuses."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app

N = 3_000


def run(*arguments, **kwargs):
    return CliRunner().invoke(app, ["selective", *map(str, arguments)], **kwargs)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    score = rng.beta(2.0, 1.0, N).round(3)
    right = (rng.uniform(size=N) > 0.16 * (1.0 - score) ** 0.7).astype(int)
    columns = {"right": right, "p": score, "kind": rng.choice(["a", "b"], N), "case": rng.integers(0, 1_500, N)}
    path = tmp_path_factory.mktemp("selective") / "rows.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return SimpleNamespace(path=path, columns=columns)


def test_says_what_python_says(rows):
    done = run(rows.path, "--outcome", "right", "--prediction", "p", "--target-error", 0.06)
    expected = cal.selective(rows.columns["right"], rows.columns["p"], target_error=0.06)
    assert done.exit_code == 0
    assert done.stdout == f"{expected}\n"
    as_json = run(rows.path, "--outcome", "right", "--prediction", "p", "--target-error", 0.06, "--json")
    assert json.loads(as_json.stdout) == json.loads(expected.to_json(curves=False))


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--target-error", 0.06, "--target-error", 0.1], {"target_error": [0.06, 0.1]}),
        (["--by", "kind", "--confidence", 0.9], {"by": "kind", "confidence_level": 0.9}),
        (["--cluster", "case", "--target-error", 0.2], {"cluster": "case", "target_error": 0.2}),
    ],
)
def test_options_are_those_of_python(rows, options, keywords):
    done = run(rows.path, "--outcome", "right", "--prediction", "p", *options, "--json")
    expected = cal.selective(pd.DataFrame(rows.columns), outcome="right", prediction="p", **keywords)
    assert json.loads(done.stdout) == json.loads(expected.to_json(curves=False))


def test_both_sides(rows):
    options = ["--binary", "--target-error", 0.1, "--target-error", 0.5, "--missed", 0.2]
    done = run(rows.path, "--outcome", "right", "--prediction", "p", *options)
    columns = rows.columns
    expected = cal.selective_binary(columns["right"], columns["p"], target_error=(0.1, 0.5), missed=0.2)
    assert done.stdout == f"{expected}\n"
    covered = 1.0 - expected.review_share
    for required, code in ((covered - 1e-9, 0), (min(1.0, covered + 1e-9), int(covered < 1.0))):
        again = run(rows.path, "--outcome", "right", "--prediction", "p", *options, "--require-coverage", required)
        assert again.exit_code == code


@pytest.mark.slow
def test_audit_takes_targets(rows):
    given = ["audit", str(rows.path), "--outcome", "right", "--prediction", "p", "--json"]
    for targets in ([0.1], [0.1, 0.5]):
        options = [word for target in targets for word in ("--target-error", str(target))]
        done = CliRunner().invoke(app, [*given, *options], obj=[])
        expected = cal.selective_binary(rows.columns["right"], rows.columns["p"], target_error=targets)
        assert json.loads(done.stdout)["selective"] == expected.to_dict(curves=False)
    refused = CliRunner().invoke(app, [*given, *options, "--cluster", "case"], obj=[])
    assert refused.exit_code == 2
    assert "independent rows, where there is a --target-error, found clusters" in refused.stderr


def test_exit_code_says_whether_enough_is_certified(rows):
    given = [rows.path, "--outcome", "right", "--prediction", "p", "--target-error", 0.06]
    coverage = cal.selective(rows.columns["right"], rows.columns["p"], target_error=0.06).coverage
    assert 0.3 < coverage < 1.0
    assert run(*given, "--require-coverage", coverage).exit_code == 0
    assert run(*given, "--require-coverage", coverage + 1e-9).exit_code == 1
    assert run(*given, "--target-error", 0.0001).exit_code == 0  # nothing was required
    more = run(*given, "--target-error", 0.0001, "--require-coverage", coverage / 2)  # of every target
    assert more.exit_code == 1
    assert "none" in more.stdout


def test_standard_input_and_queries(rows):
    done = run(rows.path, "--outcome", "right", "--prediction", "p")
    assert run("-", "--outcome", "right", "--prediction", "p", input=rows.path.read_bytes()).stdout == done.stdout
    query = f"SELECT * FROM '{rows.path}'"
    assert run("--query", query, "--outcome", "right", "--prediction", "p").stdout == done.stdout


def test_rows_without_a_value_are_left_out_and_counted(rows, tmp_path):
    frame = pd.DataFrame(rows.columns).astype({"right": float})
    frame.loc[:9, "right"] = np.nan
    frame.to_csv(tmp_path / "holes.csv", index=False)
    given = [tmp_path / "holes.csv", "--outcome", "right", "--prediction", "p"]
    assert run(*given).exit_code == 2
    assert "Left out: 10 of 3,000 rows" in run(*given, "--missing", "drop").stdout


def test_scores_that_rank_the_wrong_way_are_noticed(rows, tmp_path):
    frame = pd.DataFrame(rows.columns).assign(p=-rows.columns["p"])
    frame.to_csv(tmp_path / "turned.csv", index=False)
    for options in ([], ["--by", "kind"], ["--binary"]):
        done = run(tmp_path / "turned.csv", "--outcome", "right", "--prediction", "p", *options)
        assert "\nWarning" in done.stdout
        assert "AUC" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--binary", "--by", "kind"], "--binary without --by, found both"),
        (["--binary", "--cluster", "case"], "--binary without --cluster, found both"),
        (["--missed", 0.1], "--missed together with --binary, found it alone"),
        (["--require-coverage", 30], "--require-coverage in (0, 1], found 30"),
        (["--target-error", 5], "--target-error in (0, 1), found 5"),
        (["--report", "out.txt"], "a report whose name ends in"),
        (["--database", "x.db"], "--database together with --query"),
    ],
)
def test_what_is_refused(rows, options, message):
    done = run(rows.path, "--outcome", "right", "--prediction", "p", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("name", ["out.html", "out.md"])
def test_report(rows, tmp_path, name):
    report = tmp_path / name
    given = [
        rows.path,
        "--outcome",
        "right",
        "--prediction",
        "p",
        "--report",
        report,
        "--title",
        "A judge",
        "--note",
        "of May",
    ]
    done = run(*given, "--author", "Ada", obj=None)
    assert f"report written to {report}" in done.stderr
    text = report.read_text(encoding="utf-8")
    for words in ("A judge", "of May", "Ada", "calibrant selective"):
        assert words in text
    assert run(*given[:5], "--report", rows.path).exit_code == 2  # what is read is not replaced


def test_help_has_headings():
    shown = CliRunner().invoke(app, ["selective", "--help"]).output
    assert all(heading in shown for heading in ("Data:", "Method:", "Output:"))
