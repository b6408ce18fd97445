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
            z_range=self.z_range,
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

    def z_range(self, *parts: str) -> str:
        """Return the least and greatest difference of quantities whose names hold all parts, the last at their end."""
        chosen = [c for c in self.comparisons if c.quantity.endswith(parts[-1])]
        found = [c.z for c in chosen if all(part in c.quantity for part in parts)]
        return f"{min(found):+.1f} to {max(found):+.1f}"

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
        """Return in a few words how many of the published numbers agree, by their kind."""
        if not self.comparisons:
            return "The paper prints no number here."
        parts = []
        measured = [abs(c.z) for c in self.comparisons if c.kind == "measured"]
        if measured:
            limit, beyond = family_limit(len(measured)), sum(z > 1.96 for z in measured)
            parts.append(
                f"{self.agreeing('measured')} measured numbers agree; the largest |z| is {max(measured):.1f} (chance "
                f"allows {limit:.1f} among {len(measured)}), and {beyond} exceed 1.96 "
                f"({0.05 * len(measured):.1f} expected)"
            )
        if self._of("exact"):
            parts.append(f"{self.agreeing('exact')} numbers without chance in them are equal in every printed digit")
        if self._of("range"):
            parts.append(f"{self.agreeing('range')} ranges are met")
        return ". ".join(parts) + "."

    def agreeing(self, kind: str) -> str:
        """Return how many published numbers of a kind agree, and of how many."""
        return f"{sum(c.agrees for c in self._of(kind))} of {len(self._of(kind))}"

    def _of(self, kind: str) -> list[Comparison]:
        return [c for c in self.comparisons if c.kind == kind]

    def short(self, *kinds: str) -> str:
        """Return the counts of these kinds alone, for an overview; empty if there are none."""
        return "; ".join(
            f"{self.agreeing(kind)}" + (" ranges" if kind == "range" else "") for kind in kinds if self._of(kind)
        )

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
