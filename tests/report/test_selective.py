"""The page of selective decisions: complete, safe, by itself, and the same as Markdown."""

import re

import numpy as np
import pytest

import calibrant as cal
from calibrant.report.selective import render_selective
from support.html_page import NASTY, Page


def judge(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.choice([0.5, 0.8, 0.9, 0.95, 1.0], n)
    return rng.uniform(size=n) < np.where(score > 0.85, 0.98, score), score


def grouped(levels):
    correct, score = judge()
    return cal.selective(correct, score, by={"kind": (np.arange(2_000) % levels).astype(str)}, target_error=[0.05, 0.1])


CASES = {
    "one": lambda: cal.selective(*judge()),
    "nothing": lambda: cal.selective(*judge(50)),
    "one row": lambda: cal.selective([1], [0.5]),
    "groups and targets": lambda: grouped(3),
    "many groups": lambda: grouped(40),
    "both sides": lambda: cal.selective_binary(*judge(), target_error=(0.1, 0.5), missed=0.2),
}


@pytest.fixture(autouse=True)
def date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")


@pytest.mark.grid
@pytest.mark.parametrize("case", CASES)
def test_every_result_has_a_page(case):
    result = CASES[case]()
    text = result.to_html()
    page = Page(text)
    assert page.headings[0] == ("h1", "Which cases may be decided without review?")
    assert result.assumptions[0] in page.text
    assert "Nothing is claimed" in result.claim or result.claim in page.text
    assert 1 <= page.count("figure") <= 12
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"(?:src=|@import|url\(['\"]?http)", text)
    assert len(page.ids) == len(set(page.ids))
    assert not {"nan", "None", "inf"} & set(re.split(r"\W+", page.text))
    assert text == result.to_html()


@pytest.mark.grid
@pytest.mark.parametrize("case", CASES)
def test_markdown_has_the_same_headings(case):
    result = CASES[case]()
    headings = re.findall(r"^#+ (.*)$", result.to_markdown(), flags=re.MULTILINE)
    assert headings == [text for _, text in Page(result.to_html()).headings if text != "Risk and coverage"]


def test_the_text_is_on_the_page():
    result = cal.selective(*judge())
    page = Page(result.to_html())
    for line in result.lines():
        assert line in page.text
    assert ("h2", f"{100 * result.coverage:.1f}% may be decided without review") in page.headings


def test_both_sides_say_what_is_left():
    result = CASES["both sides"]()
    page = Page(result.to_html())
    for line in (*result.lines(), *result.yes.lines(), *result.no.lines()):
        assert line in page.text


@pytest.mark.slow
def test_all_groups_are_in_the_table():
    page = Page(grouped(40).to_html())
    assert all(f"kind = {level}" in page.text for level in range(40))


def test_warnings_are_on_the_page():
    correct, score = judge()
    assert "Warning: " in Page(cal.selective(correct, -score).to_html()).text


def test_names_from_outside_are_safe():
    correct, score = judge()
    result = cal.selective(correct, score, by={NASTY: np.arange(2_000) % 2})
    text = render_selective(result, "html", title=NASTY, note=NASTY, author=NASTY, command=NASTY)
    assert "<script>alert" not in text
    assert NASTY in Page(text).text
