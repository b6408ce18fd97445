"""Documents that cannot lie: their examples run, their links lead somewhere, every command and name is described."""

import doctest
import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

from calibrant.certificates.widths import default_width

ROOT = Path(__file__).resolve().parents[1]
# Written when the site is built.
BUILT = {ROOT / "docs" / name for name in ("_build", "gallery", "reference/api", "reference/command_line.md")}


def is_built(path):
    return not BUILT.isdisjoint({path, *path.parents})


PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not is_built(page)),
]


PUBLIC = runpy.run_path(str(ROOT / "docs" / "public_names.py"))

# Public names without an example on their page, and why.
NO_EXAMPLE = {
    "Model": "what a ComparisonDisplay is made of; its example makes them",
    "figure_svg": "its result is a page long",
    "render": "Audit.to_html and `calibrant audit --report`; its result is a page",
    "check_report": "checks a name for `calibrant audit --report`",
    "write_report": "Audit.to_html writes a file by it",
    "REFERENCES": "a dict; cite and bibtex have examples",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page):
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not failed


@pytest.mark.slow
def test_the_guide_of_classes_runs(tmp_path, monkeypatch):
    """The site's build runs all guides; this one, as it follows from several parts, here too."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "how_to" / "calibrate_ten_classes.md").read_text(encoding="utf-8")
    cells = re.findall(
        r"^```\{code-cell\} ipython3\n(?::tags:[^\n]*\n)?(.*?)^```", text, flags=re.DOTALL | re.MULTILINE
    )
    assert len(cells) > 8
    known = {}
    for cell in cells:
        exec(cell, known)
    plt.close("all")


def test_links_lead_somewhere():
    """To files; the site's build knows anchors, and what is written when it runs."""
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not is_built(path := (page.parent / target).resolve()) and not path.exists()
    ]
    assert not broken, "\n".join(broken)


def test_files_of_the_layout_are_there():
    """Those that docs/explanation/design.md names; NAME stands for a new one."""
    text = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    places = [name for name in re.findall(r"`([\w./]+/[\w./]*)`", text) if "NAME" not in name]
    assert len(places) > 40
    missing = [name for name in places if not any((root / name).exists() for root in (ROOT, ROOT / "src/calibrant"))]
    assert not missing


def test_pages_are_short():
    """What is looked up may be long: reference, reproductions, proofs with their counts, and what changed."""
    words = {
        str(page.relative_to(ROOT)): len(re.findall(r"\S*[^\W\d_]\S*", page.read_text(encoding="utf-8")))
        for page in PAGES
        if not {"reference", "reproductions", "theory", "CHANGELOG.md"} & set(page.parts)
    }
    assert not {page: count for page, count in words.items() if count > 2_500}


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
    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert (ROOT / "docs" / "explanation" / "widths.md").read_text(encoding="utf-8").startswith(script["page"]())


def test_the_default_is_nowhere_much_wider_than_it_was():
    """Against the single rate of version 0.1; where both say nothing they count as 1."""
    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    for delta in script["DELTAS"]:
        for brier in script["BRIERS"]:
            for n in script["SPREAD"]:
                new, old = default_width(n, brier, delta), script["old_width"](n, brier, delta)
                assert min(1.0, new) <= 1.05 * min(1.0, old), (n, brier, delta)


@pytest.mark.slow
def test_table_of_failures_is_what_the_script_counts():
    script = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert (
        (ROOT / "docs" / "explanation" / "widths.md").read_text(encoding="utf-8").endswith(script["worst_failures"]())
    )


def test_every_module_is_in_the_reference():
    index = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^api/(\S+)$", index, flags=re.MULTILINE))
    assert listed == {name or "calibrant" for name in PUBLIC["modules"]()}


@pytest.fixture
def enrich(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("enrich")


def on_page(enrich, thing):
    """Lines of the docstring as its page has them."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    enrich.enrich(thing, lines)
    return lines


def test_every_public_name_has_an_example(enrich):
    """Of its own, or that of a function that makes it."""
    without = {
        name
        for name, (_, thing) in enrich.public().items()
        if not any(">>>" in line for line in on_page(enrich, thing))
    }
    assert not without - NO_EXAMPLE.keys()
    assert not NO_EXAMPLE.keys() - without, "these have an example now, or are gone"


@pytest.mark.slow
def test_every_result_describes_its_fields(enrich):
    missing = [
        f"{name}.{field}"
        for name, (_, thing) in enrich.public().items()
        if enrich.is_result(thing)
        for field in enrich.fields(thing)
        if not any(field in names for names in enrich.described(on_page(enrich, thing)))
    ]
    assert not missing


def test_names_of_the_reference_are_looked_up(enrich):
    assert enrich.home("certify") == enrich.home("calibrant.certify") == "calibrant.certificates.certify"
    assert enrich.home("Audit.to_html") == "calibrant.Audit.to_html"
    assert enrich.home("confidence_level") is None


def test_pages_have_the_goals_of_the_list(enrich):
    """`python docs/goals.py` writes them; every goal leads to a page, and the search knows it by words of its own."""
    for path, text in enrich.goals.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run python docs/goals.py"
    assert all(goal["words"] for goal in enrich.goals.LIST["goal"])
    pages = [page for page in enrich.index_words() if not page.startswith("reference/api/")]
    files = [ROOT / "docs" / f"{page}.md" for page in pages if not page.startswith("gallery/")]
    files += [ROOT / f"{page.replace('gallery', 'examples', 1)}.py" for page in pages if page.startswith("gallery/")]
    assert not [file for file in files if not file.exists()]


def test_every_public_method_has_a_docstring():
    bare = [
        f"{name}.{method}"
        for _, name, thing in PUBLIC["public"]()
        if inspect.isclass(thing)
        for method in PUBLIC["public_methods"](thing)
        if not inspect.getdoc(getattr(thing, method))
    ]
    assert not bare


def exists(name):
    """Whether a dotted name can be imported and looked up, part after part."""
    package, *parts = name.split(".")
    found = importlib.import_module(package)
    path = package
    for part in parts:
        path += f".{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


def dotted_names(text):
    """Names that start with ``calibrant.`` in code font or code blocks; `cal` is what examples call the package."""
    code = re.findall(r"```.*?```", text, flags=re.DOTALL)
    code += re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = {name for part in code for name in re.findall(r"(?<![\w./-])(?:calibrant|cal)(?:\.[A-Za-z_]\w*)+", part)}
    return {re.sub(r"^cal\.", "calibrant.", name) for name in found}


def test_names_in_the_documents_exist():
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for name in sorted(dotted_names(page.read_text(encoding="utf-8")))
        if not exists(name)
    ]
    assert not missing, "\n".join(missing)


def test_a_name_that_does_not_exist_is_found():
    names = dotted_names(
        "`cal.audit(y, p)`, calibrant.prose, `calibrant.metrics.nothing`\n```sh\ncalibrant.core.x\n```"
    )
    assert names == {"calibrant.audit", "calibrant.metrics.nothing", "calibrant.core.x"}
    assert [name for name in sorted(names) if exists(name)] == ["calibrant.audit"]
