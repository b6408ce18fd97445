"""What the site adds to docstrings, so that none has to repeat another, and to its search.

A result class gets the fields that its bases describe and the example of a function that returns it; a function gets
the names of the fields of what it returns, and names in backticks become links. Pages get the words of docs/goals.toml
as entries of the index, which the search knows. Nothing here needs Sphinx: docs/conf.py connects it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cache
from itertools import pairwise
from typing import Any

import goals
import public_names


@cache
def public() -> dict[str, tuple[str, Any]]:
    """Return every public object by its name, with the name of its page."""
    return {name: (".".join(filter(None, ("calibrant", at, name))), thing) for at, name, thing in public_names.public()}


def home(target: str) -> str | None:
    """Return the full name of what is public, such as ``certify`` or ``cal.Audit.to_html``; None of anything else."""
    parts = target.removesuffix("()").split(".")
    names = [i for i, part in enumerate(parts) if part in public()]
    return ".".join([public()[parts[names[0]]][0], *parts[names[0] + 1 :]]) if names else None


def enrich(thing: Any, lines: list[str]) -> None:
    """Add to the lines of the docstring of a class or a function."""
    if inspect.isclass(thing):
        known = described(lines)
        for base in [base for base in thing.__mro__[1:] if dataclasses.is_dataclass(thing)]:
            for names, text in described((inspect.getdoc(base) or "").splitlines()).items():
                if not {name for other in known for name in other} & set(names):
                    add(lines, "Attributes", text)
                    known[names] = text
        if "Examples" not in lines:
            add(lines, "Examples", example_of(thing))
    elif inspect.isfunction(thing):
        for cls in filter(is_result, returned(thing)):
            add(lines, "Returns", ["", f"    Fields of `{cls.__name__}`: ``{'``, ``'.join(fields(cls))}``."])
    lines[:] = [re.sub(r"(?<![\w/])docs/([\w/-]+)\.md", r":doc:`/\1`", line) for line in lines]


def fields(cls: type) -> list[str]:
    """Return the names of the public fields of a result."""
    return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]


def is_result(thing: Any) -> bool:
    """Return whether it is a class of results with fields."""
    return inspect.isclass(thing) and dataclasses.is_dataclass(thing) and hasattr(thing, "to_dict")


def described(lines: list[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the lines about each field, or about several that are described together."""
    start, end = _section(lines, "Attributes")
    about: dict[tuple[str, ...], list[str]] = {}
    for line in lines[start:end]:
        if line and not line.startswith(" "):
            text = about[tuple(re.split(r",\s*", line.partition(" : ")[0]))] = []
        if line:
            text.append(line)
    return about


def example_of(cls: type) -> list[str]:
    """Return the example of what makes a result, or of a class of its kind or with it as a field, and say which."""
    for name, (_, thing) in public().items():
        if inspect.isfunction(thing) and cls in returned(thing) and (example := _example(thing)):
            return [f"From `{name}`:", "", *example]
    if cls.__base__ and (example := _example(cls.__base__)):
        return [f"As `{cls.__base__.__name__}`:", "", *example]
    for name, (_, thing) in public().items():
        types = " ".join(str(field.type) for field in dataclasses.fields(thing)) if is_result(thing) else ""
        is_field = thing is not cls and cls.__name__ in _words(types)
        if is_field or (inspect.isclass(thing) and cls in thing.__mro__[1:]):
            example = _example(thing) or example_of(thing)
            return [f"{'As a field of' if is_field else 'As'} `{name}`:", "", *example] if example else []
    return []


def returned(function: Any) -> list[type]:
    """Return the public classes that a function returns: by its type, or where that says nothing by its docstring."""
    words = _words(str(function.__annotations__.get("return", "")))
    if "Any" in words:
        words = _words((inspect.getdoc(function) or "").partition("Returns\n-------\n")[2].partition("\n")[0])
    return [thing for name, (_, thing) in public().items() if name in words and inspect.isclass(thing)]


def index_words() -> dict[str, list[tuple[str, str]]]:
    """Return words of the index by page, each with the part of the page: of the guide, and of the functions it uses."""
    words: dict[str, list[tuple[str, str]]] = {}
    for goal in goals.LIST["goal"]:
        page, _, anchor = re.sub(r"\.(md|rst)", "", goal["page"]).partition("#")
        functions = [name for name in re.findall(r"`(?:\w+\.)*(\w+)", goal["with"]) if name in public()]
        for word in goal["words"]:
            words.setdefault(page, []).append((word, anchor))
            parts = [part for part in re.findall(r"\w{3,}", word.lower()) if part != "calibration"]
            named = [name for name in functions if any(part in name.lower() for part in parts)]
            for name in named or functions:
                path = public()[name][0]
                words.setdefault(f"reference/api/names/{path}", []).append((word, path))
    return words


def add(lines: list[str], section: str, new: list[str]) -> None:
    """Add lines to a section of a docstring, which is made if need be."""
    if new and section not in lines:
        lines += ["", section, "-" * len(section)]
    end = _section(lines, section)[1]
    while not lines[end - 1]:
        end -= 1
    lines[end:end] = new


def _section(lines: list[str], name: str) -> tuple[int, int]:
    """Return where the lines of a section begin and end."""
    heads = [i for i, line in enumerate(lines[1:]) if re.fullmatch("-{3,}", line)]
    for head, after in pairwise([*heads, len(lines)]):
        if lines[head] == name:
            return head + 2, after
    return 0, 0


def _example(thing: Any) -> list[str]:
    lines = (inspect.getdoc(thing) or "").splitlines()
    start, end = _section(lines, "Examples")
    return lines[start:end]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
