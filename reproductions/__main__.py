"""``python -m reproductions``: run items, store what they give, draw, and write the pages."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

_NEEDED = ("typer", "rich", "sklearn", "joblib", "pandas", "matplotlib", "jinja2")
_MISSING = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
if _MISSING:
    sys.exit(f"the reproductions need {', '.join(_MISSING)}: install with pip install -e '.[reproductions]'")

import typer  # noqa: E402 - only now is it known to be there
from rich.console import Console  # noqa: E402
from rich.progress import (  # noqa: E402
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reproductions.catalogue import ITEMS, items_named  # noqa: E402
from reproductions.datasets import SHARED, ChangedFileError  # noqa: E402
from reproductions.item import Effort, Item  # noqa: E402
from reproductions.judge import same_numbers  # noqa: E402
from reproductions.page import write_pages  # noqa: E402
from reproductions.store import numbers_of, save_drawings, save_measured, tables_of  # noqa: E402

app = typer.Typer(add_completion=False)


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Items to run; all if none is named.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="A part of the work; compared with what is stored, which stays.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Only draw and write the pages, from what is stored.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Name the items.")] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch ADULT and COVTYPE through scikit-learn; needs a network.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Folder with UCI's files, as adult/ and covtype/."),
    ] = None,
) -> None:
    """Reproduce the tables, figures and claims of both papers."""
    console = Console()
    if list_:
        for item in ITEMS:
            console.print(f"{item.name:<24}{item.title}", highlight=False, soft_wrap=True)
        return
    try:
        chosen = items_named(names or [])
    except KeyError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    if fast and draw:
        raise typer.BadParameter(
            "--fast and --draw exclude each other: one runs a part, the other draws what is stored"
        )
    if fetch and data is not None:
        raise typer.BadParameter("--fetch and --data exclude each other: the data come from one place")
    folder = data if data is not None else SHARED if SHARED.is_dir() and not fetch else None
    wrong = []
    for item in chosen:
        if item.needs_data and not draw and folder is None and not fetch:
            wrong.append(
                f"{item.name}: ADULT and COVTYPE are missing; --fetch gets them, or --data FOLDER names a folder with "
                "adult/adult.data, adult/adult.test (archive.ics.uci.edu/dataset/2) and covtype/covtype.data.gz "
                "(archive.ics.uci.edu/dataset/31)"
            )
            continue
        try:
            if not draw:
                wrong += _run(item, fast=fast, data=folder, console=console)
            if not fast:
                _draw(item)
        except (FileNotFoundError, ConnectionError, ChangedFileError) as error:
            wrong.append(f"{item.name}: {error}")  # the others can still run
    if not fast:
        write_pages()
    for line in wrong:
        console.print(line, style="red", highlight=False, soft_wrap=True)
    raise typer.Exit(1 if wrong else 0)


def _run(item: Item, *, fast: bool, data: Path | None, console: Console) -> list[str]:
    """Measure an item; store it, or say where a fast run differs from what is stored."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    started = time.perf_counter()
    with Progress(*columns, console=console, transient=True) as progress:

        def track(parts: Iterable[object], what: str, total: int) -> Iterator[object]:
            yield from progress.track(parts, total=total, description=f"{item.name}: {what}")

        measured = item.measure(Effort(fast, data, track))
    console.print(f"{item.name}: {time.perf_counter() - started:.1f} s", highlight=False)
    if fast:
        again = {number.quantity: number for number in measured.numbers}
        differing = same_numbers(numbers_of(item), again)
        if not differing:
            console.print(f"  {len(again)} numbers agree with what is stored", highlight=False)
        return [f"{item.name}: {line}" for line in differing]
    save_measured(item, measured)
    return []


def _draw(item: Item) -> None:
    if item.draw is not None:
        save_drawings(item, item.draw(tables_of(item)))


if __name__ == "__main__":
    app()
