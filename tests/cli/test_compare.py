"""`calibrant compare`: golden text, its options, and that it says what Python says."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from calibrant.comparing import MeasureDifference
from calibrant.comparing.compare import summary

GOLDEN = Path(__file__).parent / "golden"
ONE, TWO = "champion of 2025", "new"


def run(*arguments, **kwargs):
    return CliRunner().invoke(app, [str(a) for a in arguments], **kwargs)


def difference(measure, value, lower, upper, better, rows_needed=None, first=ONE, second=TWO):
    return MeasureDifference(measure, first, second, value, 0.01, lower, upper, better, rows_needed, None)


def comparison(differences, **models):
    """Numbers made up by hand."""
    keys = dict.fromkeys(one.measure for one in differences)
    return SimpleNamespace(
        models={
            name: SimpleNamespace(measures=dict(zip(keys, values, strict=True))) for name, values in models.items()
        },
        differences=differences,
        measures=tuple(keys),
        ranks={key: {name: 1 + i for i, name in enumerate(models)} for key in keys},
        n=20_000,
        positives=8_694,
        n_clusters=None if len(models) == 2 else 1_250,
        effective_clusters=None if len(models) == 2 else 7.5,
        costs=(1.0, 40.0) if len(models) == 2 else None,
        left_out=None,
        confidence_level=0.95,
    )


CASES = {
    "compared": comparison(
        [
            difference("calibration_error", -0.0628, -0.0687, -0.0371, TWO),
            difference("brier_score", 0.0064, 0.0034, 0.0094, ONE),
            difference("log_loss", -float("inf"), -float("inf"), -float("inf"), TWO),
            difference("roc_auc", 0.0, -0.0028, 0.0028, None),
            difference("expected_cost", -0.118, -0.3043, 0.0072, None, 183_204),
            difference("net_benefit", 0.0049, -0.0018, 0.0121, None, 75_000),
        ],
        **{ONE: [0.0739, 0.1698, float("inf"), 0.8272, 0.4245, 0.3984], TWO: [0.0111, 0.1762, 0.5, 0.8272, 0.4, 0.4]},
    ),
    "compared three": comparison(
        [
            difference("brier_score", -0.01, -0.02, -0.005, "b", first="a", second="b"),
            difference("brier_score", 0.01, -0.02, 0.015, None, 9_000, first="a", second="c"),
            difference("brier_score", 0.02, 0.012, 0.025, "b", first="b", second="c"),
        ],
        a=[0.21],
        b=[0.2],
        c=[0.22],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_golden_text_at_80_columns(name, request):
    text = summary(CASES[name], 80) + "\n"
    path = GOLDEN / f"{name.replace(' ', '_')}_80.txt"
    if request.config.getoption("--write-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 24


@pytest.fixture
def scores(tmp_path):
    """600 rows in pairs, scored by two models."""
    rng = np.random.default_rng(0)
    s = rng.uniform(0.02, 0.98, 600)
    y = (rng.uniform(size=600) < s).astype(int)
    lines = [f"{a},{b},{c},{i // 2}" for i, (a, b, c) in enumerate(zip(y, s**2, s, strict=True))]
    (tmp_path / "scores.csv").write_text("\n".join(["y,old,new,case", *lines]) + "\n")
    return tmp_path / "scores.csv", y, {"old": s**2, "new": s}


def test_it_says_what_python_says(scores, tmp_path):
    path, y, models = scores
    report = tmp_path / "out.html"
    options = ["--cost-fp", 1, "--cost-fn", 4, "--cluster", "case", "--confidence", 0.9, "--report", report]
    done = run("compare", path, "--outcome", "y", "--prediction", "old", "--prediction", "new", *options, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    result = cal.compare(y, models, costs=(1, 4), cluster=np.arange(600) // 2, confidence_level=0.9)
    expected = result.to_dict(curves=False)
    assert found["differences"] == expected["differences"]
    assert found["ranks"] == expected["ranks"]
    assert found["provenance"]["fingerprint"] == expected["provenance"]["fingerprint"]
    assert found["provenance"]["command"].startswith("calibrant compare ")
    assert found["name"] == "columns old, new of scores.csv"
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_text_goes_to_a_file_whole(scores):
    done = run("compare", scores[0], "--outcome", "y", "--prediction", "old", "--prediction", "new")
    assert done.exit_code == 0
    assert done.stdout.startswith("new is better than old at calibration error")
    piped = run(
        "compare", "-", "--outcome", "y", "--prediction", "old", "--prediction", "new", input=scores[0].read_bytes()
    )
    assert piped.stdout == done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prediction", "old"], "expected at least two models, found one"),
        (["--prediction", "old", "--prediction", "old"], "expected different models, found 'old' twice"),
        (["--prediction", "old", "--prediction", "nwe"], "a column 'nwe' in scores.csv"),
        (["--prediction", "old", "--prediction", "case"], "in row 5 of column case in scores.csv"),
        (["--prediction", "old", "--prediction", "new", "--cost-fp", 1], "both --cost-fp and --cost-fn"),
        (
            ["--prediction", "old", "--prediction", "new", "--report", "out.txt"],
            "report whose name ends in .html, .pdf, .md or .tex",
        ),
    ],
)
def test_bad_input_is_exit_code_2(options, message, scores, monkeypatch):
    monkeypatch.chdir(scores[0].parent)
    done = run("compare", "scores.csv", "--outcome", "y", *options)
    assert done.exit_code == 2
    assert message in done.stderr
