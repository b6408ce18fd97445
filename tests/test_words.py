"""The source speaks of statistics in the words of its textbooks: coinages that were replaced do not come back."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

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


def offenders(pattern, folder=SOURCE):
    """Lines of source files and templates, comments and docstrings alike, in which a pattern occurs as a word."""
    old = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", re.IGNORECASE)
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".j2"))
    return [
        f"{path.relative_to(folder)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if old.search(line)
    ]


@pytest.mark.parametrize("pattern", OLD_WORDS)
def test_old_words_are_gone(pattern):
    found = offenders(pattern)
    assert not found, "\n" + "\n".join(found)


def test_an_old_word_is_found(tmp_path):
    (tmp_path / "a.py").write_text('x = 1\n"""What the scores promise."""  # dealt\n')
    assert offenders("promise", tmp_path) == ['a.py:2: """What the scores promise."""  # dealt']
    assert not offenders("deal", tmp_path)
