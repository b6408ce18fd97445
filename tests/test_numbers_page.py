"""The page of numbers: every test that it names exists, and every value that it quotes is written there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "reference" / "numbers.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if "::test_" in line and line.startswith("|")]
VALUE = re.compile(r"`(-?[\d.,]+(?:e-?\d+)?)`")


@cache
def source(path: str) -> tuple[str, frozenset[str]]:
    """Text of a file of tests, without the marks that divide thousands, and the names of its functions."""
    text = (TESTS / path).read_text(encoding="utf-8")
    names = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    return re.sub(r"(?<=\d)[,_](?=\d)", "", text), frozenset(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_numbers_are_written_in_the_tests_named(row):
    tests = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row[-1])
    assert tests
    assert row[-1].count("::") == len(tests)
    texts = []
    for path, name in tests:
        text, names = source(path)
        assert name in names, f"{path} has no {name}"
        texts.append(text)
    for cell in row[1:-1]:
        for value in VALUE.findall(cell):
            digits = value.replace(",", "").lstrip("-")
            assert any(re.search(rf"(?<![\d.]){re.escape(digits)}(?!\d)", text) for text in texts), (
                f"{value} in {tests}"
            )


def test_both_tables_were_read():
    claims, published = PAGE.split("## Published numbers")
    assert claims.count("::test_") > 10 < published.count("::test_")
    assert len(ROWS) > 40
