"""Documents that cannot lie: their examples run, their links lead somewhere, every command and name is described."""

import doctest
import re
from pathlib import Path

import pytest

from calibrant.certificates.widths import default_width

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
    assert blocks[1].strip().endswith("-m pytest -n auto")


def test_changelog_names_every_command():
    from typer.main import get_command

    from calibrant.cli.main import app

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name, command in get_command(app).commands.items():
        assert f"calibrant {name}" in text, name
        assert command.help, name


@pytest.mark.slow
def test_tables_are_those_the_script_writes():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert (ROOT / "docs" / "widths.md").read_text(encoding="utf-8").startswith(script["page"]())


def test_the_default_is_nowhere_much_wider_than_it_was():
    """Against the single rate of version 0.1; where both say nothing they count as 1."""
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    for delta in script["DELTAS"]:
        for brier in script["BRIERS"]:
            for n in script["SPREAD"]:
                new, old = default_width(n, brier, delta), script["old_width"](n, brier, delta)
                assert min(1.0, new) <= 1.05 * min(1.0, old), (n, brier, delta)


@pytest.mark.slow
def test_table_of_failures_is_what_the_script_counts():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert (ROOT / "docs" / "widths.md").read_text(encoding="utf-8").endswith(script["worst_failures"]())
