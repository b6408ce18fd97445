"""The frame of the reproductions: comparisons, the rule on imports, and the page against the stored results."""

from __future__ import annotations

import ast
import importlib
import math
from pathlib import Path

import pytest

from reproductions.catalogue import ITEMS, items_named
from reproductions.page import DOCS, render
from reproductions.store import numbers_of, theirs_of

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "calibrators",
    "certificates",
    "certificates.widths",
    "curves",
    "decisions",
    "export",
    "metrics",
    "papers",
    "plots",
    "references",
}


def test_items_can_be_named():
    assert items_named([]) == list(ITEMS)
    assert [item.name for item in items_named([ITEMS[1].name])] == [ITEMS[1].name]
    with pytest.raises(KeyError, match="no item 'table9'"):
        items_named(["table9"])


def test_names_are_unique():
    names = [item.name for item in ITEMS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
class TestItem:
    def test_published_numbers_are_complete(self, item):
        for row in theirs_of(item).to_dict("records"):
            assert row["source"]
            if math.isnan(row["value"]):
                assert row["low"] <= row["high"]
            else:
                assert math.isnan(row["digits"]) or row["digits"] >= 0
                assert math.isnan(row["sd"]) or row["runs"] >= 1

    def test_measured_numbers_are_numbers(self, item):
        for number in numbers_of(item).values():
            assert math.isfinite(number.value)
            assert number.standard_error >= 0.0


@pytest.mark.slow
def test_the_pages_are_what_the_results_give():
    pages = render()
    for name, text in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "run python -m reproductions --draw"
    written = {path.relative_to(DOCS).as_posix() for path in (DOCS / "reproductions").rglob("*.*")}
    assert written == pages.keys() - {"explanation/papers.md"}


def sources():
    return sorted((ROOT / "reproductions").rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_calibrant_is_used_by_its_public_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(alias.name == "calibrant" for alias in node.names if alias.name.startswith("calibrant"))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "calibrant":
            home = importlib.import_module(node.module)
            assert node.module == "calibrant" or node.module.removeprefix("calibrant.") in PACKAGES
            public = set(home.__all__) | (PACKAGES if node.module == "calibrant" else set())
            assert {alias.name for alias in node.names} <= public
