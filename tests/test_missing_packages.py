"""What still works where a module is missing, and what the others say: which package, and how it is installed."""

import subprocess
import sys
import textwrap

import pytest

WITHOUT = """
import sys


class Without:
    # What finds modules, but for those of one package.
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == {missing!r} else self.finder.find_spec(name, path, target)


sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

SCRIPT = """
import os, sys
{without}
os.environ["MPLBACKEND"] = "agg"
import numpy as np
import calibrant as cal
from calibrant.errors import ArgumentError, SourceError
from calibrant.plots import MonitorDisplay, ReliabilityDisplay, draw

y, p = [0, 1, 1, 0] * 60, [0.1, 0.4, 0.8, 0.9] * 60
rows = "y,p,q\\n" + "".join("%d,%s,%s\\n" % (a, b, b / 2) for a, b in zip(y, p))
open("rows.csv", "w").write(rows)
audit = cal.audit(y, p, by={{"half": [0, 1] * 120}})
comparison = cal.compare(y, {{"one": p, "two": np.square(p)}})
monitor = cal.Monitor(tolerance=0.02)
monitor.update(y, p)
assert (str(audit) and audit.details() and str(comparison) and str(monitor.state) and audit.to_json())


def frame_of(library):
    import importlib
    table = importlib.import_module(library).DataFrame({{"y": y, "p": p}})
    assert cal.audit(table, outcome="y", prediction="p").cutoff.value == audit.cutoff.value
    return audit.reliability.to_frame(library)


uses = {{
    "plot": audit.plot,
    "html": lambda: (audit.to_html(), comparison.to_html(), audit.to_html("page.html")),
    "notebook": lambda: (audit._repr_html_(), comparison._repr_html_()),
    "display": lambda: ReliabilityDisplay.from_predictions(y, p),
    "draw": lambda: (draw(audit.reliability), draw(audit.segments), comparison.plot()),
    "monitor display": lambda: (monitor.history().plot(), MonitorDisplay(monitor.history()).plot()),
    "monitor page": monitor.to_html,
    "state": lambda: (monitor.save("state.json"), cal.Monitor.load("state.json")),
    "file": lambda: [read("rows.csv", outcome="y", prediction="p") for read in (cal.audit, cal.read_table)],
    "query": lambda: cal.read_table(cal.Query("SELECT * FROM 'rows.csv'"), outcome="y", prediction="p"),
    "pandas": lambda: frame_of("pandas"),
    "polars": lambda: frame_of("polars"),
    "pyarrow": lambda: audit.reliability.to_frame("pyarrow"),
    "onnx": lambda: cal.export.to_onnx(cal.PlattCalibrator().fit(p, y)),
}}
for name, use in uses.items():
    try:
        use()
    except (ArgumentError, SourceError) as error:
        assert {remedy!r} in error.remedy, error
        print("refused", name)
"""

# What the message says to do about it.
REMEDY = {
    "fcntl": "locks",
    "matplotlib": "pip install 'calibrant[report]'",
    "duckdb": "pip install 'calibrant[files]'",
    "pyarrow": "install one",
    "onnx": "pip install 'calibrant[onnx]'",
    "jinja2": "pip install 'calibrant[report]'",
}

# What cannot be done without each module; everything else can.
REFUSED = {
    "fcntl": {"state"},  # where Windows has msvcrt
    "matplotlib": {"plot", "html", "display", "draw", "monitor display", "monitor page"},
    "duckdb": {"file", "query"},
    "pyarrow": {"pyarrow"},
    "onnx": {"onnx"},
    "jinja2": {"html", "monitor page"},
}


@pytest.mark.slow
@pytest.mark.parametrize("missing", REFUSED)
def test_only_what_needs_it_is_refused(missing, tmp_path):
    lines = printed(SCRIPT.format(without=without(missing), remedy=REMEDY[missing]), tmp_path)
    assert {line.removeprefix("refused ") for line in lines} == REFUSED[missing]


@pytest.mark.slow
def test_without_matplotlib_a_notebook_shows_the_table_and_says_what_to_install(tmp_path):
    script = """
        import calibrant as cal
        print(cal.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])._repr_html_())
    """
    text = "\n".join(printed(without("matplotlib") + textwrap.dedent(script), tmp_path))
    assert "<table" in text
    assert "pip install &#x27;calibrant[report]&#x27;" in text


def test_the_command_without_its_packages_says_what_to_install(tmp_path):
    script = without("typer") + "from calibrant.cli.start import main\nmain()"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("install it: pip install 'calibrant[cli]'\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_pictures_and_pages_of_audits_know_no_monitors(tmp_path):
    script = """
        import os, sys
        os.environ["MPLBACKEND"] = "agg"
        import calibrant as cal
        audit = cal.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])
        audit.plot(), audit.to_html(), audit._repr_html_(), audit.reliability.plot()
        print(*(name for name in sys.modules if name.startswith("calibrant.monitoring")))
    """
    assert printed(script, tmp_path) == [""]


@pytest.mark.slow
def test_a_relation_of_duckdb_is_read_without_pyarrow(tmp_path):
    script = """
        import duckdb
        from calibrant import ScoreTable
        relation = duckdb.sql("SELECT 1 AS y, 0.5 AS p UNION ALL SELECT 0, 0.25")
        print(ScoreTable.from_frame(relation, outcome="y", prediction="p"))
    """
    assert printed(without("pyarrow") + textwrap.dedent(script), tmp_path) == [
        "ScoreTable(2 distinct scores, n=2, positives=1)"
    ]


def without(missing):
    """The beginning of a program in which a package, or a module of Python, cannot be found."""
    return WITHOUT.format(missing=missing)


def printed(script, folder):
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
