"""Source and documents use the words of textbooks of statistics: coinages that were replaced do not come back."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = (
    "src",
    "tests",
    "docs",
    "examples",
    "benchmarks",
    "reproductions",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
KINDS = (".py", ".j2", ".md", ".rst")

# What was written before, each as a regular expression without regard to case unless it says otherwise.
OLD_WORDS = (
    r"promis(?:e|es|ed|ing)", r"in[_ ]vain", r"spared", r"bothered", r"noise floor", r"(?:residual|redrawn) walks?",
    r"ResidualWalk\w*", r"(?-i:Resolution)",
    r"(?:acting|acts?) (?:from|on the scores|on every(?:one| row)|on no one)", r"(?:always|never) acting",
    r"acting (?:always|never)", r"on (?:its|their) own", r"(?<!power )(?<!Zipf's )laws?(?! of succession)",
    r"limit of many", r"across stands", r"upwards", r"flatter(?:s|ed)?", r"redr[ae]w(?:s|n|ing)?", r"stor(?:e)?ys?",
    r"lazy door", r"surprises?", r"deal(?:s|ing|ings)?", r"dealt", r"tall(?:y|ies|ied)", r"torn", r"play of chance",
    r"less than nothing", r"no one has looked", r"money", r"watcher", r"rooms?",
)  # fmt: skip


def pattern_of(words):
    """One expression that finds any of the words, standing alone."""
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(words)})(?![A-Za-z0-9])", re.IGNORECASE)


def offenders(words, *places):
    """Lines of texts, source files and templates, comments and docstrings alike, in which one of the words occurs."""
    old = pattern_of(words)
    files = (path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*"))))
    return [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{number}: {found[0]!r} in {line.strip()}"
        for path in files
        if path.suffix in KINDS and path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (found := old.search(line))
    ]


@pytest.mark.grid
@pytest.mark.parametrize("place", PLACES)
def test_old_words_are_gone(place):
    found = offenders(OLD_WORDS, ROOT / place)
    assert not found, "\n" + "\n".join(found)


def test_an_old_word_is_found(tmp_path):
    (tmp_path / "a.py").write_text('x = 1\n"""What the scores promise."""  # dealt\n')
    (tmp_path / "b.md").write_text("A power law, and the law.\n")
    assert offenders(OLD_WORDS, tmp_path) == [
        'a.py:2: \'promise\' in """What the scores promise."""  # dealt',
        "b.md:1: 'law' in A power law, and the law.",
    ]
    assert not offenders(["deal"], tmp_path)


# Names of variables that say nothing of what they hold.
EMPTY_NAMES = {"found", "held", "kept", "place", "wanted"}


def empty_names(root):
    nodes = [(path.name, node) for path in sorted(root.rglob("*.py")) for node in ast.walk(ast.parse(path.read_text()))]
    return [
        f"{name}:{node.lineno}: {node.id}"
        for name, node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in EMPTY_NAMES
    ]


@pytest.mark.slow
def test_variables_say_what_they_hold(tmp_path):
    assert not empty_names(ROOT / "src")
    (tmp_path / "a.py").write_text("found = 1\nfor place in (error.found,):\n    pass\n")
    assert empty_names(tmp_path) == ["a.py:1: found", "a.py:2: place"]


@pytest.mark.slow
def test_one_name_for_one_class():
    """Those of one file alone, which begin with an underscore, are left out."""
    files = sorted((ROOT / "src").rglob("*.py"))
    named = [node.name for path in files for node in ast.walk(ast.parse(path.read_text())) if is_class(node)]
    assert sorted(name for name, count in Counter(named).items() if count > 1) == []


def is_class(node):
    return isinstance(node, ast.ClassDef) and not node.name.startswith("_")
