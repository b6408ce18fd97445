"""The page of selective decisions: which cases may be decided without review."""

from __future__ import annotations

from typing import TypeAlias

from calibrant.clock import utc_now
from calibrant.decisions.selections import BinarySelection, Selections
from calibrant.decisions.selective import Selection, percent
from calibrant.references import cite
from calibrant.report.page import Form, fill_page
from calibrant.report.review import TITLE, selection_parts, sides
from calibrant.version import __version__

AnySelection: TypeAlias = Selection | Selections | BinarySelection

_MOST_SHOWN = 12  # groups and targets with a picture of their own; the table has all


def render_selective(
    result: AnySelection,
    form: Form = "html",
    *,
    title: str | None = None,
    note: str | None = None,
    author: str | None = None,
    command: str | None = None,
) -> str:
    """Write which cases may be decided without review as one self-contained page.

    Parameters
    ----------
    result : Selection, Selections or BinarySelection
        What `calibrant.selective` or `calibrant.selective_binary` returned.
    form : {"html", "markdown", "latex"}
        As HTML, as Markdown, in which pictures are told in words, or the tables alone as LaTeX.
    title, note, author, command : str, optional
        Heading of the page, a remark below it, who is responsible for it, and the command that made it.

    Returns
    -------
    str
        The page. It is dated, as `calibrant.audit` dates its results; all else is the same for the same result.
    """
    table: list[tuple[str, ...]] = []
    if isinstance(result, Selection):
        parts, together = {"": result}, []
    elif isinstance(result, BinarySelection):
        parts, together = sides(result), result.lines()
    else:
        table, together = result.table(), [result.claim]
        first = result.selections[:_MOST_SHOWN]
        parts = {", ".join(filter(None, [one.group, percent(one.target_error)])): one for one in first}
    now = utc_now()
    provenance = {"Date": now, "Command": command, "Version": f"calibrant {__version__}"}
    return fill_page(
        "selective.j2",
        form,
        title=title or TITLE,
        note=note or "",
        byline={"author": author, "date": now},
        together=together,
        table=table,
        parts=selection_parts(parts, "cut-off"),
        assumptions=result.assumptions,
        provenance=[(name, value) for name, value in provenance.items() if value],
        references=cite(result.references),
    )
