"""Write the pages in docs/reproductions and docs/explanation/papers.md from the stored results and the texts."""

from __future__ import annotations

import pandas as pd

from reproductions.catalogue import ITEMS
from reproductions.coverage import covered
from reproductions.item import HERE
from reproductions.judge import KINDS
from reproductions.view import View, environment

__all__ = ["DOCS", "render", "write_pages"]

DOCS = HERE.parent / "docs"
_PAPERS = {"gao2017": "Gao, Parameswaran & Peng (2017)", "fernandes_machado2024": "Fernandes Machado et al. (2024)"}


def write_pages() -> None:
    """Write the pages and their tables anew; those whose item is gone go too."""
    pages = render()
    folder = DOCS / "reproductions"
    for path in (*folder.glob("*.md"), *folder.glob("tables/*.csv")):
        if path.relative_to(DOCS).as_posix() not in pages:
            path.unlink()
    for name, text in pages.items():
        (DOCS / name).parent.mkdir(exist_ok=True, parents=True)
        (DOCS / name).write_text(text, encoding="utf-8")


def render() -> dict[str, str]:
    """Return the pages, and the tables beside them, by the names of their files, seen from docs."""
    views = {item.name: View(item) for item in ITEMS}
    templates = environment()
    page = templates.get_template("page.md").render(
        items=ITEMS,
        views=views,
        kinds=KINDS,
        coverage=covered(views),
        sources=pd.read_csv(HERE / "sources.csv").to_dict("records"),
    )
    summary = templates.get_template("summary.md").render(of=views)
    pages = {"reproductions/index.md": page, "explanation/papers.md": summary}
    for item in ITEMS:
        text = views[item.name].text()
        pages[f"reproductions/{item.name}.md"] = templates.get_template("item.md").render(
            item=item, paper=_PAPERS[item.paper], text=text
        )
        table = f"tables/{item.name}.csv"
        if f"({table})" in text:
            pages[f"reproductions/{table}"] = views[item.name].all_numbers()
    return {name: text.rstrip() + "\n" for name, text in pages.items()}
