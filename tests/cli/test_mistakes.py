"""Natural mistakes and what is said about them: what was expected, what was found, and what to do about it.

In a shell a message names options, in Python parameters; neither knows the other's.
"""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from support.tables import grades_of

Y, P = [0, 1] * 10, [0.2, 0.7] * 10
AUDIT = ["audit", "FILE", "--outcome", "y", "--prediction", "p"]


def csv(y=Y, p=P, header="y,p", separator=","):
    rows = [separator.join(map(str, row)) for row in zip(y, p, strict=True)]
    return "\n".join([header] * bool(header) + rows) + "\n"


# Name of the mistake -> what stands in the file, the command, and parts of the message.
IN_A_SHELL = {
    "three classes": (csv([0, 1, 2, *Y[3:]]), AUDIT, "two label values", "0, 1, 2", "assess one class at a time"),
    "NA among the outcomes": (
        csv([*Y[:-1], "NA"]), AUDIT, "two label values", "'NA'", "'NA' seems to stand for an unknown outcome: drop",
    ),
    "yes and no": (
        csv(["yes", "no"] * 10), AUDIT, "labels 0 and 1", "'yes', 'no'", "--pos-label yes or --pos-label no",
    ),
    "amounts as outcomes": (csv(np.linspace(0, 900, 20)), AUDIT, "two label values", "0.0,", "look like measurements"),
    "no header line": (
        csv(header=""), AUDIT, "a column 'y'", "0, 0.2", "a line with the names of the columns above it",
    ),
    "log-odds": (csv(p=[-2.0, 3.0] * 10), AUDIT, "scores between 0 and 1", "-2.0 in row 1", "look like logits"),
    "percentages": (csv(p=[20, 70] * 10), AUDIT, "scores between 0 and 1", "20.0 in row 1", "divide them by 100"),
    "decimal commas": (
        csv(p=["0,2", "0,7"] * 10, header="y;p", separator=";"), AUDIT, "numbers as scores", "'0,2'", "write a point",
    ),
    "an empty score": (csv(p=[*P[:-1], ""]), AUDIT, "numbers as scores", "an empty value in row 20", "drop or repair"),
    "a misspelt column": (
        csv(header="y,prob"), [*AUDIT[:5], "prbo"], "a column 'prbo'", "y, prob", "did you mean 'prob'?",
    ),
    "one column for both": (csv(), [*AUDIT[:5], "y"], "different columns", "'y' for both", "name the column of each"),
    "columns exchanged": (csv(y=P, p=Y), AUDIT, "labels 0 and 1", "0.2, 0.7", "look swapped: exchange them"),
    "a file that is not there": (None, AUDIT, "an existing file", "no file", "check the path"),
    "a spreadsheet": (
        b"PK\x03\x04" + bytes(90), AUDIT, "CSV, Parquet or JSON lines", "spreadsheet", "export it as CSV",
    ),
    "an empty file": ("", AUDIT, "at least one row", "no rows in", "check the filter or the file"),
    "one outcome only, to be recalibrated": (
        csv(y=[1] * 20), ["recalibrate", *AUDIT[1:], "--model", "OUT.json"], "rows of both classes",
        "only positives in 20 rows", "(--pos-label)",
    ),
    "one outcome only, to be recalibrated by segment": (
        csv(y=["0,a", "0,b"] * 10, header="y,g,p"), ["recalibrate", *AUDIT[1:], "--model", "OUT.json", "--by", "g"],
        "rows of both classes", "only negatives in 20 rows", "(--pos-label)",
    ),
    "one row, to be recalibrated": (
        csv([1], [0.4]), ["recalibrate", *AUDIT[1:], "--model", "OUT.json", "--method", "venn-abers"],
        "rows of both classes", "only positives in 1 row", "(--pos-label)",
    ),
    "a number of 400 digits among the outcomes": (
        csv([10**399, 1, 2, *Y[3:]]), AUDIT, "two label values", "1000000000000000000000000000...", "one class",
    ),
    "counts as outcomes": (
        csv([0, 1, 4, *Y[3:]]), AUDIT, "two label values", "0, 1, 4", "--kind amount judges",
    ),
    "a misspelt outcome": (
        csv(["yes", "no"] * 10), [*AUDIT, "--pos-label", "Yes"], "positive label 'Yes'", "'yes', 'no'", "--pos-label",
    ),
    "one cost of two": (csv(), [*AUDIT, "--cost-fp", "1"], "both --cost-fp and --cost-fn", "one of them", "give both"),
    "one cost of amounts": (
        csv(), ["audit", "FILE", "--kind", "amount", "--outcome", "y", "--prediction", "p", "--cost-fp", "1"],
        "--cost-fp and --cost-fn of events", "costs of another kind", "leave them out",
    ),
    "a negative cost": (
        csv(), [*AUDIT, "--cost-fp", "-1", "--cost-fn", "4"], "--cost-fp in [0,", "-1", "what one such mistake costs",
    ),
    "a tolerance in percent": (csv(), [*AUDIT, "--tolerance", "2"], "--tolerance in (0, 1)", "found 2", "such as 0.02"),
    "a tolerance beyond every table": (
        None, ["plan", "certify", "--tolerance", "1e-160"],
        "--tolerance that 1e+15 rows reach", "1e-160", "a larger one",
    ),
    "a confidence in percent": (
        csv(), [*AUDIT, "--confidence", "95"], "--confidence in (0, 1)", "found 95", "such as 0.95",
    ),
    "a bound that needs independent rows": (
        csv(), [*AUDIT, "--cluster", "y", "--method", "anytime"], "--method 'default' or", "'anytime'",
        "leave out --method",
    ),
    "a weight below zero": (
        csv(y=[f"{y},1" for y in Y[1:]] + ["1,-1"], header="y,w,p"), [*AUDIT, "--weight", "w"],
        "finite weights that are not negative", "-1.0 in row 20", "drop or correct such rows",
    ),
    "rows in place of a model": (
        csv(), ["apply", "FILE", "--prediction", "p", "--model", "FILE", "--output", "OUT.csv"],
        "a model file written by calibrant", "not JSON", "calibrant recalibrate",
    ),
    "a spreadsheet as output": (
        csv(), ["apply", "FILE", "--prediction", "p", "--model", "MODEL", "--output", "OUT.xlsx"], ".csv", ".xlsx",
        "rename it",
    ),
    "a column that is there already": (
        csv(), ["apply", "FILE", "--prediction", "p", "--model", "MODEL", "--output", "OUT.csv", "--column", "y"],
        "a new column name", "'y'", "--column",
    ),
    "a column without a name": (
        csv(), ["apply", "FILE", "--prediction", "p", "--model", "MODEL", "--output", "OUT.csv", "--column", ""],
        "a name for the new column", "''", "leave --column out",
    ),
    "a database of another kind": (
        None, ["audit", "--query", "SELECT 1 AS y, 0.1 AS p", "--database", "mysql://me:secret@host", *AUDIT[2:]],
        "an existing database", "no file mysql://me:***@host", "check the path",
    ),
    "a column with a name that steers the terminal": (
        csv(header="y\x1b[2J\x07,p"), AUDIT, "a column 'y'", r"y\x1b[2J\x07, p", "choose one of these",
    ),
    "a query without a file": (
        csv(), ["audit", "--query", "SELECT * FROM scores", *AUDIT[2:]],
        "a query that can be run", "Table with name scores", "a file in quotes",
    ),
    "a form that is not there": (
        csv(), ["export", "MODEL", "--to", "pmml"], "--to to be one of 'sql'", "'pmml'", "spelling",
    ),
}  # fmt: skip


