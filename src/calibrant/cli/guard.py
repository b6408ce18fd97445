"""What stands around every command: errors and interruptions end in one message and an exit code.

Exit codes: 0 done; 1 a claim that was asked for does not hold or could not be decided, or a monitor's alarm; 2 bad
input or usage; 70 a mistake in calibrant; 130 interrupted.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import typer

from calibrant.cli.interrupts import interruptible
from calibrant.cli.options import COMMANDS, as_option
from calibrant.errors import CalibrantError, SourceError
from calibrant.printable import visible, without_passwords

# How libraries say that they get no memory, where they raise no MemoryError.
_NO_MEMORY = re.compile("can't start new thread|failed to map segment|out of memory|cannot allocate", re.IGNORECASE)


@contextmanager
def guarded(context: Any) -> Iterator[None]:
    """Let errors of a command end in one message, which names options of this command, and an exit code."""
    try:
        with interruptible():
            yield
    except (CalibrantError, KeyboardInterrupt, MemoryError, OSError) as error:
        known = {param.name: param for param in context.command.params}
        for function, written in COMMANDS.items():
            of = context.find_root().command.commands[written.split()[1]].params
            known |= {f"{function}::{param.name}": param for param in of}
        raise typer.Exit(_end(error, known)) from None


def run(app: Callable[[], None]) -> None:
    """Run the command line; what goes wrong outside of a command, or is not expected, ends in a message too."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    codecs.register_error("calibrant", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="calibrant")
    try:
        app()
    except Exception as error:
        # While classes are made, Python 3.11 wraps an interruption into an error.
        sys.exit(_end(error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else error, {}))


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Stand in for a character that a stream cannot write, as where Windows sends output to a file."""
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] == "\N{MINUS SIGN}":
        return "-", error.start + 1
    return codecs.backslashreplace_errors(error)


class _Closed(io.TextIOBase):
    """Stands for a standard output that was closed before the start, and refuses what would be lost."""

    def write(self, text: str) -> int:
        raise SourceError("an open standard output", "it closed", "redirect it to a file, or to /dev/null")


def _end(error: BaseException, known: Mapping[str, Any]) -> int:
    """Print what is to be said of an error of a command, the parameters of which are known; return the exit code."""
    match error:
        case CalibrantError():
            _complain(f"error: {error.text(partial(as_option, known))}")
        case KeyboardInterrupt():
            _complain("interrupted")
            return 130
        case BrokenPipeError():
            # The reader has gone; keep Python from complaining when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        case OSError():
            _complain(f"error: {error}")
        case _ if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
            reason = str(error).partition("\n")[0] or "no more of it"
            remedy = "close other programs, or raise the limit (ulimit -v, ulimit -u)"
            _complain(f"error: expected enough memory for rows and libraries, found {reason}; {remedy}")
        case _:
            _complain(f"internal error, please report it: {type(error).__name__}: {error}")
            return 70
    return 2


def _complain(message: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"calibrant: {visible(without_passwords(message))}\n")
