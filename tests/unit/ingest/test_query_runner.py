"""Progress is shown where a person waits, and Ctrl-C ends the work at once."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import duckdb
import pytest
from rich.console import Console

from calibrant.errors import SourceError
from calibrant.ingest import query_runner
from calibrant.ingest.connection import open_source
from calibrant.ingest.files import read_table
from calibrant.ingest.query_runner import speed

LONG = "SELECT sum(ln(i + 1.0)) FROM range(1000000000000) t(i)"
PLAIN = "y,p\n0,0.2\n1,0.7\n0,0.7\n"


@pytest.fixture
def control_c():
    """Ctrl-C raises KeyboardInterrupt even where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


INTERACTIVE = """
import sys
from calibrant.ingest.connection import open_source
with open_source(sys.argv[1], console=None) as source:
    source.connection.execute("SET progress_bar_time = 1")
    print(source.rows("SELECT sum(i % 7) FROM range(60000000) t(i)"))
"""


@pytest.mark.slow
def test_no_bar_of_the_engine_on_standard_output(write):
    """DuckDB draws one in a Python that was started without a script, once a query takes long."""
    path = write("scores.csv", PLAIN)
    done = subprocess.run(
        [sys.executable, "-c", INTERACTIVE, path], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == "[(179999994,)]\n"


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=100)


@pytest.mark.slow
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
        assert time.monotonic() - started < 120  # the query would take hours
        assert not any(thread.name == "calibrant-query" for thread in threading.enumerate())
        # The connection is as good as before.
        assert source.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize("begun", [False, True])
def test_control_c_while_the_thread_starts(write, monkeypatch, begun):
    """Without care the thread would go on, and Python abort when it ends."""
    start, ran = threading.Thread.start, []

    def interrupted(thread):
        if begun:
            start(thread)
            while not ran:
                time.sleep(0.01)
        raise KeyboardInterrupt

    def work():
        ran.append(True)
        source.connection.execute(LONG)

    with open_source(write("scores.csv", PLAIN)) as source:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", interrupted)
            with pytest.raises(KeyboardInterrupt):
                source.run(work)
        assert bool(ran) == begun
        assert not any(thread.name == "calibrant-query" for thread in threading.enumerate())
        assert source.rows("SELECT 1") == [(1,)]


def test_a_thread_that_begins_after_the_interruption_does_nothing(write, monkeypatch):
    start, threads, ran = threading.Thread.start, [], []

    def interrupted(thread):
        threads.append(thread)
        raise KeyboardInterrupt

    with open_source(write("scores.csv", PLAIN)) as source:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", interrupted)
            with pytest.raises(KeyboardInterrupt):
                source.run(lambda: ran.append(True))
        start(threads[0])
        threads[0].join()
    assert ran == []


def test_control_c_twice(monkeypatch):
    class Deaf:
        """A connection that hears only the third interruption, and in which the second comes from the keyboard."""

        calls = 0

        def interrupt(self):
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt
            if self.calls == 3:
                ended.set()

    def first(*_):
        raise KeyboardInterrupt

    ended = threading.Event()
    runner = query_runner.QueryRunner(Deaf(), "a.csv", None)
    monkeypatch.setattr(runner, "_wait", lambda done: began.wait() and first())
    began = threading.Event()

    def work():
        began.set()
        ended.wait()

    with pytest.raises(KeyboardInterrupt):
        runner.run(work)
    assert ended.is_set()


def test_interrupted_read_removes_its_files(write, monkeypatch, temporary_folder):
    seen = []

    def stop(*_):
        seen.extend(temporary_folder.iterdir())
        raise KeyboardInterrupt

    path = write("scores.csv", PLAIN)
    monkeypatch.setattr(query_runner.QueryRunner, "_wait", stop)
    with pytest.raises(KeyboardInterrupt):
        read_table(path, label="y", score="p")
    assert seen


