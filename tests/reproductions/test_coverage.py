"""The table of what is covered names every numbered object of the sources."""

from __future__ import annotations

import re
from functools import cache

import pandas as pd
import pytest

from reproductions.catalogue import ITEMS
from reproductions.coverage import STATUSES, covered
from reproductions.item import HERE
from reproductions.view import View
from support.data import SHARED, needs_shared

PAPERS = SHARED / "papers"


@cache
def rows():
    return covered({item.name: View(item) for item in ITEMS})


SOURCES = pd.read_csv(HERE / "sources.csv")


def test_every_item_covers_something_and_every_row_names_an_item_or_a_reason():
    assert {c.item for c in rows() if c.item} == {item.name for item in ITEMS}
    for c in rows():
        assert c.status in STATUSES
        assert c.item or c.why
        assert c.source in set(SOURCES["name"])


def test_every_source_says_where_it_is():
    assert SOURCES.notna().all(axis=None)


def numbers_in(objects, word):
    """Numbers that follow a word in a text such as "Figures 8 to 10", with those between."""
    found = set()
    for text in objects:
        for first, last in re.findall(rf"{word}s? (\d+)(?: (?:to|and) (\d+))?", text):
            found |= set(range(int(first), int(last or first) + 1))
    return found


@needs_shared
@pytest.mark.parametrize(
    ("source", "file", "words"),
    [
        ("Gao et al.", "gao2017.md", ["Theorem", "Lemma", "Claim", "Example", "Figure", "Table"]),
        ("talk", "fernandes_machado2024_talk.md", ["Figure", "Table"]),
    ],
)
def test_numbered_objects_are_all_named(source, file, words):
    text = (PAPERS / file).read_text(encoding="utf-8")
    objects = [c.object for c in rows() if c.source == source]
    for word in words:
        stated = {int(n) for n in re.findall(rf"^\W*{word} (\d+)[.:]", text, re.MULTILINE)}
        assert stated <= numbers_in(objects, word), word
