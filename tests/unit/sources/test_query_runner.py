"""Progress is shown where a person waits, and Ctrl-C ends the work at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import duckdb
import pytest

from calibrant.errors import SourceError
from calibrant.sources import source as source_module
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from calibrant.sources.source import speed
from calibrant.table.progress import job

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
from calibrant.sources.connection import open_source
with open_source(sys.argv[1]) as source:
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


NOTEBOOK = """
import sys, types
kernel = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: kernel  # by this DuckDB knows a notebook
sys.modules["ipywidgets"] = None
from calibrant.sources.files import read_table
print(read_table(sys.argv[1], outcome="y", prediction="p").total)
"""


@pytest.mark.slow
def test_a_notebook_without_widgets(write):
    """DuckDB then refuses settings of its progress bar."""
    path = write("scores.csv", PLAIN)
    done = subprocess.run([sys.executable, "-c", NOTEBOOK, path], capture_output=True, text=True, check=False)
    assert done.stdout == "3.0\n", done.stderr


@pytest.fixture
def heard():
    """What is told about a job while the test runs."""
    told = []
    with job(lambda *what: told.append(what)):
        yield told


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("watched", [False, True])
def test_control_c_stops_the_query_and_leaves_nothing(write, watched, temporary_folder, control_c, request):
    if watched:
        request.getfixturevalue("heard")
    path = write("scores.csv", PLAIN)
    with open_source(path) as source:
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
    runner = source_module.QueryRunner(Deaf(), "a.csv")
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
    monkeypatch.setattr(source_module.QueryRunner, "_wait", stop)
    with pytest.raises(KeyboardInterrupt):
        read_table(path, outcome="y", prediction="p")
    assert seen


@pytest.mark.slow
def test_something_is_told_only_if_it_takes_long(write, monkeypatch, heard):
    path = write("scores.csv", PLAIN)
    monkeypatch.setattr(source_module, "_PATIENCE", 3600.0)
    read_table(path, outcome="y", prediction="p")
    assert heard == []
    monkeypatch.setattr(source_module, "_PATIENCE", 0.0)
    with open_source(path) as source:
        source.rows("SELECT sum(ln(i + 1.0)) FROM range(30000000) t(i)")
    assert {stage for stage, *_ in heard} == {f"Reading {path}"}


def test_speed():
    assert speed(0.5 * 10_000_000, "rows", 2.0) == "2,500,000 rows/s"  # half of ten million in two seconds
    assert speed(3_000_000, "bytes", 0.5) == "6.0 MB/s"
    assert speed(0.0, "rows", 1.0) == speed(-1.0, "bytes", 1.0) == ""  # not begun, or DuckDB cannot tell


class Reports:
    """A connection that says how many percent are done, one number after the other."""

    def __init__(self, *percent):
        self.percent = iter(percent)
        self.told = threading.Event()  # all of them

    def execute(self, _):
        pass

    def query_progress(self):
        percent = next(self.percent, None)
        if percent is None:
            self.told.set()
        return -1.0 if percent is None else percent


def told_about(monkeypatch, heard, reports, count=0, unit=""):
    """Run a query that lasts until all has been reported, for two seconds by the clock that is looked at."""
    times = iter([100.0])
    monkeypatch.setattr(source_module, "time", SimpleNamespace(monotonic=lambda: next(times, 102.0)))
    runner = source_module.QueryRunner(reports, "a.csv")
    runner.expect(count, unit)
    assert runner.run(lambda: reports.told.wait(60.0))
    return runner


@pytest.mark.parametrize(
    ("count", "unit", "pace"),
    [(10_000_000, "rows", "2,500,000 rows/s"), (10_000_000, "bytes", "2.5 MB/s"), (0, "", "")],
)
def test_share_and_speed_are_told(count, unit, pace, monkeypatch, heard):
    """The first of three scans that are expected is a third of the reading; nothing is known before DuckDB can tell."""
    told_about(monkeypatch, heard, Reports(-1.0, 50.0), count, unit)
    assert heard[:2] == [("Reading a.csv", 0.0, ""), ("Reading a.csv", pytest.approx(1 / 6), pace)]


def test_many_scans_move_on_and_never_back(monkeypatch, heard):
    """A query that has begun anew is another scan. Three are expected; each further one takes half of what is left."""
    runner = told_about(monkeypatch, heard, Reports(50.0, 90.0, 80.0, 5.0, 60.0, 0.0, 100.0, 0.0, 100.0))
    shares = [done for _, done, _ in heard]
    assert shares[:9] == pytest.approx([1 / 6, 0.3, 0.3, 1 / 3 + 0.05 / 3, 1 / 3 + 0.2, 2 / 3, 5 / 6, 5 / 6, 11 / 12])
    assert shares == sorted(shares)
    # What takes no time is no scan, and a later query goes on where this one ended.
    monkeypatch.setattr(source_module, "_PATIENCE", 3600.0)
    runner.run(lambda: None)
    assert [done for _, done, _ in heard] == shares


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "first"),
    [("scores.csv", [(12, "bytes")]), ("scores.parquet", [(3, "rows")]), ("*.parquet", [(5, "rows")])],
)
def test_what_a_scan_reads(write, monkeypatch, tmp_path, name, first):
    """Parquet files say how many rows they hold; of text the first scan counts them."""
    seen = []
    monkeypatch.setattr(source_module.QueryRunner, "expect", lambda _, *counted: seen.append(counted))
    write("scores.csv", "y,p\n0,1\n1,1\n")
    for other, rows in (("scores.parquet", 3), ("b.parquet", 2)):
        duckdb.sql(f"SELECT 0 AS y, 0.5 AS p FROM range({rows})").write_parquet(str(tmp_path / other))
    with job(lambda *_: None):
        read_table(str(tmp_path / name), outcome="y", prediction="p")
    rows = 2 if name.endswith("csv") else first[0][0]
    assert seen == [*first, (rows, "rows")]
    seen.clear()
    read_table(str(tmp_path / name), outcome="y", prediction="p")
    assert seen == [(rows, "rows")]


def test_errors_in_the_thread_reach_the_caller(write):
    with open_source(write("scores.csv", "y,p\n1\n")) as source, pytest.raises(SourceError, match="line 2"):
        source.rows(f"SELECT count(y) FROM ({source.sql})")
