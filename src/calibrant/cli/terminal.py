"""How commands write to a terminal, and how they know that they do not."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from calibrant.printable import visible, visible_lines

if TYPE_CHECKING:
    from calibrant.auditing.findings import AuditFindings

_PATIENCE = 0.5  # seconds after which a person wants to know how long it takes
# What is coloured in the text of an audit, as Rich's styles: verdicts, labels at the start of a line, warnings.
_STYLES = {
    r"\ACERTIFIED": "bold green",
    r"\A(REFUTED|REJECTED)": "bold red",
    r"\A(UNDECIDED|UNINFORMATIVE|NO CERTIFICATE)": "bold yellow",
    r"(?m)^(?!Warning)[A-Z][A-Za-z ]{2,17}  ": "cyan",
    r"(?m)^Warning": "bold yellow",
}


def print_audit(audit: AuditFindings, *, details: bool) -> None:
    """Print the summary of an audit, or the details, and the table below; in colour on a terminal."""
    from calibrant.auditing import summary

    text = summary.details(audit, width()) if details else summary.summary(audit, width(), shell=True)
    table = summary.table_below(audit, width())
    text += f"\n\n{table}" if table else ""
    if width() is None:
        print_text(text)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(visible_lines(text))
    for pattern, style in _STYLES.items():
        shown.highlight_regex(re.compile(pattern), style)
    Console(highlight=False).print(shown, soft_wrap=True)


def print_wrapped(text: str, *, indent: int = 2) -> None:
    """Print text, broken at the width of a terminal."""
    from calibrant.table.numbers import wrapped

    print_text(wrapped(text, width(), indent=indent))


def print_text(text: str) -> None:
    """Print lines of text, in which names must not steer the terminal."""
    typer.echo(visible_lines(text))


def print_note(text: str) -> None:
    """Print a line beside the result, on standard error."""
    typer.echo(visible(text), err=True)


def width() -> int | None:
    """Return the columns of the terminal; None where text goes elsewhere: one line per item suits grep and diff."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def console() -> Any:
    """Return a console for the progress bar, only where standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def progress() -> Iterator[None]:
    """Show one bar for all that is done in a block, if it takes long and standard error is a terminal."""
    shown_on = console()
    if shown_on is None or not shown_on.is_interactive:
        yield
        return
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from calibrant.table.progress import job

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=shown_on,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = bar.add_task("Reading", total=1.0, speed="")
    begin = threading.Timer(_PATIENCE, bar.start)
    begin.daemon = True
    begin.start()
    try:
        with job(
            lambda stage, done, speed: bar.update(task, description=escape(visible(stage)), completed=done, speed=speed)
        ):
            yield
    finally:
        begin.cancel()
        begin.join()
        bar.stop()
