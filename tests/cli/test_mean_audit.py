"""`calibrant audit --outcome`: text, JSON, report, exit codes and mistakes."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from support.mean_audits import CAP, tariff

NAMES = ["--kind", "amount", "--outcome", "loss", "--prediction", "premium"]


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    loss, premium, years, claims, rate = tariff()
    path = tmp_path_factory.mktemp("means") / "policies.csv"
    columns = {"loss": loss, "premium": premium, "years": years, "claims": claims, "rate": rate}
    pl.DataFrame(columns).with_columns(customer=pl.int_range(pl.len()) // 4).head(4_000).write_csv(path)
    return path


@pytest.mark.slow
def test_text_json_and_report_are_those_of_python(file, tmp_path):
    page = tmp_path / "audit.md"
    asked = {"exposure": "years", "limits": (0, CAP), "tolerance": 0.5}
    result = cal.audit(file, kind="amount", outcome="loss", prediction="premium", **asked)
    done = run(file, *NAMES, "--exposure", "years", "--cap", CAP, "--tolerance", 0.5, "--json", "--report", page)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["provenance"]["fingerprint"] == result.provenance.fingerprint
    assert document["name"] == "column premium of policies.csv"
    assert "## Certified" in page.read_text(encoding="utf-8")
    text = run(file, *NAMES, "--exposure", "years", "--cap", CAP, "--tolerance", 0.001)
    assert text.exit_code == 1
    assert (
        "Predictions are too high by"
        in run(file, *NAMES, "--weight", "years", "--cluster", "customer", "--details").stdout
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*NAMES, "--cap", 100], "give the cap, or outcome limits, that every outcome keeps to: --floor and --cap"),
        ([*NAMES, "--cap", -5], "--floor and --cap to be two numbers, the first below the second"),
        (
            [*NAMES, "--prediction", "loss"],
            "expected --prediction to name one column, found 'premium' and 'loss'; name one of them",
        ),
        ([*NAMES, "--tolerance", 5], "it is a share of the predicted total: 0.05 for 5%"),
        ([*NAMES, "--exposure", "years", "--weight", "years"], "expected --exposure or --weight, found both"),
        (
            [*NAMES, "--cost-fp", 1, "--cost-fn", 2],
            "--cost-fp and --cost-fn of events, found costs of another kind",
        ),
        ([*NAMES, "--method", "anytime"], "expected --method to be one of 'default', 'asymptotic'"),
        (["--kind", "amount", "--outcome", "premium", "--prediction", "loss"], "predictions above 0"),
        (["--kind", "amount", "--outcome", "loss", "--prediction", "prem"], "did you mean 'premium'?"),
        (
            ["--outcome", "claims", "--prediction", "rate", "--exposure", "years"],
            "pass --kind amount if",
        ),
        (
            ["--outcome", "claims", "--prediction", "rate"],
            "calibrant audit with --kind amount judges predicted",
        ),
    ],
)
def test_mistakes_are_one_sentence_with_a_way_on(file, options, message):
    done = run(file, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
