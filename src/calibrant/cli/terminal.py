"""How commands write to a terminal, and how they know that they do not."""

from __future__ import annotations

import shutil
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import typer

__all__ = ["console", "print_wrapped", "progress", "width"]


def print_wrapped(text: str, *, indent: int = 2) -> None:
    """Print text, broken at the width of a terminal."""
    from calibrant.auditing.wording import wrapped

    typer.echo(wrapped(text, width(), indent=indent))


def width() -> int | None:
    """Return the columns of the terminal; None where text goes elsewhere: one line per item suits grep and diff."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def console() -> Any:
    """Return a console for progress bars, only where standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


def progress() -> AbstractContextManager[object]:
    """Show the stage of a computation, only where standard error is a terminal."""
    from calibrant.table.progress import listening

    shown_on = console()
    if shown_on is None:
        return nullcontext()
    shown = ExitStack()
    shown.enter_context(listening(shown.enter_context(shown_on.status("Auditing")).update))
    return shown
