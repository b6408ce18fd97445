"""What the text of an item can name: measured and published numbers, verdicts, tables and pictures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import jinja2
import pandas as pd

from reproductions.item import HERE, Item
from reproductions.judge import KINDS, LEAST, Comparison, compare, joint_tests, scaled
from reproductions.store import numbers_of, tables_of, theirs_of

__all__ = ["View", "environment"]


def environment() -> jinja2.Environment:
    """Return how texts are filled in: as Markdown for people, not HTML for browsers, so nothing is escaped."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


class View:
    """What the text of an item can name; its words of judgement are computed here."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self._theirs = theirs_of(item)
        self._ours = numbers_of(item)
        self.comparisons = compare(self._theirs, self._ours)
        self.joint = joint_tests(self.comparisons)

    def text(self) -> str:
        """Return the text of the item with its figures filled in."""
        names = ("ours", "number", "error", "theirs", "z", "z_range", "beside", "verdict", "holds", "figure", "table")
        names += ("by_metric", "download", "agreeing")
        template = environment().get_template(f"{self.item.paper}/{self.item.name}.md")
        return template.render({name: getattr(self, name) for name in names}).strip()

    def number(self, quantity: str) -> float:
        """Return a measured value."""
        return self._ours[quantity].value

    def ours(self, quantity: str, format_: str = ".4f") -> str:
        """Return a measured value as text."""
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
        chosen = [c for c in self.comparisons if c.quantity.endswith(parts[-1]) and not math.isnan(c.z)]
        found = [c.z for c in chosen if all(part in c.quantity for part in parts)]
        return f"{min(found):+.1f} to {max(found):+.1f}"

    def _comparison(self, quantity: str) -> Comparison:
        return next(c for c in self.comparisons if c.quantity == quantity)

    def holds(self, *quantities: str, yes: str = "holds", no: str = "does not hold") -> str:
        """Return in words whether what was stated of all these quantities is what was measured."""
        wrong = [c for c in map(self._comparison, quantities) if not c.agrees]
        if not wrong:
            return yes
        found = "; ".join(f"{c.quantity}: {c.ours.value:.3g}, stated {c.theirs}" for c in wrong)
        return f"{no} ({found})"

    def beside(self, quantities: list[str] | None = None, format_: str = ".4f") -> str:
        """Return a table of published quantities, theirs beside ours."""
        chosen = self.comparisons if quantities is None else [self._comparison(q) for q in quantities]
        lines = ["| quantity | theirs | ours ± standard error | z | agree | flagged from | judged |", "|" + "---|" * 7]
        for c in chosen:
            ours = f"{c.ours.value:{format_}}"
            if c.ours.standard_error > 0.0:
                ours += f" ± {c.ours.standard_error:{format_}}"
            z = "" if math.isnan(c.z) else f"{c.z:+.1f}"
            smallest = "" if math.isinf(c.smallest) else f"{c.smallest:.1%}" if c.smallest < 1.0 else "more than 100%"
            judged = c.kind + (", repeated" if c.repeats else "")
            cells = (c.quantity, c.theirs, ours, z, "yes" if c.agrees else "**no**", smallest, judged)
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def verdict(self) -> str:
        """Return in a few words how many of the published numbers agree, by the kind of judgement."""
        if not self.comparisons:
            return "The source prints no number here."
        parts = []
        for kind, words in KINDS.items():
            found = self._of(kind)
            if not found:
                continue
            part = f"{self.agreeing(kind)} agree ({words})"
            if kind in ("chance", "samples"):
                beyond = sum(abs(c.z) > 1.96 for c in found)
                part += f"; the largest |z| is {max(abs(c.z) for c in found):.1f}, and {beyond} exceed 1.96 "
                part += f"({0.05 * len(found):.1f} expected)"
            known = sorted(c.smallest for c in found if math.isfinite(c.smallest))
            if known and kind != "range":
                part += f"; a relative difference of {known[len(known) // 2]:.1%} would have been flagged (median"
                part += f", from {known[0]:.1%} to {'more than 100%' if known[-1] > 1.0 else f'{known[-1]:.1%}'})"
            parts.append(part)
        wrong = [j for j in self.joint if not j.agrees]
        if wrong:
            named = ", ".join(f"{j.metric} ({j.mean_z:+.1f}, {j.above} of {j.n} larger than printed)" for j in wrong)
            parts.append(f"All together, these metrics differ by more than chance explains (mean z): {named}")
        elif self.joint:
            worst = max(self.joint, key=lambda j: abs(j.mean_z) / j.limit)
            parts.append(
                f"Metric by metric, no mean z is beyond what chance explains ({worst.metric}: {worst.mean_z:+.2f}, "
                f"{worst.above} of {worst.n} larger than printed, limit {worst.limit:.2f})"
            )
        return ". ".join(parts) + "."

    def by_metric(self) -> str:
        """Return a table of how many numbers of each metric agree, by the kind of judgement, with the joint tests."""
        names = dict.fromkeys(_metric(c) for c in self.comparisons if not c.repeats)
        kinds = [kind for kind in KINDS if self._of(kind)]
        joint = {j.metric: j for j in self.joint}
        lines = ["| metric | " + " | ".join(kinds) + " | mean z | larger than printed | limit |"]
        lines.append("|" + "---|" * (len(kinds) + 4))
        for name in names:
            if sum(_metric(c) == name for c in self.comparisons) < LEAST:
                continue
            cells = [name]
            for kind in kinds:
                found = [c for c in self._of(kind) if _metric(c) == name]
                cells.append(f"{sum(c.agrees for c in found)} of {len(found)}" if found else "")
            j = joint.get(name)
            cells += [f"{j.mean_z:+.2f}", f"{j.above} of {j.n}", f"{j.limit:.2f}"] if j else ["", "", ""]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def download(self) -> str:
        """Return a sentence with a link to the file that `all_numbers` fills."""
        link = f"[All {len(self.comparisons):,} published numbers beside ours](tables/{self.item.name}.csv)"
        return f"{link} are a table of comma-separated values, each with its verdict (column `agree`)."

    def all_numbers(self) -> str:
        """Return all published numbers beside ours as comma-separated values."""
        columns = ("quantity", "theirs", "ours", "standard_error", "z", "agree", "flagged_from", "judged")
        rows = [
            (
                c.quantity,
                c.theirs,
                f"{c.ours.value:.6g}",
                f"{c.ours.standard_error:.2g}",
                "" if math.isnan(c.z) else f"{c.z:+.2f}",
                "yes" if c.agrees else "no",
                "" if math.isinf(c.smallest) else f"{c.smallest:.4f}",
                c.kind + (", repeated" if c.repeats else ""),
            )
            for c in self.comparisons
        ]
        return pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n")

    def agreeing(self, *kinds: str, part: str = "") -> str:
        """Return how many published numbers agree, and of how many; repeated ones are not counted again."""
        found = [c for kind in kinds or KINDS for c in self._of(kind) if part in c.quantity]
        return f"{sum(c.agrees for c in found):,} of {len(found):,}"

    def _of(self, kind: str) -> list[Comparison]:
        return [c for c in self.comparisons if c.kind == kind and not c.repeats]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by kind how many agree and how many there are."""
        return {kind: (sum(c.agrees for c in self._of(kind)), len(self._of(kind))) for kind in KINDS}

    def mutations(self) -> Counter[str]:
        """Count published numbers by whether the comparisons notice them being 20% larger and 20% smaller.

        Returns
        -------
        Counter
            ``numbers``, distinct and not 0; ``flagged`` at 1.2, ``1.2``, and at 0.8, ``0.8``; ``both``; and of the rest
            ``coarse`` (too few printed digits), ``error`` (the error is too large) and ``range``.
        """
        flags = [_flagged(compare(scaled(self._theirs, factor), self._ours)) for factor in (1.2, 0.8)]
        smallest: dict[str, Comparison] = {}
        for c in self.comparisons:
            known = smallest.get(_base(c))
            if not c.repeats and (known is None or c.smallest < known.smallest):
                smallest[_base(c)] = c
        found: Counter[str] = Counter()
        zero = {row.quantity for row in self._theirs.itertuples() if 0.0 in (row.value, row.high)}
        for quantity, c in smallest.items():
            if quantity in zero:
                found["zero"] += 1
                continue
            seen = [quantity in flagged for flagged in flags]
            found.update(numbers=1, **{"1.2": int(seen[0]), "0.8": int(seen[1]), "both": int(all(seen))})
            if not all(seen):
                found["range" if c.kind == "range" else "coarse" if c.kind in ("exact", "draws") else "error"] += 1
        return found

    def figure(self, name: str, alt: str) -> str:
        """Return a picture."""
        path = self.item.folder / "figures" / f"{name}.png"
        if not path.exists():
            raise FileNotFoundError(f"{path}: draw it first, by python -m reproductions {self.item.name}")
        return f"![{alt}](../../reproductions/{self.item.paper}/figures/{name}.png)"

    def table(self, name: str, columns: Mapping[str, str] | None = None, format_: str = ".4g") -> str:
        """Return a stored table; `columns` maps the columns to show to their headings."""
        found = tables_of(self.item)[name]
        shown = columns or {column: column for column in found.columns}
        lines = ["| " + " | ".join(shown.values()) + " |", "|" + "---|" * len(shown)]
        for row in found[list(shown)].to_dict("records"):
            cells = (f"{value:{format_}}" if isinstance(value, float) else str(value) for value in row.values())
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


def _base(comparison: Comparison) -> str:
    return comparison.quantity.removesuffix(", deviation").removesuffix(", their draws")


def _metric(comparison: Comparison) -> str:
    return _base(comparison).rsplit(", ", 1)[-1]


def _flagged(comparisons: Iterable[Comparison]) -> set[str]:
    return {_base(c) for c in comparisons if not c.agrees}
