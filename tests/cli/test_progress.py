"""One bar for a job: it says what is done, shows itself only to a person who waits, and never runs backwards."""

from __future__ import annotations

import io
import re
import time

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from calibrant.cli import terminal
from calibrant.cli.main import app
from calibrant.sources import source as source_module
from calibrant.table.progress import report_progress


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(3_000)
    y = (rng.random(3_000) < p).astype(int)
    rows = (f"{a},{b!r},{c // 8}" for a, b, c in zip(y.tolist(), p.tolist(), range(3_000), strict=True))
    path = tmp_path / "a[bold].csv"
    path.write_text("\n".join(["y,p,patient", *rows]) + "\n")
    return path


@pytest.fixture
def screen(monkeypatch):
    """A terminal that someone watches, and who sees whatever takes any time."""
    made = Console(file=io.StringIO(), force_terminal=True, width=160)
    monkeypatch.setattr(terminal, "console", lambda: made)
    monkeypatch.setattr(source_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(source_module, "_POLL", 1e-4)
    return made


@pytest.fixture
def bars(monkeypatch):
    """Every state of every bar: what is done, and how much of it."""
    seen = []
    update = Progress.update

    def noted(self, task, **state):
        seen.append((id(self), state["description"], state["completed"]))
        update(self, task, **state)

    monkeypatch.setattr(Progress, "update", noted)
    return seen


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize(
    "arguments", [["--cluster", "patient"], ["--report", "REPORT"]], ids=["clusters", "with a report"]
)
def test_one_bar_over_a_whole_audit(arguments, file, screen, bars, tmp_path):
    words = [str(tmp_path / "a.html") if word == "REPORT" else word for word in arguments]
    done = CliRunner().invoke(app, ["audit", str(file), "--outcome", "y", "--prediction", "p", *words])
    assert done.exit_code == 0, done.output
    assert len({bar for bar, *_ in bars}) == 1
    shares = [share for *_, share in bars]
    assert shares == sorted(shares)
    assert shares[0] < 0.6 < shares[-1] <= 1.0
    stages = list(dict.fromkeys(stage for _, stage, _ in bars))
    assert stages[0] == f"Reading {file}".replace("[bold]", r"\[bold]")
    assert {"Recalibration, split 5 of 5", "Measures and curves"} < set(stages)
    assert ("Report" in stages) == ("--report" in arguments)
    assert ("Rotating clusters" in stages) == ("--cluster" in arguments)


@pytest.mark.slow
def test_one_bar_over_a_fit_and_an_application(file, screen, bars, tmp_path):
    model, out = tmp_path / "m.json", tmp_path / "o.csv"
    fit = ["recalibrate", str(file), "--outcome", "y", "--prediction", "p", "--model", str(model)]
    apply = ["apply", str(file), "--prediction", "p", "--model", str(model), "--output", str(out)]
    for arguments in (fit, apply):
        bars.clear()
        assert CliRunner().invoke(app, arguments).exit_code == 0
        assert len({bar for bar, *_ in bars}) == 1
        shares = [share for *_, share in bars]
        assert shares == sorted(shares)


def plain(screen):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())


def test_the_bar_shows_stage_share_and_speed(screen, monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    with terminal.progress():
        report_progress("Reading a[bold].csv", 0.25, "2,500,000 rows/s")
        deadline = time.monotonic() + 60.0
        while "rows/s" not in plain(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert re.search(r"Reading a\[bold\]\.csv .* 25% 2,500,000 rows/s [-0-9:]+ left", plain(screen))


def test_what_is_quick_shows_nothing(screen):
    with terminal.progress():
        report_progress("Reading", 0.5)
    assert plain(screen) == ""
