"""`calibrant audit --grade`: what it prints, writes and refuses, and its exit codes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app
from support.tables import grades_of

SCALE = {"A": (1500, 1, 0.0005), "B": (600, 13, 0.006), "C": (200, 9, 0.04)}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("grades") / "loans.csv"
    rows = [f"{int(i < k)},{p},{name},0.5" for name, (n, k, p) in SCALE.items() for i in range(n)]
    path.write_text("\n".join(["y,p,rating,w", *rows]) + "\n")
    return path


def run(*words, **keywords):
    return CliRunner().invoke(app, ["audit", *map(str, words), "--outcome", "y", "--prediction", "p"], **keywords)


def test_a_grade_that_is_off(file):
    shown = run(file, "--grade", "rating")
    assert shown.exit_code == 1, shown.output
    assert "PDs are too low in B (all grades together, level 0.05)." in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("all ")


def test_obligors_that_stand_in_several_rows(file, tmp_path):
    """Every row three times: as bad a grade is called off by row, not by obligor."""
    rows, months = file.read_text().splitlines(), tmp_path / "months.csv"
    panel = [f"{line},{i}" for i, line in enumerate(rows[1:]) for _ in range(3)]
    months.write_text("\n".join([f"{rows[0]},borrower", *panel]) + "\n")
    shown = run(months, "--grade", "rating", "--cluster", "borrower", "--tolerance", 0.05)
    assert "2,300" in shown.stdout.splitlines()[-1]
    assert "asymptotic in the number of obligors that default" in shown.stdout
    alone = json.loads(run(file, "--grade", "rating", "--json").stdout)["grades"]
    grouped = json.loads(run(months, "--grade", "rating", "--cluster", "borrower", "--json").stdout)["grades"]
    assert grouped["grades"]["defaulted"] == alone["grades"]["defaults"]


@pytest.mark.slow
def test_json_edges_standard_input_and_report(file, tmp_path):
    page = tmp_path / "page.html"
    wanted = grades_of(file, grade="rating", outcome="y", prediction="p").to_dict()
    assert json.loads(run(file, "--grade", "rating", "--json").stdout)["grades"] == wanted
    piped = run("-", "--grade", "0.001,0.01", "--json", input=file.read_bytes())
    found = json.loads(piped.stdout)["grades"]["grades"]
    assert found["grade"] == ["up to 0.001", "over 0.001 to 0.01", "over 0.01"]
    assert found["p_exact"] == wanted["grades"]["p_exact"]
    assert run(file, "--grade", "rating", "--report", page).exit_code == 1
    assert "PDs are too low in B" in page.read_text(encoding="utf-8")
    right = run(file, "--grade", "rating", "--direction", "too high")
    assert right.exit_code == 0, right.output
    assert "PDs are not shown to be off" in right.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grade", "0.1,0.01"], "expected a column '0.1,0.01'"),
        (["--grade", "rating", "--weight", "w"], "--count of equal ones, found weights that count no rows"),
        (["--grade", "rating", "--kind", "amount", "--outcome", "y", "--prediction", "p"], "--outcome"),
    ],
)
def test_refusals(file, words, message):
    refused = run(file, *words)
    assert refused.exit_code == 2
    assert message in refused.stderr