def says(message, expected, found, remedy):
    parts = re.fullmatch(r"expected (.+), found (.+); (.+)", message)
    assert parts, message
    for part, wanted in zip(parts.groups(), (expected, found, remedy), strict=True):
        assert wanted in message, message
        assert part
    assert remedy in message.split("; ", 1)[1]


@pytest.mark.parametrize(("content", "arguments", "expected", "found", "remedy"), IN_A_SHELL.values(), ids=IN_A_SHELL)
def test_in_a_shell(content, arguments, expected, found, remedy, tmp_path):
    file, model = tmp_path / "scores.csv", tmp_path / "model.json"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    model.write_text(cal.export.to_json(cal.BetaCalibrator().fit(P, Y)))
    places = {"FILE": file, "MODEL": model}
    words = [str(places.get(word, tmp_path / word if word.startswith("OUT") else word)) for word in arguments]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    message = done.stderr.strip().removeprefix("calibrant: error: ")
    says(message, expected, found, remedy)
    assert "`" not in message
    assert not re.search(r"\b(pos_label|confidence_level|sample_weight|y_true|y_proba|cluster=|\w+_cost)\b", message), (
        message
    )


FRAME = pd.DataFrame({"y": Y, "p": P})
THREE = np.full((20, 3), 1 / 3)
IRIS = load_iris(return_X_y=True)

