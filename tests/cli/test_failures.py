"""What goes wrong around a run: places that must not be overwritten, readers that leave, signals, mistakes of ours."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import duckdb
import pytest
from typer.testing import CliRunner

from calibrant.cli import terminal
from calibrant.cli.guard import run
from calibrant.cli.main import app

AUDIT = ["--outcome", "y", "--prediction", "p"]


def command(*arguments):
    return [sys.executable, "-c", "from calibrant.cli.start import main; main()", *map(str, arguments)]


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("y,p\n" + "0,0.2\n1,0.7\n" * 50)
    return path


def refused(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 2, done.output
    return done.stderr


def test_an_input_is_never_overwritten(scores, tmp_path):
    before = scores.read_bytes()
    assert "another file as output" in refused("audit", scores, *AUDIT, "--report", scores)
    assert "another file as output" in refused("recalibrate", scores, *AUDIT, "--model", scores)
    model = tmp_path / "m.csv"
    CliRunner().invoke(app, ["recalibrate", str(scores), *AUDIT, "--model", str(model)])
    assert "another file as output" in refused(
        "apply", scores, "--prediction", "p", "--model", model, "--output", model
    )
    link = tmp_path / "link.csv"
    link.symlink_to(scores)
    assert "another file as output" in refused("audit", scores, *AUDIT, "--report", link)
    assert scores.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_devices_and_pipes_are_not_replaced(scores, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "regular file" in refused("audit", scores, *AUDIT, "--report", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.slow
def test_a_replaced_report_keeps_its_permissions_and_links(scores, tmp_path):
    report, link = tmp_path / "report.html", tmp_path / "link.html"
    report.write_text("old")
    report.chmod(0o600)
    link.symlink_to(report)
    assert CliRunner().invoke(app, ["audit", str(scores), *AUDIT, "--report", str(link)]).exit_code == 0
    assert link.is_symlink()
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


@pytest.mark.parametrize("label", ["[[0], [1]]", "[{'a': 0}, {'a': 1}]", "[[0]::INTEGER[1], [1]::INTEGER[1]]"])
def test_nested_labels_are_refused(tmp_path, label):
    file = tmp_path / "nested.parquet"
    rows = f"SELECT unnest({label}) AS y, unnest([0.2, 0.7]) AS p"
    duckdb.sql(f"COPY ({rows}) TO '{file}'")
    assert "expected one label per row, found nested values in row 1 of column y in" in refused("audit", file, *AUDIT)
    assert "expected one label per row" in refused("audit", file, *AUDIT, "--pos-label", "1")


def test_names_that_no_file_can_have(scores, tmp_path):
    assert "name" in refused("audit", scores, *AUDIT, "--report", tmp_path / ("x" * 300))


@pytest.mark.grid
@pytest.mark.parametrize(
    "arguments", [["1e-12"], ["1e-300"], ["5e-324"], ["0.02", "--confidence", "0.9999999999999999"]]
)
def test_tiny_numbers_are_answered(scores, arguments):
    done = CliRunner().invoke(app, ["audit", str(scores), *AUDIT, "--tolerance", *arguments])
    assert done.exit_code == 1, done.output
    assert "000,000,000" not in done.stdout


@pytest.mark.slow
def test_a_reader_that_leaves(scores):
    with subprocess.Popen(
        command("audit", scores, *AUDIT, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        complaint = process.stderr.read()
        assert process.wait(60) == 141
    assert complaint == b""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "utf-8"])
def test_output_that_cannot_hold_a_minus_sign_gets_a_hyphen(tmp_path, encoding):
    """As where Windows sends output to a file; what else is missing is escaped."""
    path = tmp_path / "scores.csv"
    path.write_text("y,p,中\n" + "0,0.2,0.4\n1,0.7,0.6\n" * 50, encoding="utf-8")
    words = command("compare", path, "--outcome", "y", "--prediction", "p", "--prediction", "中")
    done = subprocess.run(words, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    minus, name = ("\N{MINUS SIGN}", "中") if encoding == "utf-8" else ("-", r"\u4e2d")
    assert f"{minus}0." in text
    assert name in text


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["audit", "FILE", *AUDIT], ["--help"], ["audit", "--help"], ["--version"]])
def test_a_full_standard_output(scores, arguments):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    words = [str(scores) if word == "FILE" else word for word in arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(*words), stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["audit", "FILE", *AUDIT], ["--version"]])
def test_a_closed_standard_output(scores, arguments):
    words = [str(scores) if word == "FILE" else word for word in arguments]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command(*words)], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"calibrant: error: expected an open standard output, found it closed; ")


@pytest.mark.slow
def test_nothing_is_lost_where_nothing_is_printed(scores, tmp_path):
    model, output = tmp_path / "m.json", tmp_path / "o.csv"
    assert CliRunner().invoke(app, ["recalibrate", str(scores), *AUDIT, "--model", str(model)]).exit_code == 0
    words = command("apply", scores, "--prediction", "p", "--model", model, "--output", output)
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], capture_output=True, check=False)
    assert done.returncode == 0
    assert output.exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 3.7 GiB for an array"),
        RuntimeError("can't start new thread"),
        ImportError("_core.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_no_mistake_of_ours(capsys, error):
    def greedy():
        raise error

    with pytest.raises(SystemExit) as left:
        run(greedy)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("calibrant: error: expected enough memory for rows and libraries, found ")
    assert (str(error) or "no more of it") in said
    assert "ulimit -v" in said


def test_links_in_a_circle_are_named(scores, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.csv"
    first.symlink_to(second)
    second.symlink_to(first)
    model = tmp_path / "model.json"
    assert CliRunner().invoke(app, ["recalibrate", str(scores), *AUDIT, "--model", str(model)]).exit_code == 0
    for arguments in (
        ["recalibrate", scores, *AUDIT, "--model", first],
        ["apply", scores, "--prediction", "p", "--model", model, "--output", second],
        ["audit", scores, *AUDIT, "--report", first.with_suffix(".json")],
        ["audit", second, *AUDIT],
    ):
        assert "Too many levels of symbolic links" in refused(*arguments)


@pytest.mark.slow
def test_names_do_not_steer_the_terminal(tmp_path, monkeypatch):
    """In results, notes, errors of commands and of the parser, on a terminal or not."""
    evil = "g\x1b]0;title\x07\x9b\u202e"
    file = tmp_path / f"{evil}.csv"
    file.write_text(
        f'y,p,g,"{evil}"\n' + "".join(f'{i % 2},{i % 5 / 5},"x{evil}\n",b\n1,0.5,c,a\n' for i in range(200))
    )
    model = tmp_path / f"{evil}.json"
    model.write_text(json.dumps({"calibrant": evil}))
    for columns in (None, 80):
        monkeypatch.setattr(terminal, "width", lambda columns=columns: columns)
        for arguments, code in (
            (["audit", file, *AUDIT, "--by", "g", "--by", evil], 0),
            (["audit", file, *AUDIT, "--details"], 0),
            (["audit", file, "--outcome", "y", "--prediction", evil], 2),
            (["compare", file, "--outcome", "y", "--prediction", "p", "--prediction", evil], 2),
            (["recalibrate", file, *AUDIT, "--method", "platt", "--model", tmp_path / f"new{evil}{columns}.json"], 0),
            (["apply", file, "--prediction", "p", "--model", model, "--output", tmp_path / "o.csv"], 2),
            (["audit", file, *AUDIT, f"--{evil}"], 2),
            ([evil], 2),
            (["audit", f"no{evil}.csv", *AUDIT], 2),
        ):
            done = CliRunner().invoke(app, [str(argument) for argument in arguments])
            assert done.exit_code == code, done.output
            assert not set(done.output) & set("\x1b\x07\x9b\u202e"), arguments
            assert len(done.stderr.splitlines()) == 1 or "Usage" in done.stderr or not done.stderr


@pytest.mark.slow
def test_an_interruption_while_modules_load(scores):
    """At any time from the first line of ours on: no traceback, and the exit code of interruptions."""
    ready = "from calibrant.cli.start import main; print(flush=True); main()"
    for number in range(16):
        with subprocess.Popen(
            [sys.executable, "-c", ready, "audit", str(scores), *AUDIT],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # as above
        ) as process:
            process.stdout.readline()
            time.sleep(0.02 + 0.05 * number)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err
        # Python's own end gives signals back to the system.
        assert process.returncode == 130 or (process.returncode in (0, -signal.SIGINT) and b"Error" in out), err


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_so(scores):
    """As `nohup` has it."""
    ready = "from calibrant.cli.start import main; print(flush=True); main()"
    with subprocess.Popen(
        [sys.executable, "-c", ready, "audit", str(scores), *AUDIT],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509
    ) as process:
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
        assert b"Error" in process.communicate(timeout=120)[0]
        assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_leaves_no_temporary_files(tmp_path, number):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command("audit", "-", *AUDIT),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509  # a background job ignores Ctrl-C
    ) as process:
        process.stdin.write(b"y,p\n" + b"0,0.25\n" * 500_000)
        deadline = time.monotonic() + 120
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(tmp_path.iterdir())
        time.sleep(1.0)  # until it waits for more
        process.send_signal(number)
        assert process.wait(120) == 130
        assert b"interrupted" in process.stderr.read()
    assert not list(tmp_path.iterdir())


def test_a_mistake_of_ours_is_called_so(capsys):
    def broken():
        raise RuntimeError("impossible")

    with pytest.raises(SystemExit) as left:
        run(broken)
    assert left.value.code == 70
    assert "internal error, please report it: RuntimeError: impossible" in capsys.readouterr().err


def test_json_lines_keep_their_types(tmp_path):
    lines = [
        '{"id":1,"score":0.25,"ok":true,"tags":["a",2],"who":"x","y":0}',
        '{"id":2,"score":null,"ok":null,"tags":[],"who":"it\'s","y":1}',
        '{"id":3,"score":0.75,"ok":false,"tags":["b"],"who":"z","y":1}',
    ]
    source, model, out = tmp_path / "s.jsonl", tmp_path / "m.json", tmp_path / "o.jsonl"
    source.write_text("\n".join(lines) + "\n")
    fit = tmp_path / "fit.csv"
    fit.write_text("y,score\n0,0.25\n1,0.75\n1,0.75\n")
    named = ["--outcome", "y", "--prediction", "score", "--model", str(model)]
    assert CliRunner().invoke(app, ["recalibrate", str(fit), *named]).exit_code == 0
    done = CliRunner().invoke(
        app, ["apply", str(source), "--prediction", "score", "--model", str(model), "--output", str(out)]
    )
    assert done.exit_code == 0, done.output
    written = [json.loads(line) for line in out.read_text().splitlines()]
    for before, after in zip(map(json.loads, lines), written, strict=True):
        calibrated = after.pop("calibrated")
        assert after == before
        assert (calibrated is None) == (before["score"] is None)
