"""Documents that cannot lie: their examples run, their links lead somewhere, every command and name is described."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_run(page):
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not failed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_readme_has_its_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "calibrant demo" in blocks[0]
    assert blocks[1].strip().endswith("-m pytest")


def test_changelog_names_every_command():
    from typer.main import get_command

    from calibrant.cli import app

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name, command in get_command(app).commands.items():
        assert f"calibrant {name}" in text, name
        assert command.help, name


def test_tables_are_those_the_script_writes():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert (ROOT / "docs" / "widths.md").read_text(encoding="utf-8") == script["page"]()


# Theory page B4, delta .05, Brier score .15: rows of its tables as they stand there.
TABLE_B4 = (
    "as printed, complexity by Massart's lemma | 0.5255 | 0.1828 | 0.0624 | 0.0211 | 21.1",
    "as its proof gives it, complexity by its limit | 0.3600 | 0.1139 | 0.0360 | 0.0114 | 11.4",
    "as printed, complexity by its limit | 0.2808 | 0.0888 | 0.0281 | 0.0089 | 8.88",
    "in one step, complexity by its limit | 0.2444 | 0.0773 | 0.0244 | 0.0077 | 7.73",
    "all monotone maps at once (after recalibration) | 0.0911 | 0.0288 | 0.0091 | 0.0029 | 2.88",
    "Hoeffding | 0.0774 | 0.0245 | 0.0077 | 0.0024 | 2.45",
    "empirical Bernstein (default) | 0.0322 | 0.0097 | 0.0030 | 0.00096 | 0.956",
    "two-sided, in the limit | 0.0306 | 0.0097 | 0.0031 | 0.00097 | 0.967",
    "normal, in the limit | 0.0231 | 0.0067 | 0.0020 | 0.00064",
    "as printed, complexity by Massart's lemma | 36,566 | 160,286 | 1,114,158 | 4,788,205 |",
    "as its proof gives it, complexity by its limit | 12,963 | 51,849 | 324,056 | 1,296,223 |",
    "as printed, complexity by its limit | 7,883 | 31,532 | 197,072 | 788,287 |",
    "all monotone maps at once (after recalibration) | 830 | 3,318 | 20,736 | 82,944 |",
    "Hoeffding | 600 | 2,397 | 14,979 | 59,915 |",
    "empirical Bernstein (default) | 131 | 443 | 2,474 | 9,499 |",
    "two-sided, in the limit | 94 | 375 | 2,340 | 9,358 |",
    "as printed, complexity by its limit | 9,298 | 37,170 | 232,232 | 928,827 |",
    "empirical Bernstein (default) | 358 | 1,302 | 7,654 | 29,969 |",
)


@pytest.mark.parametrize("row", TABLE_B4)
def test_tables_have_the_digits_of_theory_b4(row):
    assert row in (ROOT / "docs" / "widths.md").read_text(encoding="utf-8")
