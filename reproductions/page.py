"""Write docs/reproductions.md and docs/papers.md from the stored results and the texts of the items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import jinja2

from reproductions.catalogue import ITEMS
from reproductions.item import HERE, Item
from reproductions.judge import Comparison, compare, family_limit
from reproductions.store import numbers_of, tables_of, theirs_of, times

__all__ = ["DOCS", "render", "write_pages"]

DOCS = HERE.parent / "docs"


def write_pages() -> None:
    """Write the pages anew."""
    for name, text in render().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def render() -> dict[str, str]:
    """Return the pages by the names of their files."""
    views = {item.name: View(item) for item in ITEMS}
    environment = _environment(HERE)
    spent = times()
    page = environment.get_template("page.md").render(
        items=ITEMS,
        views=views,
        seconds=dict(zip(spent["item"], spent["seconds"], strict=True)),
        python=spent["python"].iloc[0],
    )
    summary = environment.get_template("summary.md").render(of=views)
    return {"reproductions.md": page.rstrip() + "\n", "papers.md": summary.rstrip() + "\n"}


def _environment(folder: Path) -> jinja2.Environment:
    # The page is Markdown for people, not HTML for browsers: nothing is to be escaped.
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


class View:
    """What the text of an item can name."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self._ours = numbers_of(item)
        self.comparisons = compare(theirs_of(item), self._ours)

    def text(self) -> str:
        """Return the text of the item with its figures filled in."""
        template = _environment(self.item.folder).get_template(f"{self.item.name}.md")
        return template.render(
            ours=self.ours,
            error=self.error,
            theirs=self.theirs,
            z=self.z,
            beside=self.beside,
            verdict=self.verdict,
            figure=self.figure,
            table=self.table,
        ).strip()

    def ours(self, quantity: str, format_: str = ".4f") -> str:
        """Return a measured value."""
        return f"{self._ours[quantity].value:{format_}}"

    def error(self, quantity: str, format_: str = ".1g") -> str:
        """Return its Monte Carlo standard error."""
        return f"{self._ours[quantity].standard_error:{format_}}"

    def theirs(self, quantity: str) -> str:
        """Return what was published."""
        return self._comparison(quantity).theirs

    def z(self, quantity: str) -> str:
        """Return the difference in standard errors."""
        return f"{self._comparison(quantity).z:+.1f}"

    def _comparison(self, quantity: str) -> Comparison:
        return next(c for c in self.comparisons if c.quantity == quantity)

    def beside(self, quantities: list[str] | None = None, format_: str = ".4f") -> str:
        """Return a table of published quantities, theirs beside ours."""
        chosen = self.comparisons if quantities is None else [self._comparison(q) for q in quantities]
        lines = ["| quantity | theirs | ours ± standard error | z | agree |", "|---|---|---|---|---|"]
        for c in chosen:
            ours = f"{c.ours.value:{format_}}"
            if c.ours.standard_error > 0.0:
                ours += f" ± {c.ours.standard_error:{format_}}"
            z = "" if math.isnan(c.z) else f"{c.z:+.1f}"
            lines.append(f"| {c.quantity} | {c.theirs} | {ours} | {z} | {'yes' if c.agrees else '**no**'} |")
        return "\n".join(lines)

    def verdict(self) -> str:
        """Return in one sentence how many of the published quantities agree."""
        if not self.comparisons:
            return "The paper prints no number here."
        measured = [c for c in self.comparisons if not math.isnan(c.z)]
        ranges = len(self.comparisons) - len(measured)
        agreeing = sum(c.agrees for c in self.comparisons)
        text = f"{agreeing} of {len(self.comparisons)} published quantities agree"
        if measured:
            beyond = sum(abs(c.z) > 1.96 for c in measured)
            largest, limit = max(abs(c.z) for c in measured), family_limit(len(measured))
            text += f"; the largest |z| is {largest:.1f} (chance allows {limit:.1f} among {len(measured)}), "
            text += f"and {beyond} exceed 1.96 ({0.05 * len(measured):.1f} expected)"
        return text + (f"; {ranges} of them are given as a range." if ranges else ".")

    def short(self) -> str:
        """Return the count alone, for an overview."""
        if not self.comparisons:
            return "no number printed"
        return f"{sum(c.agrees for c in self.comparisons)} of {len(self.comparisons)}"

    def figure(self, name: str, alt: str) -> str:
        """Return a picture."""
        path = self.item.folder / "figures" / f"{name}.png"
        if not path.exists():
            raise FileNotFoundError(f"{path}: draw it first, by python -m reproductions {self.item.name}")
        return f"![{alt}](../reproductions/{self.item.paper}/figures/{name}.png)"

    def table(self, name: str, columns: Mapping[str, str] | None = None, format_: str = ".4g") -> str:
        """Return a stored table; `columns` maps the columns to show to their headings."""
        found = tables_of(self.item)[name]
        shown = columns or {column: column for column in found.columns}
        lines = ["| " + " | ".join(shown.values()) + " |", "|" + "---|" * len(shown)]
        for row in found[list(shown)].to_dict("records"):
            cells = (f"{value:{format_}}" if isinstance(value, float) else str(value) for value in row.values())
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)
