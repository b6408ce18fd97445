"""The page of error messages quotes what the source says."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "errors.md"
# The first cell of a row of a table whose header says so.
TABLES = re.compile(r"^\| message: expected \.\.\. .*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
QUOTED = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


def rendered(node):
    """Return a text of the source with dots for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(rendered, node.values))
    return "..." if isinstance(node, ast.FormattedValue) else ""


@cache
def texts_of_source():
    """Return all texts in the source but docstrings, a line each, without the backticks around parameters."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py"))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = {rendered(node) for node in nodes if id(node) not in docstrings}
    return "\n".join(re.sub(r"(\.\.\.)+", "...", text).replace("`", "") for text in texts)


def quoted():
    page = PAGE.read_text(encoding="utf-8")
    return sorted({message for table in TABLES.findall(page) for message in QUOTED.findall(table)})


def test_every_row_quotes_a_message():
    page = PAGE.read_text(encoding="utf-8")
    for table in TABLES.findall(page):
        assert len(QUOTED.findall(table)) == len(table.splitlines())
    assert len(quoted()) > 40


@pytest.mark.parametrize("message", quoted())
def test_the_source_says_it(message):
    assert message in texts_of_source()


def test_a_message_that_nothing_says_is_found():
    assert "scores between 0 and 2" not in texts_of_source()
