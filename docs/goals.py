"""One list of goals, docs/goals.toml, and what README, front page and the index of guides make of it.

Run from anywhere after a change of the list: ``python docs/goals.py``. A test says when that was forgotten.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
LIST = tomllib.loads((DOCS / "goals.toml").read_text(encoding="utf-8"))


def link(text: str, page: str, start: str) -> str:
    """Return a link to a page below docs, from a page in ``start`` below docs or from README ("..")."""
    if start == ".." and page.startswith("gallery/"):
        page = page.replace("gallery/", "examples/").replace(".rst", ".py")
    elif start == "..":
        page = f"docs/{page}"
    elif start:
        page = page.removeprefix(f"{start}/") if page.startswith(f"{start}/") else f"../{page}"
    return f"[{text}]({page})"


def table(start: str, goals: list[dict[str, Any]] | None = None) -> str:
    """Return the table of goals, by default of all."""
    rows = [f"| {link(goal['want'], goal['page'], start)} | {goal['with']} |" for goal in goals or LIST["goal"]]
    return "\n".join(["| I want to | with |", "|---|---|", *rows])


def doors(start: str) -> str:
    """Return a line for each kind of reader, whose questions are links."""
    return "\n".join(
        f"- **{door['who']}:** " + " ".join(link(*question, start) for question in door["asks"])
        for door in LIST["door"]
    )


def cards(start: str) -> str:
    """Return the doors as cards of the site."""
    lines = ["::::{grid} 1 2 4 4", ":gutter: 2", ""]
    for door in LIST["door"]:
        questions = "\n\n".join(link(*question, start) for question in door["asks"])
        lines += [f":::{{grid-item-card}} {door['who']}", questions, ":::"]
    return "\n".join([*lines, "::::"])


def guides(start: str) -> str:
    """Return the goals of the guides under their headings, and the menu of the site."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for goal in LIST["goal"]:
        if "group" in goal:
            groups.setdefault(goal["group"], []).append(goal)
    lines = []
    for group, goals in groups.items():
        lines += [f"## {group}", "", table(start, goals), ""]
    for group, goals in groups.items():
        names = [goal["page"].removeprefix(f"{start}/").removesuffix(".md") for goal in goals]
        lines += ["```{toctree}", ":hidden:", f":caption: {group}", "", *names, "```", ""]
    return "\n".join(lines[:-1])


# File -> its folder as seen from docs, and what is written between marks of that name.
PARTS: dict[str, tuple[str, dict[str, Callable[[str], str]]]] = {
    "../README.md": ("..", {"doors": doors, "goals": table}),
    "index.md": ("", {"doors": cards, "goals": table}),
    "how_to/index.md": ("how_to", {"goals": guides}),
}


def pages() -> dict[Path, str]:
    """Return the pages as they should be."""
    made = {}
    for name, (start, parts) in PARTS.items():
        path = DOCS / name
        text = path.read_text(encoding="utf-8")
        for part, write in parts.items():
            begin, end = f"<!-- {part}: written by docs/goals.py -->\n", "\n<!-- end -->"
            before, mark, rest = text.partition(begin)
            assert mark, f"{path}: expected the line {begin}"
            text = before + begin + "\n" + write(start) + "\n" + end + rest.partition(end)[2]
        made[path] = text
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
