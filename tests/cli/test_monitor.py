"""The command that monitors: exit codes, state, order of rows, messages, picture, report."""

import json
import re
import shlex
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from calibrant.errors import SourceError
from calibrant.monitoring import Monitor
from support.html_page import NASTY, Page
from support.next_steps import run_command


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["monitor", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def months(tmp_path):
    rng = np.random.default_rng(5)
    for month in range(3):
        score = rng.beta(1, 4, 4000)
        y = rng.uniform(size=4000) < score ** (1.0 if month < 2 else 0.75)
        day = np.datetime64("2026-01-01") + 30 * month + np.arange(4000) // 160
        name = 4000 * month + np.arange(4000)
        lines = [f"{a:d},{b:.6f},{c},{d}" for a, b, c, d in zip(y, score, day, name, strict=True)]
        (tmp_path / f"{month}.csv").write_text("\n".join(["y,p,day,loan", *lines]) + "\n")
    return tmp_path


OPTIONS = ["--outcome", "y", "--prediction", "p", "--time", "day", "--tolerance", "0.01", "--state"]


@pytest.mark.slow
def test_months_one_after_the_other(months):
    state = months / "s.json"
    for month in range(2):
        done = run(months / f"{month}.csv", *OPTIONS, state, "--id", "loan")
        assert done.stdout.startswith("No alarm")
    picture = months / "s.png"
    done = run(months / "2.csv", *OPTIONS, state, "--id", "loan", "--plot", picture, code=1)
    lines = done.stdout.splitlines()
    assert len(lines) <= 10
    assert lines[0].startswith("ALARM     row 8,")
    assert "(2.csv, 2026-03-0" in lines[0]
    assert lines[-1].startswith('Next      calibrant recalibrate --query "SELECT * FROM ')
    assert r"WHERE CAST(\"day\" AS TIMESTAMP) >= '2026-03-0" in lines[-1]
    assert picture.read_bytes().startswith(b"\x89PNG")
    before = state.read_bytes()
    assert (
        "rows after the last one read (11999), found 8000"
        in run(months / "2.csv", *OPTIONS, state, "--id", "loan", code=2).stderr
    )
    assert state.read_bytes() == before
    at_once = run(*(months / f"{m}.csv" for m in range(3)), *OPTIONS, months / "t.json", "--id", "loan", code=1)
    assert at_once.stdout.splitlines()[0] == lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("time", [["--time", "day"], []])
def test_the_next_command_runs_and_fits_the_rows_since_the_change(tmp_path, monkeypatch, time):
    """Not those of the newest file alone, and not those before."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    score = rng.uniform(size=5000).round(6)
    y = rng.uniform(size=5000) < np.where(np.arange(5000) < 2100, score, score**0.6)
    day = np.datetime64("2026-01-01") + np.arange(5000) // 50
    for month in range(5):
        rows = range(1000 * month, 1000 * month + 1000)
        lines = [f"{y[i]:d},{score[i]},{day[i]}" for i in rows]
        (tmp_path / f"it's {month}.csv").write_text("\n".join(["y,p$,day", *lines]) + "\n")
        options = ["--outcome", "y", "--prediction", "p$", "--tolerance", "0.01", "--state", "s.json", *time]
        done = CliRunner().invoke(app, ["monitor", f"it's {month}.csv", *options])
        assert done.exit_code in (0, 1), done.output
    command = done.stdout.splitlines()[-1].removeprefix("Next      ")
    again = CliRunner().invoke(app, shlex.split(command)[1:])
    assert again.exit_code == 0, again.output
    departure = Monitor.load("s.json").state.departure
    first = int(np.argmax(day >= np.datetime64(departure.time))) if time else 2000
    assert abs(first - 2100) < 150
    expected = cal.PlattCalibrator().fit(score[first:], y[first:].astype(int))
    assert cal.load_model("repaired.json").predict([0.1, 0.5]) == pytest.approx(expected.predict([0.1, 0.5]))


@pytest.mark.slow
@pytest.mark.parametrize(("missing", "id"), [("refuse", True), ("negative", True), ("refuse", False)])
def test_a_repair_takes_rows_whose_outcome_is_known_once_each(tmp_path, monkeypatch, missing, id):
    """Files of the last 45 days, weekly; events are known at once and non-events after 20 days, or never."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    day = np.arange(6000) // 60
    score = rng.beta(1, 6, 6000).round(6)
    y = rng.uniform(size=6000) < np.where(day < 50, score, score**0.7)
    date, options = np.datetime64("2026-01-01") + day, ["--odds-tolerance", "1.2", "--maturity", "20", "--state", "s"]
    options += ["--outcome", "y", "--prediction", "p", "--time", "day", "--missing", missing]
    options += ["--id", "loan"] if id else []
    for end in range(45, 101, 7):
        rows = np.flatnonzero((day >= end - 45) & (day < end))
        known = [("1" if y[i] else "" if missing == "negative" or day[i] > end - 21 else "0") for i in rows]
        lines = [f"{a},{score[i]},{date[i]},{i}" for a, i in zip(known, rows, strict=True)]
        (tmp_path / f"{end}.csv").write_text("\n".join(["y,p,day,loan", *lines]) + "\n")
        done = CliRunner().invoke(app, ["monitor", f"{end}.csv", *options])
        assert done.exit_code in (0, 1), done.output
        if done.exit_code:
            break
    state = Monitor.load("s").state
    assert len(state.repair_files) > 1
    assert state.repair_until == str(date[60 * (end - 21)])  # 20 days before the last day of the file
    command = done.stdout.splitlines()[-1].removeprefix("Next      ")
    if not id:  # which rows are the same is not known
        assert command.startswith("calibrant recalibrate FILE ")
        assert command.endswith(f"up to {state.repair_until}, each once, with its latest outcome")
        return
    again = CliRunner().invoke(app, shlex.split(command)[1:])
    assert again.exit_code == 0, again.output
    part = (date >= np.datetime64(state.repair_since)) & (date <= np.datetime64(state.repair_until))
    found = cal.load_model("repaired.json")
    expected = type(found)().fit(score[part], y[part])
    assert (found.training_.n, found.training_.events) == (part.sum(), y[part].sum())
    assert found.predict([0.05, 0.5]) == pytest.approx(expected.predict([0.05, 0.5]))
    assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 2  # the model stays


def test_no_repair_is_named_where_rows_are_sorted_by_the_outcome(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.beta(1.5, 8, 2000)
    y = np.sort(rng.uniform(size=2000) < score)[::-1]
    score = score[np.argsort(-(rng.uniform(size=2000) < score).astype(int))]
    path, report = tmp_path / "sorted.csv", tmp_path / "page.html"
    path.write_text("y,p\n" + "".join(f"{a:d},{b}\n" for a, b in zip(y, score, strict=True)))
    options = ["--outcome", "y", "--prediction", "p", "--odds-tolerance", "1.2", "--state", tmp_path / "s.json"]
    done = run(path, *options, "--report", report, code=1)
    assert "Are the rows sorted by the outcome" in done.stdout
    assert "recalibrate" not in done.stdout
    assert "Calibrator" not in done.stdout
    assert "Calibrator()" not in Page(report.read_text(encoding="utf-8")).text


@pytest.mark.parametrize("maturity", [[], ["--maturity", "3"]])
@pytest.mark.parametrize("empty", ["", "y,p,day\n"])
def test_a_day_without_cases_is_no_error(empty, maturity, tmp_path):
    day, state = tmp_path / "day.csv", tmp_path / "s.json"
    day.write_text("y,p,day\n0,0.2,2026-01-01\n1,0.4,2026-01-05\n")
    run(day, *OPTIONS, state, *maturity)
    before = json.loads(state.read_text())
    day.write_text(empty)
    assert f"{before['sums']['total'][0]:.0f} rows read" in run(day, *OPTIONS, state, *maturity).stdout
    after = json.loads(state.read_text())
    assert {name for name in before if before[name] != after[name]} <= {"last_update", "sha256"}
    assert "0 rows read" in run(day, *OPTIONS, tmp_path / "t.json", *maturity).stdout


def test_the_next_command_says_what_to_fill_in_where_no_file_was_named(tmp_path):
    rows = "\n".join(["y,p,day", *(f"{i % 9 < 8:d},0.1,2026-01-{i // 4 + 1:02}" for i in range(99))])
    done = CliRunner().invoke(app, ["monitor", "-", *OPTIONS, str(tmp_path / "s.json")], input=rows)
    assert done.exit_code == 1, done.output
    assert "calibrant recalibrate FILE --outcome y --prediction p" in done.stdout
    assert "# FILE: the rows since row 1" in done.stdout


@pytest.mark.slow
def test_the_same_file_twice_is_refused_unless_told_otherwise(months):
    """A job of cron that ran twice, where no column shows it."""
    state = months / "s.json"
    options = [months / "0.csv", "--outcome", "y", "--prediction", "p", "--tolerance", "0.01", "--state", state]
    run(*options)
    before = state.read_bytes()
    assert "--again if they are other rows" in run(*options, code=2).stderr
    assert state.read_bytes() == before
    assert json.loads(run(*options, "--again", "--json").stdout)["rows"] == 8000


def test_json_holds_the_numbers(months):
    found = json.loads(run(months / "0.csv", *OPTIONS, months / "s.json", "--json").stdout)
    assert found["alarm"] is False
    assert found["rows"] == 4000
    assert found["departure"] is None


def test_other_settings_are_refused_with_their_names(months):
    run(months / "0.csv", *OPTIONS, months / "s.json")
    done = run(months / "1.csv", *OPTIONS, months / "s.json", "--mode", "rate", code=2)
    assert "mode='total'" in done.stderr
    assert "begin a new state" in done.stderr


def test_a_tolerance_has_to_be_given(months):
    done = run(months / "0.csv", "--outcome", "y", "--prediction", "p", "--state", months / "s.json", code=2)
    assert "expected either --tolerance or --odds-tolerance, found neither" in done.stderr
    assert not (months / "s.json").exists()


def test_blocks_and_an_expected_size(months):
    state = months / "s.json"
    run(months / "0.csv", "--outcome", "y", "--prediction", "p", "--block", "day", "--tolerance", "0", "--state", state)
    assert json.loads(state.read_text())["block"]["name"] == "2026-01-25"
    sized = ["--odds-tolerance", "1.1", "--expect", "0.3", "--state", months / "t.json"]
    run(months / "0.csv", "--outcome", "y", "--prediction", "p", *sized)


def test_rows_wait_for_their_age(months):
    lines = (months / "0.csv").read_text().splitlines()
    young = [line.replace(line[0], "", 1) if line[11:] > "2026-01-20" else line for line in lines[1:]]
    path = months / "young.csv"
    path.write_text("\n".join([lines[0], *young]) + "\n")
    done = run(path, *OPTIONS, months / "s.json", "--maturity", "10")
    assert "wait until they are old enough" in done.stdout
    refused = run(path, *OPTIONS, months / "t.json", code=2)
    assert "label" in refused.stderr


def test_strange_values_are_named(months):
    path = months / "bad.csv"
    path.write_text("y,p,day\n0,0.2,2026-01-01\n1,0.7,\n")
    assert "a value of day in every row, found none in row 2" in run(path, *OPTIONS, months / "s.json", code=2).stderr
    path.write_text("y,p,day\n0,0.2,2026-01-01\nmaybe,0.7,2026-01-02\n")
    found = run(path, *OPTIONS, months / "s.json", "--maturity", "0", code=2).stderr
    assert "labels 0 and 1, found 'maybe'" in found
    named = run(path, *OPTIONS, months / "s.json", "--maturity", "0", "--pos-label", "maybe")
    assert "2 rows read" in named.stdout
    assert (
        "end in .png" in run(months / "0.csv", *OPTIONS, months / "u.json", "--plot", months / "x.gif", code=2).stderr
    )


@pytest.mark.slow
def test_an_alarm_is_said_though_the_picture_or_the_state_cannot_be_written(tmp_path, monkeypatch):
    path, picture = tmp_path / "few.csv", tmp_path / "x.png"
    path.write_text("y,p\n1,0.0\n0,0.5\n")
    options = ["--outcome", "y", "--prediction", "p", "--tolerance", "0", "--mode", "rate", "--state"]
    done = run(path, *options, tmp_path / "s.json", "--plot", picture, code=1)
    assert done.stdout.startswith("ALARM     row 1 (few.csv): ")
    assert "Warning: no picture written: expected a monitor that has read 16 rows, found fewer" in done.stderr
    assert not picture.exists()

    def full(self, path):
        raise SourceError("to write it", "No space left on device", "free some")

    monkeypatch.setattr(Monitor, "write", full)
    done = run(path, *options, tmp_path / "t.json", code=2)
    assert done.stdout.startswith("ALARM     row 1 (few.csv): ")
    assert "No space left on device" in done.stderr


@pytest.mark.slow
def test_a_report_has_the_verdict_and_the_next_command(months):
    state, report = months / "s.json", months / "monitor.html"
    for month in range(2):
        run(months / f"{month}.csv", *OPTIONS, state, "--report", report)
        assert "No alarm" in Page(report.read_text(encoding="utf-8")).text
    words = ["--title", "Loans", "--note", NASTY, "--author", "A. Body"]
    done = run(months / "2.csv", *OPTIONS, state, "--report", report, *words, code=1)
    assert f"report written to {report}" in done.stderr
    page = Page(report.read_text(encoding="utf-8"))
    assert ("h1", "Loans") in page.headings
    assert ("h2", "Alarm") in page.headings
    assert NASTY in page.text
    assert page.count("script") == 1
    for line in done.stdout.splitlines()[1:]:
        label, _, text = line.partition(" ")
        assert re.sub(r"\s+", " ", text).strip() in page.text, label
    assert f"Command calibrant monitor {months}/2.csv --outcome y" in page.text
    again = run(months / "2.csv", *OPTIONS, state, "--report", report, code=2)
    assert "rows after the last one read" in again.stderr
    assert Page(report.read_text(encoding="utf-8")).text == page.text


def test_hostile_names_of_columns_are_only_words(tmp_path):
    path, report = tmp_path / "rows.csv", tmp_path / "monitor.html"
    name = NASTY.replace('"', "")
    path.write_text(f'y,"{name}"\n' + "1,0.05\n1,0.1\n" * 40)
    written = ["--state", tmp_path / "s.json", "--report", report]
    run(path, "--outcome", "y", "--prediction", name, "--tolerance", "0.01", *written, code=1)
    text = report.read_text(encoding="utf-8")
    page = Page(text)
    assert page.count("script") == 1
    assert page.text.count("<script>alert(1)</script>") >= 3
    assert "<script>alert" not in text


def test_a_report_is_checked_before_rows_are_read(months):
    for name, said in (("x.txt", r"\.html, \.pdf, \.md or \.tex"), ("nowhere/x.html", "no folder")):
        done = run(months / "0.csv", *OPTIONS, months / "s.json", "--report", months / name, code=2)
        assert re.search(said, done.stderr)
    state = months / "state.html"
    run(months / "0.csv", *OPTIONS, state)
    assert "another file as output" in run(months / "1.csv", *OPTIONS, state, "--report", state, code=2).stderr
    assert not (months / "s.json").exists()


def test_an_alarm_is_said_though_the_report_cannot_be_written(months, monkeypatch):
    monkeypatch.setenv("CHROME", sys.executable)  # starts, and prints no file
    report = months / "x.pdf"
    done = run(*(months / f"{m}.csv" for m in range(3)), *OPTIONS, months / "s.json", "--report", report, code=1)
    assert done.stdout.startswith("ALARM")
    assert "Warning: no report written: expected" in done.stderr
    assert not report.exists()
    assert json.loads((months / "s.json").read_text())["sums"]["total"][0] == 12_000


@pytest.mark.parametrize("time", [["--time", "day"], []])
def test_a_query_that_was_read_now_is_in_the_next_command(tmp_path, monkeypatch, time):
    """With the rows since the change if there are times; and the model of the repair before stays."""
    monkeypatch.chdir(tmp_path)
    score = np.random.default_rng(3).uniform(size=900).round(3)
    y = np.where(np.arange(900) < 400, np.random.default_rng(4).uniform(size=900) < score, score > 0.2)
    day = [f"2026-0{1 + i // 300}-{1 + i // 15 % 20:02}" for i in range(900)]
    lines = [f"{a:d},{b},{c},{i // 3}" for i, (a, b, c) in enumerate(zip(y, score, day, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(["y,p,day,block", *lines]) + "\n")
    words = [
        "--query",
        "SELECT * FROM 'rows.csv' -- all;",
        "--outcome",
        "y",
        "--prediction",
        "p",
        "--tolerance",
        "0.05",
    ]
    done = run(*words, *time, "--block", "block", "--state", "s.json", code=1)
    command = done.stdout.splitlines()[-1].removeprefix("Next      ")
    assert run_command(command).exit_code == 0, command
    departure, fitted = Monitor.load("s.json").state.departure, cal.load_model("repaired.json")
    first = day.index(departure.time) if time else 0
    expected = type(fitted)().fit(score[first:], y[first:].astype(int), groups=np.arange(first, 900) // 3)
    assert fitted.predict([0.1, 0.7]) == pytest.approx(expected.predict([0.1, 0.7]))
    command = run(*words, *time, "--block", "block", "--state", "t.json", code=1).stdout.splitlines()[-1]
    assert "--model repaired-2.json  # if repaired.json gave these scores, add --onto repaired.json" in command
