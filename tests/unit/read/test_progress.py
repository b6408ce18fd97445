"""Progress is shown where a person waits, and Ctrl-C ends the work at once."""

from __future__ import annotations

import io
import os
import signal
import threading
import time

import pytest
from rich.console import Console

from calibrant.errors import SourceError
from calibrant.read import open_source, progress, read_table

LONG = "SELECT sum(ln(i + 1.0)) FROM range(1000000000000) t(i)"
PLAIN = "y,p\n0,0.2\n1,0.7\n0,0.7\n"


@pytest.fixture
def control_c():
    """Ctrl-C raises KeyboardInterrupt even where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=100)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("console", [None, terminal()])
def test_control_c_stops_the_query_and_leaves_nothing(write, console, temporary_folder, control_c):
    path = write("scores.csv", PLAIN)
    with open_source(path, console=console) as source:
        assert list(temporary_folder.iterdir()) != []
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            source.rows(LONG)
        timer.join()
        assert time.monotonic() - started < 5
        assert not any(thread.name == "calibrant-query" for thread in threading.enumerate())
        # The connection is as good as before.
        assert source.rows("SELECT 1") == [(1,)]


def test_interrupted_read_removes_its_files(write, monkeypatch, temporary_folder):
    seen = []

    def stop(*_):
        seen.extend(temporary_folder.iterdir())
        raise KeyboardInterrupt

    path = write("scores.csv", PLAIN)
    monkeypatch.setattr(progress.Watcher, "_wait", stop)
    with pytest.raises(KeyboardInterrupt):
        read_table(path, label="y", score="p")
    assert seen


def test_a_bar_appears_only_if_it_takes_long(write, monkeypatch):
    path = write("scores.csv", PLAIN)
    console = terminal()
    read_table(path, label="y", score="p", console=console)
    assert console.file.getvalue() == ""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with open_source(path, console=console) as source:
        source.rows("SELECT sum(ln(i + 1.0)) FROM range(30000000) t(i)")
    assert "Reading" in console.file.getvalue()
    assert "scores.csv" in console.file.getvalue()


def test_no_bar_in_a_log_file(write, monkeypatch):
    console = Console(file=io.StringIO())
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    read_table(write("scores.csv", PLAIN), label="y", score="p", console=console)
    assert console.file.getvalue() == ""


def test_square_brackets_in_a_name_are_shown(write, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    console = Console(file=io.StringIO(), force_terminal=True, width=400)
    with open_source(write("a[bold].csv", PLAIN), console=console) as source:
        source.rows("SELECT sum(ln(i + 1.0)) FROM range(30000000) t(i)")
    assert "a[bold].csv" in console.file.getvalue()


def test_errors_in_the_thread_reach_the_caller(write):
    with open_source(write("scores.csv", "y,p\n1\n")) as source, pytest.raises(SourceError, match="line 2"):
        source.rows(f"SELECT count(y) FROM ({source.sql})")