@pytest.mark.slow
def test_a_bar_appears_only_if_it_takes_long(write, monkeypatch):
    path = write("scores.csv", PLAIN)
    console = terminal()
    monkeypatch.setattr(query_runner, "_PATIENCE", 3600.0)
    read_table(path, label="y", score="p", console=console)
    assert console.file.getvalue() == ""
    monkeypatch.setattr(query_runner, "_PATIENCE", 0.0)
    with open_source(path, console=console) as source:
        source.rows("SELECT sum(ln(i + 1.0)) FROM range(30000000) t(i)")
    assert "Reading" in console.file.getvalue()
    assert "scores.csv" in console.file.getvalue()


def test_speed():
    assert speed(0.5 * 10_000_000, "rows", 2.0) == "2,500,000 rows/s"  # half of ten million in two seconds
    assert speed(3_000_000, "bytes", 0.5) == "6.0 MB/s"
    assert speed(0.0, "rows", 1.0) == speed(-1.0, "bytes", 1.0) == ""  # not begun, or DuckDB cannot tell


class Reports:
    """A connection that cannot yet tell, then has read half."""

    def __init__(self):
        self.percent = iter([-1.0, 50.0])
        self.told = threading.Event()  # what has been read, once more than once

    def execute(self, _):
        pass

    def query_progress(self):
        percent = next(self.percent, None)
        if percent is None:
            self.told.set()
        return 50.0 if percent is None else percent


@pytest.mark.parametrize(
    ("count", "unit", "pattern"),
    [
        (10_000_000, "rows", r" 50% 2,500,000 rows/s"),
        (10_000_000, "bytes", r" 50% 2\.5 MB/s"),
        (0, "", r" 50% +[-0-9]"),
    ],
)
def test_the_bar_shows_percent_and_speed(count, unit, pattern, monkeypatch):
    times = iter([100.0, 100.0])  # made, begun; from then on two seconds have passed
    monkeypatch.setattr(query_runner, "time", SimpleNamespace(monotonic=lambda: next(times, 102.0)))
    console = terminal()
    reports = Reports()
    runner = query_runner.QueryRunner(reports, "a.csv", console)
    runner.expect(count, unit)
    assert runner.run(lambda: reports.told.wait(60.0))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    assert re.search(pattern, shown), shown
    assert re.search(r" 0% +-:--:-- left", shown)  # no speed, and no time left, before DuckDB can tell


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "first"),
    [("scores.csv", [(12, "bytes")]), ("scores.parquet", [(3, "rows")]), ("*.parquet", [(5, "rows")])],
)
def test_what_a_scan_reads(write, monkeypatch, tmp_path, name, first):
    """Parquet files say how many rows they hold; of text the first scan counts them."""
    seen = []
    monkeypatch.setattr(query_runner.QueryRunner, "expect", lambda _, *counted: seen.append(counted))
    write("scores.csv", "y,p\n0,1\n1,1\n")
    for other, rows in (("scores.parquet", 3), ("b.parquet", 2)):
        duckdb.sql(f"SELECT 0 AS y, 0.5 AS p FROM range({rows})").write_parquet(str(tmp_path / other))
    read_table(str(tmp_path / name), label="y", score="p", console=terminal())
    rows = 2 if name.endswith("csv") else first[0][0]
    assert seen == [*first, (rows, "rows")]
    seen.clear()
    read_table(str(tmp_path / name), label="y", score="p")
    assert seen == [(rows, "rows")]


def test_no_bar_in_a_log_file(write, monkeypatch):
    console = Console(file=io.StringIO())
    monkeypatch.setattr(query_runner, "_PATIENCE", 0.0)
    read_table(write("scores.csv", PLAIN), label="y", score="p", console=console)
    assert console.file.getvalue() == ""


@pytest.mark.slow
def test_square_brackets_in_a_name_are_shown(write, monkeypatch):
    monkeypatch.setattr(query_runner, "_PATIENCE", 0.0)
    console = Console(file=io.StringIO(), force_terminal=True, width=400)
    with open_source(write("a[bold].csv", PLAIN), console=console) as source:
        source.rows("SELECT sum(ln(i + 1.0)) FROM range(30000000) t(i)")
    assert "a[bold].csv" in console.file.getvalue()


def test_errors_in_the_thread_reach_the_caller(write):
    with open_source(write("scores.csv", "y,p\n1\n")) as source, pytest.raises(SourceError, match="line 2"):
        source.rows(f"SELECT count(y) FROM ({source.sql})")
