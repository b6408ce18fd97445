"""A page as data: its parts in order, each with the macro that writes it in HTML, Markdown or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from calibrant.auditing.provenance import Provenance
from calibrant.errors import need_package
from calibrant.plots.style import DARK, LIGHT
from calibrant.printable import visible, visible_lines
from calibrant.report.latex import as_latex, latex_columns
from calibrant.report.pictures import Picture
from calibrant.report.view import Cell
from calibrant.table.numbers import rows
from calibrant.version import __version__

# How a page is written.
Form: TypeAlias = Literal["html", "markdown", "latex"]


class PagePart(NamedTuple):
    """A part of a page: a macro of ``pieces.html.j2``, what it is given, and the parts inside, if it has any.

    A form that has no such macro leaves the part out, and writes what is inside.
    """

    piece: str
    given: tuple[Any, ...]
    keywords: dict[str, Any]
    inside: list[PagePart] | None = None


class Content(NamedTuple):
    """What a page says of an audit of some kind, between the verdict and what all kinds end with.

    The first section stands beside the verdict, of which something is said before its meaning; then come the sections,
    and at last what single statements assume.
    """

    first: PagePart
    sections: Sequence[PagePart | None]
    said: Sequence[str] = ()
    assumed: Sequence[str] = ()
    references: Sequence[str] = ()


def part(piece: str, *given: Any, **keywords: Any) -> PagePart:
    """Return a part with nothing inside."""
    return PagePart(piece, given, keywords)


def around(piece: str, given: Any, *inside: PagePart | None) -> PagePart:
    """Return a part with others inside; None stands for what there is not."""
    return PagePart(piece, (given,), {}, [one for one in inside if one is not None])


def section(
    title: str,
    *inside: PagePart | None,
    id: str = "",
    kind: str = "",
    quiet: bool = False,
    verdict: str = "",
) -> PagePart:
    """Return a section with its heading, which is left out of a text if it is `quiet`; None as in `around`."""
    if verdict:
        kind = f"verdict {verdict.replace(' ', '-')}"
    heading = part("heading", 2, title, kind="quiet" if quiet else "", verdict=verdict)
    return around("section", id, heading, *inside)._replace(keywords={"kind": kind})


def deeper(one: PagePart) -> PagePart:
    """Return a part with all headings inside one level down."""
    if one.piece == "heading":
        return one._replace(given=(one.given[0] + 1, *one.given[1:]))
    return one._replace(inside=one.inside and [deeper(each) for each in one.inside])


def anchored(one: PagePart, anchor: str) -> PagePart:
    """Return a part whose ids, and those of what is inside, begin with an anchor: several on a page may be alike."""
    first, *others = one.given
    match one.piece:
        case "section":
            first = f"{anchor}-{first}" if first else ""
        case "slider":
            first = anchor
        case "picture" | "small_picture":
            others = [others[0]._replace(anchor="-".join(filter(None, (anchor, others[0].anchor))))]
    inside = one.inside and [anchored(each, anchor) for each in one.inside]
    return one._replace(given=(first, *others), inside=inside)


def spoken(one: PagePart, told: Callable[[str], str]) -> PagePart:
    """Return a part in words that `told` changes, but for what is to be run."""
    given = one.given if one.piece == "command" else _spoken(one.given, told)
    return one._replace(given=given, inside=one.inside and [spoken(each, told) for each in one.inside])


def _spoken(value: Any, told: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return told(value)
    if isinstance(value, Picture):
        return value._replace(told=told)
    if isinstance(value, list | tuple):
        entries = [_spoken(one, told) for one in value]
        return entries if isinstance(value, list) else tuple(entries)
    return value


def paragraphs(*lines: str, kind: str = "") -> list[PagePart]:
    """Return a paragraph for each line that is not empty."""
    return [part("paragraph", line, kind) for line in lines if line]


def table(
    caption: str, heads: Sequence[Any], lines: Sequence[Any], *, numeric: bool = True, **keywords: Any
) -> PagePart:
    """Return a table; of a `numeric` one the cells are numbers."""
    return part("table", caption, heads, lines, numeric=numeric, **keywords)


def fold(summary: str, *inside: PagePart | None, screen: bool = False) -> PagePart:
    """Return parts that a reader unfolds; those for a `screen` are not printed."""
    return around("fold", summary, *inside)._replace(keywords={"kind": "screen" if screen else ""})


def closing(
    assumed: Iterable[str],
    limits: Iterable[str] | None,
    known: Iterable[tuple[str, str]] = (),
    *further: PagePart | None,
    title: str = "Assumptions and limitations",
) -> list[PagePart]:
    """Return the end of a page: what was assumed, what that does not show, if that is said, and where it comes from."""
    inside = [part("items", list(assumed))]
    if limits is not None:
        does_not = *paragraphs("What this does not show:"), part("items", list(limits))
        inside = [*paragraphs("What was assumed:"), *inside, *does_not]
    end = [section(title, *inside, *further, id="assumptions")]
    if known:
        end.append(section("Provenance", part("named", list(known)), id="provenance"))
    return end


def provenance_pairs(name: str, known: Provenance, *, what: str = "Audited") -> list[tuple[str, str]]:
    """Return where a result comes from: names and values, those that are not known left out."""
    settings = ", ".join(f"{name}={value!r}" for name, value in known.parameters.items() if value is not None)
    facts = {
        what: name,
        "Date": known.date,
        "Command or call": known.command,
        "Source": known.source,
        "Size": None if known.size is None else f"{known.size:,} bytes",
        "SHA-256": known.sha256,
        "Rows": rows(known.rows),
        "Digest of the rows": known.digest,
        "Parameters": settings,
        "Seed": None if known.seed is None else str(known.seed),
        "Version": f"calibrant {known.version}",
        "Fingerprint of the numbers": known.fingerprint,
    }
    return [(name, value) for name, value in facts.items() if value is not None]


def fill_page(
    parts: Iterable[PagePart | None],
    form: Form,
    heading: str,
    *,
    title: str | None = None,
    note: str | None = None,
    author: str | None = None,
    date: str | None,
    references: Sequence[str],
) -> str:
    """Write the parts of a page in a form, with the head and the foot that all pages of the form share.

    The heading stands where there is no title.
    """
    content = {
        "parts": [one for one in parts if one is not None],
        "form": form,
        "title": title or heading,
        "title_css": _css_text(title or heading),
        "note": note,
        "author": author,
        "date": date,
        "references": references,
        "version": __version__,
        "light": LIGHT.by_name(),
        "dark": DARK.by_name(),
    }
    page: str = _environment(form).get_template(f"page.{form}.j2").render(content)
    return page if form == "html" else _tidy(page)


@cache
def _environment(form: Form) -> Any:
    """Return where templates are found, and compiled once."""
    need_package("jinja2", "calibrant[report]")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        finalize=_WRITERS[form],
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=_as_code)
    environment.globals.update(latex_columns=latex_columns)
    return environment


def _as_html(value: Any) -> Any:
    """Write characters that steer, in names from outside, as their escapes; what a template wrote stays as it is."""
    if isinstance(value, Cell):
        value = value.text
    return visible_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _as_markdown(value: Any) -> Any:
    """Escape what Markdown would take for more than words; what a template wrote stays as it is."""
    from markupsafe import Markup

    if hasattr(value, "__html__"):
        return value
    words = visible(" ".join(str(value).split()))
    words = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", words))
    return Markup(re.sub(r"([\\`*_\[\]|~#])", r"\\\1", words))


_WRITERS: dict[Form, Callable[[Any], Any]] = {"html": _as_html, "markdown": _as_markdown, "latex": as_latex}


def _as_code(text: str) -> Any:
    """Write a command as code in Markdown, within more backticks than it has in a row."""
    from markupsafe import Markup

    text = visible_lines(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return Markup(f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}")


def _tidy(text: str) -> str:
    """Take away the spaces and the empty lines that templates leave."""
    lines = "\n".join(line.strip() for line in text.splitlines())
    return re.sub(r"(?<=\|)\n+(?=\|)", "\n", re.sub(r"\n{3,}", "\n\n", lines)).strip() + "\n"


def _css_text(text: str) -> str:
    """Write a text so that it can stand between quotation marks in a style sheet."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " .,:-") else f"\\{ord(c):x} " for c in text)
