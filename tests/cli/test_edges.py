"""Portfolios at the edges, in the shell and on the page: an answer, or an error that says what to do."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app

HEADS = "y,p,q,s,h,g,c"


def lines(n, outcome=None, segments="ab", clusters=60):
    """Rows with an outcome, probabilities of three classes, a class, a segment and a cluster."""
    chosen = [i % 2 if outcome is None else outcome for i in range(n)]
    named = ["pqs"[i % 3 if outcome is None else outcome] for i in range(n)]
    return [
        f"{y},0.2,0.5,0.3,{h},{segments[i % len(segments)]},{i % clusters}"
        for i, (y, h) in enumerate(zip(chosen, named, strict=True))
    ]


LINES = {
    "no event": lines(240, 0),
    "all events": lines(240, 1),
    "one row": lines(1, 0),
    "no row": [],
    "one segment": lines(240, segments="a"),
    "one cluster": lines(240, clusters=1),
}
EVENT, AMOUNT = ["--outcome", "y", "--prediction", "p"], ["--kind", "amount", "--outcome", "y", "--prediction", "p"]
CALLS = {
    "event": EVENT,
    "event by": [*EVENT, "--by", "g"],
    "event grade": [*EVENT, "--grade", "g"],
    "event cluster": [*EVENT, "--cluster", "c"],
    "amount": AMOUNT,
    "amount capped by": [*AMOUNT, "--cap", "1", "--by", "g"],
    "amount grade": [*AMOUNT, "--grade", "g"],
    "amount capped grade": [*AMOUNT, "--cap", "1", "--grade", "g", "--cluster", "c"],
    "classes": ["--outcome", "h", "--prediction", "p", "--prediction", "q", "--prediction", "s"],
}


def audited(path, *words):
    return CliRunner().invoke(app, ["audit", str(path), *words])


@pytest.mark.parametrize("rows", LINES)
@pytest.mark.parametrize("call", CALLS)
def test_edges(call, rows, tmp_path):
    """Never a traceback, a warning (which fails a test), exit code 70 or a nan, in the text or on the page."""
    path, page = tmp_path / "rows.csv", tmp_path / "page.html"
    path.write_text("\n".join([HEADS, *LINES[rows]]) + "\n")
    shown = audited(path, *CALLS[call], "--details", "--report", str(page))
    assert shown.exit_code in (0, 1, 2), shown.exception
    assert (shown.exit_code == 2) == (rows == "no row" or (rows == "one row" and call.endswith("by")))
    if shown.exit_code == 2:
        assert re.fullmatch(r"calibrant: error: expected .+, found .+; .+\n", shown.stderr, re.S)
        assert not page.exists()
    else:
        assert not re.search(r"\bnan\b", shown.output + page.read_text(), re.I)


def test_a_portfolio_without_defaults(tmp_path):
    """The upper limits of its grades are those of Clopper and Pearson: 1 - (delta / 2 K)^(1 / n)."""
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([HEADS, *LINES["no event"]]) + "\n")
    for call in ("event grade", "amount capped grade"):
        shown = audited(path, *[word for word in CALLS[call] if word not in ("--cluster", "c")], "--json")
        table = json.loads(shown.stdout)["grades"]["grades"]
        assert table["upper"] == pytest.approx([1.0 - 0.0125 ** (1.0 / 120.0)] * 2, rel=1e-6), call
