"""What is printed to be run next: it runs as it is, on the rows that were audited, with all that was said of them."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.auditing.next_steps import next_step, recalibration
from calibrant.auditing.summary import summary
from support.next_steps import OF_ROWS, asked_of, known, run_command, run_python, words_of

RNG = np.random.default_rng(6)
N = 400
P = RNG.uniform(size=N).round(3)
Y = (RNG.uniform(size=N) < P**1.5).astype(int)
COUNT, WEIGHT = RNG.integers(1, 4, N), RNG.uniform(0.5, 2.0, N)
SITE, WARD = np.sort(RNG.integers(0, 40, N)), RNG.integers(0, 3, N)
OUTCOME = RNG.poisson(2.6 * P + 0.1)
FRAME = pd.DataFrame(
    {
        "y": np.where(Y, "it's", "no"),
        "the score": P,
        "--n": COUNT,
        "w": WEIGHT,
        "si\nte": SITE,
        "$ward": WARD,
        "z": OUTCOME,
    }
)
FRAME["f"] = FRAME["the score"] * 2 + 0.1
HOLES = FRAME.astype({"the score": object, "f": object}).copy()
HOLES.loc[[3, 77], ["the score", "f"]] = np.nan
OF_FIT = {"weight": "sample_weight", "cluster": "groups"}  # what `fit` calls columns
TWO = {"outcome": "y", "prediction": "the score", "pos_label": "it's"}
MEANS = {"kind": "amount", "outcome": "z", "prediction": "f"}
# What is said of rows of two classes, and the arguments of `fit` that are the same.
SAID = {
    "nothing": ({}, {}),
    "count": ({"count": "--n"}, {"count": COUNT}),
    "weight": ({"weight": "w"}, {"sample_weight": WEIGHT}),
    "cluster": ({"cluster": "si\nte"}, {"groups": SITE}),
    "clusters": ({"cluster": ["si\nte", "$ward"]}, {"groups": list(zip(SITE, WARD, strict=True))}),
    "count and cluster": ({"cluster": ["si\nte"], "count": "--n"}, {"groups": SITE, "count": COUNT}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sources(frame):
    """Return the rows in every kind of source, with the names under which a line of Python finds them."""
    frame.to_csv("-rows 1.csv", index=False)
    pl.from_pandas(frame.astype({"the score": float, "f": float})).write_parquet("rows.parquet")
    yield "-rows 1.csv", {}
    yield ["rows.parquet"], {}
    yield cal.Query("SELECT *\nFROM 'rows.parquet' -- all"), {}
    for made in (
        frame,
        pl.read_parquet("rows.parquet"),
        pa.Table.from_pandas(pl.read_parquet("rows.parquet").to_pandas()),
    ):
        yield made, {"frame": made}
    yield pl.scan_parquet("rows.parquet"), {"frame": pl.scan_parquet("rows.parquet")}


def assert_fitted(step, names, expected, at):
    """Check the models that the command, if there is one, and the line of Python make."""
    assert step.command or step.python
    if step.python is not None:
        held = {"y": np.where(Y, "it's", "no"), "p": P, "f": FRAME["f"], "z": OUTCOME}
        found = run_python(step.python, **held, **names)
        assert found.predict(at) == pytest.approx(expected.predict(at)), step.python
    if step.command is not None:
        done = run_command(step.command)
        assert done.exit_code == 0, (step.command, done.output)
        model = words_of(step.command)[-1]
        assert cal.load_model(model).predict(at) == pytest.approx(expected.predict(at)), step.command


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("said", SAID)
def test_the_next_step_fits_the_rows_as_they_were_audited(said, missing):
    of_audit, of_fit = SAID[said]
    kept = np.delete(np.arange(N), [3, 77]) if missing else np.arange(N)
    of_fit = {name: [values[i] for i in kept] for name, values in of_fit.items()}
    expected = cal.PlattCalibrator().fit(P[kept], Y[kept], **of_fit)
    drops = {"missing": "drop"} if missing else {}
    for source, names in sources(HOLES if missing else FRAME):
        asked = asked_of(cal.audit, source, **TWO, **of_audit, **drops)
        step = recalibration(asked, "PlattCalibrator()", method="platt")
        if step.python is not None and "# columns in memory" in step.python:
            continue  # a line about rows that are not there yet
        assert (step.command is not None) == asked.read
        assert_fitted(step, names, expected, [0.1, 0.6])


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("said", [{}, {"exposure": "w"}, {"weight": "w"}, {"cluster": ["si\nte"]}])
def test_of_means_too(said, missing):
    kept = np.delete(np.arange(N), [3, 77]) if missing else np.arange(N)
    columns = {"exposure": WEIGHT, "weight": WEIGHT, "cluster": SITE}
    of_fit = {OF_FIT.get(name, name): columns[name][kept] for name in said}
    expected = cal.calibrators.ScaleCalibrator().fit(FRAME["f"].to_numpy()[kept], OUTCOME[kept], **of_fit)
    for source, names in sources(HOLES if missing else FRAME):
        asked = asked_of(cal.audit, source, **MEANS, **said, **({"missing": "drop"} if missing else {}))
        step = recalibration(asked, "calibrators.ScaleCalibrator()", method="scale", cap=None)
        assert_fitted(step, names, expected, [0.5, 1.5])


def test_of_several_classes_too():
    proba = np.column_stack([P, (1 - P) / 2, (1 - P) / 2])
    label = np.array(["a", "b", "c"])[np.where(Y, 0, 1 + WARD % 2)]
    frame = pl.DataFrame({"y": label, "p_a": proba[:, 0], "p_b": proba[:, 1], "p_c": proba[:, 2]})
    frame.write_csv("classes.csv")
    expected = cal.MulticlassAutoCalibrator(members=["temperature"]).fit(proba, label)
    names = {"frame": frame, "P": proba, "y": label}
    for arguments, keywords in (
        ((frame,), {"outcome": "y", "prediction": "p_*"}),
        (("classes.csv",), {"outcome": "y", "prediction": ["p_a", "p_b", "p_c"]}),
        ((label, proba), {"classes": ["a", "b", "c"]}),
    ):
        step = recalibration(
            asked_of(cal.audit, *arguments, **keywords), "MulticlassAutoCalibrator(members=['temperature'])"
        )
        assert step.command is None  # no command fits several classes
        found = run_python(step.python, **names, classes=["a", "b", "c"])
        assert found.predict(proba[:5]) == pytest.approx(expected.predict(proba[:5]))


@pytest.mark.parametrize(
    ("keywords", "names"),
    [
        ({"weight": WEIGHT}, {"weight": WEIGHT}),
        ({"count": COUNT}, {"count": COUNT}),
        ({"cluster": SITE}, {"cluster": SITE}),
        ({}, {}),
    ],
)
@pytest.mark.parametrize("in_frame", [False, True])
def test_arrays_stand_under_the_names_of_their_parameters(keywords, names, in_frame):
    """Beside columns of a dataframe too: they are no columns of it."""
    source = ((FRAME,), TWO) if in_frame else ((FRAME["y"], P), {"pos_label": "it's"})
    step = recalibration(asked_of(cal.audit, *source[0], **source[1], **keywords), "PlattCalibrator()")
    assert step.command is None
    found = run_python(step.python, y=FRAME["y"], p=P, frame=FRAME, **names)
    of_fit = {OF_FIT.get(name, name): values for name, values in keywords.items()}
    expected = cal.PlattCalibrator().fit(P, Y, **of_fit)
    assert found.predict([0.1, 0.6]) == pytest.approx(expected.predict([0.1, 0.6]))


@pytest.mark.parametrize("by", [["$ward"], {"a": WARD, "b": SITE // 20}, pd.Series(WARD, name="v")])
def test_segments_are_named_as_they_were_passed(by):
    names = list(by) if isinstance(by, list | dict) else ["v"]
    arrays = {"$ward": WARD, "a": WARD, "b": SITE // 20, "v": WARD}
    named = isinstance(by, list)
    asked = asked_of(cal.audit, *((FRAME,) if named else (Y, P)), **(TWO if named else {}), by=by)
    step = recalibration(asked, "SegmentCalibrator()", by=names)
    found = run_python(step.python, frame=FRAME, y=Y, p=P, by=by)
    expected = cal.SegmentCalibrator().fit(P, Y, segments={name: arrays[name] for name in names})
    assert found.reason_ == expected.reason_


_OTHER = ("0", "-1", "false", "False", "no", "2"), ("1", "1", "true", "True", "yes", "1")


@pytest.mark.parametrize("written", list(zip(*_OTHER, strict=True)))
def test_the_other_label_is_named_as_it_is_written(written):
    pos_label = written[1] if written[1] in ("yes", "1") and written[0] not in ("0", "-1") else None
    rows = pd.DataFrame({"y": [written[1 - y] for y in Y], "p": P, "g": WARD})
    rows.to_csv("rows.csv", index=False)
    how = {
        "tolerance": 0.07,
        "by": ["g"],
        "costs": (1, 2.5),
        "confidence_level": 0.9,
        "depth": 1,
        "direction": "too low",
    }
    audit = cal.audit("rows.csv", outcome="y", prediction="p", pos_label=pos_label, **how)
    assert audit.advice.action == "check the labels"
    turned = cal.audit(Y, P, by={"g": WARD}, **{name: value for name, value in how.items() if name != "by"})
    assert run_python(audit.advice.python).certificate == turned.certificate
    done = run_command(f"{audit.advice.command} --json")
    assert f'"fingerprint": "{turned.provenance.fingerprint}"' in done.stdout


def test_of_several_other_labels_none_is_named():
    audit = cal.audit(np.where(Y, "a", np.where(WARD, "b", "c")), 1 - P, pos_label="a")
    assert audit.advice.action == "check the labels"
    assert (audit.advice.command, audit.advice.python) == (None, None)


@pytest.mark.parametrize("method", ["anytime", "asymptotic"])
def test_a_plan_is_for_the_bound_the_confidence_and_the_tolerance_that_were_asked_for(method):
    asked = asked_of(cal.audit, "rows.csv", **TWO, method=method, confidence_level=0.975, direction="too high", by="g")
    certificate = SimpleNamespace(tolerance=0.0123456789)
    step = next_step("collect more data", asked, certificate, expected_brier=0.1666)
    wanted = cal.plan("certify", tolerance=0.0123456789, brier=0.17, confidence_level=0.975, method=method).n
    assert run_python(step.python).n == wanted
    assert f" {wanted:,}\n" in run_command(step.command).stdout
    for text in step:  # what a plan cannot take along
        assert "not only too high; of all rows, not of each segment" in text.partition("  # ")[2]


def test_a_model_that_is_there_is_not_replaced():
    sources(FRAME).__next__()
    asked = asked_of(cal.audit, "-rows 1.csv", **TWO)
    for name in ("model.json", "model-2.json", "model-3.json"):
        command = recalibration(asked, "IsotonicCalibrator()", method="isotonic").command
        assert words_of(command)[-2:] == ["--model", name]
        assert ("  # if model.json gave these scores, add --onto model.json" in command) == (name != "model.json")
        done = run_command(command)
        assert done.exit_code == 0, done.output


def test_a_password_is_left_out_and_that_is_said():
    source = cal.Query("SELECT 1", "postgresql://me:secret@host/db")
    step = recalibration(asked_of(cal.audit, source, outcome="y", prediction="p"), "AutoCalibrator()")
    for text in step:
        assert "secret" not in text
        assert text.endswith("  # with the password in place of ***")
    source = cal.Query("SELECT 1", "postgresql://me@host/db")
    step = recalibration(asked_of(cal.audit, source, outcome="y", prediction="p"), "AutoCalibrator()")
    assert words_of(step.command)[1:5] == ["--query", "SELECT 1", "--database", "postgresql://me@host/db"]


def test_every_row_option_of_an_audit_is_one_of_recalibrate():
    """So that what was said of them is not lost."""
    of_rows = set(OF_ROWS)
    assert of_rows <= set(known("audit"))
    assert of_rows <= set(known("recalibrate"))
    assert set(inspect.signature(cal.PlattCalibrator.fit).parameters) >= {
        "count",
        "groups",
        "pos_label",
        "sample_weight",
    }


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_is_broken_at_a_width_still_runs(width):
    FRAME.rename(columns={"si\nte": "a --prediction b, c"}).to_csv("my rows --x.csv", index=False)
    Path("model.json").touch()
    audit = cal.audit("my rows --x.csv", **TWO, cluster="a --prediction b, c", tolerance=0.001)
    text = summary(audit, width, shell=True)
    command = text[text.index("\nNext ") + 5 :].replace(" \\\n", "")
    assert max(map(len, text.splitlines())) <= width
    assert words_of(command.strip()) == words_of(audit.advice.command)
