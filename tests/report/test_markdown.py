"""One list of facts: what a terminal, a page, a notebook and Markdown say of a result cannot differ."""

import re
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.auditing.facts import DETAILS, audit_facts
from calibrant.cli.main import app
from calibrant.errors import ArgumentError
from calibrant.report import models
from calibrant.table.results import Fact
from support.html_page import NASTY, Page
from support.tables import segments_of

pytestmark = pytest.mark.slow  # the audits take ten seconds

# A number as it is written: with its sign, digits in groups, an exponent or a percent sign.
NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?")


def numbers(text):
    return {found.rstrip(",") for found in NUMBER.findall(text)}


def unescaped(markdown):
    return re.sub(r"\\([\\`*_\[\]|~#])", r"\1", markdown).replace("&lt;", "<").replace("&amp;", "&")


def rows(n, seed=3, power=1.3):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**power, p


@pytest.fixture(scope="module")
def audits():
    y, p = rows(1_000)
    columns = {"sex": np.arange(1_000) % 2, NASTY: np.arange(1_000) % 3}
    return {
        "costs and segments": cal.audit(y, p, tolerance=0.02, costs=(1, 4), by=columns, name=NASTY),
        "clusters": cal.audit(y, p, cluster=np.arange(1_000) // 10, tolerance=0.3),
        "weights": cal.audit(y, p, weight=np.linspace(0.5, 1.5, 1_000)),
        "target": cal.audit(y, p, target_error=(0.2, 0.1)),
        "infinite log loss": cal.audit([0, 1, 1, 0], [0.0, 0.0, 1.0, 0.3]),
    }


# Sentences in place of which pages have tables, or the advice with its steps.
ONLY_IN_TEXT = ("accuracy", "effect", "conclusion", "origin")
CASES = ["costs and segments", "clusters", "weights"]
CASES += ["target", "infinite log loss"]


@pytest.mark.parametrize("case", CASES)
def test_all_forms_of_an_audit_show_the_same_facts(audits, case):
    audit = audits[case]
    page, markdown = Page(audit.to_html()).text, " ".join(unescaped(audit.to_markdown()).split())
    terminal = " ".join(f"{audit}\n{audit.details()}".split())
    notebook = Page(audit._repr_html_().replace("<br>", "")).text
    for fact in audit_facts(audit):
        for text in (fact.value, fact.ends):
            told = " ".join(text.split())
            if fact.rank is not None and fact.key != "command":
                assert told in notebook
            if fact.rank is not None and fact.key == "python":
                assert told in terminal
            if fact.section in ("calibration", "data", "clusters", "effect"):
                assert told in terminal
            if fact.section not in ONLY_IN_TEXT and fact.key not in (
                "verdict",
                "where",
            ):
                assert told in page
                assert told in markdown


@pytest.mark.parametrize("case", CASES)
def test_every_number_of_the_terminal_is_in_the_page_and_in_markdown(audits, case):
    audit = audits[case]
    said = numbers(f"{audit}\n{audit.details()}")
    assert len(said) > 20
    for form in (Page(audit.to_html()).text, unescaped(audit.to_markdown())):
        assert [number for number in said if number not in form] == []


def test_details_are_facts_of_their_sections(audits):
    labels = [fact.label[:19].strip() for fact in audit_facts(audits["clusters"]) if fact.section in DETAILS]
    lines = [line for line in audits["clusters"].details().splitlines() if re.match(r"[A-Z]", line)][1:]
    assert [line[:19].strip() for line in lines if not line.startswith("Warning")] == labels


def test_words_of_the_user_are_only_words(audits):
    text = audits["costs and segments"].to_markdown()
    assert "<script" not in text
    assert text.startswith("# Calibration audit: &lt;script>alert(1)&lt;/script> & ")
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 5
    for table in tables:
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


def test_headings_are_those_of_the_page(audits):
    audit = audits["infinite log loss"]
    of_page = [words for tag, words in Page(audit.to_html()).headings if words != "Reliability diagram"]
    assert re.findall(r"^#+ (.*)$", audit.to_markdown(), re.MULTILINE) == of_page


def test_file_is_the_text(audits, tmp_path):
    path = tmp_path / "audit.md"
    text = audits["infinite log loss"].to_markdown(path)
    assert path.read_text(encoding="utf-8") == text
    for method, name, expected in (
        ("to_markdown", "a.html", r"\.md"),
        ("to_markdown", "a.htm", r"\.md"),
        ("to_html", "a.md", r"\.html or \.pdf"),
    ):
        with pytest.raises(ArgumentError, match=expected):
            getattr(audits["infinite log loss"], method)(tmp_path / name)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def others():
    y, p = rows(1_000)
    alarmed = cal.Monitor(tolerance=0.01)
    alarmed.update(y, p**0.5)
    return {
        "segments": segments_of(y, p, by={"sex": np.arange(1_000) % 2, NASTY: y % 2}, tolerance=0.05),
        "comparison": cal.compare(y, {"old": p, NASTY: p**1.3}, costs=(1, 4)),
        "three models": cal.compare(y, {"a": p, "b": p**1.3, "c": p**0.7}),
        "monitor": alarmed,
        "empty monitor": cal.Monitor(odds_tolerance=1.2, mode="rate"),
    }


@pytest.mark.parametrize("case", ["segments", "comparison", "three models", "monitor", "empty monitor"])
def test_other_results_say_the_same_in_all_forms(others, case):
    result = others[case]
    text = unescaped(result.to_markdown())
    page = Page(result.to_html())
    assert "<script" not in result.to_markdown()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [words for _, words in page.headings if words != "Evidence and bias"]
    terminal = str(getattr(result, "state", result))
    assert [number for number in numbers(terminal) if number not in page.text or number not in text] == []
    notebook = result._repr_html_() if hasattr(result, "_repr_html_") else ""
    for label, value in re.findall(r"<tr><th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td></tr>", notebook):
        assert [number for number in numbers(unescape(value)) if number not in text] == [], label


def test_a_further_fact_of_a_comparison_reaches_its_page(others, monkeypatch):
    """Wherever it stands in the list, beside the sentence about the rows."""
    comparison = others["comparison"]
    facts = list(models.comparison_facts(comparison))
    further = Fact("further", "Further", "This is new", section="headline")
    for listed in ([further, *facts], [*facts, further]):
        monkeypatch.setattr(models, "comparison_facts", lambda _, listed=listed: listed)
        for text in (Page(comparison.to_html()).text, unescaped(comparison.to_markdown())):
            assert "This is new." in text
            assert next(fact.value for fact in facts if fact.key == "data") in text


def test_the_ending_of_the_report_decides(tmp_path):
    y, p = rows(500)
    path = tmp_path / "scores.csv"
    path.write_text("y,p,q\n" + "".join(f"{int(a)},{b},{b * b}\n" for a, b in zip(y, p, strict=True)))
    for name, arguments in {
        "audit": ["--prediction", "p"],
        "compare": ["--prediction", "p", "--prediction", "q"],
        "monitor": ["--prediction", "p", "--tolerance", "0.1", "--state", str(tmp_path / "state.json")],
    }.items():
        report = tmp_path / f"{name}.md"
        done = CliRunner().invoke(app, [name, str(path), "--outcome", "y", *arguments, "--report", str(report)])
        assert done.exit_code == 0, done.output
        assert report.read_text(encoding="utf-8").startswith("# C")
        assert "<svg" not in report.read_text(encoding="utf-8")
