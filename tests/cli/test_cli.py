"""The command line, run in process: what it prints, its exit codes, and that nothing is left half-written."""

import inspect
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from calibrant.export import load_model


def run(*arguments, **kwargs):
    return CliRunner().invoke(app, [str(a) for a in arguments], **kwargs)


def numbers(data):
    """All but what differs between a command and a call in Python; of that, what is made of numbers and rows."""
    same = [data["provenance"][name] for name in ("fingerprint", "digest", "rows", "seed")]
    return data | {"name": "", "advice": "", "provenance": same}


def write_csv(path, y, p, **columns):
    columns = {"y": y, "p": p} | columns
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def scores(tmp_path):
    """20,000 calibrated scores in a CSV file."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < p).astype(int)
    return write_csv(tmp_path / "scores.csv", y, p.tolist(), case=range(20_000))


@pytest.fixture
def bad_scores(tmp_path):
    """2,000 scores that are too high."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2_000)
    y = (rng.uniform(size=2_000) < p**2).astype(int)
    return write_csv(tmp_path / "bad.csv", y, p.tolist())


class TestAudit:
    @pytest.mark.slow
    def test_certified(self, scores, tmp_path):
        report = tmp_path / "audit.html"
        done = run(
            "audit", scores, "--outcome", "y", "--prediction", "p", "--tolerance", 0.02, "--cost-fp", 1, "--cost-fn", 4,
            "--report", report,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("CERTIFIED: the calibration error is within 0.02, with 95% confidence.")
        assert "\nCost       0." in done.stdout
        assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")

    @pytest.mark.slow
    def test_refuted_is_exit_code_1_and_still_reports(self, bad_scores, tmp_path):
        report = tmp_path / "audit.html"
        done = run("audit", bad_scores, "--outcome", "y", "--prediction", "p", "--tolerance", 0.02, "--report", report)
        assert done.exit_code == 1
        assert done.stdout.startswith("REFUTED")
        assert report.exists()

    @pytest.mark.slow
    def test_scores_that_are_too_high_alone_pass_where_too_low_is_asked(self, bad_scores):
        asked = ("audit", bad_scores, "--outcome", "y", "--prediction", "p", "--tolerance", 0.05, "--direction")
        done = run(*asked, "too low")
        assert done.exit_code == 0, done.output
        assert "predictions that are too low is within 0.05" in " ".join(done.stdout.split())
        assert run(*asked, "low").exit_code == 2

    @pytest.mark.slow
    def test_without_tolerance_there_is_nothing_to_fail(self, bad_scores):
        done = run("audit", bad_scores, "--outcome", "y", "--prediction", "p")
        assert done.exit_code == 0

    @pytest.mark.slow
    def test_json_equals_python(self, scores):
        done = run("audit", scores, "--outcome", "y", "--prediction", "p", "--tolerance", 0.02, "--json")
        data = json.loads(done.stdout)
        y, p = np.loadtxt(scores, delimiter=",", skiprows=1, usecols=(0, 1)).T
        python = cal.audit(y, p, tolerance=0.02, name="column p of scores.csv")
        assert numbers(data) == numbers(json.loads(python.to_json(curves=False)))
        assert len(done.stdout) < 20_000
        whole = json.loads(
            run("audit", scores, "--outcome", "y", "--prediction", "p", "--tolerance", 0.02, "--json-curves").stdout
        )
        assert whole["isotonic"] == python.to_dict()["isotonic"]

    def test_counts_are_whole_numbers(self, bad_scores):
        data = json.loads(run("audit", bad_scores, "--outcome", "y", "--prediction", "p", "--json").stdout)
        sample = [data[name] for name in ("n", "positives", "tied_rows", "distinct_scores")]
        assert sample[0] == 2_000
        assert all(isinstance(value, int) for value in [*sample, data["cutoff"]["n"], data["certificate"]["n"]])

    @pytest.mark.slow
    def test_details_on_request(self, bad_scores):
        arguments = ("audit", bad_scores, "--outcome", "y", "--prediction", "p")
        short, long = run(*arguments).stdout, run(*arguments, "--details").stdout
        assert "Assumptions" not in short
        assert "\nAssumptions        The classifier was fixed" in long
        assert short.splitlines()[0] == long.splitlines()[0]

    @pytest.mark.slow
    def test_standard_input_is_the_same(self, scores):
        from_file = run("audit", scores, "--outcome", "y", "--prediction", "p", "--json")
        from_pipe = run("audit", "-", "--outcome", "y", "--prediction", "p", "--json", input=scores.read_bytes())
        assert from_pipe.exit_code == 0, from_pipe.output
        assert json.loads(from_pipe.stdout)["name"] == "column p of standard input"
        assert json.loads(from_pipe.stdout)["cutoff"] == json.loads(from_file.stdout)["cutoff"]

    def test_named_labels_and_weights(self, tmp_path):
        path = write_csv(
            tmp_path / "s.csv", ["yes", "no", "no", "yes"] * 5, [0.9, 0.2, 0.4, 0.7] * 5, w=[1, 2, 3, 4] * 5
        )
        done = run("audit", path, "--outcome", "y", "--prediction", "p", "--count", "w", "--pos-label", "yes", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["n"] == 50
        assert json.loads(done.stdout)["positives"] == 25


Y, P = [0, 1] * 10, [0.2, 0.7] * 10

BAD_COLUMNS = {
    "nan": ({"p": [*P[:-1], "nan"]}, "finite scores, found nan in row 20"),
    "infinite": ({"p": [*P[:-1], "inf"]}, "finite scores, found inf in row 20"),
    "above one": ({"p": [*P[:-1], 1.5]}, "scores between 0 and 1, found 1.5 in row 20"),
    "logits": ({"p": [-2.0, 3.0] * 10}, "look like logits"),
    "percentages": ({"p": [20, 70] * 10}, "look like percentages"),
    "text": ({"p": [*P[:-1], "high"]}, "found 'high' in row 20"),
    "missing score": ({"p": [*P[:-1], ""]}, "row 20"),
    "missing label": ({"y": [*Y[:-1], ""]}, "row 20"),
    "swapped": ({"y": P, "p": Y}, "swapped"),
    "three labels": ({"y": [0, 1, 2, *Y[3:]]}, "two label values"),
    "names as labels": ({"y": ["yes", "no"] * 10}, "--pos-label"),
    "no rows": ({"y": [], "p": []}, "no rows"),
}


@pytest.mark.grid
@pytest.mark.parametrize(("columns", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_bad_columns(columns, message, tmp_path):
    columns = {"y": Y, "p": P} | columns
    path = write_csv(tmp_path / "s.csv", columns["y"], columns["p"])
    expect_error(message, tmp_path, "audit", path, "--outcome", "y", "--prediction", "p")


@pytest.mark.parametrize(
    ("weight", "message"),
    [([-1, *[1] * 19], "row 1"), ([0] * 20, "only zeros"), (["x", *[1] * 19], "'x' in row 1")],
)
def test_bad_weights(weight, message, tmp_path):
    path = write_csv(tmp_path / "s.csv", Y, P, w=weight)
    expect_error(message, tmp_path, "audit", path, "--outcome", "y", "--prediction", "p", "--weight", "w")


BAD_FILES = {
    "empty": (b"", "no rows"),
    "header only": (b"y,p\n", "no rows"),
    "binary": (bytes(range(256)) * 40, "s.csv"),
    "ragged": (b"y,p\n1,0.5\n0,0.3,7\n1,0.2\n", "s.csv"),
    "unfinished quote": (b'y,p\n1,"0.5\n0,0.3\n1,0.2\n', "s.csv"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(content, message, tmp_path):
    (tmp_path / "s.csv").write_bytes(content)
    expect_error(message, tmp_path, "audit", tmp_path / "s.csv", "--outcome", "y", "--prediction", "p")


def test_truncated_parquet(tmp_path, scores):
    import duckdb

    path = tmp_path / "s.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{scores}')) TO '{path}'")
    path.write_bytes(path.read_bytes()[:5000])
    expect_error("s.parquet", tmp_path, "audit", path, "--outcome", "y", "--prediction", "p")


BAD_USAGE = {
    "near miss": (["--outcome", "y", "--prediction", "pp"], "'p'"),
    "no such column": (["--outcome", "outcome", "--prediction", "p"], "outcome"),
    "same column": (["--outcome", "p", "--prediction", "p"], "different columns"),
    "tolerance": (["--outcome", "y", "--prediction", "p", "--tolerance", "2"], "--tolerance in (0, 1)"),
    "tolerance as text": (["--outcome", "y", "--prediction", "p", "--tolerance", "low"], "--tolerance"),
    "confidence": (["--outcome", "y", "--prediction", "p", "--confidence", "0"], "--confidence in (0, 1)"),
    "half the costs": (["--outcome", "y", "--prediction", "p", "--cost-fp", "1"], "both --cost-fp and --cost-fn"),
    "negative cost": (["--outcome", "y", "--prediction", "p", "--cost-fp", "-1", "--cost-fn", "1"], "--cost-fp"),
    "method": (["--outcome", "y", "--prediction", "p", "--method", "magic"], "'default', 'asymptotic', 'anytime'"),
    "report folder": (["--outcome", "y", "--prediction", "p", "--report", "/missing/a.html"], "no folder /missing"),
    "report of another kind": (
        ["--outcome", "y", "--prediction", "p", "--report", "a.docx"],
        r".html, .pdf, .md or .tex",
    ),
    "report is a folder": (["--outcome", "y", "--prediction", "p", "--report", "/"], "folder"),
    "a word twice": (
        ["--outcome", "y", "--prediction", "p", "--words", "rows=patients,rows=people"],
        "write NAME=WORD, each once",
    ),
    "head without a report": (
        ["--outcome", "y", "--prediction", "p", "--title", "Loans"],
        "--title with --report, which it heads, found no report; add --report PATH, or leave --title out",
    ),
    "no label": (["--prediction", "p"], "--outcome"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_USAGE.values(), ids=BAD_USAGE)
def test_bad_usage(arguments, message, tmp_path):
    path = write_csv(tmp_path / "s.csv", Y, P)
    expect_error(message, tmp_path, "audit", path, *arguments)


def test_missing_file(tmp_path):
    expect_error("missing.csv", tmp_path, "audit", tmp_path / "missing.csv", "--outcome", "y", "--prediction", "p")


def expect_error(message, folder, *arguments):
    before = sorted(folder.iterdir())
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before


class TestRecalibrateAndApply:
    @pytest.fixture
    def model(self, bad_scores, tmp_path):
        done = run("recalibrate", bad_scores, "--outcome", "y", "--prediction", "p", "--model", tmp_path / "m.json", "--method", "isotonic")  # fmt: skip # noqa: E501
        assert done.exit_code == 0, done.output
        assert re.search(r"error 0\.\d+ -> 0\.0\d+", done.stdout)
        return tmp_path / "m.json"

    @pytest.mark.grid
    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
    def test_applied_file_holds_what_the_model_predicts(self, model, bad_scores, tmp_path, ending):
        import duckdb

        out = tmp_path / f"out.{ending}"
        done = run("apply", bad_scores, "--prediction", "p", "--model", model, "--output", out)
        assert done.exit_code == 0, done.output
        assert "2,000 rows" in done.stderr
        back = duckdb.sql(f"SELECT p::DOUBLE AS p, calibrated::DOUBLE AS z, y FROM '{out}'").fetchnumpy()
        _, p = np.loadtxt(bad_scores, delimiter=",", skiprows=1).T
        np.testing.assert_array_equal(back["p"], p)  # rows keep their order
        np.testing.assert_array_equal(back["z"], load_model(model).predict(p))

    def test_input_cannot_be_overwritten_by_accident(self, model, bad_scores, tmp_path):
        before = bad_scores.read_bytes()
        expect_error("another file", tmp_path, "apply", bad_scores, "--prediction", "p", "--model", model, "--output", bad_scores)  # fmt: skip # noqa: E501
        assert bad_scores.read_bytes() == before

    def test_existing_column_is_not_replaced(self, model, bad_scores, tmp_path):
        expect_error(
            "'y'", tmp_path,
            "apply", bad_scores, "--prediction", "p", "--model", model, "--output", tmp_path / "o.csv", "--column", "y",
        )  # fmt: skip

    def test_scores_that_are_no_probabilities(self, model, tmp_path):
        path = write_csv(tmp_path / "s.csv", Y, [*P[:-1], 7.0])
        expect_error("row 20", tmp_path, "apply", path, "--prediction", "p", "--model", model, "--output", tmp_path / "o.csv")  # fmt: skip # noqa: E501

    def test_unknown_ending(self, model, bad_scores, tmp_path):
        expect_error(".xlsx", tmp_path, "apply", bad_scores, "--prediction", "p", "--model", model, "--output", tmp_path / "o.xlsx")  # fmt: skip # noqa: E501

    def test_model_that_is_none(self, bad_scores, tmp_path):
        expect_error("not JSON", tmp_path, "apply", bad_scores, "--prediction", "p", "--model", bad_scores, "--output", tmp_path / "o.csv")  # fmt: skip # noqa: E501

    def test_missing_scores_stay_missing(self, model, tmp_path):
        import duckdb

        path = write_csv(tmp_path / "s.csv", Y, [*P[:-1], ""])
        done = run("apply", path, "--prediction", "p", "--model", model, "--output", tmp_path / "o.parquet")
        assert done.exit_code == 0, done.output
        assert duckdb.sql(f"SELECT calibrated FROM '{tmp_path}/o.parquet'").fetchall()[-1] == (None,)

    def test_unknown_method(self, bad_scores, tmp_path):
        expect_error("'isotonic'", tmp_path, "recalibrate", bad_scores, "--outcome", "y", "--prediction", "p", "--model", tmp_path / "n.json", "--method", "magic")  # fmt: skip # noqa: E501


class TestPlan:
    def test_one_number(self):
        done = run("plan", "certify", "--tolerance", 0.02, "--brier", 0.15)
        assert done.exit_code == 0
        rows = cal.plan("certify", tolerance=0.02, brier=0.15).n
        assert re.search(rf"^certify +error 0\.02 +{rows:,}$", done.stdout, re.MULTILINE)
        assert "brier 0.15, power 0.8." in done.stdout
        assert "asymptotic" not in done.stdout

    def test_prevalence(self):
        rare, guess = (run("plan", "certify", "--tolerance", 0.02, *each) for each in (["--prevalence", 0.01], []))
        assert f" {cal.plan('certify', tolerance=0.02, brier=0.01 * 0.99).n:,} " in rare.stdout
        assert f" {cal.plan('certify', tolerance=0.02, brier=0.25).n:,}\n" in guess.stdout
        assert "name the prevalence" in guess.stdout
        both = run("plan", "certify", "--tolerance", 0.02, "--prevalence", 0.01, "--brier", 0.01)
        assert both.exit_code == 2
        assert "--prevalence" in both.output

    def test_scores_of_a_file(self, tmp_path):
        file = tmp_path / "scores.csv"
        file.write_text("p,z\n0.1,a\n,b\n0.3,c\n")  # one score is missing, and there are no outcomes
        words = ["plan", "certify", file, "--prediction", "p", "--tolerance", 0.02]
        done = run(*words)
        assert f" {cal.plan('certify', tolerance=0.02, brier=(0.09 + 0.21) / 2).n:,} " in done.stdout
        assert done.stdout.endswith("\nLeft out: 1 of 3 rows: 1 without a score.\n")
        as_json = json.loads(run(*words, "--json").stdout)
        assert (as_json["left_out"]["n"], as_json["left_out"]["n_read"]) == (1, 3)
        for mistake in (["--prediction", "z"], ["--prediction", "p", "--brier", 0.1], []):
            assert run("plan", "certify", file, "--tolerance", 0.02, *mistake).exit_code == 2

    def test_rows_for_intervals(self):
        done = run("plan", "o:e,auc", "--prevalence", 0.1, "--auc", 0.8, "--widths", "o:e=0.4")
        assert re.search(r"o:e +width 0\.4 +876 +88\n", done.stdout)
        assert re.search(r"auc +width 0\.1 +836 +84\n", done.stdout)
        for mistake in (["--auc", 0.8], ["--prevalence", 0.1], ["--prevalence", 0.1, "--auc", 0.8, "--widths", "0.4"]):
            assert run("plan", "o:e,auc", *mistake).exit_code == 2

    def test_rows_for_intervals_from_scores_of_a_file(self, tmp_path):
        file, scores = tmp_path / "scores.csv", np.random.default_rng(0).beta(1, 5, 2_000)
        file.write_text("p\n0\n\n" + "\n".join(map(str, scores)))
        goals = "o:e,slope,auc,net_benefit"
        found = json.loads(run("plan", goals, file, "--prediction", "p", "--threshold", 0.2, "--json").stdout)["rows"]
        direct = cal.plan(goals, y_proba=[0.0, *scores], threshold=0.2).rows
        assert list(found.values()) == pytest.approx(list(direct.values()), rel=5e-3)  # of narrow cells

    def test_amounts_and_selective_decisions(self):
        words = ["--frequency", 0.2, "--cap", 50, "--tolerance", 0.2, "--json"]
        rows = cal.plan("certify", kind="amount", frequency=0.2, cap=50, tolerance=0.2).rows
        assert json.loads(run("plan", "certify", "--kind", "amount", *words).stdout)["rows"] == rows
        found = json.loads(run("plan", "selective", "--risk", 0.01, "--coverage", 0.5, "--json").stdout)
        assert found["rows"] == cal.plan("selective", risk=0.01, coverage=0.5).rows

    @pytest.mark.slow
    def test_several_methods_and_the_width_alone(self):
        words = ["plan", "certify", "--tolerance", 0.05, "--brier", 0.3, "--power", 0, "--method", "default,asymptotic"]
        found = json.loads(run(*words, "--json").stdout)
        rows = cal.plan("certify", method="asymptotic", tolerance=0.05, brier=0.3, power=0).n
        assert (found["expected"]["power"], found["rows"]["certify, asymptotic"]) == (0, rows)
        assert re.search(r"certify, default +error 0\.05 +[0-9,]+\n", run(*words).stdout)

    @pytest.mark.parametrize(
        "arguments", [["certify", "--tolerance", "0"], ["certify", "--tolerance", "0.1", "--power", "1"], []]
    )
    def test_bad_usage(self, arguments):
        assert run("plan", *arguments).exit_code == 2


@pytest.mark.slow
def test_demo_audits_every_model(tmp_path):
    done = run("demo", "--report", tmp_path / "demo.html")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    for model in ("naive Bayes", "logistic regression", "random forest", "boosted trees", "support vector machine"):
        assert sum(line.endswith(model) for line in lines) == 2
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<h2") >= 10
    assert "cross-validation" in done.stdout


def test_cite_prints_bibtex():
    done = run("cite")
    assert done.exit_code == 0
    assert "@inproceedings{gao2017," in done.stdout


@pytest.mark.slow
def test_text_wraps_only_on_a_terminal(scores, monkeypatch):
    arguments = ("audit", scores, "--outcome", "y", "--prediction", "p")
    assert max(map(len, run(*arguments).stdout.splitlines())) > 80
    monkeypatch.setattr("calibrant.cli.terminal.width", lambda: 60)
    lines = run(*arguments).stdout.splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 60


def test_version_and_help():
    assert run("--version").stdout.strip() == f"calibrant {cal.__version__}"
    done = run("--help")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in ("audit", "recalibrate", "apply", "plan", "demo", "cite"))


@pytest.mark.parametrize("command", [None, *(command.callback.__name__ for command in app.registered_commands)])
def test_no_help_is_cut_and_options_stand_under_headings(command, monkeypatch):
    """A sentence that ends in three dots says nothing, and twenty options in a row are not read."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["--help"] if command is None else [command, "--help"]).stdout
    usage, *lines = shown.splitlines()
    assert usage.startswith("Usage: ")
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "\N{HORIZONTAL ELLIPSIS}" in line or re.search(r"[^E]\.\.\.$", line)]
    headings = {line for line in lines if line.endswith(":") and not line.startswith(" ")}
    assert headings <= ({"Data:", "Method:", "Output:"} if command else {"Options:", "Commands:"})
    if command is None:
        sentences = [inspect.getdoc(one.callback).partition("\n")[0] for one in app.registered_commands]
        assert all(any(line.endswith(f"  {sentence}") for line in lines) for sentence in sentences)


def test_interruption_is_said_and_leaves_nothing(scores, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("calibrant.sources.files.FileRows.table", interrupted)
    before = sorted(tmp_path.iterdir())
    done = run("audit", scores, "--outcome", "y", "--prediction", "p", "--report", tmp_path / "a.html")
    assert done.exit_code == 130
    assert "interrupted" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_groups_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    chance, patient = rng.uniform(size=100), np.repeat(np.arange(100), 10)
    y = (rng.uniform(size=100) < chance)[patient]
    lines = "\n".join(f"{int(a)},{b!r},{c}" for a, b, c in zip(y, chance[patient].tolist(), patient, strict=True))
    path = tmp_path / "rows.csv"
    path.write_text(f"y,p,patient\n{lines}\n")
    done = run("audit", path, "--outcome", "y", "--prediction", "p", "--cluster", "patient", "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["clusters"] == 100
    assert data["certificate"]["method"] == "asymptotic"
    assert data["certificate"]["cluster_cap"] is None
    assert data["performance"]["roc_auc"]["method"] == "cluster jackknife"
    assert data["performance_unseen"]["roc_auc"]["method"] == "unseen clusters"
    expected = cal.audit(y, chance[patient], cluster=patient, name=data["name"])
    assert numbers(data) == numbers(json.loads(expected.to_json(curves=False)))
    more = ["--cluster", "patient", "--unseen-clusters", "--json"]
    data = json.loads(run("audit", path, "--outcome", "y", "--prediction", "p", *more).stdout)
    assert data["performance"]["roc_auc"]["method"] == "unseen clusters"
    assert data["performance_unseen"] is None
    more = ["--cluster", "patient", "--cluster-cap", "4", "--cost-fp", "1", "--cost-fn", "2", "--json"]
    data = json.loads(run("audit", path, "--outcome", "y", "--prediction", "p", *more).stdout)
    expected = cal.audit(y, chance[patient], cluster=patient, cluster_cap=4, costs=(1, 2), name=data["name"])
    assert numbers(data) == numbers(json.loads(expected.to_json(curves=False)))
    for arguments, message in (
        (["--method", "anytime"], "--method 'default' or 'asymptotic' with --cluster"),
        (["--cluster-cap", "0"], "--cluster-cap to be a whole number"),
    ):
        done = run("audit", path, "--outcome", "y", "--prediction", "p", "--cluster", "patient", *arguments)
        assert done.exit_code == 2
        assert message in done.stderr
    done = run("audit", path, "--outcome", "y", "--prediction", "p", "--cluster", "ward")
    assert done.exit_code == 2
    assert "a column 'ward'" in done.stderr
