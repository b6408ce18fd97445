"""``python -m reproductions``: run items, store what they give, draw, and write the page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from reproductions.catalogue import ITEMS, items_named
from reproductions.item import HERE, Effort, Item
from reproductions.judge import same_numbers
from reproductions.page import write_pages
from reproductions.store import numbers_of, save_drawings, save_measured, save_time, tables_of

_SHARED = HERE.parents[1] / "shared" / "data"

app = typer.Typer(add_completion=False)


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Items to run; all if none is named.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="A part of the work; compared with what is stored, which stays.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Only draw and write the pages, from what is stored.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Name the items.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder with adult and covtype. Else ../shared/data, if it is there, or scikit-learn fetches them.",
        ),
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
    folder = data if data is not None or not _SHARED.exists() else _SHARED
    wrong = []
    for item in chosen:
        try:
            if not draw:
                wrong += _run(item, fast=fast, data=folder, console=console)
            if not fast:
                _draw(item)
        except (FileNotFoundError, ConnectionError) as error:
            wrong.append(f"{item.name}: {error}")  # the others can still run
    if not fast:
        write_pages()
    for line in wrong:
        console.print(line, style="red", highlight=False)
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
    seconds = time.perf_counter() - started
    console.print(f"{item.name}: {seconds:.1f} s", highlight=False)
    if fast:
        again = {number.quantity: number for number in measured.numbers}
        differing = same_numbers(numbers_of(item), again)
        if not differing:
            console.print(f"  {len(again)} numbers agree with what is stored", highlight=False)
        return [f"{item.name}: {line}" for line in differing]
    save_measured(item, measured)
    save_time(item, seconds)
    return []


def _draw(item: Item) -> None:
    if item.draw is not None:
        save_drawings(item, item.draw(tables_of(item)))


if __name__ == "__main__":
    app()