# Name of the mistake -> what is called, and parts of the message.
IN_PYTHON = {
    "three columns of probabilities": (
        lambda: cal.cutoff_calibration(Y, THREE), "scores in one column", "shape (20, 3)",
        "pass y == c and its column p[:, c]; or take all classes at once, with calibrant.audit",
    ),
    "scores of two models": (
        lambda: cal.audit(Y, np.column_stack([P, P])), "add up to 1", "0.2 and 0.2 in row 0", "one column of scores",
    ),
    "both columns, with the first class positive": (
        lambda: cal.audit(["bad", "good"] * 10, np.column_stack([P, 1.0 - np.array(P)]), pos_label="bad"),
        "the positive class 'bad'", "that of good", "predict_proba(X)[:, 0]",
    ),
    "a map of one score for three classes": (
        lambda: cal.CalibratedClassifier(LogisticRegression(), cal.PlattCalibrator()).fit(*IRIS),
        "labels of two classes", "3: 0, 1, 2", "pass y == c",
    ),
    "a dataframe without names": (
        lambda: cal.audit(FRAME), "labels and scores", "a DataFrame and no scores", "outcome='y', prediction='p'",
    ),
    "a measure of a dataframe": (
        lambda: cal.brier_score(FRAME), "labels and scores", "a DataFrame and no scores", "y_proba as second argument",
    ),
    "a path without names": (
        lambda: cal.audit("scores.csv"), "labels and scores", "a str and no scores", "prediction as second argument",
    ),
    "one name of two": (
        lambda: cal.audit(FRAME, outcome="y"), "the names of both columns", "outcome", "prediction='p'",
    ),
    "the other name of two": (lambda: cal.audit(FRAME, "p"), "the names of both columns", "prediction", "outcome='y'"),
    "a name beside arrays": (
        lambda: cal.audit(Y, P, outcome="y"), "arrays and no outcome", "a list and outcome", "audit(y, p, weight=w)",
    ),
    "a name beside series": (
        lambda: cal.certify(FRAME.y, FRAME.p, outcome="y"), "arrays and no outcome", "a Series and outcome",
        "audit(frame, outcome='y', prediction='p', weight='w')",
    ),
    "two columns for one prediction": (
        lambda: cal.certify(FRAME, ["y", "p"], outcome="y", kind="event"), "prediction to name one column",
        "'y' and 'p'", "kind='classes'",
    ),
    "a misspelt column": (
        lambda: cal.audit(FRAME, outcome="Y", prediction="p"), "a column 'Y'", "y, p", "did you mean 'y'?",
    ),
    "one outcome only, to be recalibrated": (
        lambda: cal.AutoCalibrator().fit(P, [1] * 20), "rows of both classes", "only positives in 20 rows", "pos_label",
    ),
    "lists as outcomes": (
        lambda: cal.audit(pd.DataFrame({"y": [[0], [1]] * 10, "p": P}), outcome="y", prediction="p"),
        "one label per row", "nested values", "a flat column",
    ),
    "columns exchanged": (lambda: cal.audit(P, Y), "labels 0 and 1", "0.2, 0.7", "look swapped: exchange them"),
    "rows of different length": (lambda: cal.audit(Y, P[:-1]), "as many labels", "20 labels and 19", "same table"),
    "yes and no": (
        lambda: cal.audit(["yes", "no"] * 10, P), "labels 0 and 1", "'yes', 'no'", "pos_label='yes' or pos_label='no'",
    ),
    "none as a class": (
        lambda: cal.audit(["none", "relapse"] * 10, P), "labels 0 and 1", "'none'",
        "pos_label='none' or pos_label='relapse'",
    ),
    "one and two": (lambda: cal.audit([1, 2] * 10, P), "labels 0 and 1", "1, 2", "pos_label=1 or pos_label=2"),
    "None among the outcomes": (lambda: cal.audit([None, *Y[1:]], P), "a label in every row", "None in row 0", "drop"),
    "NA among the outcomes": (
        lambda: cal.audit(["NA", *map(str, Y[1:])], P), "two label values", "'NA'", "unknown outcome: drop",
    ),
    "probabilities as outcomes": (lambda: cal.audit(P, P), "labels 0 and 1", "0.2, 0.7", "look like probabilities"),
    "rates as outcomes": (
        lambda: cal.audit([0.1, 0.4, 0.5] * 5, P[:15]), "two label values", "0.1, 0.4", "of rows as count",
    ),
    "costs by other names": (lambda: cal.audit(Y, P, costs={"fp": 1, "fn": 4}), "costs as a pair", "{'fp'", "(a, b)"),
    "a tolerance in percent": (lambda: cal.audit(Y, P, tolerance=2), "tolerance in (0, 1)", "found 2", "such as 0.02"),
    "a score that is missing": (
        lambda: cal.audit(Y, [np.nan, *P[1:]]), "finite scores", "nan in row 0", "drop or repair",
    ),
    "a list of classes as the positive one": (
        lambda: cal.audit(Y, P, pos_label=[0, 1]), "pos_label to be one", "[0, 1]", "the value that counts as 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "expected", "found", "remedy"), IN_PYTHON.values(), ids=IN_PYTHON)
def test_in_python(call, expected, found, remedy):
    with pytest.raises(cal.CalibrantError) as caught:
        call()
    message = str(caught.value)
    says(message, expected, found, remedy)
    assert "`" not in message
    assert not re.search(r"(?<![\w-])--\w", message), message


@pytest.mark.slow
def test_two_columns_that_are_rounded_are_taken():
    proba = np.column_stack([1.0 - np.array(P), P])
    proba[0] = [0.81, 0.2]
    assert cal.audit(Y, proba).n == 20
    names = np.where(np.array(Y) == 1, "good", "bad")
    assert cal.audit(names, proba, pos_label="good").cutoff == cal.audit(Y, proba[:, 1]).cutoff


@pytest.mark.parametrize("first", [["--outcome", "z"], ["--outcome=z"]])
@pytest.mark.parametrize("command", ["audit", "recalibrate", "monitor", "selective"])
def test_an_option_of_one_value_is_given_once(first, command, tmp_path):
    """The last one would win in silence."""
    file, model = tmp_path / "f.csv", tmp_path / "out.json"
    file.write_text("y,z,p\n" + "0,1,0.2\n1,0,0.7\n" * 30)
    words = {"recalibrate": ["--model", model], "monitor": ["--tolerance", "0.1", "--state", model]}.get(command, [])
    given = [str(word) for word in [command, file, *first, "--outcome", "y", "--prediction", "p", *words]]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert "--outcome is given 2 times; give it once." in done.stderr
    assert not model.exists()
    assert CliRunner().invoke(app, [*given[:2], *given[2 + len(first) :]]).exit_code == 0


@pytest.mark.parametrize("command", ["recalibrate", "apply", "compare", "monitor", "selective", "plan"])
def test_several_classes_where_a_command_takes_one(command, tmp_path):
    file, model = tmp_path / "f.csv", tmp_path / "m.json"
    file.write_text(csv())
    model.write_text(cal.export.to_json(cal.BetaCalibrator().fit(P, Y)))
    further = {
        "recalibrate": ["--outcome", "y", "--model", tmp_path / "new.json"],
        "apply": ["--model", model, "--output", tmp_path / "out.csv"],
        "compare": ["--outcome", "y", "--prediction", "p"],
        "monitor": ["--outcome", "y", "--tolerance", "0.1", "--state", tmp_path / "s.json"],
        "selective": ["--outcome", "y"],
        "plan": ["--tolerance", "0.1"],
    }
    goal = ["certify"] if command == "plan" else []
    words = [command, *goal, file, "--prediction", "p_*", *further[command]]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 2
    assert "calibrant audit takes a pattern, alone, for several classes: --prediction 'p_*'" in done.stderr


N = 120
WORLD = pd.DataFrame({"y": Y * 6, "p": P * 6, "site": [f"s{i % 30}" for i in range(N)], "z": [0, 2, 1] * 40})
WORLD[["p_1", "p_2", "p_3"]] = np.tile([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], (N // 2, 1))
WORLD["kind"] = ["a", "b", "c"] * 40
SEVERAL = WORLD[["p_1", "p_2", "p_3"]].to_numpy()


@pytest.mark.parametrize(
    ("call", "named", "absent", "followed"),
    [
        (
            lambda: cal.audit(WORLD, outcome="y", prediction="p", by="site"), "lower min_rows", "--",
            lambda: cal.audit(WORLD, outcome="y", prediction="p", by="site", min_rows=4),
        ),
        (
            lambda: cal.audit(WORLD.z, SEVERAL, target_error=0.5), "calibrant.selective(y, P)", "--",
            lambda: cal.selective(WORLD.z, SEVERAL, target_error=0.5),
        ),
        (
            lambda: grades_of(cal.ScoreTable.from_scores(WORLD.y, WORLD.p), grade=[0.5]), "pass the rows", "0.01",
            lambda: grades_of(WORLD.y, WORLD.p, [0.5]),
        ),
        (
            lambda: cal.audit([[0, 1, 1], [1, 0, 0]] * 60, SEVERAL), "each by itself", "argmax",
            lambda: cal.audit([1, 0] * 60, SEVERAL[:, 1]),
        ),
        (
            lambda: cal.audit(np.eye(3)[WORLD.z], SEVERAL), "argmax", "each by itself",
            lambda: cal.audit(np.eye(3)[WORLD.z].argmax(axis=1), SEVERAL),
        ),
        (
            lambda: cal.audit([None, *WORLD.z[1:]], SEVERAL), "missing='drop'", "--",
            lambda: cal.audit([None, *WORLD.z[1:]], SEVERAL, missing="drop"),
        ),
        (
            lambda: cal.certify(Y, [np.nan, *P[1:]]), "missing='drop'", "--",
            lambda: cal.certify(Y, [np.nan, *P[1:]], missing="drop"),
        ),
        (
            lambda: cal.brier_score(Y, [np.nan, *P[1:]]), "drop or repair", "missing=",
            lambda: cal.brier_score(Y[1:], P[1:]),
        ),
        (
            lambda: cal.SegmentCalibrator(cal.AutoMeanCalibrator()).fit(P, Y, {"g": Y}), "such a one",
            "pass an instance", lambda: cal.SegmentCalibrator(cal.PlattCalibrator()).fit(P, Y, {"g": Y}),
        ),
        (
            lambda: cal.scorers["neg_l1_calibration_error"](GaussianNB().fit(*IRIS), *IRIS), "make_scorer", "--",
            lambda: make_scorer(
                cal.metrics.confidence_calibration_error, response_method="predict_proba", greater_is_better=False
            )(GaussianNB().fit(*IRIS), *IRIS),
        ),
    ],
)  # fmt: skip
def test_what_is_advised_helps(call, named, absent, followed):
    with pytest.raises(cal.CalibrantError) as caught:
        call()
    assert named in caught.value.remedy
    assert absent not in caught.value.remedy
    followed()


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["audit", "FILE", "--outcome", "y", "--prediction", "p", "--by", "site"], "calibrant."),
        (["audit", "FILE", "--outcome", "kind", "--prediction", "p_*"], "classes="),
        (
            [
                "recalibrate",
                "FILE",
                "--kind",
                "amount",
                "--outcome",
                "z",
                "--prediction",
                "p",
                "--by",
                "site",
                "--model",
                "m.json",
            ],
            "conf",
        ),
        (
            ["monitor", "FILE", "--outcome", "gap", "--prediction", "p", "--state", "s.json", "--tolerance", "0.1"],
            "drop,",
        ),
        (
            ["audit", "FILE", "--outcome", "y", "--prediction", "p", "--target-error", "0.1", "--cluster", "z"],
            "--calibrant",
        ),
        (["audit", "FILE", "--outcome", "y", "--prediction", "p", "--tolerence", "0.1"], "--prediction"),
    ],
)
def test_no_option_is_advised_that_the_command_lacks(words, absent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WORLD.assign(gap=[None, *WORLD.y[1:]]).to_csv(tmp_path / "w.csv", index=False)
    done = CliRunner().invoke(app, [str(tmp_path / "w.csv") if word == "FILE" else word for word in words])
    assert done.exit_code == 2
    assert absent not in done.stderr.partition("; ")[2]


def test_a_field_of_records_is_read_by_a_query(tmp_path):
    """Of each column in turn, as the messages say."""
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(f'{{"a": {{"y": {y}}}, "b": {{"p": {p}}}}}\n' for y, p in zip(Y, P, strict=True)))
    words, columns = [str(path)], ["--outcome", "a.y", "--prediction", "b.p"]
    for _ in range(2):
        said = CliRunner().invoke(app, ["audit", *words, *columns]).stderr
        words = ["--query", shlex.split(said[said.index("--query") :])[1]]
    assert CliRunner().invoke(app, ["audit", *words, *columns]).exit_code == 0
