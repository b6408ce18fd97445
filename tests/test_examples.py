"""The gallery: every example runs, is short and draws; and every public name occurs in a guide or an example."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
QUICK = ("plot_bins_mislead.py", "plot_rare_events.py")
GUIDES = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how_to").glob("*.md"))]
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - set(GUIDES))]


def name_of(path):
    return str(path.relative_to(ROOT / "examples"))


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_is_short_and_says_what_it_shows(example):
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    assert lines[0] == '"""'
    assert lines[2] == "=" * len(lines[1])
    assert lines.count("# %%") >= 2
    assert lines[-1] == "plt.show()"


@pytest.mark.parametrize(
    "example", [pytest.param(e, marks=() if e.name in QUICK else pytest.mark.slow, id=name_of(e)) for e in EXAMPLES]
)
def test_example_runs_and_draws(example, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    plt.close("all")
    try:
        runpy.run_path(str(example), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert 1 <= len(figures) <= 3
        for figure in figures:
            figure.canvas.draw()
    finally:
        plt.close("all")
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"


def test_there_are_enough_examples_and_each_folder_says_what_it_holds():
    assert len(EXAMPLES) >= 15
    assert all((example.parent / "GALLERY_HEADER.rst").exists() for example in EXAMPLES)


def words_in_code(page):
    """Words in the code of a page or example, and in code font in its text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".py":
        _, heading, rest = text.split('"""', 2)
        comments = "\n".join(line for line in rest.splitlines() if line.startswith("# "))
        code = [line for line in rest.splitlines() if not line.startswith("#")]
        code += re.findall(r"``(.+?)``", heading + comments)
    else:
        code = re.findall(r"^(?:```|:::)\{?.*?^(?:```|:::)", text, flags=re.DOTALL | re.MULTILINE)
        if page in GUIDES:
            code += re.findall(r"`([^`\n]+)`", text)
    return set(re.findall(r"\w+", "\n".join(code)))


def test_every_public_name_is_in_a_guide_or_an_example():
    public = {name for _, name, _ in runpy.run_path(str(ROOT / "docs" / "public_names.py"))["public"]()}
    shown = set().union(*map(words_in_code, [*EXAMPLES, *GUIDES, *PAGES]))
    assert not sorted(public - shown), "in no guide and no example"


def test_a_word_of_the_text_is_no_name(tmp_path):
    page, example = tmp_path / "page.md", tmp_path / "plot_a.py"
    page.write_text("A Decision, `a` b.\n```python\ncal.audit(y, p)\n```\nand draw\n")
    example.write_text('"""\nTitle ``Band``\n"""\n\n# %%\n# Plan, ``Curve``\nimport x\n')
    assert words_in_code(page) == {"python", "cal", "audit", "y", "p"}
    assert words_in_code(example) == {"Band", "Curve", "import", "x"}
